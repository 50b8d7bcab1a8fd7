"""How fast the fabric runs: real sums over many ranks, big clusters, sweeps; `make bench`."""

import time

import numpy as np

from trainium_edu import fabric


def best_of(times, call, prepare=lambda: None):
    """Return the shortest of several runs in seconds, and the last result."""
    shortest = float("inf")
    for _ in range(times):
        prepare()
        start = time.perf_counter()
        result = call()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, result


def ring_of(ranks, elements, times):
    rng = np.random.default_rng(0)
    buffers = np.empty((ranks, elements), np.float32)

    def refill():
        buffers[:] = rng.standard_normal(elements, np.float32)

    refill()
    fabric.ring_all_reduce(np.ones((4, 8), np.float32))  # compiled before the clock starts
    return best_of(times, lambda: fabric.ring_all_reduce(buffers), refill)[0]


def copy_of(ranks, elements):
    """The limit: read every buffer once, and write every buffer once, on one thread."""
    buffers = np.ones((ranks, elements), np.float32)
    total = np.ones(elements, np.float32)

    def touch():
        buffers.sum()
        buffers[:] = total

    return best_of(2, touch)[0]


def main():
    """Print the table; return its rows for pages."""
    rows, found = [], {}

    def row(what, seconds, limit_seconds, beside=""):
        rows.append(
            f"| {what} | {seconds * 1e3:,.1f} ms | {limit_seconds * 1e3:,.0f} ms |"
            f" {limit_seconds / seconds:.1f} x | {beside} |"
        )
        found[what] = (f"{seconds * 1e3:,.1f} ms", beside)

    for ranks, elements, limit, times in ((1000, 16_000, 0.020, 9), (30_000, 29_952, 1.5, 3)):
        seconds = ring_of(ranks, elements, times)
        plain = copy_of(ranks, elements)
        row(
            f"ring all-reduce, {ranks:,} ranks x {elements * 4 / 1024:.1f} KiB float32",
            seconds, limit, f"{plain / seconds:.2f} x one read and one write by one thread",
        )  # fmt: skip
    fabric.ultracluster(1600)
    seconds, cluster = best_of(5, lambda: fabric.ultracluster(100_000))
    row("cluster of 100,000 chips as arrays", seconds, 0.030, f"{cluster.links:,} links")
    seconds, _ = best_of(3, lambda: fabric.hierarchical_time(cluster, 2**30))
    row("hierarchical all-reduce of that cluster timed", seconds, 1.0, "12,528 steps")
    sizes = np.geomspace(1, 1e12, 1_000_000)
    names = ("ring", "mesh", "mesh_single_step", "rdh")
    lines = [fabric.inter_node(n, 16, step_ns=1500, bytes_per_s=1e11) for n in names]
    seconds, _ = best_of(7, lambda: fabric.sweep(lines[:1], sizes))
    row("alpha-beta sweep, a million points", seconds, 0.020)
    seconds, _ = best_of(7, lambda: fabric.sweep(lines, sizes))
    row("the same, four algorithms and the winner", seconds, 0.020)
    latencies = iter(range(1000, 2000))
    seconds, _ = best_of(7, lambda: fabric.select(fabric.trn1_32xlarge(latency_ns=next(latencies))))
    row("selection curves of a machine never seen", seconds, 0.100, "3 algorithms, 256 sizes")
    print("| fabric | best | limit | margin | beside |\n|---|---|---|---|---|")
    print("\n".join(rows))
    return found


if __name__ == "__main__":
    main()
