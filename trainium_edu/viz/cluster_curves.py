"""Curves of a whole run: the wall of scaling, a claim and its range, what checkpoints cost."""

import numpy as np

from trainium_edu.viz.bars import colours_of
from trainium_edu.viz.chart import Chart, round_steps, two_boxes
from trainium_edu.viz.colours import COLOURS, VERDICT
from trainium_edu.viz.scene import Scene, linear
from trainium_edu.viz.units import time_text

__all__ = ["VERDICT", "draw_claim", "draw_interval", "draw_wall"]

_STRONG, _WEAK = COLOURS["orange"], COLOURS["blue"]
_MOMENTS = (
    (0.1, "6 s"),
    (1 / 6, "10 s"),
    (1, "1 min"),
    (10, "10 min"),
    (60, "1 h"),
    (360, "6 h"),
    (1440, "1 day"),
    (10080, "1 week"),
)
_ALLOWED, _COMPUTED = COLOURS["green"], COLOURS["blue"]


def draw_wall(chips, strong, weak, parts, at: float, wall: tuple, *, width=960.0) -> Scene:
    """Draw efficiency against chips, and what a step of strong scaling is made of.

    Parameters
    ----------
    chips : float[n]
    strong, weak : float[n]
        Efficiency, 1 for all of it; nan where there is none.
    parts : dict of str to float[n]
        Of the step of strong scaling, in any unit; nan where there is none.
    at : float
        Chips of the line that moves.
    wall : (chips, efficiency) or ()
        Where half of each chip is lost in strong scaling.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, first, second = two_boxes(width, 236.0)
    if second[1] > first[1]:  # one below the other: room for a key between them
        second = (second[0], second[1] + 48, *second[2:])
    ends = (float(chips[0]), float(chips[-1]))
    ticks = [(10.0**k, f"{10**k:,}") for k in range(7) if ends[0] <= 10**k <= ends[1]]
    chart = Chart(scene, first, ends, (0, 105), log="x")
    chart.axes("Efficiency, %", "chips", ticks, round_steps(0, 100))
    chart.series(chips, 100 * np.asarray(weak), _WEAK, "weak: work per chip stays", width=3)
    strong, words = 100 * np.asarray(strong), "strong: batch stays"
    chart.series(chips, strong, _STRONG, words, width=3, dash="dashed")
    if wall:
        chart.dots([wall[0]], [100 * wall[1]], COLOURS["red"], size=10)
        chart.said.append((f"the wall: {wall[0]:,.0f} chips", COLOURS["red"]))
    chart.key_below(chart.left - 40, 58)
    _draw_at(chart, at)

    total = np.sum(list(parts.values()), axis=0)
    there = np.isfinite(total)
    chart = Chart(scene, second, ends, (0, 100), log="x")
    chart.axes("Where a step goes, strong scaling, %", "chips", ticks, round_steps(0, 100))
    low = np.zeros(there.sum())
    chart.said += colours_of(parts).items()
    for (name, colour), values in zip(chart.said, parts.values(), strict=True):
        high = low + 100 * (np.asarray(values) / total)[there]
        chart.band(np.asarray(chips)[there], low, high, colour, opacity=0.85, words=name)
        low = high
    _draw_at(chart, at)
    chart.key_below(chart.left - 40, 58)
    return scene


def _draw_at(chart, x):
    """Draw an upright line through a chart."""
    at = chart.to_x(x)
    chart.scene.line(at, chart.top, at, chart.top + chart.height, "ink", width=1.6)


def draw_claim(claim, found, verdict: str, *, why="", ends=(), said=None, width=960.0) -> Scene:
    """Draw a claimed value against what its arithmetic gives, and stamp the verdict.

    Parameters
    ----------
    claim : cluster.court.Claim
        Its value ``claimed``; ``allowed``, what arithmetic may give for it to be right (infinite
        where all is); and how it writes a value in text, ``spell``, and at the axis, ``tick``.
    found : (low, now, high) or ()
        What inputs within their ranges give, and those that are set; () where one is missing.
    verdict : str
        A key of :data:`VERDICT`.
    why : str
        What stands beside the verdict if there is room.
    ends : sequence of float
        Values that the axis shows in any case.
    said : float, optional
        The learner's number; the middle of `found` is then the needle, else the arithmetic's.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, y, claimed, write = Scene(width, 1), 88.0, claim.claimed, claim.spell
    values = [claimed, *found, *filter(np.isfinite, (*claim.allowed, *ends))]
    room = 0.16 * (max(values) - min(values)) or 0.1 * abs(claimed) or 1.0
    first, last = min(values) - room, max(values) + room
    to_x = linear(first, last, 16, width - 24)
    colour, wide = VERDICT[verdict], 30 + 9.4 * len(verdict)
    scene.rect(12, 6, wide, 28, colour, opacity=0.25)
    scene.rect(12, 6, wide, 28, colour, outline=True)
    scene.text(12 + wide / 2, 25, verdict.upper(), anchor="middle", bold=True, size=14)
    if 24 + wide + 7 * len(why) < width:
        scene.text(24 + wide, 25, why, size=13)
    low, high = (to_x(v) for v in np.clip(claim.allowed, first, last))
    scene.rect(low, y - 20, max(high - low, 2), 40, _ALLOWED, opacity=0.35)
    x, words = to_x(claimed), f"claimed: {write(claimed)}"
    scene.line(x, y - 30, x, y + 20, "ink", width=3)
    scene.beside(x, y - 24, words, x < width / 2, off=6, bold=True)
    key: list[tuple] = [("what the claim allows", _ALLOWED, True)]
    if found:
        low, now, high = map(to_x, found)
        scene.rect(low, y - 10, max(high - low, 2), 20, _COMPUTED, opacity=0.45, glides=True)
        scene.rect(now - 4, y - 16, 8, 32, _COMPUTED, glides=True)
        needle = "arithmetic" if said is None else "needle"
        key = [(f"{needle}: {write(found[1])}", _COMPUTED), *key]
        if said is not None:
            scene.line(to_x(said), y - 20, to_x(said), y + 24, "ink", dashed=True)
            key.append((f"you: {write(said)}", "ink"))
        if high - low > 1:
            between = f"possible: {write(found[0])} to {write(found[2])}"
            key.insert(1, (between, _COMPUTED, True))
    scene.axis(to_x, [(v, claim.tick(v)) for v in round_steps(first, last)], y + 24)
    scene.line(16, y + 24, width - 24, y + 24)
    scene.height = 12 + scene.key(12, y + 70, key)
    return scene


def draw_interval(minutes, writing, lost, marks, at: float, *, width=960.0) -> Scene:
    """Draw the time that checkpoints and failures cost against the time between checkpoints.

    Parameters
    ----------
    minutes : float[n]
        Between two checkpoints.
    writing, lost : float[n]
        Shares of the time: spent on writing, and done again after a failure.
    marks : dict of str to (minutes, share)
        Points to mark.
    at : float
        Minutes of the line that moves.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene = Scene(width, 1)
    writing, lost = 100 * np.asarray(writing), 100 * np.asarray(lost)
    ends = (float(minutes[0]), float(minutes[-1]))
    least = float((writing + lost).min())
    top = round_steps(0, min(max(8 * least, 1.0), 100.0))[-1]
    chart = Chart(scene, (48, 34, width - 72, 236), ends, (0, top), log="x")
    ticks = [tick for tick in _MOMENTS if ends[0] <= tick[0] <= ends[1]]
    chart.axes("Time lost, %", "between two checkpoints", ticks)
    for values, colour, dash, words in (
        (writing, COLOURS["blue"], "dashed", "writing checkpoints"),
        (lost, COLOURS["orange"], "dotted", "work done again after failures"),
        (writing + lost, "ink", "", "both"),
    ):
        shown = np.where(values <= top, values, np.nan)
        chart.series(minutes, shown, colour, words, width=2.8, dash=dash)
    _draw_at(chart, at)
    for k, (name, (x, share)) in enumerate(marks.items()):
        colour, (px, py) = ("red", "green")[k], chart.place(x, 100 * share)
        size = (5, 9)[k]  # one inside the other: they often agree
        scene.rect(px - size, py - size, 2 * size, 2 * size, COLOURS[colour], outline=k == 1)
        scene.text(px, py - (36, 18)[k], name, anchor="middle", bold=True)
        said = f"{name}: {time_text(60e9 * x)}, {100 * share:.3g} %"
        chart.said.append((said, COLOURS[colour]))
    chart.key_below(chart.left - 40, 58)
    return scene
