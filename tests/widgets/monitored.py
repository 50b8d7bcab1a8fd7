"""A run to watch, and a step in time, made up: plain data of the shapes that training gives."""

from types import SimpleNamespace

import numpy as np

from trainium_edu import fabric
from trainium_edu.timeline import Span
from trainium_edu.training import Job
from trainium_edu.training.parallel.collectives import links

SIZES = (32_768, 131_072, 8_192)  #: bytes of the buckets
#: One step's compute: the backward pass ends the sums' gradients one after the other.
COMPUTE = (
    ("forward layer 0", 0, 20), ("forward layer 1", 20, 60), ("forward layer 2", 60, 70),
    ("loss", 70, 80), ("backward layer 2", 80, 100), ("backward layer 1", 100, 180),
    ("backward layer 0", 180, 220),
)  # fmt: skip
_READY = (100, 180, 220)  # µs
_UPDATE = 12


def bills(ranks=32, algorithm="kangaring"):
    """Return the bills of the three buckets, and the topology."""
    reached = links(ranks, algorithm=algorithm)
    schedule = reached.schedule("all_reduce")
    return [fabric.account(schedule, reached.topology, n) for n in SIZES], reached.topology


def spans(sums, *, overlap):
    """Return one step's spans."""
    found = [Span("engines", name, 1e3 * a, 1e3 * b) for name, a, b in COMPUTE]
    free = 0.0
    for k, (bill, ready) in enumerate(zip(sums, _READY, strict=True)):
        begin = max(free, 1e3 * (ready if overlap else _READY[-1]))
        free = begin + bill.time_ns.sum()
        found.append(Span("CC-cores", f"all-reduce of bucket {k}", begin, free))
    found.append(Span("engines", "optimiser", free, free + 1e3 * _UPDATE))
    return found


def steps(count=60, odd_from=None):
    """Return steps whose loss falls; from step `odd_from` on, not all ranks agree."""
    agree = count if odd_from is None else odd_from
    return [
        SimpleNamespace(number=i, loss=2.3 * 0.95**i + 0.08, agree=i < agree) for i in range(count)
    ]


def run(count=60, ranks=32, odd_from=None, odd=13):
    """Return a run that is over; from step `odd_from` on, one rank differs."""
    weight = np.ones((ranks, 4, 3), np.float32)
    if odd_from is not None:
        weight[odd, 2, 1] += 1e-6
    parameters = [SimpleNamespace(numpy=lambda: weight)]
    return SimpleNamespace(
        job=Job(ranks=ranks),
        trainer=SimpleNamespace(
            model=SimpleNamespace(parameters=lambda: parameters),
            task=SimpleNamespace(name="digits"),
            device=SimpleNamespace(executable=None),
            links=None,
        ),
        steps=steps(count, odd_from),
        is_tested=True,
        accuracy=[(i, 1 - 0.9 * 0.95**i) for i in range(10, count + 1, 10)],
    )


def monitor(**options):
    """Return a monitor with all four pictures filled."""
    from trainium_edu.viz.step_frames import step_frames
    from trainium_edu.widgets.training_monitor import training_monitor

    sums, topology = bills()
    shown = training_monitor(run(**options))
    on, off = (spans(sums, overlap=how) for how in (True, False))
    shown.film = step_frames((on, off), sums, topology)
    return shown
