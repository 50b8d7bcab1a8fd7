"""How fast the fabric runs: real sums over many ranks, big clusters, sweeps; `make bench`."""

import numpy as np

from tests.benchmarks.timed import Table, best_of
from trainium_edu import fabric


def ring_of(ranks, elements, times):
    rng = np.random.default_rng(0)
    buffers = np.empty((ranks, elements), np.float32)

    def refill():
        buffers[:] = rng.standard_normal(elements, np.float32)

    refill()
    fabric.ring_all_reduce(np.ones((4, 8), np.float32))  # compiled before the clock starts
    return best_of(times, lambda: fabric.ring_all_reduce(buffers), refill)


def copy_of(ranks, elements):
    """The limit: read every buffer once, and write every buffer once, on one thread."""
    buffers = np.ones((ranks, elements), np.float32)
    total = np.ones(elements, np.float32)

    def touch():
        buffers.sum()
        buffers[:] = total

    return best_of(2, touch)


def main():
    """Print the table; return its rows for pages."""
    table = Table("fabric", "best", "limit", "margin", "beside")
    for ranks, elements, limit, times in ((1000, 16_000, 0.020, 9), (30_000, 29_952, 1.5, 3)):
        seconds = ring_of(ranks, elements, times)
        table.timed(f"ring all-reduce, {ranks:,} ranks x {elements * 4 / 1024:.1f} KiB float32",
                    seconds, limit, f"{copy_of(ranks, elements) / seconds:.2f} x one read and one "
                    "write by one thread")  # fmt: skip
    cluster = fabric.ultracluster(100_000)
    sizes = np.geomspace(1, 1e12, 1_000_000)
    names = ("ring", "mesh", "mesh_single_step", "rdh")
    lines = [fabric.inter_node(n, 16, step_ns=1500, bytes_per_s=1e11) for n in names]
    latencies = iter(range(1000, 2000))
    for what, times, call, limit, beside in (
        ("cluster of 100,000 chips as arrays", 5, lambda: fabric.ultracluster(100_000), 0.030,
         f"{cluster.links:,} links"),
        ("hierarchical all-reduce of that cluster timed", 3,
         lambda: fabric.hierarchical_time(cluster, 2**30), 1.0, "12,528 steps"),
        ("alpha-beta sweep, a million points", 7,
         lambda: fabric.sweep(lines[:1], sizes), 0.020, ""),
        ("the same, four algorithms and the winner", 7,
         lambda: fabric.sweep(lines, sizes), 0.020, ""),
        ("selection curves of a machine never seen", 7,
         lambda: fabric.select(fabric.trn1_32xlarge(latency_ns=next(latencies))), 0.100,
         "3 algorithms, 256 sizes"),
    ):  # fmt: skip
        table.timed(what, best_of(times, call), limit, beside)
    return table.found
