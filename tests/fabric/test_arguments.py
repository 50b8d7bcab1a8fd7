"""Judge: the rule that an error is one sentence: wrong arguments of every public function."""

import inspect
import itertools
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import for_each, raises
from tests.texts import table_beside
from trainium_edu import fabric
from trainium_edu.fabric import FabricError
from trainium_edu.specs import NCCOM_TABLES

T = fabric.torus(4, 4, ranks_per_chip=2)
CLUSTER = fabric.ultracluster(32)
RING = fabric.ring(4)
PLAN = fabric.plan(RING, "all_reduce", "ring")
LINE = fabric.Line("a", 1, 2)
DATA = np.ones((4, 8), np.float32)


class Anything:
    def __repr__(self):
        return "Anything()"


#: Values of every type; a kind of argument takes none of them but those it names.
MAX = sys.float_info.max
NOTHING, THING = None, Anything()
WRONG = [
    NOTHING, True, False, 0, -1, 2**70, -(2**70), 10**5000, 1.5, -0.5, math.nan, math.inf,
    -math.inf, 1e300, 1 + 2j, "x", "", "1", b"x", (), [], [1, "x"], [[1], [1, 2]], [math.nan],
    [-1], [2**70], [True], {}, {"x": 1}, {0: -1.0}, {99: 1.0}, set(), THING, object, len,
    np.zeros(0), np.zeros(3), np.full(3, np.nan), np.array(1.5), np.array(["x"]),
    np.ma.masked, np.ma.ones(3), np.float32(-1), np.int64(-1), slice(None), range(0),
    itertools.count(), Ellipsis,
]  # fmt: skip


def refuses(*good):
    """Return the wrong values without those of which a type or value is good here."""

    def fits(value):
        return any(
            g(value) if inspect.isfunction(g) else value is g if g is None else isinstance(value, g)
            for g in good
        )

    return [w for w in WRONG if not fits(w)]


def number(v):
    return isinstance(v, int | float | np.floating | np.integer) and not isinstance(v, bool)


def between(low, high):
    return lambda v: number(v) and low <= v <= high


def whole(low, high):
    return lambda v: number(v) and not isinstance(v, float | np.floating) and low <= v <= high


def listed(low, high, *shapes):
    """A list of numbers in range, of one of these lengths."""

    def fits(v):
        if not isinstance(v, list | tuple | range | np.ndarray) or isinstance(v, np.ma.MaskedArray):
            return False
        try:
            array = np.asarray(v, np.float64)
        except (ValueError, TypeError, OverflowError):
            return False
        bools = any(isinstance(x, bool) for x in v) if array.ndim else True
        ok = array.ndim and bool(np.all((array >= low) & (array <= high))) and not bools
        return ok and (not shapes or array.shape in shapes)

    return fits


def one(v):
    return isinstance(v, str) and v == "1"


def empty(*kinds):
    return lambda v: isinstance(v, kinds) and getattr(v, "ndim", 1) and len(v) == 0


#: By kind of argument, the wrong values.
KINDS = {
    "text": refuses(), "flag": refuses(bool), "none": refuses(None), "name": refuses(str),
    "bytes": refuses(whole(0, 2**50)), "chip": refuses(whole(0, 3)), "index": refuses(whole(0, 1)),
    "count": refuses(whole(1, 10**6)), "count>1": refuses(whole(2, 10**6)),
    "lanes": refuses(whole(1, 64)), "chips": refuses(whole(1, 1024)), "bits": refuses(whole(1, 19)),
    "capacity": refuses(whole(1, 2**60)), "seed": refuses(whole(0, 2**63 - 1)),
    "chunks": refuses(whole(1, 65536), None), "cycles": refuses(whole(1, 2), None),
    "real": refuses(between(0, 1e18)), "rate": refuses(between(1e-3, 1e18)),
    "speed": refuses(between(1e-300, 1e18)), "factor": refuses(between(1, 1e18)),
    "real?": refuses(between(0, 1e18), None), "speed?": refuses(between(1e-300, 1e18), None),
    "growth": refuses(between(1.0000001, 1e18), None), "step": refuses(whole(1, 2**40), one, None),
    "time": refuses(between(0, 1e30)), "room": refuses(between(0, 2**36)),
    "least": refuses(whole(1, 4), one), "most": refuses(whole(4, 2**40)),
    "ranks": refuses(whole(0, 31)), "step!": refuses(whole(1, 2**40), one),
    "columns": refuses(whole(0, 2**31 - 1), empty(range)),
    "two": refuses(whole(2, 10**6)), "index+1": refuses(whole(1, 2)), "owners": refuses(
        empty(list, tuple, range, np.ndarray), listed(0, 1)),
    "count>3": refuses(whole(4, 10**6)), "count0": refuses(whole(0, 10**6)),
    "late": refuses(None, empty(dict)), "check": refuses(bool), "path": refuses(None, str),
    "lines": refuses(empty(list, tuple)), "sizes": refuses(between(0, MAX), listed(0, MAX)),
    "sizes?": refuses(between(0, MAX), listed(0, MAX), None),
    "elements": refuses(whole(0, 2**53), listed(0, 2**53, (4,))),
    "shape": refuses(whole(1, 10**6)),
    "gray": refuses(whole(0, 2**62)),
    "wraps": refuses(lambda v: isinstance(v, list) and v == [True]),
    "moves": refuses(empty(list, tuple, range, set, dict, str, np.ndarray)),
    "outputs": [None, True, 5, 1.5, "x", b"x", (), [], {}, {0: 1}, set(), object, [{}],
                [[1], [1, 2]], [[1], [[1], [1, 2]]], np.array(1.5), np.ma.ones(3), np.ma.masked,
                np.zeros(0)],
}  # fmt: skip

OPTIONS = {"name": "name", "ranks_per_chip": "lanes", "link_bytes_per_s": "speed",
           "latency_ns": "real", "direction": "text", "hbm_bytes_per_s": "speed",
           "hbm_bytes": "capacity"}  # fmt: skip
GOOD = {"name": "x", "ranks_per_chip": 2, "link_bytes_per_s": 1e9, "latency_ns": 0,
        "direction": "one_way", "hbm_bytes_per_s": 1e9, "hbm_bytes": 2**30}  # fmt: skip
MADE = {k: v for k, v in OPTIONS.items() if k != "name"}
DEVICE = {k: GOOD[k] for k in MADE}
BILL = {"schedule": PLAN, "topology": RING, "nbytes": 64, "costs": None}
BILLED = {"schedule": "text", "topology": "text", "nbytes": "bytes", "costs": "none"}


def kinds_of(text):
    """Return {argument: kind} of ``chips=count, **OPTIONS``."""
    found = {}
    for part in text.split(", "):
        if part.startswith("**"):
            found |= eval(part[2:])
        else:
            found |= [part.split("=")]
    return found


SPACE = globals() | {"replace": replace, "NCCOM_TABLES": NCCOM_TABLES}
CASES = [
    (eval(called, SPACE), eval(f"dict({good})", SPACE), kinds_of(kinds))
    for called, good, kinds in table_beside(__file__, "arguments.toml")["cases"]
]


def name_of(case):
    call = case[0]
    return getattr(call, "__qualname__", type(call).__name__)


def wrong_calls():
    return [
        pytest.param(call, good, argument, kind, id=f"{name_of((call,))}-{argument}")
        for call, good, kinds in CASES
        for argument, kind in kinds.items()
    ]


@for_each(("call", "good", "argument", "kind"), wrong_calls())
def test_wrong_arguments_are_refused_in_one_sentence(call, good, argument, kind):
    for wrong in KINDS[kind]:
        if number(wrong) and not isinstance(wrong, float) and wrong in (0, 1) and kind == "none":
            continue
        try:
            got = call(**{**good, argument: wrong})
        except FabricError as error:
            told = str(error)
            assert "\n" not in told
            assert len(told) < 400
        else:
            shown = type(wrong) if isinstance(wrong, int) else wrong
            pytest.fail(f"{argument}={shown!r} was taken: {str(got)[:200]}")


@for_each("case", CASES, ids=name_of)
def test_the_good_arguments_are_good(case):
    call, good, _ = case
    call(**good)


def test_every_public_function_is_tried():
    tried = {getattr(call, "__name__", "") for call, _, _ in CASES} | {"torus", "grid"}
    functions = {n for n in fabric.__all__ if inspect.isfunction(getattr(fabric, n))}
    assert functions <= tried


@for_each("call, words", table_beside(__file__, "refused.toml")["calls"])
def test_bad_questions_are_refused_in_one_sentence(call, words):
    told = str(raises((FabricError, ValueError), words, eval, call, globals()))
    assert "\n" not in told
    assert len(told) < 400
