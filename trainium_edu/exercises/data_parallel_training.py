"""Exercises of lesson 09: the mean over ranks in a ring's order, and communication that shows."""

import math
from functools import partial
from itertools import pairwise

import numpy as np

from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import array_of, compare, compare_each, reject_if

_ELEMENTS = 48  # of a rank's part of the gradient


def _bf16(values):
    from trainium_edu import numerics

    return numerics.round_to(np.asarray(values, np.float32), "bf16")


def _summed(gradients, begin, way=1, rounded=_bf16, but=0):
    """Return the sum over ranks of each part: who begins, which way it goes, who is left out."""
    ranks = len(gradients)
    parts, part = gradients.reshape(ranks, ranks, -1), np.arange(ranks)
    total = parts[begin(part) % ranks, part]
    for k in range(1, ranks - but):
        total = rounded(total + parts[(begin(part) + way * k) % ranks, part])
    return total.reshape(-1)


def _beliefs(gradients):
    """Return the mean as people get it who overlook something: rows of name, value, sentence."""
    ranks = len(gradients)
    ring, no = _summed(gradients, lambda part: part + 1), lambda values: values
    missing = _summed(gradients, lambda part: part + 1, but=1)
    all_but_last = _summed(gradients, lambda part: 0, but=1)
    started_late = _summed(gradients, lambda part: part + 2, but=1)
    return {
        "sum for mean": ring,
        "the owner forgotten": missing / ranks,
        "the owner forgotten, also in the mean": missing / (ranks - 1),
        "the first rank forgotten": started_late / ranks,
        "the last rank forgotten": all_but_last / ranks,
        "rank by rank": _summed(gradients, lambda part: 0) / ranks,
        "its owner first": _summed(gradients, lambda part: part) / ranks,
        "the other way round": _summed(gradients, lambda part: part - 1, -1) / ranks,
        "rounded at the end": _bf16(_summed(gradients, lambda part: part + 1, rounded=no) / ranks),
        "never rounded": _summed(gradients, lambda part: part + 1, rounded=no) / ranks,
    }


@exercise("09/ring-mean")
def ring_mean(answer, numbers):
    """Compare bit for bit with the schedule, executed move by move."""
    for ranks in dict.fromkeys((4, numbers.ranks)):
        gradients = gradients_of(ranks, numbers.seed)
        returned = answer(gradients)
        got, shape = array_of(returned), gradients.shape
        if got.shape == shape and (got == got[0]).all():
            got = got[0]  # the same row for every rank says the same
        reject_if(got.shape != shape[1:], "wrong shape", shape=shape, returned=returned)
        part = np.arange(got.size) // _ELEMENTS
        compare_each(got, executed(gradients), _beliefs(gradients), part=part)


def gradients_of(ranks: int, seed: int) -> np.ndarray:
    """Return a gradient for each rank, float32[ranks, elements], all of them BF16 numbers."""
    drawn = np.random.default_rng(seed).normal(0.02, 1, (ranks, ranks * _ELEMENTS))
    return _bf16(drawn)


def executed(gradients) -> np.ndarray:
    """Return what every rank holds after the schedule's moves, float32[elements]."""
    import ml_dtypes

    from trainium_edu import fabric

    ranks = len(gradients)
    schedule = fabric.plan(fabric.ring(ranks), "all_reduce", "ring", cycles=1)
    held = fabric.execute(schedule, gradients.astype(ml_dtypes.bfloat16))
    return held[0].astype(np.float32) / np.float32(ranks)


# --- communication that shows ---------------------------------------------------------------------


def _sums(buckets, latency_us, gb_per_s):
    """Yield when each bucket is known, and how long its sum takes."""
    now = 0.0
    for backward_us, nbytes in buckets:
        now += backward_us
        yield now, latency_us + nbytes / (1e3 * gb_per_s)


def _exposed(buckets, latency_us, gb_per_s):
    free = 0.0
    for known, takes in _sums(buckets, latency_us, gb_per_s):
        free = max(free, known) + takes
    return free - known


def _of(function):
    """Return a belief about (when known, how long) pairs as one about the question's values."""
    return lambda *values: function(list(_sums(*values)))


#: Wrong ways to the communication that shows, by misconception.
SHORT_CUTS = {
    "no overlap": _of(lambda sums: sum(takes for _, takes in sums)),
    "no gaps on the links": _of(lambda sums: max(0, sum(t for _, t in sums) - sums[-1][0])),
    "the last bucket": _of(lambda sums: sums[-1][1]),
    "all at once": _of(lambda sums: max(known + takes for known, takes in sums) - sums[-1][0]),
    "each against its neighbour": _of(
        lambda sums: sums[-1][1] + sum(max(0, a[1] - (b[0] - a[0])) for a, b in pairwise(sums))
    ),
    "the step's end": lambda *values: _exposed(*values) + list(_sums(*values))[-1][0],
    "latency once": lambda buckets, us, rate: _exposed(
        [(at, n - (i > 0) * 1e3 * rate * us) for i, (at, n) in enumerate(buckets)], us, rate
    ),
    "no latency": lambda buckets, us, rate: _exposed(buckets, 0, rate),
    "bits": lambda buckets, us, rate: _exposed([(at, 8 * n) for at, n in buckets], us, rate),
}


def _cases(draw):
    """Draw backward passes: links behind, links that wait, a delay made up, a small last bucket."""
    latency, rate = draw.integer("latency", 8, 60), draw.integer("rate", 20, 110)
    takes = {
        "behind": (3, 3, 2.5, 3, 2),
        "waiting": (0.3, 0.5, 0.2, 0.6, 0.4),
        "made up": (2.5, 2.2, 0.1, 0.2, 1.3),
        "small last": (0.5, 0.4, 0.5, 1, 6),
    }
    drawn = []
    for name, shares in takes.items():
        buckets = []
        for i, share in enumerate(shares):
            low, high = {3: (28, 30), 4: (15, 16)}.get(i, (15, 30))  # tenths of the latency
            sum_us = latency * draw.integer(f"{name} {i}", low, high) / 10
            nbytes = int((sum_us - latency) * 1e3 * rate)
            buckets.append((round(sum_us / share, 1), nbytes))
        drawn.append(buckets)
    return {"latency_us": latency, "gb_per_s": rate, "cases": drawn}


@exercise("09/exposed", numbers=_cases)
def exposed_us(answer, numbers):
    """Try backward passes of all kinds; recognise the usual short cuts."""
    about = numbers.latency_us, numbers.gb_per_s
    cases = [([*map(tuple, case[:n])], *about) for case in numbers.cases for n in (1, 2, 3, 5)]
    same = partial(math.isclose, rel_tol=1e-6, abs_tol=1e-6)
    compare(answer, cases, _exposed, SHORT_CUTS, ("no number", float), same=same)
