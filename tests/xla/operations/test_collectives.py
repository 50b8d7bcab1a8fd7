"""Collectives: what a graph asks of whoever was handed in.  Judge: sums over NumPy's axis 0."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from tests.xla.operations.cases import graph_of
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.numerics import cast
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executor import Plan, Setting
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, parameter
from trainium_edu.xla.operations.control import item

ROWS = Type((4, 6), "float32")
WORLD = 2


class Sums:
    """One flat row per rank, added up."""

    def __init__(self):
        self.draws = []

    def all_reduce(self, flat, node, draw):
        assert flat.ndim == 2
        self.draws.append(draw)
        total = flat.sum(0, dtype=flat.dtype)
        total = total / len(flat) if node.of["kind"] == "mean" else total
        return total if flat.shape[1] % 2 else np.broadcast_to(total, flat.shape)

    def all_gather(self, flat, node, draw):
        return np.tile(flat.reshape(-1), (len(flat), 1))

    def reduce_scatter(self, flat, node, draw):
        return flat.sum(0).reshape(len(flat), -1)

    def all_to_all(self, flat, node, draw):
        parts = flat.reshape(len(flat), len(flat), -1)
        return np.stack([parts[:, rank].ravel() for rank in range(len(flat))])

    def collective_permute(self, flat, node, draw):
        sent = {target: source for source, target in node.of["pairs"]}
        return np.stack([flat[sent[r]] if r in sent else 0 * flat[r] for r in range(len(flat))])


REDUCE = {"kind": "sum", "groups": None}
GATHER = {"axis": -1, "groups": None, "world": WORLD}
SCATTER = {"kind": "sum", "axis": -2, "groups": None, "world": WORLD}
SHIFT = {"pairs": ((0, 1),), "groups": None, "world": WORLD}
ALL = [("all_reduce", REDUCE), ("all_reduce", {"kind": "mean", "groups": None}),
       ("all_gather", GATHER), ("reduce_scatter", SCATTER), ("all_to_all", GATHER),
       ("collective_permute", SHIFT)]  # fmt: skip
X = np.random.default_rng(0).normal(size=(WORLD, *ROWS.shape)).astype(np.float32)


def run(graph, *feeds):
    return Plan(graph).run(feeds, Setting(replicas=WORLD, collectives=Sums()))


@for_each("name, attributes", ALL, ids=str)
def test_each_rank_gets_its_part(name, attributes):
    graph = graph_of(name, ROWS, **attributes)
    (got,) = run(graph, X)
    assert got.shape == (WORLD, *graph.outputs[0].shape)
    want = {
        "all_reduce": lambda: np.stack([X.sum(0) / (2 if attributes["kind"] == "mean" else 1)] * 2),
        "all_gather": lambda: np.stack([np.concatenate([X[0], X[1]], 1)] * 2),
        "reduce_scatter": lambda: X.sum(0).reshape(2, 2, 6),
        "all_to_all": lambda: np.stack(
            [np.concatenate([X[0][:, part], X[1][:, part]], 1) for part in (slice(3), slice(3, 6))]
        ),
        "collective_permute": lambda: np.stack([0 * X[0], X[0]]),
    }[name]()
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_what_all_ranks_share_counts_once_for_each():
    (got,) = run(graph_of("all_reduce", ROWS, **REDUCE), X[0])
    np.testing.assert_allclose(got, np.stack([2 * X[0]] * 2), rtol=1e-6)


def bucket(dtype="float32", **attributes):
    """Return a graph that reduces three tensors at once."""
    types = [Type(shape, dtype) for shape in ((4, 6), (5,), (2, 3, 2))]
    leaves = tuple(parameter(i, type) for i, type in enumerate(types))
    node = apply("all_reduce", *leaves, **(REDUCE | attributes))
    return Graph("bucket", leaves, tuple(item(node, i) for i in range(3)))


def feeds_of(graph, seed=0, ranks=WORLD):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(ranks, *p.type.shape)).astype(np.float32) for p in graph.parameters]


@for_rows("scale", 1.0, 0.5, 1 / 3)
def test_a_bucket_is_one_message_of_several_tensors(scale):
    graph = bucket(scale=scale)
    feeds, seen = feeds_of(graph), Sums()
    got = Plan(graph).run(feeds, Setting(step=3, replicas=WORLD, collectives=seen))
    assert len(seen.draws) == 1
    for one, feed in zip(got, feeds, strict=True):
        np.testing.assert_allclose(one, feed.sum(0) * scale, rtol=1e-5, atol=1e-6)


def test_every_step_draws_other_bits():
    graph, seen = bucket(), Sums()
    for step in (0, 1, 1):
        Plan(graph).run(feeds_of(graph), Setting(step=step, replicas=WORLD, collectives=seen))
    assert seen.draws[1] == seen.draws[2] != seen.draws[0]


@for_rows("rounding", "nearest", "stochastic")
def test_a_scaled_bucket_is_rounded_once(rounding):
    """Judge: ``numerics.cast`` of each tensor, as it is taken out of the bucket."""
    graph = bucket("bfloat16", scale=1 / 3)
    feeds = [cast(feed, "bf16").astype(np.float32) for feed in feeds_of(graph)]
    setting = Setting(rounding, seed=4, replicas=WORLD, collectives=Sums())
    got = Plan(graph).run(feeds, setting)
    steps = [node for node in graph.nodes if node.operation != "parameter"]
    for one, feed, node in zip(got, feeds, graph.outputs, strict=True):
        scaled = feed.sum(0) * np.float32(1 / 3)
        wanted = cast(scaled, "bf16", rounding, seed=4, step=steps.index(node))
        for row in one if one.ndim > scaled.ndim else [one]:
            np.testing.assert_array_equal(row, wanted.astype(np.float32))


def test_whole_numbers_are_not_taken_for_floats():
    graph = bucket("int32")
    feeds = [np.full((WORLD, *p.type.shape), 2**24 + 1, np.int32) for p in graph.parameters]
    for one in run(graph, *feeds):
        assert one.dtype == np.int32
        assert (one == 2**25 + 2).all()


@for_each("name, attributes", [*ALL, ("all_reduce", REDUCE | {"scale": 0.3})], ids=str)
def test_gradients_are_central_differences_of_the_sum_over_ranks(name, attributes):
    graph = graph_of(name, ROWS, **attributes)
    (output,), (x,) = graph.outputs, graph.parameters
    up = parameter(1, output.type)
    both = Graph("back", (x, up), (output, *gradients(output, [x], up)))
    rng = np.random.default_rng(1)
    weights, way = rng.normal(size=(WORLD, *output.shape)), rng.normal(size=X.shape)
    _, found = run(both, X.astype(np.float64), weights)
    ends = [(run(graph, X + sign * 1e-3 * way)[0] * weights).sum() for sign in (1, -1)]
    assert (found * way).sum() == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=1e-6)


def test_gradients_of_a_bucket_are_those_of_its_tensors_alone():
    graph = bucket(scale=0.25)
    ups = [parameter(3 + i, one.type) for i, one in enumerate(graph.outputs)]
    back = [g for one, up in zip(graph.outputs, ups, strict=True)
            for g in [gradients(one, graph.parameters, up)]]  # fmt: skip
    for i, (one, up) in enumerate(zip(graph.parameters, ups, strict=True)):
        single = parameter(0, one.type)
        reduced = apply("all_reduce", single, **REDUCE, scale=0.25)
        alone = Graph("alone", (single, up), gradients(reduced, [single], up))
        together = Graph("together", (*graph.parameters, *ups), (back[i][i],))
        feeds = feeds_of(together, seed=i)
        ours, theirs = run(together, *feeds), run(alone, feeds[0], feeds[3 + i])
        np.testing.assert_allclose(
            np.broadcast_to(ours[0], feeds[i].shape),
            np.broadcast_to(theirs[0], feeds[i].shape),
            rtol=1e-6,
        )


SHAPES = [(3, 5), (2,), (4, 1, 2)]


def shared_out(world):
    """Return the graph that scatters the sum of tensors, and gathers them again."""
    leaves = [parameter(i, Type(shape, "float32")) for i, shape in enumerate(SHAPES)]
    part = apply("reduce_scatter", *leaves, kind="sum", world=world)
    every = apply("all_gather", part, world=world, shapes=tuple(SHAPES))
    return Graph("bucket", tuple(leaves), (part, *(item(every, i) for i in range(len(SHAPES)))))


@for_rows("world", 1, 2, 3, 5, 25, 40)
def test_a_bucket_is_shared_out_in_equal_parts_and_comes_back_whole(world):
    arrays = [np.random.default_rng(1).normal(size=(world, *s)).astype(np.float32) for s in SHAPES]
    others = Sums() if world > 1 else None
    part, *every = Plan(shared_out(world)).run(arrays, Setting(replicas=world, collectives=others))
    flat = np.concatenate([a.sum(0).ravel() for a in arrays])
    want = np.pad(flat, (0, -len(flat) % world)).reshape(world, -1)
    np.testing.assert_allclose(part, want, rtol=1e-6)
    for got, array in zip(every, arrays, strict=True):
        np.testing.assert_allclose(got, np.stack([array.sum(0)] * world), rtol=1e-6)


def test_a_bucket_alone_needs_neither_others_nor_an_axis_of_replicas():
    arrays = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in SHAPES]
    part, *every = Plan(shared_out(1)).run(arrays)
    assert part.shape == (25,)
    assert all(np.array_equal(got, array) for got, array in zip(every, arrays, strict=True))


def test_gathered_weights_take_the_place_of_the_old_ones():
    graph = shared_out(5)
    bare = Executable(graph).hbm_bytes
    taken = Executable(
        Graph("taken", graph.parameters, graph.outputs, ((1, 0), (2, 1), (3, 2)))
    ).hbm_bytes
    assert bare == (25 + 5 + 25) * 4
    assert taken == (25 + 5) * 4


def test_alone_a_collective_changes_nothing():
    for name, attributes in (("all_reduce", REDUCE), ("all_gather", {**GATHER, "world": 1})):
        np.testing.assert_array_equal(Plan(graph_of(name, ROWS, **attributes)).run([X[0]])[0], X[0])


def test_nobody_to_reach_the_others_is_an_error():
    for name, attributes, setting in (("all_reduce", REDUCE, Setting(replicas=2)),
                                      ("all_gather", GATHER, Setting())):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"{name} at .*needs other ranks"):
            Plan(graph_of(name, ROWS, **attributes)).run([X[0]], setting)


@for_each("name, attributes", ALL, ids=str)
def test_a_collective_has_no_instructions_and_is_noted(name, attributes):
    core, graph = NeuronCore(values=False), graph_of(name, ROWS, **attributes)
    lowering = lower(graph, core)
    assert lowering.collectives == [graph.outputs[0]]
    assert not len(core.program)
    assert lowering.view(graph.outputs[0]).shape == graph.outputs[0].shape
