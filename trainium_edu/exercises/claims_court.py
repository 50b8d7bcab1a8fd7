"""The exercise of lesson 11b: turn a verdict, and move no input farther than it takes."""

import math
from functools import cache

from trainium_edu.cluster import COURT, judge, overturned
from trainium_edu.cluster.court import Verdict
from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import has_form, reject, reject_if

#: What comes in steps, or is no number to measure: there is no least move of it.
_IN_STEPS = ("network_over_p4d", "ultracluster_chips")
_FARTHER = 1.05  # times the least move


@cache
def _can_turn() -> tuple[str, ...]:
    """Return the claims whose verdict one input can turn, moved within its range."""
    turns = (c for c in COURT.values() if c.verdict is Verdict.DEPENDS and c.ruling.conditions)
    return tuple(claim.key for claim in turns if claim.key not in _IN_STEPS)


def edge(key: str, name: str) -> float:
    """Return where a claim turns that one input decides, on the side of the number as used.

    Parameters
    ----------
    key : str
        Of ``cluster.claims.COURT``.
    name : str
        Of an input.

    Returns
    -------
    float
        NaN if no value within the range of this input turns it.

    Examples
    --------
    >>> print(f"{edge('petaflops', 'chip_flops') / 1e12:.1f} TFLOPS")
    201.9 TFLOPS
    """
    for condition in judge(key).conditions:
        if condition.input.name == name:
            ends = (condition.low, condition.high)
            return min(ends, key=lambda end: abs(end - condition.input.used))
    return math.nan


def headlines(student: str = "") -> list[str]:
    """Return the keys of the three headlines of a student."""
    return overturn.numbers(student).headlines


@exercise(
    "11b/overturn", numbers=lambda draw: {"headlines": draw.shuffled("headlines", _can_turn())[:3]}
)
def overturn(answer, numbers):
    """Move the input in the court, and look whether the verdict turns just there."""
    reject_if(not has_form(answer, str, str, float), "no move")
    key, name, value = answer
    if key not in numbers.headlines:
        reject("another headline", returned=key, headlines=", ".join(numbers.headlines))
    try:
        turned = overturned(key, {name: value})
    except ValueError as problem:
        _unit(key, name, value)
        reject("not allowed", problem=problem)
    if not turned:
        _unit(key, name, value)
        ruling = judge(key, **{name: value})
        gives = ruling.claim.written(ruling.value)
        reject("not turned", name=name, value=value, gives=gives)
    used = next(each.used for each in COURT[key].inputs if each.name == name)
    least = edge(key, name)
    if not abs(value - used) <= _FARTHER * abs(least - used):
        reject("farther than it takes", used=used, value=value)


def _unit(key, name, value):
    """Reject a number that is right in another unit."""
    least = edge(key, name)
    for factor, words in ((1e12, "TFLOPS"), (1e15, "PFLOPS"), (100, "per cent"), (1e9, "billions")):
        for scaled in (value * factor, value / factor):
            if math.isclose(scaled, least, rel_tol=0.1):
                reject("another unit", value=value, words=words)
