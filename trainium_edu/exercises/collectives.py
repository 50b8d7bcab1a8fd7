"""Exercises of lesson 08: a ring reduce-scatter, bus bandwidth, the choice of an algorithm."""

import contextlib
import math
from dataclasses import replace
from functools import partial

import numpy as np

from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import compare, is_number, recognise, reject, reject_if


@exercise("08/ring-reduce-scatter")
def ring_reduce_scatter(answer, numbers):
    """Check with the schedule checker, then run it on whole numbers and compare with NumPy."""
    for ranks in (4, numbers.ranks):
        _check_schedule(answer(ranks), ranks, numbers.seed)


def _check_schedule(moves, ranks, seed):
    from trainium_edu.fabric import FabricError, Schedule, check, execute

    reject_if(not isinstance(moves, list | tuple) or not len(moves), "no list")
    try:
        schedule = Schedule.from_moves("reduce_scatter", ranks, moves)
    except FabricError as error:
        reject("no move", str(error))
    src, dst = schedule.src, schedule.dst
    reject_if(max(src.max(), dst.max()) >= ranks, "no such rank", ranks=ranks, last=ranks - 1)
    far = np.flatnonzero((src + 1) % ranks != dst)
    if len(far):
        reject("not the neighbour", sender=src[far[0]], receiver=dst[far[0]])
    reject_if(np.any(schedule.op != 1), "copies")
    if schedule.steps > ranks - 1:
        reject("too many steps", steps=schedule.steps, ranks=ranks, enough=ranks - 1)
    busy = np.unique(np.stack([schedule.step, src]), axis=1).shape[1]
    reject_if(busy < len(schedule), "several chunks a step")
    try:
        check(schedule)
    except FabricError as error:
        for shift in range(1, ranks):
            with contextlib.suppress(FabricError):
                check(replace(schedule, owner=(np.arange(ranks) + shift) % ranks))
                reject("ends one off", shift=shift)
        reject("broken", error=error)
    data = np.random.default_rng(seed).integers(-99, 99, (ranks, 2 * ranks + 1)).astype(np.int64)
    got = np.concatenate(execute(schedule, data))
    reject_if(not np.array_equal(got, data.sum(axis=0)), "wrong sum")


@exercise("08/bus-bandwidth")
def bus_bandwidth(answer, numbers):
    """Check the three collectives."""
    nbytes, us = numbers.nbytes, numbers.time + 0.5
    algbw = nbytes / us / 1e3
    same = partial(math.isclose, rel_tol=1e-6)
    for ranks in (numbers.ranks, 32):
        for collective, trips in (("all_reduce", 2), ("all_gather", 1), ("reduce_scatter", 1)):
            got = answer(collective, ranks, nbytes, us)
            reject_if(not is_number(got), "no number", collective=collective)
            trip = algbw * (ranks - 1) / ranks
            right = trips * trip
            if same(got, right):
                continue
            beliefs = {
                "algorithm bandwidth": algbw,
                "binary units": right * 1e9 / 2**30,
                "two trips": 2 * trip,
                "one trip": trip,
                "own part too": algbw * trips,
            }
            recognise(got, beliefs, same=same)
            for power in (1e3, 1e-3, 1e-6):
                recognise(got, {"wrong power of ten": right * power}, same=same)
            reject("other", collective=collective, ranks=ranks)


@exercise("08/choose")
def choose(answer, numbers):
    """Check gradients around every crossover, where the usual mistakes choose differently."""
    latency, rate, width = numbers.latency_us, numbers.gb_per_s, numbers.bytes_per_parameter

    def best(nbytes):
        return min(latency, key=lambda name: latency[name] + nbytes / (1e3 * rate[name]))

    names = list(latency)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    edges = [(latency[b] - latency[a]) * 1e3 / (1 / rate[a] - 1 / rate[b]) for a, b in pairs]
    sizes = sorted({int(e * f / width) for e in edges for f in (0.05, 0.7, 1.3, 20)} | {4810})
    form = "no name", lambda got: isinstance(got, str) and got in latency
    beliefs = {
        "bandwidth alone": lambda n: "kangaring",
        "latency alone": lambda n: "mesh",
        "parameters as bytes": best,
        "bits as bytes": lambda n: best(8 * n * width),
    }
    cases = [(n,) for n in sizes]

    def chosen(n):
        return answer(n, width, latency, rate)

    compare(chosen, cases, lambda n: best(n * width), beliefs, form, what="choices")
