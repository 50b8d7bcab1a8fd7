"""Sums that are rounded at every step: AWS's quick test, long sums, many roundings."""

import functools

from trainium_edu.numerics.long_sums import long_sums, many_roundings, quick_test
from trainium_edu.specs import SOFTWARE
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import accumulation as picture
from trainium_edu.widgets.sketch import Page, say, sketch

__all__ = ["long_sums_explorer", "quick_test_explorer"]


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

    def page(values):
        test = _quick_test(values["format"], runs=runs, seed=int(values["seed"]))
        marks = {"documented": SOFTWARE.quick_test_stochastic.value, "guess": guess}
        if values["format"] != "fp16":  # AWS's page, and the question, speak of FP16
            marks = {}
        scene = picture.draw_quick_test(test, width=values["width"], **marks)
        mean, sd = test.final.mean(dtype=float), test.final.std(ddof=1, dtype=float)
        ends = {"nearest": test.nearest[-1], "runs": test.final.size, "mean": mean, "sd": sd}
        return Page(scene, say("quick_test", law=test.law, **ends))

    return sketch("quick_test", page, seed={"value": seed, "max": max(99, seed)})


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

    def page(values):
        name = values["format"]
        sums, growth = _long_sums(name), _many_roundings(name)
        asked = guess if name == "bf16" else None
        scene = picture.draw_long_sums(sums, growth, guess=asked, width=values["width"])
        grown = [errors[-1] / growth.fmt.epsilon for errors in (growth.nearest, growth.stochastic)]
        ends = {"n": sums.n[-1], "nearest": sums.nearest[-1], "stochastic": sums.stochastic[-1]}
        said = say("long_sums", label=name.upper(), roundings=growth.n[-1], grown=grown, **ends)
        return Page(scene, said)

    return sketch("long_sums", page)


_quick_test = functools.lru_cache(maxsize=8)(quick_test)
_long_sums = functools.lru_cache(maxsize=4)(long_sums)
_many_roundings = functools.lru_cache(maxsize=4)(many_roundings)
