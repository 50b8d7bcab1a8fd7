"""Exercises of lesson 09: the mean over ranks in a ring's order, and communication that shows."""

import itertools
import math

import numpy as np

from trainium_edu.exercises.answers import canonical
from trainium_edu.exercises.exercise import NUMBER, exercise, recognise, reject, short

__all__ = ["SHORT_CUTS", "executed", "exposed_us", "gradients_of", "ring_mean"]

_ELEMENTS = 48  # of a rank's part of the gradient


def _bf16(values):
    from trainium_edu import numerics

    return numerics.round_to(np.asarray(values, np.float32), "bf16")


def _summed(gradients, begin, way=1, rounded=_bf16, but=0):
    """Return the sum over ranks, part by part: who begins, which way it goes, who is left out."""
    ranks = len(gradients)
    parts = gradients.reshape(ranks, ranks, -1)
    totals = []
    for part in range(ranks):
        order = [(begin(part) + way * k) % ranks for k in range(ranks - but)]
        total = parts[order[0], part]
        for rank in order[1:]:
            total = rounded(total + parts[rank, part])
        totals.append(total)
    return np.concatenate(totals)


def _beliefs(gradients):
    """Return the mean as people get it who overlook something: rows of name, value, sentence."""
    ranks = len(gradients)
    ring, no = _summed(gradients, lambda part: part + 1), lambda values: values
    missing = _summed(gradients, lambda part: part + 1, but=1)
    all_but_last = _summed(gradients, lambda part: 0, but=1)
    started_late = _summed(gradients, lambda part: part + 2, but=1)
    one_off = ("one rank forgotten", "One rank's gradients are in no sum: {}")
    return [
        ("sum for mean", ring, "That is the sum, in the right order. Each rank's loss is a mean"
         " over its own images, so the batch's gradient is the mean over ranks."),
        (one_off[0], missing / ranks, one_off[1].format("the owner of each part adds its own last,"
         " and here it never does.")),
        (one_off[0], missing / (ranks - 1), one_off[1].format("you divide by one rank too few, so"
         " nobody would notice from the size of the numbers.")),
        (one_off[0], started_late / ranks, one_off[1].format("part p begins at rank p + 1.")),
        (one_off[0], all_but_last / ranks, one_off[1].format("the last one. And a ring begins"
         " each part at another rank.")),
        ("rank by rank", _summed(gradients, lambda part: 0) / ranks, "All parts are added from rank"
         " 0 upwards. In a ring all ranks work at once, so each part begins at another rank, and"
         " BF16 sums in another order have other bits."),
        ("its owner first", _summed(gradients, lambda part: part) / ranks, "Part p begins at rank p"
         " here. Rank p is where it ends: it begins at the next rank, p + 1."),
        ("the other way round", _summed(gradients, lambda part: part - 1, -1) / ranks, "You go"
         " round the ring the other way: after rank p + 1 comes p + 2."),
        ("rounded at the end", _bf16(_summed(gradients, lambda part: part + 1, rounded=no) / ranks),
         "You add in FP32 and round once. What travels is BF16, so each rank rounds the sum before"
         " it sends it on."),
        ("never rounded", _summed(gradients, lambda part: part + 1, rounded=no) / ranks,
         "Nothing is rounded here: NumPy's mean is that too. What travels is BF16, so each rank"
         " rounds the sum before it sends it on."),
    ]  # fmt: skip


@exercise(
    "09/ring-mean",
    title="The gradients' mean, as a ring makes it",
    answer="ring_mean",
    points=4,
    tests="an all-reduce as a sum in a stated order, rounded at every hop: the same bits",
    hints=(
        "Cut the gradient into as many parts as there are ranks. Part p visits all ranks and ends"
        " at rank p. At which rank does it begin, then?",
        "Part p begins at rank p + 1, goes on to p + 2, and so on, modulo the number of ranks; rank"
        " p adds its own last. After each addition the sum is rounded to BF16.",
        "gradients.reshape(ranks, ranks, -1)[r, p] is what rank r has of part p. Begin with r ="
        " (p + 1) % ranks; then, for k from 2 to ranks, add that of rank (p + k) % ranks and round:"
        " numerics.round_to(..., 'bf16'). Put the parts one after the other and divide by ranks.",
    ),
    numbers=lambda draw: {
        "ranks": draw.choice("ranks", [8, 16, 32]),
        "seed": draw.seed("seed") % 2**32,
    },
)
def ring_mean(answer, numbers):
    """Compare bit for bit with the schedule, executed move by move."""
    for ranks in dict.fromkeys((4, numbers.ranks)):
        _check_mean(answer, ranks, numbers.seed)


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


def _check_mean(answer, ranks, seed):
    gradients = gradients_of(ranks, seed)
    returned = canonical(answer(gradients))
    try:
        got = np.asarray(returned)
    except ValueError:  # parts of different lengths
        got = np.empty(0)
    if got.dtype.name == "bfloat16":
        got = got.astype(np.float32)
    if got.shape == gradients.shape and np.array_equal(got, np.tile(got[0], (ranks, 1))):
        got = got[0]  # the same row for every rank says the same
    if got.shape != gradients.shape[1:] or got.dtype.kind not in "iuf":
        reject(
            "wrong shape",
            f"For gradients of shape {gradients.shape} it returned {short(returned)}; one row of"
            f" {gradients.shape[1]} numbers is asked for, the mean that every rank holds.",
        )
    right = executed(gradients)
    if np.array_equal(got, right):
        return
    recognise(got, _beliefs(gradients))
    wrong = got != right
    at = int(wrong.argmax())
    reject(
        "other",
        f"{int(wrong.sum())} of {wrong.size} numbers differ from the executed schedule; the first"
        f" is element {at}, in part {at // _ELEMENTS}: {got[at]:.6g}, and {right[at]:.6g} there.",
    )


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


#: Wrong ways to the communication that shows: (name, belief, sentence).
SHORT_CUTS = (
    ("no overlap", _of(lambda sums: sum(takes for _, takes in sums)),
     "That is all communication, as if no sum began before the backward pass has ended. The first"
     " bucket can travel while earlier layers are still at work."),
    ("no gaps on the links", _of(lambda sums: max(0, sum(t for _, t in sums) - sums[-1][0])),
     "Communication minus computing: that would be right if the links were busy from the first"
     " moment. They wait for the first bucket, and perhaps for a later one; and the last bucket"
     " is known only when the backward pass ends."),
    ("the last bucket", _of(lambda sums: sums[-1][1]),
     "The last bucket always shows. But the one before may still be travelling when it is ready:"
     " links take one after the other here."),
    ("all at once", _of(lambda sums: max(known + takes for known, takes in sums) - sums[-1][0]),
     "Here all sums travel side by side. They share the same links: one begins when the one before"
     " has ended."),
    ("each against its neighbour", _of(lambda sums: sums[-1][1] + sum(
        max(0, takes - (after - known))
        for (known, takes), (after, _) in itertools.pairwise(sums))),
     "You hold each sum against the layer that computes meanwhile, and add what sticks out. Delay"
     " can be made up later, while a long layer computes."),
    ("the step's end", lambda *values: _exposed(*values) + list(_sums(*values))[-1][0],
     "That is when the last sum ends. How much of it is after the backward pass?"),
    ("latency once", lambda buckets, latency_us, gb_per_s: _exposed(
        [(us, n - (i > 0) * 1e3 * gb_per_s * latency_us) for i, (us, n) in enumerate(buckets)],
        latency_us, gb_per_s),
     "Each bucket is an all-reduce of its own, and each pays the latency."),
    ("no latency", lambda buckets, latency_us, gb_per_s: _exposed(buckets, 0, gb_per_s),
     "The latency is missing: each bucket pays it, however small."),
    ("bits", lambda buckets, latency_us, gb_per_s: _exposed(
        [(us, 8 * n) for us, n in buckets], latency_us, gb_per_s),
     "The rate is in gigabytes per second, and the sizes are bytes."),
)  # fmt: skip


def _cases(draw):
    """Draw backward passes: links behind, links that wait, a delay made up, a small last bucket."""
    latency, rate = draw.integer("latency", 8, 60), draw.integer("rate", 20, 110)
    takes = {"behind": (3, 3, 2.5, 3, 2), "waiting": (0.3, 0.5, 0.2, 0.6, 0.4),
             "made up": (2.5, 1.6, 0.1, 0.2, 1.3), "small last": (0.5, 0.4, 0.5, 1, 6)}  # fmt: skip
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


@exercise(
    "09/exposed",
    title="Communication that shows",
    answer="exposed_us",
    points=3,
    tests="overlap as two queues: when a bucket is known, when the links are free",
    hints=(
        "Two clocks run: that of the backward pass, and that of the links. A sum begins when its"
        " bucket is known and the links are free: at the later of the two.",
        "A bucket's sum takes latency_us + bytes / (1000 * gb_per_s) microseconds. What shows is"
        " how long the links are still at work when the backward pass has ended.",
        "now and free begin at 0. For each bucket: now += backward_us; free = max(now, free) + its"
        " time. What shows is free - now.",
    ),
    numbers=_cases,
)
def exposed_us(answer, numbers):
    """Try backward passes of all kinds; recognise the usual short cuts."""
    latency, rate = numbers.latency_us, numbers.gb_per_s
    cases = [case[:n] for case in numbers.cases for n in (1, 2, 3, 5)]
    told = []
    for buckets in cases:
        got = answer([tuple(bucket) for bucket in buckets], latency, rate)
        if type(got) not in NUMBER:
            reject("no number", f"It returned {short(got)}; a number of microseconds is asked for.")
        told.append(got)

    def is_(belief):
        return all(
            math.isclose(got, belief(case, latency, rate), rel_tol=1e-6, abs_tol=1e-6)
            for got, case in zip(told, cases, strict=True)
        )

    if is_(_exposed):
        return
    for name, belief, sentence in SHORT_CUTS:
        if is_(belief):
            reject(name, sentence)
    for got, case in zip(told, cases, strict=True):
        right = _exposed(case, latency, rate)
        if not math.isclose(got, right, rel_tol=1e-6, abs_tol=1e-6):
            reject(
                "other",
                f"For the buckets {case} at {latency} µs and {rate} GB/s you say {got:.4g} µs. Draw"
                " both clocks, the backward pass above and the links below, bucket by bucket.",
            )
