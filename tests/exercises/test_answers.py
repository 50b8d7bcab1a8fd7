"""The check and the grader judge the same value, whatever spelling a right answer comes in.

Judge: the grader's own transport (pickled in the submission's kernel, read as plain data), without
the process in between; ``tests/cli/test_grade_lessons.py`` has the process.
"""

import collections
import decimal
import fractions
import itertools
import pickle
from unittest import mock

import numpy as np
import pytest

from tests.exercises.test_lessons import EXERCISES, LONG
from tests.for_each import for_each, for_rows, raises
from tests.solutions import reading
from trainium_edu.cli import apart, in_kernel, within
from trainium_edu.cli.limits import Limits
from trainium_edu.exercises import exercise as machinery
from trainium_edu.exercises import plain_data
from trainium_edu.exercises.answers import canonical
from trainium_edu.exercises.exercise import Status
from trainium_edu.exercises.lessons import number_of


class Process(apart.Apart):
    """The grader's side of a process that is none."""

    def __init__(self, value):
        self._process, self._limits = "this one", Limits()
        self._shell = mock.Mock(user_ns={"answer": value})

    def _exchange(self, line, doing, seconds):
        with mock.patch.object(in_kernel, "_shell", return_value=self._shell):
            return plain_data.loads(within.reply(in_kernel, line))


def transported(value):
    """Return an answer as the grader holds it."""
    return Process(value).look("answer")


def each(change):
    """Return a function that changes every number and text of an answer, however deep."""

    def changed(value):
        if isinstance(value, dict):
            return {changed(k): changed(v) for k, v in value.items()}
        if isinstance(value, tuple | list):
            return type(value)(changed(item) for item in value)
        return change(value)

    return changed


def outermost(change):
    """Return a function that changes an answer that is a tuple, a list or an array with axes."""
    return lambda value: (
        change(value) if isinstance(value, tuple | list | np.ndarray) and len(value) else value
    )


def as_numpy(value):
    kinds = {bool: np.bool_, int: np.int64, float: np.float64, str: np.str_}
    return kinds.get(type(value), lambda x: x)(value)


SPELLINGS = {
    "a generator": outermost(lambda value: (item for item in value)),
    "a tuple": outermost(tuple),
    "a list": outermost(list),
    "a deque": outermost(collections.deque),
    "a generator of iterators": outermost(
        lambda value: (iter(v) if isinstance(v, tuple) else v for v in value)
    ),
    "floats": each(lambda x: float(x) if type(x) is int else x),
    "NumPy's numbers": each(as_numpy),
    "NumPy's array": outermost(lambda value: np.array(list(value), dtype=object)),
    "arrays without axes": each(lambda x: np.array(x) if type(x) in (int, float, bool) else x),
    "decimals": each(lambda x: decimal.Decimal(x) if type(x) in (int, float) else x),
    "fractions": each(lambda x: fractions.Fraction(x) if type(x) in (int, float) else x),
    "named tuples": lambda value: (
        collections.namedtuple("Row", [f"f{i}" for i in range(len(value))])(*value)
        if isinstance(value, tuple) and value
        else value
    ),
    "an object": lambda value: value if isinstance(value, bytes) else object(),
}
#: Spellings that every check takes, since they say the same.
SAME = {"a deque", "a generator", "a list", "NumPy's numbers", "arrays without axes",
        "named tuples"}  # fmt: skip


def spelled(answer, change):
    """Return an answer that says the same in another spelling."""
    if not callable(answer):
        return change(answer)
    return lambda *arguments: change(answer(*arguments))


def remembering(function):
    """Return a function that works once for the same arguments."""
    known = {}

    def remembered(*arguments):
        key = pickle.dumps(arguments)
        if key not in known:
            known[key] = function(*arguments)
        return known[key]

    return remembered


@pytest.fixture(scope="module")
def solved():
    found = {}
    for exercise in EXERCISES:
        (block,) = (
            b
            for b in reading.blocks(number_of(exercise.key))
            if (b.key, b.kind) == (exercise.key, "solution")
        )
        answer = reading.run(block, "ab123")[exercise.answer]
        found[exercise.key] = remembering(answer) if callable(answer) else answer
    return found


def spellings(exercise):
    """Return the spellings that an exercise is tried with: few where each takes seconds."""
    if exercise.key[:2] == "05" and not exercise.literal:
        return ["a list"]
    long = exercise.key in (*LONG, "13/histogram", "13/race")
    return ["a list", "a generator", "NumPy's numbers"] if long else SPELLINGS


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.key)
def test_the_grader_takes_what_the_check_takes(exercise, solved, monkeypatch):
    monkeypatch.setattr(machinery, "HIDDEN_ROUNDS", 1)  # all of them: `test_lessons`

    @for_each("spelling", spellings(exercise))
    def same(spelling):
        hold(exercise, spelling, solved)

    same()


def hold(exercise, spelling, solved):
    change = SPELLINGS[spelling]
    result = exercise(spelled(solved[exercise.key], change), "ab123")
    handed_in = spelled(solved[exercise.key], change)
    try:
        grade = exercise.grade(transported(handed_in), "ab123")
    except ValueError:  # a value that is no plain data: the grader says so itself
        assert (spelling, exercise.literal) == ("an object", True)
        grade = exercise.grade(object(), "ab123")
    assert (grade.status == "full") == (result.status is Status.PASSED), (result, grade)
    assert result.status is Status.PASSED or spelling not in SAME, result
    if grade.status != "full":
        assert grade.misconception == result.misconception


@for_rows(
    "value, plain", (..., None), (range(3), [0, 1, 2]),
    ({"a": (x for x in "bc")}.items(), [("a", ["b", "c"])]), (np.float32(0.5), 0.5),
    (np.array(True), True), (np.array([1, [2]], dtype=object), [1, [2]]),
    (collections.Counter("aa"), {"a": 2}), ({np.int64(3), 3}, {3}), (decimal.Decimal("0.5"), 0.5),
    (memoryview(b"ab"), [97, 98]),
)  # fmt: skip
def test_plain_data(value, plain):
    found = canonical(value)
    assert (type(found), found) == (type(plain), plain)


def test_what_has_no_end_or_is_no_data_is_refused():
    raises(ValueError, "more than 1,000,000 items; does", canonical, itertools.count())
    for odd in (object(), len, pickle):
        raises(TypeError, "plain data is asked for", canonical, odd)
    array = np.arange(3)
    assert canonical(array) is array
