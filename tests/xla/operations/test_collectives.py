"""Collectives: what a graph asks of whoever was handed in.  Judge: sums over NumPy's axis 0."""

import numpy as np
import pytest

from trainium_edu.neuroncore import NeuronCore
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.executor import Plan, Setting
from trainium_edu.xla.graph import Graph, GraphError, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, parameter

ROWS = Type((4, 6), "float32")
WORLD = 2


class Sums:
    """All ranks in one array, added up along its leading axis."""

    def all_reduce(self, array, node):
        total = array.sum(0) / (len(array) if node.of["kind"] == "mean" else 1)
        return np.broadcast_to(total, array.shape)

    def all_gather(self, array, node):
        joined = np.concatenate(list(array), node.of["axis"])
        return np.broadcast_to(joined, (len(array), *joined.shape))

    def reduce_scatter(self, array, node):
        return np.stack(np.split(array.sum(0), len(array), node.of["axis"]))


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
    assert got.shape == (WORLD, *graph.outputs[0].shape)
    want = {
        "all_reduce": lambda: np.stack([X.sum(0) / (2 if attributes["kind"] == "mean" else 1)] * 2),
        "all_gather": lambda: np.stack([np.concatenate([X[0], X[1]], 1)] * 2),
        "reduce_scatter": lambda: X.sum(0).reshape(2, 2, 6),
    }[name]()
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_what_all_ranks_share_counts_once_for_each():
    (got,) = run(graph_of("all_reduce", REDUCE), X[0])
    np.testing.assert_allclose(got, np.stack([2 * X[0]] * 2), rtol=1e-6)


@pytest.mark.parametrize(("name", "attributes"), ALL, ids=str)
def test_gradients_are_central_differences_of_the_sum_over_ranks(name, attributes):
    graph = graph_of(name, attributes)
    (output,), (x,) = graph.outputs, graph.parameters
    up = parameter(1, output.type)
    both = Graph("back", (x, up), (output, *gradients(output, [x], up)))
    rng = np.random.default_rng(1)
    weights, way = rng.normal(size=(WORLD, *output.shape)), rng.normal(size=X.shape)
    _, found = run(both, X.astype(np.float64), weights)
    ends = [(run(graph, X + sign * 1e-3 * way)[0] * weights).sum() for sign in (1, -1)]
    assert (found * way).sum() == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=1e-6)


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
])  # fmt: skip
def test_what_does_not_fit_is_said(name, attributes, message):
    with pytest.raises(GraphError, match=message):
        graph_of(name, attributes)


def test_the_largest_of_all_ranks_has_no_gradient():
    x = parameter(0, ROWS)
    node = apply("all_reduce", x, kind="max", groups=None)
    with pytest.raises(GraphError, match="'max' has no gradient"):
        gradients(node, [x], x)
