"""Judges: NumPy on integers; the facts' table of exact counts (steps, busiest links, memory)."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from tests.texts import rows_beside
from trainium_edu import fabric
from trainium_edu.fabric import FabricError

ROWS = rows_beside(__file__, "algorithms.toml")

# algorithm, collective, options, then (steps, sum, HBM) for 2 and for 4 ranks per chip


@for_each("algorithm, collective, options, two, four", ROWS["exact"])
def test_exact_counts_of_the_facts(algorithm, collective, options, two, four):
    for per_chip, wanted in ((2, two), (4, four)):
        torus = fabric.torus(4, 4, ranks_per_chip=per_chip)
        schedule = fabric.plan(torus, collective, algorithm, **options)
        # the single-step mesh does not cut its buffer: a chunk C is 1/N of what it moves
        unit = torus.ranks if algorithm == "mesh_single_step" else 1
        got = (
            schedule.steps,
            fabric.busiest_link_chunks(schedule, torus) * unit,
            fabric.hbm_touches(schedule) * unit,
        )
        assert got == pytest.approx(wanted, rel=1e-12)


@for_rows("algorithm", "ring", "kangaring", "mesh", "rdh")
@for_rows("per_chip", 2, 4)
def test_all_reduce_is_its_two_halves(algorithm, per_chip):
    torus = fabric.torus(4, 4, ranks_per_chip=per_chip)
    whole, scatter, gather = (
        fabric.plan(torus, c, algorithm) for c in ("all_reduce", "reduce_scatter", "all_gather")
    )
    assert whole.steps == scatter.steps + gather.steps
    for count in (fabric.hbm_touches, lambda s: fabric.busiest_link_chunks(s, torus)):
        assert count(whole) == pytest.approx(count(scatter) + count(gather), rel=1e-12)


def test_every_link_is_busy_in_every_step_of_four_directed_rings():
    torus = fabric.torus(4, 4)
    loads = fabric.link_loads(fabric.plan(torus, "all_reduce", "ring"), torus)
    assert loads.shape == (30, 64)
    assert np.all(loads == 0.25)


def test_rdh_on_the_same_axis_uses_a_quarter_of_the_links():
    torus = fabric.torus(4, 4, ranks_per_chip=2)
    loads = fabric.link_loads(fabric.plan(torus, "all_gather", "rdh", axis_order="same"), torus)
    assert [(step > 0).sum() for step in loads] == [16, 16, 16, 16, 0]
    spread = fabric.plan(torus, "all_gather", "rdh", axis_order="spread")
    loads = fabric.link_loads(spread, torus)
    assert [(step > 0).sum() for step in loads] == [64, 64, 64, 64, 0]
    assert fabric.busiest_link_chunks(spread, torus) == 7.5


def test_kangaring_touches_a_third_less_memory_in_the_limit():
    def touches(chips, collective, algorithm):
        t = fabric.ring(chips, ranks_per_chip=2)
        return fabric.hbm_touches(fabric.plan(t, collective, algorithm))

    gather = touches(64, "all_gather", "kangaring") / touches(64, "all_gather", "ring")
    scatter = touches(64, "reduce_scatter", "kangaring") / touches(64, "reduce_scatter", "ring")
    assert gather == pytest.approx(3 / 4, abs=0.01)
    assert scatter == pytest.approx(4 / 6, abs=0.01)


def topologies(ranks, per_chip):
    chips = ranks // per_chip
    yield fabric.ring(chips, ranks_per_chip=per_chip)
    yield fabric.fully_connected(max(chips, 1), ranks_per_chip=per_chip)
    if chips == 16:
        yield fabric.torus(4, 4, ranks_per_chip=per_chip)
        yield fabric.hypercube(4, ranks_per_chip=per_chip)
    for rows in (2, 3, 5):
        if chips % rows == 0 and chips > rows:
            yield fabric.torus(rows, chips // rows, ranks_per_chip=per_chip)
            yield fabric.grid(rows, chips // rows, ranks_per_chip=per_chip)


def sum_everything(topology, rng):
    """Run all that this topology allows on integers; return how many combinations ran."""
    n, count = topology.ranks, 0
    data = rng.integers(-1000, 1000, (n, 2 * n + 3)).astype(np.int32)
    total = data.sum(axis=0)
    chunks = [np.array_split(d, n) for d in data]
    for algorithm, able in fabric.ALGORITHMS.items():
        if algorithm == "hierarchical":
            continue
        for collective in able:
            root, target = int(rng.integers(n)), rng.permutation(n)
            options = {"broadcast": {"root": root}, "permute": {"target": target}}.get(
                collective, {}
            )
            power = n & (n - 1) == 0 and all(k & (k - 1) == 0 for k in topology.shape)
            try:
                fabric.plan(topology, collective, algorithm, **options)
            except FabricError:
                if not ("doubling" in algorithm or algorithm in ("rdh", "kangaring")):
                    raise
                assert not power or topology.ranks_per_chip % 2
                continue
            inputs, wanted = data, [total] * n
            if collective == "all_gather":
                inputs = [data[r, : 2 + r % 3] for r in range(n)]
                wanted = [np.concatenate(inputs)] * n
            elif collective == "reduce_scatter":
                wanted = np.array_split(total, n)
            elif collective == "all_to_all":
                wanted = [np.concatenate([c[d] for c in chunks]) for d in range(n)]
            elif collective == "broadcast":
                wanted = [data[root]] * n
            elif collective == "permute":
                wanted = data[np.argsort(target)]
            out = fabric.run(topology, collective, inputs, algorithm, **options)
            for ours, right in zip(out, wanted, strict=True):
                assert np.array_equal(ours, right), (algorithm, collective, topology)
            count += 1
    return count


def test_a_rank_to_which_none_sends_ends_a_permute_with_zeros():
    data = np.arange(8).reshape(4, 2) + 1
    out = fabric.run(fabric.ring(4), "permute", data, "mesh", target=[1, -1, -1, 0])
    assert np.array_equal(out, [data[3], data[0], [0, 0], [0, 0]])


FEW = (4, 8, 12, 16)


@for_rows("per_chip", 1, 2, 4)
@for_each("ranks", FEW)
def test_integers_are_exact(ranks, per_chip):
    rng = np.random.default_rng(ranks * 8 + per_chip)
    for topology in topologies(ranks, per_chip):
        assert sum_everything(topology, rng) >= 12


#: Numbers of ranks of each CI run: all small ones, then primes, squares, powers and products.
OFTEN = {*range(2, 21), 24, 25, 27, 30, 31, 32, 36, 45, 48, 49, 61, 64}


@pytest.mark.parametrize(
    ("ranks", "per_chip"),
    [
        pytest.param(n, r, marks=pytest.mark.slow if n in OFTEN else pytest.mark.soak)
        for n in sorted({*range(2, 65)} - {*FEW})
        for r in (1, 2, 4)
        if n % r == 0
    ],
)
def test_integers_are_exact_for_every_number_of_ranks(ranks, per_chip):
    rng = np.random.default_rng(ranks * 8 + per_chip)
    for topology in topologies(ranks, per_chip):
        assert sum_everything(topology, rng) >= 10 + 2 * (ranks in (24, 32))


@for_rows("intra", "ring", "kangaring", "mesh", "rdh")
@for_rows("inter", "ring", "mesh", "halving_doubling")
def test_hierarchical_sums_are_exact(intra, inter):
    cluster = fabric.ultracluster(32)
    data = np.random.default_rng(3).integers(-99, 99, (64, 200))
    total = data.sum(axis=0)
    options = {"intra": intra, "inter": inter}
    reduced = fabric.run(cluster, "all_reduce", data, "hierarchical", **options)
    assert all(np.array_equal(x, total) for x in reduced)
    parts = fabric.run(cluster, "reduce_scatter", data, "hierarchical", **options)
    assert np.array_equal(np.concatenate(parts), total)
    shards = [d[:3] for d in data]
    full = fabric.run(cluster, "all_gather", shards, "hierarchical", **options)
    assert all(np.array_equal(x, np.concatenate(shards)) for x in full)


def test_hierarchical_keeps_the_network_share_small():
    cluster = fabric.ultracluster(32)
    network = (cluster.dst == cluster.chips).nonzero()[0]
    schedule = fabric.plan(cluster, "all_reduce", "hierarchical")
    sent = fabric.link_loads(schedule, cluster)[:, network].sum() / 64 / 64
    assert sent == pytest.approx(2 * (2 - 1) / 2 / 32)  # buffers per rank: 2(X-1)/X of 1/Y
