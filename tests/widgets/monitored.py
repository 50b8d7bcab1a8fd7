"""A run to watch, and a step in time, made up: plain data of the shapes that training gives."""

from types import SimpleNamespace

from trainium_edu import fabric
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
    """Return one step's spans, as (name, track, start_ns, end_ns)."""
    found = [(name, "compute", 1e3 * a, 1e3 * b) for name, a, b in COMPUTE]
    free = 0.0
    for k, (bill, ready) in enumerate(zip(sums, _READY, strict=True)):
        begin = max(free, 1e3 * (ready if overlap else _READY[-1]))
        free = begin + bill.time_ns.sum()
        found.append((f"all-reduce of bucket {k}", "links", begin, free))
    found.append(("optimiser", "compute", free, free + 1e3 * _UPDATE))
    return found


def steps(count=60, odd_from=None, odd=(13,)):
    """Return steps whose loss falls; from step `odd_from` on, some ranks differ."""
    return [
        SimpleNamespace(
            number=i, loss=2.3 * 0.95**i + 0.08, odd=odd if odd_from is not None and i >= odd_from
            else (),
        )
        for i in range(count)
    ]  # fmt: skip


def run(count=60, ranks=32, **options):
    """Return a run that is over."""
    accuracy = [(i, 1 - 0.9 * 0.95**i) for i in range(10, count + 1, 10)]
    job = SimpleNamespace(ranks=ranks)
    return SimpleNamespace(job=job, steps=steps(count, **options), accuracy=accuracy)


def monitor(**options):
    """Return a monitor with all four pictures filled."""
    from trainium_edu.widgets.training_monitor import training_monitor

    sums, topology = bills()
    shown = training_monitor(run(**options))
    shown.show_step(spans(sums, overlap=True), spans(sums, overlap=False), sums, topology)
    return shown
