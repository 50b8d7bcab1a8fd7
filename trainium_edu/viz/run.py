"""Pictures of one run: its steps in the order in which they ran, and the engines in one step."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.chart import Chart, round_steps
from trainium_edu.viz.colours import COLOURS, STEP, looks
from trainium_edu.viz.scene import Scene, linear
from trainium_edu.viz.units import time_unit

__all__ = ["engines_scene", "losses_scene", "steps_scene"]

_LEFT, _TOP, _LANE, _RIGHT = 112.0, 30.0, 22.0, 64.0  # CSS pixels
_MOST_POINTS = 600  #: of a curve; more are drawn as the range of several
_EVENTS = looks("event")


@checked
def steps_scene(steps: Mapping, band: tuple[float, float], width: float = 860.0) -> Scene:
    """Draw how long each step took, and below it where graphs were new or broke.

    Parameters
    ----------
    steps : mapping
        ``number`` and ``ns`` of marked steps; (number, line of the script) of steps with
        ``new_graphs``, ``early_runs``, ``fall_backs``.
    band : (low, high)
        The ns between which the facts leave a step.
    width : float
        In CSS pixels.

    Returns
    -------
    Scene
    """
    numbers, ns = (np.array(steps[key], float) for key in ("number", "ns"))
    lanes = {name: look for name, look in _EVENTS.items() if steps.get(name)}
    unit, scale = time_unit(max(ns.max(), 1.0))
    high, tall = max(ns.max(), band[1], 1e-9) / scale * 1.08, 180.0
    below = _TOP + tall + 52
    marked = [number for name in lanes for number, _ in steps[name]]
    ends = min([numbers[0], *marked]) - 0.5, max([numbers[-1], *marked]) + 0.5
    scene = Scene(width, below + _LANE * len(lanes) + 6)
    chart = _numbered(scene, "step", tall, ends, (0.0, high), unit)
    low, top = (np.full(2, end / scale) for end in band)
    if band[1] > band[0]:
        look = {"opacity": 0.13, "words": "what the facts leave open"}
        chart.band(np.array(ends), low, top, COLOURS["blue"], **look)
    at, middle = _draw_series(chart, numbers, ns / scale, "time of each step")
    if len(at) <= 60:
        chart.dots(at, middle, COLOURS["blue"], size=5)
    for row, (name, (colour, words)) in enumerate(lanes.items()):
        y = below + _LANE * row
        xs, _ = chart.place(np.array([number for number, _ in steps[name]], float), 0.0)
        scene.line(_LEFT, y + 8, width - _RIGHT, y + 8, "grid", width=0.7)
        scene.ticks(xs, y + 1, y + 15, colour, width=2.5)
        scene.text(_LEFT - 8, y + 12, words, anchor="end", colour="muted", size=11)
        count = len({number for number, _ in steps[name]})
        many = f"{count} step{'s' * (count > 1)}"
        scene.text(width - _RIGHT + 6, y + 12, many, colour="muted", size=11)
        _lines(scene, [(x, line) for x, (_, line) in zip(xs, steps[name], strict=True)], y + 12)
    least, middle, most = (f"{f(ns) / scale:.4g}" for f in (np.min, np.median, np.max))
    told = [f"Time of {len(ns)} steps: from {least} to {most} {unit}, median {middle} {unit}"]
    for name, (_, words) in lanes.items():
        number, line = steps[name][0]
        told.append(f"{words} first in step {number}, {line or 'no line'}")
    scene.alt = "; ".join(told) + "." * (len(told) > 1)
    return scene


def _lines(scene: Scene, places, y: float) -> None:
    """Write each line of the script once, beside its first mark, where there is room."""
    known, free = {""}, 0.0
    for (x, line), (after, _) in pairwise([*places, (scene.width - _RIGHT, "")]):
        wide = 5.8 * len(line) + 12
        if line not in known and x >= free and x + wide <= after:
            scene.text(x + 6, y, line, colour="muted", size=10)
            known.add(line)
            free = x + wide


def _numbered(scene, what, tall, ends, y, unit="") -> Chart:
    """Draw the axes of something that is numbered."""
    chart = Chart(scene, (_LEFT, _TOP, scene.width - _LEFT - _RIGHT, tall), ends, y)
    whole = [n for n in round_steps(ends[0], ends[1], 8) if n == int(n)]
    steps = round_steps(y[0], y[1], round(tall / 35))
    chart.axes("", f"number of the {what}", whole, steps, unit=unit)
    return chart


def _draw_series(chart, numbers, values, words):
    """Draw values in order, several together where there are many; return places and middles."""
    groups = np.array_split(np.arange(len(values)), min(len(values), _MOST_POINTS))
    at = np.array([numbers[g].mean() for g in groups])
    least, middle, most = (
        np.array([f(values[g]) for g in groups]) for f in (np.min, np.median, np.max)
    )
    if (most > least).any():
        chart.band(at, least, most, COLOURS["blue"], words="from the least to the most")
    if len(at) > 1:
        chart.curve(at, middle, COLOURS["blue"], words=words, width=1.8)
    return at, middle


@checked
def engines_scene(profile: Mapping, shares: Mapping, step_ns: float, width: float = 860.0) -> Scene:
    """Draw when each engine works in one step, a lane for each.

    Parameters
    ----------
    profile : mapping of str to sequence of float
        Engine → the share of each of as many equal parts of the step in which it works.
    shares : mapping of str to float
        Of the whole step, written beside.
    step_ns, width : float

    Returns
    -------
    Scene
    """
    unit, scale = time_unit(step_ns)
    lane = 40.0
    scene = Scene(width, _TOP / 2 + lane * len(profile) + 46)
    end = width - _RIGHT
    to_x = linear(0, step_ns / scale, _LEFT, end)
    bottom = _TOP / 2 + lane * len(profile)
    told: dict[str, str] = {}
    for row, (name, parts) in enumerate(profile.items()):
        base = _TOP / 2 + lane * (row + 1) - 6
        edges = np.repeat(np.linspace(_LEFT, end, len(parts) + 1), 2)
        ys = base - (lane - 10) * np.concatenate([[0.0], np.repeat(parts, 2), [0.0]])
        colour = STEP.get(name, COLOURS["grey"])
        told[name] = f"{shares.get(name, np.mean(parts)):.1%}"
        scene.line(_LEFT, base - lane + 10, end, base - lane + 10, "grid", width=0.6)
        scene.area(edges, ys, colour, opacity=0.85, words=f"{name}: {told[name]} of the step")
        scene.line(_LEFT, base, end, base, "muted", width=0.8)
        scene.text(_LEFT - 8, base - 9, name, anchor="end", size=12)
        scene.text(end + 6, base - 9, told[name], size=12)
    ticks = round_steps(0, step_ns / scale, 8)
    scene.axis(to_x, ticks, bottom, label=f"{unit} from the step's beginning")
    said = ", ".join(map(" ".join, told.items()))
    scene.alt = f"Share of the step in which each engine works: {said}."
    return scene


@checked
def losses_scene(losses: Sequence, width: float = 860.0) -> Scene:
    """Draw the losses that a run noted, in order; those that are no numbers are left out.

    Parameters
    ----------
    losses : sequence of float
    width : float

    Returns
    -------
    Scene
    """
    values = np.array([one if isinstance(one, int | float) else np.nan for one in losses], float)
    seen = values[np.isfinite(values)]
    low, high = min(0.0, seen.min()), max(seen.max(), 1e-9) * 1.05
    first, last, least = (f"{loss:.4g}" for loss in (seen[0], seen[-1], seen.min()))
    words = f"{len(losses)} losses: from {first} to {last}, the smallest {least}."
    scene = Scene(width, _TOP + 140 + 52, words)
    ends = (-0.5, len(values) - 0.5)
    chart = _numbered(scene, "loss", 140.0, ends, (low, high))
    _draw_series(chart, np.flatnonzero(np.isfinite(values)), seen, "loss")
    return scene
