"""Exercises of lesson 09c: how long lookups take, and the least loss there can be."""

import math
from functools import partial

import numpy as np

from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import compare, reject_if
from trainium_edu.neuroncore.timing.durations import dma_row_ns, settle
from trainium_edu.specs import TRN1

_agree = partial(math.isclose, rel_tol=1e-3, abs_tol=1e-9)


# --- how long lookups take ------------------------------------------------------------------------

_PACKET_NS = float(TRN1.timing.dma_packet_ns)
_ROW_NS = float(TRN1.timing.dma_row_ns)
_QUEUES = int(TRN1.dma.queues)
_PER_NS = float(TRN1.dma.bytes_per_s_per_engine) / 1e9


def row_ns(nbytes: float) -> float:
    """Return the ns for which one row of so many bytes holds its queue.

    Examples
    --------
    >>> row_ns(16), row_ns(1700), row_ns(3400)
    (147.0, 147.0, 208.0)
    """
    return float(dma_row_ns(nbytes, settle(TRN1)))


_LOOKUPS = {
    "bytes only": lambda n, w, b: n * w * b / _PER_NS / _QUEUES / 1e3,
    "packets only": lambda n, w, b: n * _PACKET_NS / _QUEUES / 1e3,
    "one queue": lambda n, w, b: n * row_ns(w * b) / 1e3,
    "both added": lambda n, w, b: n * (_PACKET_NS + _ROW_NS + w * b / _PER_NS) / _QUEUES / 1e3,
    "bytes of one number": lambda n, w, b: n * row_ns(w) / _QUEUES / 1e3,
    "one descriptor in all": lambda n, w, b: row_ns(n * w * b) / _QUEUES / 1e3,
    "nanoseconds": lambda n, w, b: n * row_ns(w * b) / _QUEUES,
}


@exercise("09c/lookup-time")
def lookup_time(answer, numbers):
    """Ask for rows short and long; recognise what was forgotten."""

    def right(n, w, b):
        return n * row_ns(w * b) / _QUEUES / 1e3

    compare(answer, numbers.cases, right, _LOOKUPS, ("no number", float), same=_agree)


# --- the least loss -------------------------------------------------------------------------------


def _entropy(p):
    p = np.asarray(p, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sum(np.where(x > 0, -x * np.log(x), 0) for x in (p, 1 - p))


def _certain(p):
    return np.clip(np.asarray(p, float), 1e-12, 1 - 1e-12)


_LOSSES = {
    "zero": lambda p: 0.0,
    "one coin for all": lambda p: float(_entropy(np.mean(p))),
    "bits": lambda p: float(_entropy(p).mean() / math.log(2)),
    "one side": lambda p: float((-_certain(p) * np.log(_certain(p))).mean()),
    "the likelier side": lambda p: float(-np.log(np.maximum(p, 1 - np.asarray(p))).mean()),
    "the sum": lambda p: float(_entropy(p).sum()),
    "half": lambda p: math.log(2),
}

#: Wrong models by exercise and name, for the tests.
BELIEFS = {"lookup-time": _LOOKUPS, "best-loss": _LOSSES}


def _coins(draw):
    counts = [draw.integer(f"n {i}", 3, 8) for i in range(5)]
    coins = [
        [draw.integer(f"{i} {k}", 1, 99) / 100 for k in range(n)] for i, n in enumerate(counts)
    ]
    return {"cases": [(p,) for p in [*coins, [0.5], [0.0, 1.0, 0.9]]]}


@exercise("09c/best-loss", numbers=_coins)
def best_loss(answer, numbers):
    """Ask for coins of several biases; recognise other bounds."""

    def number(p):
        found = answer(p)
        reject_if(found != found, "not a number", case=p)
        return found

    def right(p):
        return float(_entropy(p).mean())

    compare(number, numbers.cases, right, _LOSSES, ("no number", float), same=_agree)
