"""The systolic array in figures: cycles of a tile, utilisation, who should stay, other machines."""

from collections.abc import Sequence

import numpy as np

from trainium_edu.neuroncore.systolic_array import (
    TRN1_ARRAY,
    SystolicArray,
    choice_cycles,
    documented_issue_cycles,
    load_cycles,
    utilisation,
)
from trainium_edu.neuroncore.systolic_array.counts import MachineCounts
from trainium_edu.specs import TRN1
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.layered import Layered
from trainium_edu.viz.style import COLOURS, figure, ink

__all__ = [
    "describe_choice",
    "describe_reuse",
    "plot_choice",
    "plot_machines",
    "plot_reuse",
    "plot_tile_cycles",
    "reuse_shares",
]

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
        "documented": k * m * n / (array.pes * documented_issue_cycles(n)),
    }


_REUSE_LOOKS = {
    "same weights": (COLOURS["green"], "-", "a stream, same weights"),
    "new weights": (COLOURS["blue"], "-", "a stream, new weights for each tile"),
    "documented": (COLOURS["red"], "--", "documented price: max(N, 64)"),
    "alone": (COLOURS["orange"], "-", "one tile alone"),
}


@checked
def plot_tile_cycles(
    m: int, n: int, *, array: SystolicArray = TRN1_ARRAY, guess: float | None = None
):
    """Draw one tile's cycles as a bar of load, feed, fall and skew, and a guess where it falls.

    Parameters
    ----------
    m, n : int
    array : SystolicArray
    guess : float, optional

    Returns
    -------
    Figure
    """
    parts = (
        ("load", load_cycles(m, array), "pink"),
        ("feed", n, "green"),
        ("fall", array.rows - 1, "orange"),
        ("skew", m - 1, "blue"),
    )
    fig = figure(7.4, 1.9, margins=(0.5, 0.35, 0.5, 0.42))
    ax = fig.subplots()
    left = 0
    for name, cycles, colour in parts:
        ax.barh(0, cycles, 0.6, left, color=COLOURS[colour], edgecolor=ink("paper"))
        ax.text(left + cycles / 2, 0.38, f"{name} {cycles}", ha="center", va="bottom")
        left += cycles
    ax.text(left, 0, f" {left:,}", va="center", weight="bold")
    most: float = left
    if guess is not None:
        most = min(max(left, guess), 1.25 * left)  # a wild guess stands at the edge
        at, sign = (guess, "^") if guess <= most else (most, ">")
        ax.plot([at], [-0.42], sign, color=ink(), clip_on=False)
        ax.text(at, -0.44, "   you", va="center")
    ax.set(xlim=(0, 1.1 * most), ylim=(-0.6, 0.75), yticks=[], xlabel="Tensor Engine cycles")
    ax.set_title(f"One tile of {array.rows} × {m} × {n}, first weight in to last result out")
    ax.grid(axis="y", visible=False)
    return fig


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
        return [
            ax.axvline(n, color=ink("muted"), lw=0.8),
            *(
                ax.plot(n, 100 * here[name], "o", color=colour, ms=7)[0]
                for name, (colour, *_) in _REUSE_LOOKS.items()
            ),
            ax.text(0, 1.02, f"N = {n}", transform=ax.transAxes, weight="bold", size=11),
        ]

    layered = Layered() if layered is None else layered
    return layered.figure((m, array, guess), lambda: _reuse_curves(m, array, guess), over)


def _reuse_curves(m, array, guess):
    """Draw what does not depend on N."""
    fig = figure(7.4, 4.0, margins=(0.62, 0.72, 1.0, 0.42))
    ax = fig.subplots()
    curves = [reuse_shares(int(i), m=m, array=array) for i in _N]
    for name, (colour, dash, label) in _REUSE_LOOKS.items():
        ax.plot(_N, [100 * c[name] for c in curves], dash, color=colour, label=label, lw=2)
    ax.set_xscale("log", base=2)
    ticks = [1, 4, 16, 64, 128, 512]
    ax.set_xticks(ticks, ticks)
    ax.minorticks_off()
    ax.set(
        xlim=(1, 530), ylim=(0, 104), xlabel="N, moving vectors per tile", ylabel="utilisation, %"
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=9)
    if guess is not None and 1 <= guess <= 512:
        ax.plot([guess], [0], "^", color=ink(), clip_on=False, zorder=5)
        ax.text(guess, 5, "you", ha="center")
    peak = array.peak_flops * int(TRN1.cores) / 1e12
    right = ax.twinx()
    right.set(ylim=(0, 1.04 * peak), ylabel="TFLOPS per chip, BF16")
    right.grid(False)
    right.spines["right"].set_visible(True)
    return fig


def describe_reuse(n: int, *, m: int = 128, array: SystolicArray = TRN1_ARRAY) -> str:
    """Say what `plot_reuse` shows, with its numbers."""
    shares = ", ".join(f"{k} {v:.1%}" for k, v in reuse_shares(n, m=m, array=array).items())
    return f"Utilisation of the array with N = {n} moving vectors per tile: {shares}."


@checked
def plot_choice(k: int, rows: int, columns: int, *, array: SystolicArray = TRN1_ARRAY):
    """Draw the cycles of both choices of the stationary operand.

    Returns
    -------
    Figure
    """
    prices = choice_cycles(k, rows, columns, array=array)
    fig = figure(7.4, 2.8, margins=(1.25, 0.35, 0.85, 0.42))
    ax = fig.subplots()
    for i, name in enumerate(("x stays", "W stays")):
        for j, (how, colour) in enumerate((("documented", "red"), ("array", "blue"))):
            y = i + (j - 0.5) * 0.36
            ax.barh(y, prices[name][how], 0.34, color=COLOURS[colour], hatch="//" if not j else "",
                    edgecolor=ink("paper"), label=how if not i else None)  # fmt: skip
            ax.text(prices[name][how], y, f" {prices[name][how]:,}", va="center")
    ax.set_yticks([0, 1], ["x stays,\nW moves", "W stays,\nx moves"])
    ax.set(xlabel="Tensor Engine cycles", xlim=(0, 1.12 * ax.dataLim.x1))
    ax.set_title(f"x[{rows}, {k}] @ W[{k}, {columns}]")
    ax.legend(["by documented prices", "cycles of our array"], loc="upper center",
              bbox_to_anchor=(0.4, -0.28), ncols=2, fontsize=9)  # fmt: skip
    ax.grid(axis="y", visible=False)
    return fig


def describe_choice(k: int, rows: int, columns: int, *, array: SystolicArray = TRN1_ARRAY) -> str:
    """Say what `plot_choice` shows, with its numbers."""
    prices = choice_cycles(k, rows, columns, array=array)
    said = "; ".join(
        f"{name}: {p['array']} cycles of the array, {p['documented']} by documented prices"
        for name, p in prices.items()
    )
    return f"Cycles for x[{rows}, {k}] times W[{k}, {columns}]. {said}."


@checked
def plot_machines(counts: Sequence[MachineCounts]):
    """Draw memory and register-file accesses per multiply-add of three machines.

    Parameters
    ----------
    counts : sequence of MachineCounts

    Returns
    -------
    Figure
    """
    fig = figure(7.4, 2.7, margins=(1.4, 0.7, 0.5, 0.42))
    ax = fig.subplots()
    parts = (
        ("memory", [c.memory_per_mac for c in counts], COLOURS["red"], ""),
        ("register file", [c.register_file_per_mac for c in counts], COLOURS["orange"], "//"),
        ("handed to a neighbour", [c.handed_on / c.macs for c in counts], COLOURS["green"], ".."),
    )
    for i, (label, values, colour, hatch) in enumerate(parts):
        y = np.arange(len(counts)) + (i - 1) * 0.27
        ax.barh(y, values, 0.25, color=colour, label=label, hatch=hatch, edgecolor=ink("paper"))
        for at, value in zip(y, values, strict=True):
            ax.text(value, at, f" {value:.3g}", va="center", size=8.5)
    ax.set_yticks(range(len(counts)), [c.machine for c in counts])
    ax.invert_yaxis()
    ax.set(xlabel="accesses per multiply-add", xlim=(0, 1.08 * ax.dataLim.x1))
    ax.set_title("Who goes back to memory?")
    ax.legend(fontsize=9, loc="lower right")
    ax.grid(axis="y", visible=False)
    return fig
