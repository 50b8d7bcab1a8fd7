"""The utilisation of the systolic array, as a figure."""

import numpy as np

from trainium_edu.neuroncore.systolic_array import (
    TRN1_ARRAY,
    SystolicArray,
    documented_issue_cycles,
    load_cycles,
    utilisation,
)
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.layered import Layered
from trainium_edu.viz.style import COLOURS, figure, ink

__all__ = ["describe_reuse", "plot_reuse", "reuse_shares"]

_N = np.unique(np.round(np.geomspace(1, 512, 80)).astype(int))


def reuse_shares(n: int, *, m: int = 128, array: SystolicArray = TRN1_ARRAY) -> dict[str, float]:
    """Return the utilisation with N moving vectors in four situations.

    Parameters
    ----------
    n, m : int
    array : SystolicArray

    Returns
    -------
    dict of float
        ``alone`` (one tile, from first weight to last result), ``new weights`` and ``same
        weights`` (a long stream), ``documented`` (the guide's price of a moving tile).
    """
    k = array.rows
    return {
        "alone": utilisation(k, m, n, array, tiles=1),
        "new weights": utilisation(k, m, n, array),
        "same weights": utilisation(k, m, n, array, reuse=True),
        "documented": k * m * n / (array.pes * documented_issue_cycles(n, array=array)),
    }


_REUSE_LOOKS = {
    "same weights": (COLOURS["green"], "-", "a stream, same weights"),
    "new weights": (COLOURS["blue"], "-", "a stream, new weights for each tile"),
    "documented": (COLOURS["red"], "--", "documented price: max(N, 64)"),
    "alone": (COLOURS["orange"], "-", "one tile alone"),
}


@checked
def plot_reuse(
    n: int, *, m: int = 128, array: SystolicArray = TRN1_ARRAY, layered: Layered | None = None,
    guess: float | None = None,
):  # fmt: skip
    """Draw utilisation against the number of moving vectors, and the TFLOPS of a chip beside it.

    Parameters
    ----------
    n, m : int
    array : SystolicArray
    layered : Layered, optional
        Keeps the curves while N moves.
    guess : float, optional
        A learner's N, drawn where it lies.

    Returns
    -------
    Figure
    """

    def over(fig):
        ax = fig.axes[0]
        here = reuse_shares(n, m=m, array=array)
        line = ax.axvline(n, color=ink("muted"), lw=0.8)
        points = [ax.plot(n, 100 * here[name], "o", color=colour, ms=7)[0]
                  for name, (colour, *_) in _REUSE_LOOKS.items()]  # fmt: skip
        words = ax.text(0, 1.02, f"N = {n}", transform=ax.transAxes, weight="bold", size=11)
        return [line, *points, words]

    layered = Layered() if layered is None else layered
    return layered.figure((m, array, guess), lambda: _reuse_curves(m, array, guess), over)


def _reuse_curves(m, array, guess):
    """Draw what does not depend on N."""
    fig = figure(7.4, 4.2, margins=(0.62, 0.72, 1.2, 0.42))
    ax = fig.subplots()
    curves = [reuse_shares(int(i), m=m, array=array) for i in _N]
    for name, (colour, dash, label) in _REUSE_LOOKS.items():
        ax.plot(_N, [100 * c[name] for c in curves], dash, color=colour, label=label, lw=2)
    ax.set_xscale("log", base=2)
    ticks = [1, 4, 16, 64, 128, 512]
    ax.set_xticks(ticks, ticks)
    ax.minorticks_off()
    ax.set(xlim=(1, 530), ylim=(0, 104))
    ax.set(xlabel="N, moving vectors per tile", ylabel="utilisation, %")
    load = load_cycles(m, array)
    ax.axvline(load, color=ink("muted"), ls=":")
    ax.text(load, 30, f" a load ends: {load}", size=9)
    if guess is not None and 1 <= guess <= 512:
        ax.plot([guess], [0], "^", color=ink(), clip_on=False, zorder=5, label="your guess")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=9)
    peak = array.peak_flops * int(array.chip.cores) / 1e12
    right = ax.twinx()
    right.set(ylim=(0, 1.04 * peak), ylabel="TFLOPS per chip, BF16")
    right.grid(False)
    right.spines["right"].set_visible(True)
    return fig


def describe_reuse(n: int, *, m: int = 128, array: SystolicArray = TRN1_ARRAY) -> str:
    """Say what `plot_reuse` shows, with its numbers."""
    shares = ", ".join(f"{k} {v:.1%}" for k, v in reuse_shares(n, m=m, array=array).items())
    return f"Utilisation of the array with N = {n} moving vectors per tile: {shares}."
