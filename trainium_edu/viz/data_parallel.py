"""Pictures of training on many ranks: one step in time, scaling, memory, the input pipeline."""

from collections.abc import Sequence

import numpy as np

from trainium_edu.specs.signatures import checked
from trainium_edu.viz import style
from trainium_edu.viz.step_frames import HOST, exposed, on_tracks
from trainium_edu.viz.units import size_text, time_text
from trainium_edu.xla.executable.tracks import ENGINES, LINKS

__all__ = ["plot_memory", "plot_scaling", "plot_step"]

_TRACK = {ENGINES: style.COLOURS["blue"], LINKS: style.COLOURS["orange"],
          HOST: style.COLOURS["grey"]}  # fmt: skip
_EXPOSED = style.COLOURS["red"]
_HIGH = 0.72  # of a lane
_PARTS = ("blue", "orange", "green", "pink", "sky", "yellow", "grey")


def plot_step(on, off):
    """Draw one step with sums beside the backward pass, and below it with sums alone.

    Parameters
    ----------
    on, off : training.StepReport
        With overlap, and without; of each, ``spans``, ``step_ns`` and ``exposed_ns``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 3.9, margins=(0.95, 0.25, 0.5, 0.35))
    axes = fig.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.55})
    end = max(on.step_ns, off.step_ns)
    for ax, report, how in zip(axes, (on, off), ("with overlap", "without overlap"), strict=True):
        _draw_lanes(ax, on_tracks(report.spans.spans), (ENGINES, LINKS, HOST))
        for start, stop in exposed(report.spans.spans):
            ax.broken_barh([(start / 1e3, (stop - start) / 1e3)], (1.42, 0.14), color=_EXPOSED)
        ax.axvline(report.step_ns / 1e3, color=style.ink("muted"), linewidth=1.2)
        ax.set_title(f"{how}: {time_text(report.step_ns)} per step, "
                     f"{time_text(report.exposed_ns)} of communication exposed")  # fmt: skip
        ax.set_xlim(0, 1.02 * end / 1e3)
    axes[1].set_xlabel("µs (red: only links work)")
    return fig


def _draw_lanes(ax, spans, tracks):
    """Draw spans as boxes, a lane for each track that there is."""
    there = [track for track in tracks if any(span.track == track for span in spans)]
    for row, track in enumerate(there):
        boxes = [(s.start_ns / 1e3, s.duration_ns / 1e3) for s in spans if s.track == track]
        ax.broken_barh(boxes, (row - _HIGH / 2, _HIGH), color=_TRACK.get(track, _TRACK[ENGINES]),
                       edgecolor=style.ink("paper"), linewidth=0.6, label=track)  # fmt: skip
    ax.set_yticks(range(len(there)), there)
    ax.set_ylim(len(there) - 0.4, -0.5)
    ax.grid(axis="y", visible=False)


@checked
def plot_scaling(weak: Sequence, strong: Sequence):
    """Draw by how much more ranks train faster, and what share of each is used.

    Parameters
    ----------
    weak, strong : sequence of (ranks, samples_per_s, low, high)
        As much work for every rank, and the same work shared out; `low` and `high` bound the rate.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 3.5, margins=(0.65, 0.2, 0.55, 0.4))
    speed, share = fig.subplots(1, 2, gridspec_kw={"wspace": 0.25})
    ranks = sorted({point[0] for kind in (weak, strong) for point in kind})
    looks = (("weak: as much per rank", weak, "blue", "o"),
             ("strong: the same, shared out", strong, "orange", "s"))  # fmt: skip
    for name, points, colour, marker in looks:
        if not len(points):
            continue
        n, *rates = np.array(sorted(points), float).T
        one = rates[0][0] / n[0]  # of one rank, as in the smallest group
        middle, low, high = (rate / one for rate in rates)
        for ax, over in ((speed, 1.0), (share, n / 100)):
            ax.fill_between(n, low / over, high / over, color=style.COLOURS[colour], alpha=0.18,
                            linewidth=0)  # fmt: skip
            ax.plot(n, middle / over, color=style.COLOURS[colour], marker=marker, markersize=4.5,
                    label=name)  # fmt: skip
    speed.plot(ranks, ranks, color=style.ink("muted"), linestyle=(0, (4, 3)), label="ideal")
    share.axhline(100, color=style.ink("muted"), linestyle=(0, (4, 3)))
    speed.set(title="Speed-up", yscale="log", ylabel="times the samples/s of one rank")
    share.set(title="Efficiency", ylabel="% of the ideal speed-up", ylim=(0, None))
    for ax in (speed, share):
        ax.set_xscale("log", base=2)
        ax.set_xticks(ranks, [f"{n:g}" for n in ranks])
        ax.minorticks_off()
        ax.set_xlabel("ranks")
    ticks = [2**k for k in range(0, int(max(ranks)).bit_length() + 1, 2)]
    speed.set_yticks(ticks, [str(t) for t in ticks])
    speed.minorticks_off()
    speed.legend(loc="upper left", fontsize=9)
    return fig


@checked
def plot_memory(rows: Sequence, limit_bytes: float | None = None):
    """Draw what one NeuronCore holds, part by part.

    Parameters
    ----------
    rows : sequence of (str, dict of str to int)
        A name, and the bytes of each part: "weights", "optimiser state", ...
    limit_bytes : float, optional
        What a NeuronCore can hold; a line where it is near, else a sentence.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 0.5 * len(rows) + 1.5, margins=(1.6, 0.8, 0.55, 0.75))
    ax = fig.subplots()
    parts = list(dict.fromkeys(part for _, held in rows for part in held))
    begins = np.zeros(len(rows))
    totals = np.array([sum(held.values()) for _, held in rows], float)
    unit, scale = _unit(totals.max(initial=1.0))
    for part, colour in zip(parts, _PARTS, strict=False):
        held = np.array([of.get(part, 0) for _, of in rows], float)
        look = {"color": style.COLOURS[colour], "edgecolor": style.ink("paper"), "linewidth": 0.8}
        ax.barh(range(len(rows)), held / scale, 0.62, left=begins / scale, label=part, **look)
        begins += held
    for row, total in enumerate(totals):
        ax.text(total / scale, row, f" {size_text(total)}", va="center")
    ax.set_yticks(range(len(rows)), [name for name, _ in rows])
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(f"{unit} per NeuronCore")
    ax.set_xlim(0, 1.12 * totals.max(initial=1.0) / scale)
    if limit_bytes is not None:
        _draw_limit(ax, limit_bytes, totals.max(initial=1.0), scale)
    fig.legend(loc="upper left", ncols=len(parts), fontsize=9, bbox_to_anchor=(0.01, 1.0))
    return fig


def _unit(nbytes: float) -> tuple[str, float]:
    """Return the unit in which a number of bytes is written, and its size."""
    return next(
        (pair for pair in (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10)) if
         nbytes >= pair[1]), ("bytes", 1.0),
    )  # fmt: skip


def _draw_limit(ax, limit, most, scale):
    """Mark what a NeuronCore can hold, if that is in sight."""
    if limit < 3 * most:
        ax.axvline(limit / scale, color=_EXPOSED, linestyle=(0, (4, 3)))
        ax.set_xlim(0, 1.12 * max(limit, most) / scale)
        words, at = f"{size_text(limit)} is all there is ", limit / scale
        ax.text(at, -0.46, words, color=_EXPOSED, ha="right", fontsize=9)
    else:
        ax.set_title(f"a NeuronCore has {size_text(limit)}: {limit / most:,.0f} times the longest "
                     "bar", fontsize=9, weight="normal")  # fmt: skip
