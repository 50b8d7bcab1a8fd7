"""What arguments are; judge: Python's own types, and the sentences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from math import inf, nan
from typing import Any, Literal

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu.specs import TRN1, Fact
from trainium_edu.specs.arguments import choice, flag, instance, number, short, text, whole
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


@for_rows("call, sentence",
    (lambda: whole(0, "n", 1), "n is 0; it must be an integer from 1"),
        (lambda: whole(2**70, "n", 0, 2**64 - 1),
         "n is 1180591620717411303424; it must be an integer from 0 to 2**64 - 1"),
        (lambda: whole(10**5000, "n", 0, 9, ", so there"),
         "n is an integer of 16610 bits; it must be an integer from 0 to 9, so there"),
        (lambda: number(nan, "x"), "x is nan; it must be a finite number"),
        (lambda: number(inf, "x", 0), "x is inf; it must be a finite number from 0"),
        (lambda: number(0, "x", above=0), "x is 0; it must be a finite number above 0"),
        (lambda: number(1.5, "x", above=0, high=1),
         "x is 1.5; it must be a finite number above 0 up to 1"),
        (lambda: number(10**400, "x"),
         "x is an integer of 1329 bits; it must be a finite number"),
        (lambda: choice("c", "x", ["a", "b"]), "x is 'c'; it must be one of a, b"),
)  # fmt: skip
def test_values_out_of_range_are_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert str(caught.value) == sentence


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


@for_rows("wrong, sentence",
    ({"a": 1.0}, "a is 1.0; it must be an integer"),
        ({"a": True}, "a is True; it must be an integer"),
        ({"a": None}, "a is None; it must be an integer"),
        ({"a": 1, "b": "1"}, "b is '1'; it must be a number"),
        ({"a": 1, "b": nan}, "b is nan; it must be a number"),
        ({"a": 1, "c": 1}, "c is 1; it must be True or False"),
        ({"a": 1, "d": 1}, "d is 1; it must be a string or None"),
        ({"a": 1, "e": "blue"}, "e is 'blue'; it must be one of red"),
        ({"a": 1, "f": "ab"}, "f is 'ab'; it must be a list of integers"),
        ({"a": 1, "f": [1, "b"]}, r"f is \[1, 'b'\]; it must be a list of integers"),
        ({"a": 1, "f": MASKED}, "f is an array of shape"),
        ({"a": 1, "g": 3}, "g is 3; it must be a function or None"),
        ({"a": 1, "h": []}, r"h is \[\]; it must be a dict or None"),
        ({"a": 1, "i": "left"}, "i is 'left'; it must be one of up, down"),
        ({"a": 1, "j": "text"}, "j is 'text'; it must be an array of numbers"),
        ({"a": 1, "j": [[1], [2, 3]]}, "j is .*; it must be an array of numbers"),
        ({"a": 1, "j": MASKED}, "j is an array of shape .*; it must be an array of numbers"),
        ({"a": 1, "k": (1, 2)}, r"k is \(1, 2\); it must be \(an integer and a string\)"),
        ({"a": 1, "m": [1.0]}, r"m is \[1.0\]; it must be an array of numbers or None"),
        ({"a": 1, "o": "ab"}, "o is 'ab'; it must be a list of strings"),
)  # fmt: skip
def test_wrong_arguments_are_refused_before_the_function_runs(wrong, sentence):
    assert "\n" not in str(raises((TypeError, ValueError), sentence, takes_all, **wrong))


def test_positional_arguments_are_checked_by_their_place():
    assert takes_all(1, 2.0, 3, 4) == (1, 2.0, (3, 4))
    raises(TypeError, "rest is 'x'", takes_all, 1, 2.0, 3, "x")
    raises(TypeError, "missing 1 required", takes_all)


def test_the_function_keeps_its_name_docstring_and_signature():
    assert takes_all.__name__ == "takes_all"
    assert takes_all.__doc__ == "Return what came."
