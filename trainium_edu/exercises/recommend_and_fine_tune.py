"""Exercises of lesson 09c: how long lookups take, and the least loss there can be."""

import math

import numpy as np

from trainium_edu.exercises.exercise import NUMBER, exercise, recognise, reject, short
from trainium_edu.neuroncore.timing.durations import dma_row_ns, settle
from trainium_edu.specs import TRN1

__all__ = ["BELIEFS", "best_loss", "lookup_time", "row_ns"]


def _ask(answer, cases, right, beliefs, what):
    """Call a function on each case; reject what is no number, or not right to a thousandth."""
    told = [answer(*case) for case in cases]
    for case, value in zip(cases, told, strict=True):
        if type(value) not in NUMBER and not isinstance(value, np.number):
            reject(
                "no number", f"For {what(*case)} it returned {short(value)}; a number is asked for."
            )
    wanted = [right(*case) for case in cases]
    if _agree(told, wanted):
        return
    recognise(told, beliefs, cases, _agree)
    i = next(i for i in range(len(cases)) if not _agree(told[i : i + 1], wanted[i : i + 1]))
    if math.isnan(told[i]):
        reject(
            "not a number",
            f"For {what(*cases[i])} it returned nan: 0 times the logarithm of 0"
            " counts as 0, for what never happens costs nothing.",
        )
    reject(
        "other",
        f"For {what(*cases[i])} it returned {told[i]:.6g}, which is too"
        f" {'much' if told[i] > wanted[i] else 'little'}.",
    )


def _agree(told, wanted) -> bool:
    return bool(np.allclose(np.array(told, float), np.array(wanted, float), rtol=1e-3, atol=1e-9))


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


def _bytes(width, nbytes):
    return width * nbytes


_LOOKUPS = {
    "bytes only": lambda n, w, b: n * _bytes(w, b) / _PER_NS / _QUEUES / 1e3,
    "packets only": lambda n, w, b: n * _PACKET_NS / _QUEUES / 1e3,
    "one queue": lambda n, w, b: n * row_ns(_bytes(w, b)) / 1e3,
    "both added": lambda n, w, b: (
        n * (_PACKET_NS + _ROW_NS + _bytes(w, b) / _PER_NS) / _QUEUES / 1e3
    ),
    "bytes of one number": lambda n, w, b: n * row_ns(w) / _QUEUES / 1e3,
    "one descriptor in all": lambda n, w, b: row_ns(n * _bytes(w, b)) / _QUEUES / 1e3,
    "nanoseconds": lambda n, w, b: n * row_ns(_bytes(w, b)) / _QUEUES,
}


@exercise(
    "09c/lookup-time",
    numbers=lambda draw: {
        "cases": [
            *(
                (
                    1000 * draw.integer(f"rows {i}", 1, 400),
                    2 ** draw.integer(f"width {i}", 3, 9),
                    draw.choice(f"bytes {i}", (2, 4)),
                )
                for i in range(6)
            ),
            (50_000, 2048, 2),
            (50_000, 4096, 4),
            (16, 1, 2),
        ]
    },
)
def lookup_time(answer, numbers):
    """Ask for rows short and long; recognise what was forgotten."""
    _ask(
        answer,
        numbers.cases,
        lambda n, w, b: n * row_ns(_bytes(w, b)) / _QUEUES / 1e3,
        _LOOKUPS,
        lambda n, w, b: f"{n:,} rows of {w} numbers of {b} bytes",
    )


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


def _biases(draw):
    return [
        [draw.integer(f"{i} {k}", 1, 99) / 100 for k in range(draw.integer(f"n {i}", 3, 8))]
        for i in range(5)
    ]


@exercise(
    "09c/best-loss",
    numbers=lambda draw: {"cases": [*((p,) for p in _biases(draw)), ([0.5],), ([0.0, 1.0, 0.9],)]},
)
def best_loss(answer, numbers):
    """Ask for coins of several biases; recognise other bounds."""
    _ask(
        answer,
        numbers.cases,
        lambda p: float(_entropy(p).mean()),
        _LOSSES,
        lambda p: f"coins of bias {', '.join(map(str, p))}",
    )
