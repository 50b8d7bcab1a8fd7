"""Pictures of training on many ranks: one step in time, scaling, memory, the input pipeline."""

from collections.abc import Mapping

import numpy as np

from trainium_edu.specs.signatures import checked
from trainium_edu.training.digits_on_ranks import in_us, step_table
from trainium_edu.viz import style
from trainium_edu.viz.chart import plain_ticks
from trainium_edu.viz.colours import MEMORY
from trainium_edu.viz.core_trace import steps as changes
from trainium_edu.viz.numbers import Numbers
from trainium_edu.viz.scene import Scene, linear
from trainium_edu.viz.step_frames import HOST, exposed, on_tracks
from trainium_edu.viz.units import size_text, size_unit
from trainium_edu.xla.executable.tracks import ENGINES, LINKS

__all__ = ["memory_bars", "plot_pipeline", "step_bars", "step_scene"]

_LANES = {ENGINES: "engines", LINKS: "links", HOST: "host"}
_TRACK = {ENGINES: style.COLOURS["blue"], LINKS: style.COLOURS["pink"],
          HOST: style.COLOURS["grey"]}  # fmt: skip
_TRACK |= {"chips": style.COLOURS["blue"], "storage": style.COLOURS["grey"]}
_FETCHING = style.COLOURS["sky"]  # a worker
_EXPOSED = style.COLOURS["red"]
_HIGH = 0.72  # of a lane
_PARTS = {part: colour for part, colour in MEMORY.items() if part != "buffers"}
_LABEL = {"master": "FP32 weights", "states": "optimiser's state"}


@checked
def step_scene(reports: Mapping, *, width: float = 740.0, end_ns: float = 0.0) -> Scene:
    """Draw steps on one axis of time: engines, links, and in red where only links work.

    Parameters
    ----------
    reports : dict of str to StepReport
        Of each, ``spans``, ``step_ns`` and ``exposed_ns``.
    width : float
        In CSS pixels.
    end_ns : float
        Where the axis ends, if a step does not need more.

    Returns
    -------
    Scene
    """
    told = [f"{name}: {in_us(r.step_ns)} a step, {in_us(r.exposed_ns)} exposed"
            for name, r in reports.items()]  # fmt: skip
    scene, y = Scene(width, 1, "; ".join(told)), 8.0
    end = max(end_ns, *(1.02 * r.step_ns for r in reports.values()))
    to_x = linear(0, end / 1e3, 76, width - 24)
    for words, report in zip(told, reports.values(), strict=True):
        scene.text(4, y + 12, words, bold=True, size=13)
        spans, stop = on_tracks(report.spans.spans), to_x(report.step_ns / 1e3)
        for track in dict.fromkeys(t for t in _LANES for s in spans if s.track == t):
            y += 26
            scene.text(70, y + 11, _LANES[track], anchor="end")
            boxes = [(s.start_ns, s.end_ns, _TRACK[track], 18) for s in spans if s.track == track]
            if track == LINKS:
                boxes += [(*ns, _EXPOSED, 7) for ns in exposed(spans)]
            for start, until, colour, tall in boxes:
                left, right = to_x(start / 1e3), to_x(until / 1e3)
                scene.rect(left, y - 3, max(right - left - 0.5, 0.5), tall, colour)
        scene.line(stop, y - 32, stop, y + 19, "ink", width=1.6)
        y += 28
    scene.axis(to_x, plain_ticks(0, end / 1e3, 8), y, label="µs (red: only links work)")
    scene.height = y + 44
    return scene


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
    for row, track in enumerate(tracks):
        boxes = [(s.start_ns / 1e6, s.duration_ns / 1e6) for s in spans if s.track == track]
        fill = _TRACK.get(track, _FETCHING)  # reads are too short for an edge of another colour
        edge = fill if track == "storage" else style.ink("paper")
        lanes.broken_barh(boxes, (row - _HIGH / 2, _HIGH), color=fill, edgecolor=edge,
                          linewidth=0.6, label=track)  # fmt: skip
    lanes.set_yticks(range(len(tracks)), tracks)
    lanes.set_ylim(len(tracks) - 0.4, -0.5)
    lanes.grid(axis="y", visible=False)
    waits = zip(used, pipeline.wait_ns, strict=False)
    gaps = [((span.start_ns - wait) / 1e6, wait / 1e6) for span, wait in waits if wait]
    lanes.broken_barh(gaps, (len(tracks) - 1.2, 0.4), color=_EXPOSED)
    share = pipeline.steady_wait_ns / (pipeline.step_ns + pipeline.steady_wait_ns)
    lanes.set_title(f"{pipeline.samples_per_s:,.0f} samples/s; the chips wait {share:.0%} of the "
                    f"time (red); the pace is set by: {pipeline.binds}")  # fmt: skip
    lying = np.array([(s.start_ns, s.end_ns) for s in line.on("ready")], float).reshape(-1, 2)
    moments, depth = (np.append(0.0, one) for one in changes(*lying.T))
    ready.step(moments / 1e6, depth, where="post", color=style.COLOURS["green"])
    ready.fill_between(moments / 1e6, depth, step="post", color=style.COLOURS["green"], alpha=0.25)
    ready.set(xlabel="ms; batches of rank 0", ylabel="ready", xlim=(0, end / 1e6), ylim=(0, None))
    ready.yaxis.get_major_locator().set_params(integer=True)
    return fig


_MOST_WORKERS = 8


@checked
def memory_bars(held: Mapping) -> Numbers:
    """Return what one NeuronCore holds as bars, part by part.

    Parameters
    ----------
    held : dict of str to training.Memory
    """
    most, limit = max(m.total for m in held.values()), min(m.available for m in held.values())
    unit, scale = size_unit(most)
    bars = {
        name: {_LABEL.get(p, p): getattr(memory, p) / scale for p in _PARTS if getattr(memory, p)}
        for name, memory in held.items()
    }
    table = "\n".join(f"{name:10}{size_text(memory.total):>12}" for name, memory in held.items())
    room = f"a NeuronCore has {size_text(limit)}, {limit / most:,.3g} times the longest bar"
    return Numbers(f"{table}\n{room}", f"In {unit}; {room}", bars)


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
            **({"waits for the slow rank": r.straggler_ns / 1e3} if r.straggler_ns else {}),
        }
        for name, r in reports.items()
    }
    return Numbers(step_table(reports), "A step, in µs", parts, under="hidden sums")
