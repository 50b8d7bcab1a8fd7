"""Trees of elementwise operations become one.

Judges: the plan without fusion (bit for bit in FP32; BF16 against float64, rounded once); the
instructions against the plan; HBM bytes by closed form.
"""

import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows
from tests.xla.random_graphs import random_graph
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, constant, parameter
from trainium_edu.xla.passes import fuse

X, Y = (parameter(i, Type((256, 1024), "float32")) for i in range(2))


def kinds(graph):
    return [n.operation for n in graph.nodes if n.operation not in ("parameter", "constant")]


@for_each("seed", range(40))
def test_values_stay_bit_for_bit_in_fp32(seed):
    graph, feeds = random_graph(seed)
    after = fuse(graph).after
    for want, found in zip(Plan(graph).run(feeds), Plan(after).run(feeds), strict=True):
        np.testing.assert_array_equal(found, want)


@for_each("seed", range(20))
def test_fusing_twice_changes_nothing(seed):
    once = fuse(random_graph(seed)[0]).after
    assert fuse(once).after is once


def test_bf16_is_rounded_once_at_the_root():
    x = parameter(0, Type((64, 64), "bfloat16"))
    chain = apply("exp", apply("multiply", x, x))
    feed = np.random.default_rng(0).uniform(-1, 1, x.shape).astype(ml_dtypes.bfloat16)
    feed = feed.astype(np.float32)
    (found,) = Plan(fuse(Graph("chain", (x,), (chain,))).after).run([feed])
    once = np.exp(feed.astype(np.float64) ** 2).astype(ml_dtypes.bfloat16).astype(np.float32)
    assert (found != once).mean() < 0.01  # float64's and FP32's exp round apart here and there
    (twice,) = Plan(Graph("chain", (x,), (chain,))).run([feed])
    assert (twice != once).mean() > 0.05


def test_a_tree_is_one_fusion_that_ends_where_others_read():
    tree = apply("add", apply("exp", X), apply("multiply", X, Y))
    assert kinds(fuse(Graph("tree", (X, Y), (tree,))).after) == ["fusion"]
    part = apply("multiply", X, Y)
    total = apply("add", apply("exp", part), Y)
    both = fuse(Graph("two", (X, Y), (total, part))).after
    assert sorted(kinds(both)) == ["fusion", "multiply"]
    shared = apply("exp", X)
    sums = [
        apply("reduce_sum", apply("multiply", shared, x), axes=(-1,), keep=True) for x in (X, Y)
    ]
    assert "fusion" not in kinds(fuse(Graph("shared", (X, Y), tuple(sums))).after)
    half = constant(np.full((1, 1), 0.5))
    graph = fuse(Graph("half", (X,), (apply("exp", apply("multiply", X, half)),))).after
    assert [len(n.inputs) for n in graph.nodes if n.operation == "fusion"] == [1]


def test_equal_layers_fuse_into_equal_rows():
    def layer(x):
        return apply("exp", apply("negate", apply("reshape", x, shape=x.shape[::-1])))

    graph = fuse(Graph("layers", (X,), (layer(layer(layer(X))),))).after
    bodies = [n.of["graph"] for n in graph.nodes if n.operation == "fusion"]
    assert len(bodies) == 3
    assert bodies[0] == bodies[2] != bodies[1]


def test_a_stated_cast_to_fewer_bits_still_rounds():
    narrow = apply("cast", X, dtype="bfloat16")
    back = apply("exp", apply("cast", narrow, dtype="float32"))
    graph = Graph("cast", (X,), (back,))
    feed = [np.random.default_rng(0).uniform(-1, 1, X.shape).astype(np.float32)]
    np.testing.assert_array_equal(Plan(fuse(graph).after).run(feed)[0], Plan(graph).run(feed)[0])


def _chain(length, dtype="float32"):
    x, y = (parameter(i, Type((256, 1024), dtype)) for i in range(2))
    out = x
    for i in range(length):
        out = apply("multiply", out, y) if i % 2 else apply("tanh", out)
    return Graph("chain", (x, y), (out,))


def _timeline(graph):
    core = NeuronCore(values=False)
    lower(graph, core)
    return measure(core.program)


@for_rows("length", 2, 3, 5, 8, 12)
@for_rows("dtype", "float32", "bfloat16")
def test_a_fusion_takes_no_longer_than_its_parts(length, dtype):
    graph = _chain(length, dtype)
    assert _timeline(fuse(graph).after).makespan_ns <= _timeline(graph).makespan_ns


@for_rows("length", 2, 5)
def test_a_fusion_reads_each_operand_once_and_writes_one_result(length):
    graph = _chain(length)
    assert _timeline(fuse(graph).after).hbm_bytes == 3 * 256 * 1024 * 4


@for_each("seed", range(6))
def test_fused_instructions_compute_what_the_executor_does(seed):
    graph, feeds = random_graph(seed, 12)
    after = fuse(graph).after
    core = NeuronCore()
    lowering = lower(after, core, dict(zip(after.parameters, feeds, strict=True)))
    for output, want in zip(after.outputs, Plan(after).run(feeds), strict=True):
        np.testing.assert_allclose(core.value(lowering.view(output)), want, rtol=2e-5, atol=2e-5)


def test_a_long_tree_of_many_operands_is_cut():
    inputs = [parameter(i, Type((128, 512), "float32")) for i in range(20)]
    total = inputs[0]
    for one in inputs[1:]:
        total = apply("add", total, one)
    graph = fuse(Graph("sum", tuple(inputs), (total,))).after
    fusions = [n for n in graph.nodes if n.operation == "fusion"]
    assert len(fusions) == 3
    assert all(len(n.inputs) <= 8 for n in fusions)


def test_flops_are_those_of_the_parts():
    from trainium_edu.xla.operations import OPERATIONS

    graph = _chain(4)
    (fused,) = [n for n in fuse(graph).after.nodes if n.operation == "fusion"]
    parts = sum(OPERATIONS[n.operation].flops(n) for n in graph.nodes)
    assert OPERATIONS["fusion"].flops(fused) == parts == 4 * 256 * 1024
