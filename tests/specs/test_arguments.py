"""What arguments are; judge: Python's own types, and the sentences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from math import inf, nan
from typing import Any, Literal

import numpy as np

from tests.for_each import for_each, for_rows, raises
from tests.texts import table_beside
from trainium_edu.specs import TRN1, Fact, arguments
from trainium_edu.specs.arguments import flag, instance, number, short, text, whole
from trainium_edu.specs.signatures import Numbers, checked

MASKED = np.ma.array([1, 2], mask=[0, 1])


@for_rows("value", 3, np.int8(3), np.uint64(3), np.array(3), Fact(3, "", "s", "l"))
def test_whole_numbers_come_back_as_int(value):
    assert type(whole(value, "n", 1, 5)) is int
    assert whole(value, "n", 1, 5) == 3


@for_rows("value",
    True, np.True_, 3.0, "3", None, nan, [3], np.array([3]), MASKED, MASKED[0:1],
              np.ma.masked, 1j, object(), np.float32(3),
)  # fmt: skip
def test_what_is_no_whole_number_is_refused(value):
    raises(TypeError, r"^n is .*; it must be an integer from 1 to 5$", whole, value, "n", 1, 5)


TABLES = table_beside(__file__, "arguments.toml")


@for_each("call, sentence", TABLES["checks"])
def test_values_out_of_range_are_refused_in_one_sentence(call, sentence):
    names = vars(arguments) | {"inf": inf, "nan": nan}
    assert str(raises(ValueError, "", eval, call, names)) == sentence


@for_rows("value",
    "1", b"1", True, None, [1.0], np.ones(2), np.ma.masked, 1j,
                                   np.array("1"), np.timedelta64(1),
)  # fmt: skip
def test_what_is_no_number_is_refused(value):
    raises(TypeError, r"x is .*; it must be a finite number", number, value, "x")


def test_the_other_checks():
    assert flag(np.True_, "f") is True
    assert text("a", "t") == "a"
    assert instance(TRN1, "spec", type(TRN1), "a Record") is TRN1
    for call in (lambda: flag(1, "f"), lambda: text(1, "t", "mine"),
                 lambda: instance(1, "spec", type(TRN1), "a Record")):  # fmt: skip
        raises(TypeError, "; it must be ", call)


@for_rows("value", "x" * 10**6, [1] * 10**6, np.ones(10**6), {1: "a\nb" * 99}, 3)
def test_a_value_is_written_short_and_on_one_line(value):
    assert len(short(value)) <= 60
    assert "\n" not in short(value)


class Colour(StrEnum):
    RED = "red"


@checked
def takes_all(
    a: int, b: float = 0.0, *rest: int, c: bool = False, d: str | None = None,
    e: Colour = Colour.RED, f: Sequence[int] = (), g: Callable | None = None,
    h: Mapping | None = None, i: Literal["up", "down"] = "up", j: Numbers = 0,
    k: tuple[int, str] = (1, "a"), m: np.ndarray | None = None, n: Any = None,
    o: Iterable[str] = (), untold=None,
):  # fmt: skip
    """Return what came."""
    return a, b, rest


@for_rows("right",
    {"a": 1}, {"a": np.int64(1), "b": 3}, {"a": 1, "c": np.True_}, {"a": 1, "e": "red"},
     {"a": 1, "f": range(3)}, {"a": 1, "f": np.arange(3)}, {"a": 1, "g": len}, {"a": 1, "h": {}},
     {"a": 1, "i": "down"}, {"a": 1, "j": [[1, 2.5]]}, {"a": 1, "k": (2, "b")}, {"a": 1, "b": inf},
     {"a": 1, "m": np.ones(2)}, {"a": 1, "n": object()}, {"a": 1, "untold": object()},
     {"a": 1, "o": iter("ab")}, {"a": 1, "b": 10**400},
)  # fmt: skip
def test_right_arguments_pass_unchanged(right):
    assert takes_all(**right)[0] is right["a"]


@for_each("wrong, sentence", TABLES["arguments"])
def test_wrong_arguments_are_refused_before_the_function_runs(wrong, sentence):
    told = raises((TypeError, ValueError), sentence, eval, f"takes_all({wrong})", globals())
    assert "\n" not in str(told)


def test_positional_arguments_are_checked_by_their_place():
    assert takes_all(1, 2.0, 3, 4) == (1, 2.0, (3, 4))
    raises(TypeError, "rest is 'x'", takes_all, 1, 2.0, 3, "x")
    raises(TypeError, "missing 1 required", takes_all)


def test_the_function_keeps_its_name_docstring_and_signature():
    assert (takes_all.__name__, takes_all.__doc__) == ("takes_all", "Return what came.")
