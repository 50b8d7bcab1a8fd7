"""Pictures of training on many ranks: one step in time, scaling, memory, the input pipeline."""

from collections.abc import Mapping

import numpy as np

from trainium_edu.neuroncore.timing.timeline import levels
from trainium_edu.specs.signatures import checked
from trainium_edu.training.digits_on_ranks import in_us, step_table
from trainium_edu.viz.chart import Chart, round_steps
from trainium_edu.viz.colours import COLOURS, MEMORY, TABLES
from trainium_edu.viz.numbers import Numbers
from trainium_edu.viz.scene import Scene, linear
from trainium_edu.viz.step_frames import HOST, exposed, on_tracks
from trainium_edu.viz.units import size_text, size_unit
from trainium_edu.xla.executable.tracks import ENGINES, LINKS

__all__ = ["draw_pipeline", "memory_bars", "step_bars", "step_scene"]

_LANES = {ENGINES: "engines", LINKS: "links", HOST: "host"}
_COLOUR = {lane: COLOURS[name] for lane, name in TABLES["lane"].items()}
_FETCHING = COLOURS["sky"]  # a worker
_EXPOSED = COLOURS["red"]
_READY = COLOURS["green"]
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
    told = []
    for name, r in reports.items():
        told.append(f"{name}: {in_us(r.step_ns)} a step, {in_us(r.exposed_ns)} exposed")
    scene, y = Scene(width, 1, "; ".join(told)), 8.0
    end = max(end_ns, *(1.02 * r.step_ns for r in reports.values()))
    to_x = linear(0, end / 1e3, 76, width - 24)
    for words, report in zip(told, reports.values(), strict=True):
        scene.text(4, y + 12, words, bold=True, size=13)
        spans, stop = on_tracks(report.spans.spans), to_x(report.step_ns / 1e3)
        for track in dict.fromkeys(t for t in _LANES for s in spans if s.track == t):
            y += 26
            scene.text(70, y + 11, _LANES[track], anchor="end")
            colour = _COLOUR[_LANES[track]]
            boxes = [(s.start_ns, s.end_ns, colour, 18) for s in spans if s.track == track]
            if track == LINKS:
                boxes += [(*ns, _EXPOSED, 7) for ns in exposed(spans)]
            _draw_boxes(scene, y - 3, boxes, lambda ns: to_x(ns / 1e3))
        scene.line(stop, y - 32, stop, y + 19, "ink", width=1.6)
        y += 28
    scene.axis(to_x, round_steps(0, end / 1e3, 8), y, label="µs (red: only links work)")
    scene.height = y + 44
    return scene


def _draw_boxes(scene, y, boxes, to_x):
    """Draw boxes of (start, end, colour, height) with a gap behind each; `to_x` takes ns."""
    for start, end, colour, tall in boxes:
        left, right = to_x(start), to_x(end)
        scene.rect(left, y, max(right - left - 0.5, 0.5), tall, colour)


def draw_pipeline(pipeline, *, steps: int = 12, width: float = 890.0) -> Scene:
    """Draw where the first batches are: read, decoded, ready, used; and when the chips wait.

    Parameters
    ----------
    pipeline : training.Pipeline
    steps : int
        How many of its steps to draw.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    line = pipeline.timeline
    workers = sorted((t for t in line.tracks if t.startswith("worker")), key=lambda t: int(t[7:]))
    used = line.on("chips")[:steps]
    end = used[-1].end_ns
    tracks = ["storage", *workers[:_MOST_WORKERS], "chips"]
    scene, top = Scene(width, 192 + 24 * len(tracks)), 44
    share = pipeline.steady_wait_ns / (pipeline.step_ns + pipeline.steady_wait_ns)
    pace = f"{pipeline.samples_per_s:,.0f} samples/s"
    scene.text(4, 16, f"{pace}; the chips wait {share:.0%} of the time (red)", bold=True, size=13)
    scene.text(4, 34, f"the pace is set by: {pipeline.binds}")
    lying = np.array([(s.start_ns, s.end_ns) for s in line.on("ready")], float).reshape(-1, 2)
    moments, depth = (np.append(0, one) for one in levels(*lying.T))
    most = max(1, depth.max())
    chart = Chart(scene, (76, 80 + 24 * len(tracks), width - 92, 60), (0, end / 1e6), (0, most))
    for row, track in enumerate(tracks):
        y = top + 24 * row
        scene.text(70, y + 13, track, anchor="end")
        shown, colour = (
            (s for s in line.on(track) if s.start_ns < end),
            _COLOUR.get(track, _FETCHING),
        )
        boxes = [(s.start_ns, s.end_ns, colour, 18) for s in shown]
        if track == "chips":
            waits = zip(used, pipeline.wait_ns, strict=False)
            boxes += [(s.start_ns - wait, s.start_ns, _EXPOSED, 7) for s, wait in waits if wait]
        _draw_boxes(scene, y, boxes, lambda ns: chart.to_x(ns / 1e6))
    counts = range(0, most + 1, 1 + most // 4)
    chart.axes("Batches that are ready", "ms; batches of rank 0", None, counts)
    at, high = np.repeat(np.append(moments, end), 2)[1:-1] / 1e6, np.repeat(depth, 2)
    chart.band(at, 0 * high, high, _READY, opacity=0.25, words="")
    chart.curve(at, high, _READY, words="ready")
    return scene


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
