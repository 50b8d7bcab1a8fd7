"""Sums that are rounded at every step: AWS's quick test, long sums, many roundings."""

import functools

import ipywidgets

from trainium_edu.numerics.long_sums import long_sums, many_roundings, quick_test
from trainium_edu.specs import SOFTWARE
from trainium_edu.viz import accumulation as picture
from trainium_edu.viz import style
from trainium_edu.widgets.picture import Panel, Picture

__all__ = ["long_sums_explorer", "quick_test_explorer"]

_WIDE = {"description_width": "initial"}


def quick_test_explorer(*, runs: int = 2000, seed: int = 0):
    """Show AWS's quick test: the runs on their way, and where they end beside the exact law.

    Parameters
    ----------
    runs : int
        Stochastic runs.
    seed : int
        The seed shown first.

    Returns
    -------
    Panel
    """
    fmt = ipywidgets.Dropdown(
        options=[("FP16", "fp16"), ("BF16", "bf16")], description="format", style=_WIDE
    )
    chosen = ipywidgets.BoundedIntText(seed, 0, 999, description="seed of the tosses", style=_WIDE)
    words = ipywidgets.HTML()

    def now():
        return _quick_test(fmt.value, runs, chosen.value)

    def draw():
        documented = SOFTWARE.quick_test_stochastic.value if fmt.value == "fp16" else None
        return picture.plot_quick_test(now(), documented=documented)

    def sentence():
        test = now()
        return (
            f"Nearest-even ends at {test.nearest[-1]:g}. {runs} stochastic runs: mean "
            f"{test.final.mean(dtype=float):.1f}, standard deviation "
            f"{test.final.std(ddof=1, dtype=float):.1f}; exact law: {test.law.mean:g} and "
            f"{test.law.sd:.2f}."
        )

    shown = Picture(draw, alt=sentence)

    def update(_change=None):
        words.value = f"<span aria-live='polite'>{sentence()}</span>"
        shown.redraw()

    for control in (fmt, chosen):
        control.observe(update, "value")
    words.value = sentence()
    controls = ipywidgets.HBox([fmt, chosen], layout={"flex_flow": "row wrap"})
    return Panel([controls, shown, words], f"the quick test; {sentence()}")


def long_sums_explorer():
    """Show how the error of long sums and of many roundings grows, with theory's lines.

    Returns
    -------
    Panel
    """
    fmt = ipywidgets.Dropdown(
        options=[("BF16", "bf16"), ("FP16", "fp16"), ("TF32", "tf32")],
        description="format", style=_WIDE,
    )  # fmt: skip
    words = ipywidgets.HTML()

    def draw():
        fig = style.figure(9.6, 3.7, margins=(0.6, 0.1, 0.5, 0.4))
        left, right = fig.subplots(1, 2, gridspec_kw={"wspace": 0.17})
        picture.plot_long_sums(_long_sums(fmt.value), left)
        picture.plot_many_roundings(_many_roundings(fmt.value), right)
        return fig

    def sentence():
        sums, growth = _long_sums(fmt.value), _many_roundings(fmt.value)
        step = growth.fmt.epsilon
        return (
            f"{fmt.label}, {sums.n[-1]} terms: relative error {sums.nearest[-1]:.2g} with "
            f"nearest-even, {sums.stochastic[-1]:.2g} with stochastic. {growth.n[-1]} roundings: "
            f"summed error {growth.nearest[-1] / step:.0f} ε against "
            f"{growth.stochastic[-1] / step:.0f} ε, where ε is the gap above 1."
        )

    shown = Picture(draw, alt=sentence)

    def update(_change=None):
        words.value = f"<span aria-live='polite'>{sentence()}</span>"
        shown.redraw()

    fmt.observe(update, "value")
    words.value = sentence()
    return Panel([fmt, shown, words], f"long sums and many roundings; {sentence()}")


_quick_test = functools.lru_cache(maxsize=8)(
    lambda fmt, runs, seed: quick_test(fmt, runs=runs, seed=seed)
)
_long_sums = functools.lru_cache(maxsize=4)(long_sums)
_many_roundings = functools.lru_cache(maxsize=4)(many_roundings)
