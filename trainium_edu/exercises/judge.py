"""How a check judges an answer: rejections by name, and the comparisons that lead to them.

A check calls :func:`reject` with the name of a misconception, or leaves that to :func:`compare`,
which tells what wrong models make of the same cases from what the learner's function does.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np


class Status(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    WRONG = "wrong"
    NOT_ATTEMPTED = "not attempted"
    NOT_CHECKED = "not checked"


class Ended(Exception):
    """A check has ended, and the answer does not pass; says what the learner reads."""

    status: Status
    misconception: str = ""
    picture: Any = ""

    def __init__(self, feedback: str = ""):
        super().__init__(feedback)
        self.feedback = feedback


class Rejected(Ended):
    """The answer is wrong in a way that has a name."""

    status = Status.WRONG

    def __init__(self, misconception, feedback="", picture="", values=()):
        super().__init__(feedback)
        self.misconception, self.picture, self.values = misconception, picture, dict(values)


class NotAttempted(Ended):
    """The answer is still the starter."""

    status = Status.NOT_ATTEMPTED


class NotChecked(Ended):
    """The machine lacks what the check needs; the answer may be right."""

    status = Status.NOT_CHECKED


def reject(misconception: str, feedback: str = "", picture: Any = "", **values):
    """Reject an answer, with the reason; call it in the body of an exercise.

    Parameters
    ----------
    misconception : str
        A short name, for example ``"ties away from zero"``; the grader's table shows it.
    feedback : str
        One or two sentences to the learner that fit this misconception; those of the exercise's
        own words unless given.
    picture : object
        What shows the fault, with a text and as HTML; the exercise's own picture unless given.
    **values
        What ``{name}`` stands for in the exercise's words, besides its numbers; what was
        ``returned`` is shortened.
    """
    if "returned" in values:
        values["returned"] = short(values["returned"])
    raise Rejected(misconception, feedback, picture, values)


def reject_if(is_wrong: Any, misconception: str, feedback: str = "", **values) -> None:
    """Reject an answer, as :func:`reject` does, where a condition holds."""
    if is_wrong:
        reject(misconception, feedback, **values)


def ask(answer: Callable, cases: Sequence[tuple], form: tuple[str, Any]) -> list:
    """Call a function on each case; reject what has not the form that is asked for.

    Parameters
    ----------
    answer : callable
    cases : sequence of tuple
        The arguments of each.
    form : tuple
        The misconception of another form, whose words may name the ``case`` and what was
        ``returned``; and a type, as :func:`is_a` takes it, or what tells whether a value has the
        form.
    """
    told, (name, fits) = [answer(*case) for case in cases], form
    for case, value in zip(cases, told, strict=True):
        if not (is_a(value, fits) if isinstance(fits, type) else fits(value)):
            reject(name, case=case, returned=value)
    return told


_TRUTH = "not True or False", bool


def compare(answer, cases, right, beliefs: Mapping, form=_TRUTH, *, same=operator.eq, **values):
    """Reject a function unless what it tells of all cases is right; name the belief.

    Parameters
    ----------
    answer : callable
    cases : sequence of tuple
    right : callable
        Takes a case; returns what it should have been told.
    beliefs : dict of str to callable
        Wrong models, by misconception; one that tells all cases as the learner did is rejected.
    form : tuple, optional
        As :func:`ask` takes it; True or False unless given.
    same : callable, optional
        Takes what was told of a case and what is right, or what a belief is; equal unless given.
    **values
        What ``{name}`` stands for in the words of "other", besides the first wrong ``case``, what
        was ``got`` there, and how many are ``right``.
    """
    told = ask(answer, cases, form)
    wrong = [i for i, case in enumerate(cases) if not same(told[i], right(*case))]
    if wrong:
        recognise(told, beliefs, cases, lambda *both: all(map(same, *both)))
        (case, got), count = (cases[wrong[0]], told[wrong[0]]), len(told)
        given, wanted = ", ".join(map(str, case)), right(*case)
        said = {"case": case, "given": given, "got": got, "wanted": wanted, "returned": got}
        said |= {"count": count, "right": count - len(wrong)}
        said["much"] = "much" if is_number(got) and got > wanted else "little"
        reject("other", **said, **values)


def recognise(got, beliefs: Mapping, cases: Sequence[tuple] = (), same: Callable | None = None):
    """Reject an answer that is what a wrong model gives, and name the misconception.

    Parameters
    ----------
    got : array or list
        What the learner's function returned; with cases, a list of a value for each.
    beliefs : dict
        What wrong models give instead, by misconception; with cases, functions of one.
    cases : sequence of tuple, optional
    same : callable, optional
        Takes the answer and what a model gives; they have to be equal unless given.
    """
    same = same or (operator.eq if cases else np.array_equal)
    for name, belief in beliefs.items():
        if same(got, [belief(*case) for case in cases] if cases else belief):
            reject(name)


def array_of(value, kinds: str = "iuf") -> np.ndarray:
    """Return an answer as an array of numbers of these kinds; without elements if it is none."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.empty(0)
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    return array if array.dtype.kind in kinds else np.empty(0)


def compare_each(got, right, beliefs: Mapping, same: Callable = np.equal, **arrays: Any) -> None:
    """Reject an array unless it is right; name the belief, or the first wrong place.

    Parameters
    ----------
    got, right : ndarray
    beliefs : dict of str to ndarray
        What wrong models give instead, by misconception.
    same : callable, optional
        Takes two arrays, returns where they agree; they have to be equal unless given.
    **arrays
        Of these, what is at that place is named in the words of "other", besides the place
        ``at``, what was ``got`` and is ``wanted`` there, and of ``size`` numbers, how many are
        ``right`` and how many are not, ``count``.
    """
    wrong = ~same(got, right)
    if not wrong.any():
        return
    recognise(got, beliefs, same=lambda *both: same(*both).all())
    at, count, size = tuple(map(int, np.argwhere(wrong)[0])), wrong.sum(), wrong.size
    said = {name: array[at] for name, array in {**arrays, "got": got, "wanted": right}.items()}
    where = at if len(at) > 1 else at[0]
    reject("other", at=where, count=count, size=size, right=size - count, **said)


def is_a(value, kind) -> bool:
    """Return whether a value is of a type; float is any finite number, and no number is a bool."""
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return isinstance(value, kind) and (kind is bool or type(value) is not bool)


def has_form(value, *kinds) -> bool:
    """Return whether a value is a pair, a triple, ... of types, as :func:`is_a` takes them."""
    fits = isinstance(value, list | tuple) and len(value) == len(kinds)
    return fits and all(map(is_a, value, kinds))


def is_number(value) -> bool:
    """Return whether a value is a plain number, and finite."""
    return is_a(value, float)


def short(value, limit: int = 60) -> str:
    """Return a value's text, shortened; never fails, whatever the value's ``repr`` does."""
    try:
        text = " ".join((str if isinstance(value, BaseException) else repr)(value).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"
