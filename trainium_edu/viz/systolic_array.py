"""The systolic array in still pictures: one cycle, utilisation, dataflows, who should stay."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.patches import Rectangle

from trainium_edu.neuroncore.systolic_array import (
    TRN1_ARRAY,
    Dataflow,
    SystolicArray,
    choice_cycles,
    dataflow_cycles,
    dataflow_traffic,
    documented_issue_cycles,
    load_cycles,
    utilisation,
)
from trainium_edu.neuroncore.systolic_array.counts import MachineCounts
from trainium_edu.neuroncore.systolic_array.frames import Frames
from trainium_edu.neuroncore.systolic_array.march import Step
from trainium_edu.specs import TRN1
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.layered import Layered
from trainium_edu.viz.style import COLOURS, figure, ink

__all__ = [
    "describe_choice", "describe_reuse", "plot_array", "plot_choice", "plot_dataflows",
    "plot_journey", "plot_machines", "plot_reuse", "plot_tile_cycles", "reuse_shares",
]  # fmt: skip

_N = np.unique(np.round(np.geomspace(1, 512, 80)).astype(int))
_FLOW_COLOURS = {
    Dataflow.WEIGHT: COLOURS["blue"],
    Dataflow.INPUT: COLOURS["orange"],
    Dataflow.OUTPUT: COLOURS["green"],
}


@checked
def plot_array(frames: Frames, cycle: int, *, operands: Sequence | None = None):
    """Draw the array at the end of one cycle as the player does, and all utilisations below.

    Parameters
    ----------
    frames : Frames
    cycle : int
    operands : (W, X), optional
        Drawn as matrices beside the array, with dst as far as it has left.

    Returns
    -------
    Figure
    """
    cycle = whole(cycle, "cycle", 0, frames.cycles - 1)
    beside = operands is not None and max(frames.shape) <= 8
    fig = figure(9.6 if beside else 7.2, 5.6, margins=(0.75, 0.2, 0.45, 0.55))
    grid = fig.add_gridspec(2, 2 if beside else 1, height_ratios=[4.2, 1], hspace=0.28, wspace=0.08,
                            **({"width_ratios": [3, 2]} if beside else {}))  # fmt: skip
    top, below = fig.add_subplot(grid[0, 0]), fig.add_subplot(grid[1, :])
    if max(frames.rows, frames.columns) <= 16:
        _draw_cells(top, frames, cycle)
    else:
        _draw_heat(top, frames, cycle)
    top.add_patch(Rectangle((0, 0), frames.columns, frames.rows, fill=False, ec=ink("muted")))
    top.grid(False)
    for side in ("left", "bottom"):
        top.spines[side].set_visible(False)
    for axis, count in ((top.xaxis, frames.columns), (top.yaxis, frames.rows)):
        ticks = np.arange(0, count, max(1, count // 8))
        axis.set_ticks(ticks + 0.5, ticks)
    top.tick_params(length=0)
    top.set_title(f"{frames.dataflow}, cycle {cycle} of {frames.cycles}")
    if beside:
        _draw_matrices(fig.add_subplot(grid[0, 1]), frames, cycle, operands)
    below.bar(np.arange(frames.cycles), frames.utilisation * 100, width=1, color=COLOURS["green"])
    below.axvline(cycle, color=COLOURS["red"])
    below.set(xlim=(-0.5, frames.cycles - 0.5), ylim=(0, 105), ylabel="% of PEs", xlabel="cycle")
    return fig


def _said(value) -> str:
    return f"{value:.3g}".replace("-", "−")


def _sum_colours():
    """Return the player's colours of sums: blue below zero, orange above."""
    ends = [to_rgb(COLOURS[name]) for name in ("blue", "orange")]
    paper = np.array(to_rgb(ink("paper")))
    low, high = (tuple(paper + 0.72 * (np.array(end) - paper)) for end in ends)
    return LinearSegmentedColormap.from_list("sums", [low, tuple(paper), high])


def _shades(frames):
    """Return the sums on which colours are scaled, their validity and a colour for each sum."""
    outputs = frames.leaving is not None
    sums = frames.stays if outputs else frames.down
    scale = np.abs(sums[np.isfinite(sums)]).max(initial=1e-30)
    colours = _sum_colours()
    return (
        sums / scale,
        frames.stays_valid if outputs else frames.down_valid,
        lambda value: colours(0.5 + 0.5 * float(np.clip(value / scale, -1, 1))),
    )


def _draw_heat(ax, frames, cycle):
    """Draw the sums as colours only, or under the numbers where the sums stay."""
    shares, valid, _ = _shades(frames)
    shown = np.ma.masked_where(~valid[cycle], shares[cycle])
    extent = (0, frames.columns, frames.rows, 0)
    ax.imshow(shown, cmap=_sum_colours(), vmin=-1, vmax=1, extent=extent)
    ax.set(xlim=(0, frames.columns), ylim=(frames.rows + 0.02, 0), aspect="equal")


def _draw_cells(ax, frames, cycle):
    """Draw each cell: what stays above, what passes in a ring, the sum below."""
    rows, columns = frames.rows, frames.columns
    size = max(5, min(10, 70 / max(rows, columns)))
    outputs = frames.leaving is not None
    _, _, colour_of = _shades(frames)
    if outputs:
        _draw_heat(ax, frames, cycle)

    def write(x, y, value, *, ring=None, alpha=1.0):
        box = {"boxstyle": "round,pad=0.22", "fc": ink("paper"), "ec": ring} if ring else None
        ax.text(x, y, _said(value), size=size, ha="center", va="center", bbox=box, alpha=alpha,
                color=ink(), clip_on=False)  # fmt: skip

    def each(valid):
        return () if valid is None else np.argwhere(valid[cycle])

    for k, m in each(frames.working) if not outputs else ():
        ax.add_patch(Rectangle((m, k), 1, 1, fc=ink("grid"), alpha=0.35, lw=0))
    for k, m in each(frames.stays_valid):
        if outputs:
            write(m + 0.25, k + 0.25, frames.stays[cycle, k, m])
        else:
            write(m + 0.16, k + 0.16, frames.stays[cycle, k, m])
    for k, m in each(frames.waiting_valid):
        x = 0.8 if frames.stays_valid[cycle, k, m] else 0.2
        write(m + x, k + 0.16, frames.waiting[cycle, k, m], ring=COLOURS["pink"])
    for k, m in each(frames.down_valid):
        value = frames.down[cycle, k, m]
        if outputs:
            write(m + 0.25, k + 0.82, value, ring=COLOURS["pink"])
            continue
        ax.add_patch(Rectangle((m + 0.05, k + 0.62), 0.9, 0.34, fc=colour_of(value), lw=0))
        write(m + 0.5, k + 0.8, value)
    for k, m in each(frames.across_valid):
        write(m + 0.68, k + 0.4, frames.across[cycle, k, m], ring=COLOURS["green"])
    for entry, row, value in frames.left_queue:
        if 1 <= entry - cycle <= 3:
            write(0.68 - (entry - cycle), row + 0.4, value, ring=COLOURS["green"],
                  alpha=1.15 - 0.25 * (entry - cycle))  # fmt: skip
    ax.set(xlim=(-3, columns), ylim=(rows + 0.02, 0), aspect="equal")
    ax.vlines(range(columns + 1), 0, rows, color=ink("grid"), lw=0.6)
    ax.hlines(range(rows + 1), 0, columns, color=ink("grid"), lw=0.6)


def _draw_matrices(ax, frames, cycle, operands):
    """Draw W and X, and under them dst as far as it has left the array."""
    w, x = (np.asarray(o) for o in operands)
    k_all, m_all, n_all = frames.shape
    dst, seen = np.zeros((m_all, n_all), np.float32), np.zeros((m_all, n_all), bool)
    for t, _, m, n, value in frames.results:
        if t <= cycle:
            dst[m, n], seen[m, n] = dst[m, n] + value, True
    _, _, colour_of = _shades(frames)
    below = k_all + 2
    for name, values, left, top in (
        ("W [K, M]", w, 0, 1), ("X [K, N]", x, m_all + 1, 1),
        ("dst = Wᵀ X [M, N]", dst, 0, below + 1),
    ):  # fmt: skip
        ax.text(left, top - 0.25, name, weight="bold", size=9, va="bottom")
        high, wide = values.shape
        for (i, j), value in np.ndenumerate(values):
            there = values is not dst or seen[i, j]
            if values is dst and there:
                ax.add_patch(Rectangle((left + j, top + i), 1, 1, fc=colour_of(value), lw=0))
            ax.text(left + j + 0.5, top + i + 0.5, _said(value) if there else "·", size=8,
                    ha="center", va="center", color=ink())  # fmt: skip
        ax.add_patch(Rectangle((left, top), wide, high, fill=False, ec=ink("grid")))
    ax.set(xlim=(-0.1, m_all + n_all + 1.1), ylim=(below + 1.1 + m_all, 0), aspect="equal")
    ax.axis("off")


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
):  # fmt: skip
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
        ("load", load_cycles(m, array), "pink"), ("feed", n, "green"),
        ("fall", array.rows - 1, "orange"), ("skew", m - 1, "blue"),
    )  # fmt: skip
    fig = figure(7.4, 1.9, margins=(0.5, 0.35, 0.5, 0.42))
    ax = fig.subplots()
    left = 0
    for name, cycles, colour in parts:
        ax.barh(0, cycles, 0.6, left, color=COLOURS[colour], edgecolor=ink("paper"))
        ax.text(left + cycles / 2, 0.38, f"{name} {cycles}", ha="center", va="bottom")
        left += cycles
    ax.text(left, 0, f" {left:,}", va="center", weight="bold")
    most = left
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
            *(ax.plot(n, 100 * here[name], "o", color=colour, ms=7)[0]
              for name, (colour, *_) in _REUSE_LOOKS.items()),
            ax.text(0, 1.02, f"N = {n}", transform=ax.transAxes, weight="bold", size=11),
        ]  # fmt: skip

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
    ax.set(xlim=(1, 530), ylim=(0, 104), xlabel="N, moving vectors per tile",
           ylabel="utilisation, %")  # fmt: skip
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
def plot_dataflows(
    shapes: Sequence[tuple[str, int, int, int]], *, array: SystolicArray = TRN1_ARRAY
):
    """Draw cycles and traffic of the three dataflows for some products.

    Parameters
    ----------
    shapes : list of (label, K, M, N)
    array : SystolicArray

    Returns
    -------
    Figure
    """
    fig = figure(8.4, 3.3)
    for ax, what in zip(fig.subplots(1, 2), ("cycles", "elements across the edge"), strict=True):
        for i, flow in enumerate(Dataflow):
            counts = [
                dataflow_cycles(flow, k, m, n, array)
                if what == "cycles"
                else dataflow_traffic(flow, k, m, n, array).total
                for _, k, m, n in shapes
            ]
            best = [
                min(
                    dataflow_cycles(f, k, m, n, array)
                    if what == "cycles"
                    else dataflow_traffic(f, k, m, n, array).total
                    for f in Dataflow
                )
                for _, k, m, n in shapes
            ]
            ax.bar(np.arange(len(shapes)) + (i - 1) * 0.27, np.array(counts) / best, 0.25,
                   color=_FLOW_COLOURS[flow], hatch=("", "//", "..")[i], edgecolor=ink("paper"),
                   label=str(flow))  # fmt: skip
        ax.set_xticks(range(len(shapes)), [label for label, *_ in shapes])
        ax.set_title(f"{what}, relative to the best")
        ax.axhline(1, color=ink("muted"), lw=0.8)
        ax.grid(axis="x", visible=False)
    ax.legend(fontsize=9)
    return fig


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


@checked
def plot_journey(steps: Sequence[Step], *, rows: int):
    """Draw one result's way down: stage against cycle.

    Parameters
    ----------
    steps : list of Step
        ``run.journey(m, n)``.
    rows : int
        Of the array.

    Returns
    -------
    Figure
    """
    fig = figure(7.2, 3.2)
    ax = fig.subplots()
    stages = {"multiply-add": COLOURS["green"], "pass": COLOURS["grey"], "PSUM": COLOURS["blue"]}
    for name, colour in stages.items():
        chosen = [s for s in steps if s.stage == name]
        if chosen:
            ys = [s.row if s.row >= 0 else rows for s in chosen]
            ax.scatter([s.cycle for s in chosen], ys, s=90, marker="s", color=colour, label=name)
    ax.invert_yaxis()
    ax.set_yticks([*range(rows), rows], [*(f"row {r}" for r in range(rows)), "PSUM"])
    ax.set(xlabel="cycle")
    ax.legend(fontsize=9)
    return fig
