"""Sums over links.  Judges: fabric's step-by-step executor, bit for bit; NumPy along the ranks."""

import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows
from trainium_edu import fabric
from trainium_edu.fabric import ALGORITHMS
from trainium_edu.training.parallel.collectives import links
from trainium_edu.xla.executor import Plan, Setting
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.operations import apply, parameter

ONE_INSTANCE = [a for a, able in ALGORITHMS.items() if fabric.Collective.ALL_REDUCE in able
                and a != "hierarchical"]  # fmt: skip


def node_of(name, elements, dtype="float32", **attributes):
    if name not in ("all_gather", "all_to_all", "collective_permute"):
        attributes = {"kind": "sum"} | attributes
    return apply(name, parameter(0, Type((elements,), dtype)), **attributes)


def noisy(ranks, elements, seed=0):
    rng = np.random.default_rng(seed)
    held = rng.standard_normal((ranks, elements)).astype(ml_dtypes.bfloat16)
    return held.astype(np.float32)


@for_each("algorithm", ONE_INSTANCE)
@for_each(("dtype", "rounding"), [("float32", "nearest"), ("bfloat16", "nearest"),
                                                 ("bfloat16", "stochastic")])  # fmt: skip
def test_values_are_what_the_schedule_makes_of_padded_rows(algorithm, dtype, rounding):
    reached, rows = links(8, algorithm=algorithm, rounding=rounding, seed=3), noisy(8, 1001)
    held = np.pad(rows, ((0, 0), (0, 7)))
    held = held if dtype == "float32" else held.astype(ml_dtypes.bfloat16)
    kind = "nearest" if dtype == "float32" else rounding
    wanted = fabric.execute(reached.schedule("all_reduce"), held, rounding=kind, seed=3)
    got = reached.all_reduce(rows, node_of("all_reduce", 1001, dtype))
    for one in wanted:
        np.testing.assert_array_equal(got, one[:1001].astype(np.float32))


@for_each("algorithm", ONE_INSTANCE)
@for_rows("rounding", "nearest", "stochastic")
def test_a_reduce_scatter_has_the_bits_of_an_all_reduce(algorithm, rounding):
    """ZeRO-1 rests on it: a shard of the padded sum, and the sum of all without padding."""
    reached, rows = links(8, algorithm=algorithm, rounding=rounding), noisy(8, 999)
    padded = np.pad(rows, ((0, 0), (0, 1)))
    whole = reached.all_reduce(rows, node_of("all_reduce", 999, "bfloat16"), 7)
    scatter = node_of("reduce_scatter", 1000, "bfloat16", axis=-1, world=8)
    parts = reached.reduce_scatter(padded, scatter, 7)
    assert parts.shape == (8, 125)
    np.testing.assert_array_equal(parts.reshape(-1)[:999], whole)


def test_draws_toss_coins_of_their_own():
    reached, rows = links(8, rounding="stochastic"), noisy(8, 300)
    node = node_of("all_reduce", 300, "bfloat16")
    first, second, again = (reached.all_reduce(rows, node, draw) for draw in (0, 1, 0))
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()
    x = parameter(0, Type((300,), "bfloat16"))
    plan = Plan(Graph("sum", (x,), (apply("all_reduce", x, kind="sum"),)))
    one, two, same = (
        plan.run([rows], Setting("stochastic", step=s, replicas=8, collectives=reached))[0]
        for s in (1, 2, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != two).any()


@for_rows("kind, function", ("max", np.max), ("min", np.min))
def test_largest_and_smallest(kind, function):
    rows = noisy(8, 50)
    got = links(8).all_reduce(rows, node_of("all_reduce", 50, kind=kind))
    np.testing.assert_array_equal(got, function(rows, axis=0))


def test_means_and_whole_numbers_are_exact_and_rows_stay():
    rows, reached = noisy(8, 50), links(8)
    total = reached.all_reduce(rows, node_of("all_reduce", 50))
    mean = reached.all_reduce(rows, node_of("all_reduce", 50, kind="mean"))
    np.testing.assert_array_equal(mean, total / 8)
    rows = np.full((8, 3), 2**24 + 1, np.int32)
    rows[:, 2] = 2**30
    got = links(8).all_reduce(rows, node_of("all_reduce", 3, "int32"))
    assert got.dtype == np.int32
    assert got.tolist() == [2**27 + 8, 2**27 + 8, 0]
    rows = noisy(8, 100)
    before = rows.copy()
    for name, more in (("all_reduce", {}), ("reduce_scatter", {"axis": -1, "world": 8}),
                       ("all_gather", {"axis": -1, "world": 8})):  # fmt: skip
        size = 96 if name == "reduce_scatter" else 100
        getattr(links(8), name)(rows[:, :size], node_of(name, size, **more))
    np.testing.assert_array_equal(rows, before)


@for_rows("dtype", "float16", "float8_e4m3", "float8_e5m2", "tfloat32")
def test_other_floats_are_rounded_after_every_hop(dtype):
    rows = np.full((2, 4), 1.25, np.float32)
    rows[1] = 0.0009765625  # far below the last place of a sum in eight bits
    got = links(2).all_reduce(rows, node_of("all_reduce", 4, dtype))
    wide = dtype in ("float16", "tfloat32")
    np.testing.assert_array_equal(got, np.full(4, 1.2509765625 if wide else 1.25, np.float32))


@for_rows("groups",
    ((0, 1, 2, 3), (4, 5, 6, 7)), ((0, 4), (1, 5), (2, 6), (3, 7)),
                                    ((7, 1, 2, 0), (4, 5, 6, 3)),
)  # fmt: skip
def test_groups_take_part_together(groups):
    reached, rows, world = links(8), noisy(8, 40), len(groups[0])
    total = reached.all_reduce(rows, node_of("all_reduce", 40, groups=groups))
    how = {"groups": groups, "axis": -1, "world": world}
    parts = reached.reduce_scatter(rows, node_of("reduce_scatter", 40, **how))
    gathered = reached.all_gather(rows, node_of("all_gather", 40, **how))
    moved = reached.all_to_all(rows, node_of("all_to_all", 40, groups=groups, axis=-1, world=world))
    for group in groups:
        some = rows[list(group)]
        wanted = links(world).all_reduce(some, node_of("all_reduce", 40))
        for place, rank in enumerate(group):
            np.testing.assert_array_equal(total[rank], wanted)
            np.testing.assert_array_equal(parts[rank], np.split(wanted, world)[place])
            np.testing.assert_array_equal(gathered[rank], some.reshape(-1))
            sent = [np.split(row, world)[place] for row in some]
            np.testing.assert_array_equal(moved[rank], np.concatenate(sent))


@for_rows("pairs", [(0, 3), (3, 0), (1, 1)], [(i, (i + 1) % 4) for i in range(4)])
def test_a_permute_moves_what_numpy_moves(pairs):
    rows = np.random.default_rng(0).normal(size=(4, 40)).astype(np.float32)
    node = node_of("collective_permute", 40, pairs=tuple(pairs), world=4, groups=None)
    matrix = np.zeros((4, 4), np.float32)
    matrix[[target for _, target in pairs], [source for source, _ in pairs]] = 1
    np.testing.assert_array_equal(links(4).collective_permute(rows, node), matrix @ rows)


@for_rows("dtype", "float32", "bfloat16")
def test_more_ranks_than_a_plan_holds_sum_in_ring_order(dtype):
    reached, rows = links(544), noisy(544, 700)
    got = reached.all_reduce(rows, node_of("all_reduce", 700, dtype))
    exact = rows.astype(np.float64).sum(0)
    place = 2.0 ** (-24 if dtype == "float32" else -8)
    assert (np.abs(got - exact) <= 544 * place * np.abs(rows).sum(0)).all()
    if dtype == "float32":
        np.testing.assert_array_equal(got, fabric.ring_all_reduce(rows.copy())[0])
