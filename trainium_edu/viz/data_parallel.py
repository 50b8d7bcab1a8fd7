"""Pictures of training on many ranks: one step in time, scaling, memory, the input pipeline."""

from collections.abc import Mapping, Sequence

import numpy as np

from trainium_edu.specs.signatures import checked
from trainium_edu.training.digits_on_ranks import step_table
from trainium_edu.viz import style
from trainium_edu.viz.colours import MEMORY
from trainium_edu.viz.numbers import Numbers
from trainium_edu.viz.step_frames import HOST, exposed, on_tracks
from trainium_edu.viz.units import size_text, time_text
from trainium_edu.xla.executable.tracks import ENGINES, LINKS

__all__ = ["plot_memory", "plot_pipeline", "plot_scaling", "plot_step", "step_bars"]

_TRACK = {ENGINES: style.COLOURS["blue"], LINKS: style.COLOURS["pink"],
          HOST: style.COLOURS["grey"]}  # fmt: skip
_TRACK |= {"chips": style.COLOURS["blue"], "storage": style.COLOURS["grey"]}
_FETCHING = style.COLOURS["sky"]  # a worker
_EXPOSED = style.COLOURS["red"]
_HIGH = 0.72  # of a lane
_PARTS = {part: colour for part, colour in MEMORY.items() if part != "buffers"}
_LABEL = {"master": "FP32 weights", "states": "optimiser's state"}
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("bytes", 1))


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


def _draw_lanes(ax, spans, tracks, unit=1e3):
    """Draw spans as boxes, a lane for each track that there is."""
    there = [track for track in tracks if any(span.track == track for span in spans)]
    for row, track in enumerate(there):
        boxes = [(s.start_ns / unit, s.duration_ns / unit) for s in spans if s.track == track]
        fill = _TRACK.get(track, _FETCHING)  # reads are too short for an edge of another colour
        edge = fill if track == "storage" else style.ink("paper")
        ax.broken_barh(boxes, (row - _HIGH / 2, _HIGH), color=fill, edgecolor=edge, linewidth=0.6,
                       label=track)  # fmt: skip
    ax.set_yticks(range(len(there)), there)
    ax.set_ylim(len(there) - 0.4, -0.5)
    ax.grid(axis="y", visible=False)


def plot_pipeline(pipeline, *, steps: int = 12):
    """Draw where the first batches are: read, decoded, ready, used; and when the chips wait.

    Parameters
    ----------
    pipeline : training.Pipeline
    steps : int
        How many of its steps to draw.

    Returns
    -------
    matplotlib.figure.Figure
    """
    line = pipeline.timeline
    workers = sorted((t for t in line.tracks if t.startswith("worker")), key=lambda t: int(t[7:]))
    used = line.on("chips")[:steps]
    end = used[-1].end_ns
    spans = [span for span in line.spans if span.start_ns < end]
    tracks = ["storage", *workers[:_MOST_WORKERS], "chips"]
    fig = style.figure(9, 2.0 + 0.3 * len(tracks), margins=(0.95, 0.25, 0.5, 0.35))
    lanes, ready = fig.subplots(2, 1, sharex=True, gridspec_kw={
        "hspace": 0.12, "height_ratios": [len(tracks), 2]})  # fmt: skip
    _draw_lanes(lanes, spans, tracks, 1e6)
    waits = zip(used, pipeline.wait_ns, strict=False)
    gaps = [((span.start_ns - wait) / 1e6, wait / 1e6) for span, wait in waits if wait]
    lanes.broken_barh(gaps, (len(tracks) - 1.2, 0.4), color=_EXPOSED)
    share = pipeline.steady_wait_ns / (pipeline.step_ns + pipeline.steady_wait_ns)
    lanes.set_title(f"{pipeline.samples_per_s:,.0f} samples/s; the chips wait {share:.0%} of the "
                    f"time (red); the pace is set by: {pipeline.binds}")  # fmt: skip
    moments, depth = _depth(line.on("ready"))
    ready.step(moments / 1e6, depth, where="post", color=style.COLOURS["green"])
    ready.fill_between(moments / 1e6, depth, step="post", color=style.COLOURS["green"], alpha=0.25)
    ready.set(xlabel="ms; batches of rank 0", ylabel="ready", xlim=(0, end / 1e6), ylim=(0, None))
    ready.yaxis.get_major_locator().set_params(integer=True)
    return fig


_MOST_WORKERS = 8


def _depth(spans) -> tuple[np.ndarray, np.ndarray]:
    """Return when the number of batches that lie ready changes, and to how many."""
    come = [(span.start_ns, 1) for span in spans]
    go = [(span.end_ns, -1) for span in spans]
    moments, change = np.array(sorted([(0.0, 0), *come, *go]), float).T
    return moments, np.cumsum(change)


@checked
def plot_scaling(weak: Sequence, strong: Sequence):
    """Draw by how much more ranks train faster, and what share of each is used.

    Parameters
    ----------
    weak, strong : sequence of training.Point
        As much work for every rank, and the same work shared out.  A band compares steps with
        the facts at the same end.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 3.5, margins=(0.65, 0.2, 0.55, 0.4))
    speed, share = fig.subplots(1, 2, gridspec_kw={"wspace": 0.25})
    ranks = sorted({point.ranks for kind in (weak, strong) for point in kind})
    looks = (("weak: as much for every rank", weak, "blue", "o"),
             ("strong: the same, shared out", strong, "orange", "s"))  # fmt: skip
    for name, points, colour, marker in looks:
        if not points:
            continue
        n = np.array([point.ranks for point in points])
        rates = np.array([_rates(point.report) for point in points])
        rates *= n[0] / rates[0]  # facts at one end are there for all points
        for ax, over in ((speed, np.ones(len(n))), (share, n / 100)):
            middle, low, high = rates[:, 1] / over, rates.min(1) / over, rates.max(1) / over
            look = {"color": style.COLOURS[colour]}
            ax.fill_between(n, low, high, alpha=0.18, linewidth=0, **look)
            ax.plot(n, middle, marker=marker, markersize=4.5, label=name, **look)
    dashes = {"color": style.ink("muted"), "linestyle": (0, (4, 3))}
    speed.plot(ranks, ranks, label="ideal", **dashes)
    share.axhline(100, **dashes)
    ticks = [2**k for k in range(0, int(max(ranks)).bit_length() + 1, 2)]
    speed.set(title="Speed-up", yscale="log", ylabel="times the samples/s of one rank")
    speed.set_yticks(ticks, [str(tick) for tick in ticks])
    share.set(title="Efficiency", ylabel="% of the ideal speed-up", ylim=(0, None))
    for ax in (speed, share):
        ax.set_xscale("log", base=2)
        ax.set_xticks(ranks, [str(n) for n in ranks])
        ax.minorticks_off()
        ax.set_xlabel("ranks")
    speed.legend(loc="upper left", fontsize=9)
    return fig


def _rates(report) -> tuple[float, float, float]:
    """Return samples per second at the far end of a step's band, as modelled, and at the near."""
    band = report.band
    return tuple(report.samples / ns * 1e9 for ns in (band.high_ns, report.step_ns, band.low_ns))


@checked
def plot_memory(rows: Sequence):
    """Draw what one NeuronCore holds, part by part.

    Parameters
    ----------
    rows : sequence of (str, training.Memory)
        A name, and what is kept.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 0.5 * len(rows) + 1.5, margins=(1.6, 0.8, 0.55, 0.75))
    ax = fig.subplots()
    places = range(len(rows))
    totals = np.array([held.total for _, held in rows], float)
    most, limit = totals.max(), min(held.available for _, held in rows)
    unit, scale = next(pair for pair in _UNITS if most >= pair[1])
    begins = np.zeros(len(rows))
    for part, colour in _PARTS.items():
        bytes_ = np.array([getattr(held, part) for _, held in rows], float)
        if bytes_.any():
            label = _LABEL.get(part, part)
            ax.barh(places, bytes_ / scale, 0.62, left=begins / scale, label=label, color=colour,
                    edgecolor=style.ink("paper"))  # fmt: skip
        begins += bytes_
    for row, total in enumerate(totals):
        ax.text(total / scale, row, f" {size_text(total)}", va="center")
    ax.set_yticks(places, [name for name, _ in rows])
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set(xlabel=f"{unit} per NeuronCore", xlim=(0, 1.12 * most / scale))
    fig.legend(loc="upper left", ncols=len(_PARTS), fontsize=9, bbox_to_anchor=(0.01, 1.0))
    if limit < 3 * most:
        ax.axvline(limit / scale, color=_EXPOSED, linestyle=(0, (4, 3)))
        ax.set_xlim(0, 1.12 * max(limit, most) / scale)
        ax.text(limit / scale, -0.46, f"{size_text(limit)}, and no more ", color=_EXPOSED,
                ha="right", fontsize=9)  # fmt: skip
    else:
        times = f"a NeuronCore has {size_text(limit)}, {limit / most:,.0f} times the longest bar"
        ax.set_title(times, fontsize=9, weight="normal")
    return fig


@checked
def step_bars(reports: Mapping) -> Numbers:
    """Return steps as bars: what is computed, which sums hide behind it, and which show.

    Parameters
    ----------
    reports : dict of str to StepReport
    """
    parts = {
        str(name): {
            "compute": r.compute_ns / 1e3,
            "hidden sums": (r.communication_ns - r.exposed_ns) / 1e3,
            "exposed sums": r.exposed_ns / 1e3,
        }
        for name, r in reports.items()
    }
    return Numbers(step_table(reports), "A step, in µs", parts, under="hidden sums")
