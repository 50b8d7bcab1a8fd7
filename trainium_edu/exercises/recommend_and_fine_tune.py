"""Exercises of lesson 09c: how long lookups take, and the least loss there can be."""

import math

import numpy as np

from trainium_edu.exercises.exercise import NUMBER, exercise, reject, short
from trainium_edu.neuroncore.timing.durations import dma_row_ns, settle
from trainium_edu.specs import TRN1

__all__ = ["BELIEFS", "best_loss", "lookup_time", "row_ns"]


def _ask(answer, cases, right, beliefs, what):
    """Call a function on each case; reject what is no number, or not right to a thousandth."""
    told = [answer(*case) for case in cases]
    for case, value in zip(cases, told, strict=True):
        if type(value) not in NUMBER and not isinstance(value, np.number):
            reject("no number", f"For {what(*case)} it returned {short(value)}; a number is asked"
                   " for.")  # fmt: skip
    wanted = [right(*case) for case in cases]
    if _agree(told, wanted):
        return
    for name, belief, says in beliefs:
        if _agree(told, [belief(*case) for case in cases]):
            reject(name, says)
    i = next(i for i in range(len(cases)) if not _agree(told[i : i + 1], wanted[i : i + 1]))
    if math.isnan(told[i]):
        reject("not a number", f"For {what(*cases[i])} it returned nan: 0 times the logarithm of 0"
               " counts as 0, for what never happens costs nothing.")  # fmt: skip
    reject("other", f"For {what(*cases[i])} it returned {told[i]:.6g}, which is too"
           f" {'much' if told[i] > wanted[i] else 'little'}.")  # fmt: skip


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


_LOOKUPS = (
    ("bytes only", lambda n, w, b: n * _bytes(w, b) / _PER_NS / _QUEUES / 1e3,
     "You count bytes alone. A row of 16 bytes holds its queue as long as one of 1 KiB: the packet"
     " takes its 147 ns."),
    ("packets only", lambda n, w, b: n * _PACKET_NS / _QUEUES / 1e3,
     "You count packets alone. From some 2.4 KB on the bytes take longer than the packet: the"
     " longer of the two counts."),
    ("one queue", lambda n, w, b: n * row_ns(_bytes(w, b)) / 1e3,
     "That is one queue's time. Sixteen share the rows."),
    ("both added", lambda n, w, b: n * (
        _PACKET_NS + _ROW_NS + _bytes(w, b) / _PER_NS) / _QUEUES / 1e3,
     "You add the packet's time and the bytes' time. They pass beside each other: the longer of the"
     " two counts."),
    ("bytes of one number", lambda n, w, b: n * row_ns(w) / _QUEUES / 1e3,
     "You let each number have one byte. A row has width times bytes_per_number."),
    ("one descriptor in all", lambda n, w, b: row_ns(n * _bytes(w, b)) / _QUEUES / 1e3,
     "You fetch all rows in one piece. They lie anywhere in the table: each is a descriptor of its"
     " own."),
    ("nanoseconds", lambda n, w, b: n * row_ns(_bytes(w, b)) / _QUEUES,
     "That is right in nanoseconds; microseconds are asked for."),
)  # fmt: skip


@exercise(
    "09c/lookup-time",
    title="How long do lookups take?",
    answer="lookup_us",
    points=3,
    tests="a descriptor per row: the longer of its packet and its bytes, shared by sixteen queues",
    hints=(
        "First one row on one queue. It takes as long as its packet, or as its bytes with what each"
        " row costs besides: whichever is longer.",
        "bytes = width * bytes_per_number; one row holds its queue max(147, 8 + bytes / 17) ns.",
        "All rows, on sixteen queues, in microseconds: rows * max(147, 8 + bytes / 17) / 16 /"
        " 1000.",
    ),
    numbers=lambda draw: {"cases": [
        *((1000 * draw.integer(f"rows {i}", 1, 400), 2 ** draw.integer(f"width {i}", 3, 9),
           draw.choice(f"bytes {i}", (2, 4))) for i in range(6)),
        (50_000, 2048, 2), (50_000, 4096, 4), (16, 1, 2),
    ]},
)  # fmt: skip
def lookup_time(answer, numbers):
    """Ask for rows short and long; recognise what was forgotten."""
    _ask(answer, numbers.cases, lambda n, w, b: n * row_ns(_bytes(w, b)) / _QUEUES / 1e3, _LOOKUPS,
         lambda n, w, b: f"{n:,} rows of {w} numbers of {b} bytes")  # fmt: skip


# --- the least loss -------------------------------------------------------------------------------


def _entropy(p):
    p = np.asarray(p, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sum(np.where(x > 0, -x * np.log(x), 0) for x in (p, 1 - p))


def _certain(p):
    return np.clip(np.asarray(p, float), 1e-12, 1 - 1e-12)


_LOSSES = (
    ("zero", lambda p: 0.0, "A loss of 0 needs a model that knows how each coin will fall. All it"
     " can know is the bias."),
    ("one coin for all", lambda p: float(_entropy(np.mean(p))),
     "You take the mean of all biases first: that is the best loss of a model that says the same of"
     " every sample. This one may tell samples apart."),
    ("bits", lambda p: float(_entropy(p).mean() / math.log(2)),
     "That is in bits. Losses here are in nats: the natural logarithm."),
    ("one side", lambda p: float((-_certain(p) * np.log(_certain(p))).mean()),
     "You count only the times it is taken. When it is not, with probability 1 - p, the loss is"
     " -log(1 - p)."),
    ("the likelier side", lambda p: float(-np.log(np.maximum(p, 1 - np.asarray(p))).mean()),
     "You let the likelier side always come. It comes with its probability, and the other one with"
     " the rest."),
    ("the sum", lambda p: float(_entropy(p).sum()), "That is the sum over samples; the loss is"
     " their mean."),
    ("half", lambda p: math.log(2), "log 2 is the loss of a model that says one half of every"
     " sample, whatever it sees."),
)  # fmt: skip

#: Wrong models by exercise and name, for the tests.
BELIEFS = {"lookup-time": {name: f for name, f, _ in _LOOKUPS},
           "best-loss": {name: f for name, f, _ in _LOSSES}}  # fmt: skip


def _biases(draw):
    return [[draw.integer(f"{i} {k}", 1, 99) / 100 for k in range(draw.integer(f"n {i}", 3, 8))]
            for i in range(5)]  # fmt: skip


@exercise(
    "09c/best-loss",
    title="The least loss there can be",
    answer="best_loss",
    points=3,
    tests="the mean entropy of coins of known bias, in nats, and coins that always fall one way",
    hints=(
        "One coin first. A model that knows its bias p says p. How large is its loss if the item is"
        " taken, how large if not, and how often does each happen?",
        "-log(p) with probability p, -log(1 - p) with probability 1 - p: add both, each times its"
        " probability. Then the mean over the coins.",
        "sum(-p * log(p) - (1 - p) * log(1 - p)) / n, with math.log, and 0 where p is 0 or 1.",
    ),
    numbers=lambda draw: {"cases": [*((p,) for p in _biases(draw)), ([0.5],), ([0.0, 1.0, 0.9],)]},
)
def best_loss(answer, numbers):
    """Ask for coins of several biases; recognise other bounds."""
    _ask(answer, numbers.cases, lambda p: float(_entropy(p).mean()), _LOSSES,
         lambda p: f"coins of bias {', '.join(map(str, p))}")  # fmt: skip
