"""Sums that are rounded at every step: AWS's quick test, long sums, many roundings."""

import functools

from trainium_edu.numerics.long_sums import long_sums, many_roundings, quick_test
from trainium_edu.specs import SOFTWARE
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import accumulation as picture
from trainium_edu.widgets.sketch import Page, Sketch, choice, slider

__all__ = ["long_sums_explorer", "quick_test_explorer"]

_LAST_SEED = 99


@checked
def quick_test_explorer(*, runs: int = 2000, seed: int = 0, guess: float | None = None):
    """Show AWS's quick test: the runs on their way, and where they end beside the exact law.

    Parameters
    ----------
    runs : int
        Stochastic runs.
    seed : int
        The seed shown first.
    guess : float, optional
        Where the learner lets nearest-even end in FP16.

    Returns
    -------
    Sketch
        Values ``format`` and ``seed``.
    """
    controls = [
        choice("format", "Format", {"fp16": "FP16", "bf16": "BF16"}, "fp16"),
        slider("seed", "Seed of the random bits", 0, max(_LAST_SEED, seed), seed),
    ]

    def page(values):
        test = _quick_test(values["format"], runs, int(values["seed"]))
        asked = values["format"] == "fp16"  # AWS's page, and the question, speak of FP16
        scene = picture.draw_quick_test(
            test,
            documented=SOFTWARE.quick_test_stochastic.value if asked else None,
            guess=guess if asked else None,
            width=values["width"],
        )
        return Page(scene, [_quick_test_words(test)])

    first = _quick_test_words(_quick_test("fp16", runs, seed))
    return Sketch(controls, page, "The quick test", words=[first])


def _quick_test_words(test) -> str:
    runs = test.final.size
    return (
        f"Nearest-even ends at {test.nearest[-1]:g}. {runs} stochastic runs: mean "
        f"{test.final.mean(dtype=float):.1f}, standard deviation "
        f"{test.final.std(ddof=1, dtype=float):.1f}; exact law: {test.law.mean:g} and "
        f"{test.law.sd:.2f}."
    )


def long_sums_explorer(*, guess: float | None = None):
    """Show how the error of long sums and of many roundings grows, with theory's lines.

    Parameters
    ----------
    guess : float, optional
        How many times larger the learner lets the error in BF16 become from 1000 to 10,000 terms.

    Returns
    -------
    Sketch
        Value ``format``.
    """
    labels = {"bf16": "BF16", "fp16": "FP16", "tf32": "TF32"}

    def page(values):
        name = values["format"]
        sums, growth = _long_sums(name), _many_roundings(name)
        scene = picture.draw_long_sums(
            sums, growth, guess=guess if name == "bf16" else None, width=values["width"]
        )
        return Page(scene, [_long_sums_words(labels[name], sums, growth)])

    first = _long_sums_words("BF16", _long_sums("bf16"), _many_roundings("bf16"))
    return Sketch(
        [choice("format", "Format", labels, "bf16")],
        page,
        "Long sums and many roundings",
        words=[first],
    )


def _long_sums_words(label, sums, growth) -> str:
    step = growth.fmt.epsilon
    return (
        f"{label}, {sums.n[-1]:,} terms: relative error {sums.nearest[-1]:.2g} with "
        f"nearest-even, {sums.stochastic[-1]:.2g} with stochastic. {growth.n[-1]:,} roundings: "
        f"summed error {growth.nearest[-1] / step:,.0f} ε against "
        f"{growth.stochastic[-1] / step:.0f} ε, where ε is the gap above 1."
    )


_quick_test = functools.lru_cache(maxsize=8)(
    lambda fmt, runs, seed: quick_test(fmt, runs=runs, seed=seed)
)
_long_sums = functools.lru_cache(maxsize=4)(long_sums)
_many_roundings = functools.lru_cache(maxsize=4)(many_roundings)
