"""A race: programs that do the same work begin together, and each arrives when it is ready."""

from collections.abc import Mapping
from itertools import pairwise

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.units import time_text

__all__ = ["race_scenes"]

_PLACES = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")
_LEFT, _RIGHT, _TOP, _LANE = 150.0, 120.0, 44.0, 34.0  # CSS pixels
_FRAMES = 36  # between two arrivals
_SECONDS = _FRAMES / 24  # as the page plays them


@checked
def race_scenes(times: Mapping, *, clock: bool = True, width: float = 890.0) -> list:
    """Return a race as scenes in order: what each program has done, moment by moment.

    The clock of the film runs faster after each arrival, so that each takes as long to watch.

    Parameters
    ----------
    times : dict of str to float
        Program → ns, for one to eight programs.
    clock : bool
        Whether times are shown; without them, only the last program's at its end.
    width : float
        In CSS pixels.

    Returns
    -------
    list of Scene

    Examples
    --------
    >>> race_scenes({"slow": 8000.0, "fast": 1000.0})[-1].alt
    '8 µs: 2 of 2 have arrived'
    """
    arrivals = sorted(times.values())
    scenes = []
    for begin, end in pairwise([0.0, *arrivals]):
        slowed = _SECONDS * 1e9 / (end - begin) if end > begin else 1.0
        for frame in range(_FRAMES + 1):
            now = begin + (end - begin) * frame / _FRAMES
            scene = _scene(times, arrivals, now, clock, width)
            if clock:
                words = f"{time_text(now)}, played {float(f'{slowed:.2g}'):,.0f} times slower"
                scene.text(_LEFT, 22, words, bold=True, size=14)
            scenes.append(scene)
    return scenes


def _scene(times, arrivals, now, clock, width) -> Scene:
    """Draw one moment: a lane for each program, filled as far as its work is done."""
    there = sum(ns <= now for ns in arrivals)
    said = f"{there} of {len(arrivals)} have arrived"
    scene = Scene(width, _TOP + _LANE * len(times) + 6, f"{time_text(now)}: {said}" * clock or said)
    end = width - _RIGHT
    for row, (name, ns) in enumerate(times.items()):
        y = _TOP + _LANE * row
        scene.text(_LEFT - 10, y + 17, name, anchor="end", size=13)
        scene.rect(_LEFT, y, end - _LEFT, _LANE - 10, "grid", opacity=0.6)
        scene.rect(_LEFT, y, (end - _LEFT) * min(1.0, now / ns), _LANE - 10, ENGINE["gpsimd"])
        if ns <= now:
            time = f" · {time_text(ns)}" if clock or ns == arrivals[-1] else ""
            scene.text(end + 8, y + 17, _PLACES[arrivals.index(ns)] + time, bold=True, size=13)
    return scene
