"""Collectives: what a graph asks of whoever was handed in.  Judge: sums over NumPy's axis 0."""

import numpy as np
import pytest

from trainium_edu.neuroncore import NeuronCore
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executor import Plan, Setting
from trainium_edu.xla.graph import Graph, GraphError, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, parameter
from trainium_edu.xla.operations.collectives import placed
from trainium_edu.xla.operations.control import item

ROWS = Type((4, 6), "float32")
WORLD = 2


class Sums:
    """Each rank's operands come as one row, and leave as one."""

    def all_reduce(self, flat, node):
        return flat.sum(0) / (len(flat) if node.of["kind"] == "mean" else 1)

    def all_gather(self, flat, node):
        return np.stack([flat.reshape(-1)] * len(flat))

    def reduce_scatter(self, flat, node):
        if node.of.get("axis") is not None:
            return flat.sum(0).reshape(len(flat), -1)
        parts = np.zeros((is_used := placed(flat.shape[1], len(flat))).shape, np.float32)
        parts[is_used] = flat.sum(0)
        return parts


REDUCE = {"kind": "sum", "groups": None}
GATHER = {"axis": -1, "groups": None, "world": WORLD}
SCATTER = {"kind": "sum", "axis": -2, "groups": None, "world": WORLD}
ALL = [("all_reduce", REDUCE), ("all_reduce", {"kind": "mean", "groups": None}),
       ("all_gather", GATHER), ("reduce_scatter", SCATTER)]  # fmt: skip
X = np.random.default_rng(0).normal(size=(WORLD, *ROWS.shape)).astype(np.float32)


def graph_of(name, attributes):
    x = parameter(0, ROWS)
    return Graph(name, (x,), (apply(name, x, **attributes),))


def run(graph, *feeds):
    return Plan(graph).run(feeds, Setting(replicas=WORLD, collectives=Sums()))


@pytest.mark.parametrize(("name", "attributes"), ALL, ids=str)
def test_each_rank_gets_its_part(name, attributes):
    graph = graph_of(name, attributes)
    (got,) = run(graph, X)
    assert got.shape[-2:] == graph.outputs[0].shape
    want = {
        "all_reduce": lambda: np.stack([X.sum(0) / (2 if attributes["kind"] == "mean" else 1)] * 2),
        "all_gather": lambda: np.stack([np.concatenate([X[0], X[1]], 1)] * 2),
        "reduce_scatter": lambda: X.sum(0).reshape(2, 2, 6),
    }[name]()
    np.testing.assert_allclose(np.broadcast_to(got, want.shape), want, rtol=1e-6)


def test_what_all_ranks_share_counts_once_for_each():
    (got,) = run(graph_of("all_reduce", REDUCE), X[0])
    np.testing.assert_allclose(got, 2 * X[0], rtol=1e-6)


@pytest.mark.parametrize(("name", "attributes"), ALL, ids=str)
def test_gradients_are_central_differences_of_the_sum_over_ranks(name, attributes):
    graph = graph_of(name, attributes)
    (output,), (x,) = graph.outputs, graph.parameters
    up = parameter(1, output.type)
    both = Graph("back", (x, up), (output, *gradients(output, [x], up)))
    rng = np.random.default_rng(1)
    weights, way = rng.normal(size=(WORLD, *output.shape)), rng.normal(size=X.shape)
    _, found = run(both, X, weights)
    ends = [(run(graph, X + sign * way)[0] * weights).sum() for sign in (1, -1)]
    ways = np.broadcast_to(found, X.shape) * way  # all are linear, so that no step is too long
    assert ways.sum() == pytest.approx((ends[0] - ends[1]) / 2, rel=1e-5)


SHAPES = [(3, 5), (2,), (4, 1, 2)]


def bucket(world):
    """Return the graph that scatters the sum of tensors, and gathers them again."""
    leaves = [parameter(i, Type(shape, "float32")) for i, shape in enumerate(SHAPES)]
    part = apply("reduce_scatter", *leaves, kind="sum", world=world)
    every = apply("all_gather", part, world=world, shapes=tuple(SHAPES))
    return Graph("bucket", tuple(leaves), (part, *(item(every, i) for i in range(len(SHAPES)))))


@pytest.mark.parametrize("world", [1, 2, 3, 5, 25, 40])
def test_a_bucket_is_shared_out_as_evenly_as_it_goes_and_comes_back_whole(world):
    arrays = [np.random.default_rng(1).normal(size=(world, *s)).astype(np.float32) for s in SHAPES]
    others = Sums() if world > 1 else None
    part, *every = Plan(bucket(world)).run(arrays, Setting(replicas=world, collectives=others))
    flat = np.concatenate([a.sum(0).ravel() for a in arrays])
    width = len(max(np.array_split(flat, world), key=len))
    for row, want in zip(part, np.array_split(flat, world), strict=True):
        np.testing.assert_allclose(row, np.pad(want, (0, width - len(want))), rtol=1e-6)
    for got, array in zip(every, arrays, strict=True):
        np.testing.assert_allclose(got, np.stack([array.sum(0)] * world), rtol=1e-6)


def test_a_bucket_alone_needs_neither_others_nor_an_axis_of_replicas():
    arrays = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in SHAPES]
    part, *every = Plan(bucket(1)).run(arrays)
    assert part.shape == (25,)
    assert all(np.array_equal(got, array) for got, array in zip(every, arrays, strict=True))


def test_gathered_weights_take_the_place_of_the_old_ones():
    graph = bucket(5)
    bare = Executable(graph).hbm_bytes
    taken = Executable(Graph("taken", graph.parameters, graph.outputs,
                             ((1, 0), (2, 1), (3, 2)))).hbm_bytes  # fmt: skip
    assert bare == (25 + 5 + 25) * 4
    assert taken == (25 + 5) * 4


def test_alone_a_collective_changes_nothing():
    for name, attributes in (("all_reduce", REDUCE), ("all_gather", {**GATHER, "world": 1})):
        np.testing.assert_array_equal(Plan(graph_of(name, attributes)).run([X[0]])[0], X[0])


def test_nobody_to_reach_the_others_is_an_error():
    for name, attributes, setting in (("all_reduce", REDUCE, Setting(replicas=2)),
                                      ("all_gather", GATHER, Setting())):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"{name} at .*needs other ranks"):
            Plan(graph_of(name, attributes)).run([X[0]], setting)


@pytest.mark.parametrize(("name", "attributes"), ALL, ids=str)
def test_a_collective_has_no_instructions_and_is_noted(name, attributes):
    core, graph = NeuronCore(values=False), graph_of(name, attributes)
    lowering = lower(graph, core)
    assert lowering.collectives == [graph.outputs[0]]
    assert not len(core.program)
    assert lowering.view(graph.outputs[0]).shape == graph.outputs[0].shape


@pytest.mark.parametrize(("name", "attributes", "message"), [
    ("all_reduce", {"kind": "median", "groups": None}, "must be one of sum"),
    ("all_reduce", {"kind": "sum", "groups": ((0, 1), (1, 2))}, "each rank at most once"),
    ("all_reduce", {"kind": "sum", "groups": ((0, 1), (2,))}, "one size"),
    ("all_gather", {**GATHER, "axis": 0}, "counted from the end"),
    ("all_gather", {**GATHER, "groups": ((0, 1, 2),)}, "groups of 3 ranks, but world is 2"),
    ("reduce_scatter", {**SCATTER, "world": 3}, "do not split into 3"),
    ("all_gather", {"world": 2, "shapes": ((3,),)}, r"a part is \(2,\)"),
])  # fmt: skip
def test_what_does_not_fit_is_said(name, attributes, message):
    with pytest.raises(GraphError, match=message):
        graph_of(name, attributes)


def test_the_largest_of_all_ranks_has_no_gradient():
    x = parameter(0, ROWS)
    node = apply("all_reduce", x, kind="max", groups=None)
    with pytest.raises(GraphError, match="'max' has no gradient"):
        gradients(node, [x], x)
