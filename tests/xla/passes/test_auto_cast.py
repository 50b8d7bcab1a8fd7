"""``--auto-cast``: which operands are rounded, and to what.

Judges: ml_dtypes' and PyTorch's own rounding of the operands, products then in FP32 and float64.
"""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from tests.xla.random_graphs import random_graph
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, parameter
from trainium_edu.xla.passes import CAST_TYPES, auto_cast

A, B = (parameter(i, Type(s, "float32")) for i, s in enumerate([(32, 48), (48, 24)]))
PRODUCT = apply("dot", A, B, turn_a=False, turn_b=False)
GRAPH = Graph("product", (A, B), (apply("exp", PRODUCT), PRODUCT))
NARROW = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp8_e4m3": ml_dtypes.float8_e4m3}


def feeds(seed=0):
    draw = np.random.default_rng(seed)
    return [draw.uniform(-1, 1, p.shape).astype(np.float32) for p in (A, B)]


def test_none_leaves_the_graph_as_it_is():
    assert auto_cast(GRAPH, "none").after is GRAPH


@for_each("type", NARROW)
def test_matmult_rounds_the_operands_as_ml_dtypes_does_and_keeps_fp32_results(type):
    step = auto_cast(GRAPH, "matmult", type)
    assert [output.dtype for output in step.after.outputs] == ["float32", "float32"]
    a, b = (x.astype(NARROW[type]).astype(np.float64) for x in feeds())
    found = Plan(step.after).run(feeds())[1]
    np.testing.assert_allclose(found, a @ b, rtol=0, atol=1e-5)


def test_tf32_keeps_ten_bits_of_the_fraction():
    found = Plan(auto_cast(GRAPH, "matmult", "tf32").after).run(feeds())[1]
    a, b = (_ten_bits(x) for x in feeds())
    np.testing.assert_allclose(found, a @ b, rtol=0, atol=1e-5)


def _ten_bits(x):
    fraction, power = np.frexp(x.astype(np.float64))
    return np.ldexp(np.rint(fraction * 2**11) / 2**11, power)


@pytest.mark.judge
def test_matmult_is_what_torch_gives_for_rounded_operands():
    torch = pytest.importorskip("torch")
    found = Plan(auto_cast(GRAPH, "matmult", "bf16").after).run(feeds())[1]
    a, b = (torch.from_numpy(x).bfloat16().float() for x in feeds())
    np.testing.assert_allclose(found, (a @ b).numpy(), rtol=0, atol=1e-5)


@for_each("type", CAST_TYPES)
def test_all_computes_in_the_type_and_gives_back_the_outputs_own_dtypes(type):
    after = auto_cast(GRAPH, "all", type).after
    assert [p.dtype for p in after.parameters] == ["float32", "float32"]
    assert [o.dtype for o in after.outputs] == ["float32", "float32"]
    inner = [n for n in after.nodes if n.operation not in ("parameter", "cast")]
    assert {n.dtype for n in inner} == {CAST_TYPES[type]}


def test_all_rounds_every_result():
    found = Plan(auto_cast(GRAPH, "all", "bf16").after).run(feeds())[0]
    assert np.array_equal(found, found.astype(ml_dtypes.bfloat16).astype(np.float32))


@for_rows("mode", "matmult", "all")
@for_each("seed", range(10))
def test_random_graphs_stay_near_their_fp32_values(mode, seed):
    graph, inputs = random_graph(seed, 8)
    wanted = Plan(graph).run(inputs)
    for want, found in zip(wanted, Plan(auto_cast(graph, mode).after).run(inputs), strict=True):
        scale = max(1.0, np.abs(want).max())
        np.testing.assert_allclose(found, want, rtol=0, atol=0.15 * scale)


@for_rows("type", "bf16", "fp16")
def test_instructions_that_cast_as_they_load_compute_the_same(type):
    after = auto_cast(GRAPH, "matmult", type).after
    core = NeuronCore()
    lowering = lower(after, core, dict(zip(after.parameters, feeds(), strict=True)))
    assert "cast" in {n.operation for n in after.nodes}
    found = core.value(lowering.view(after.outputs[1]))
    np.testing.assert_allclose(found, Plan(after).run(feeds())[1], rtol=0, atol=1e-5)


def test_convolutions_and_their_gradients_round_their_operands_too():
    x, w = (parameter(i, Type(s, "float32")) for i, s in enumerate([(2, 3, 8, 8), (4, 3, 3, 3)]))
    how = {"strides": (1, 1), "padding": ((1, 1), (1, 1))}
    y = apply("convolution", x, w, **how)
    outputs = (
        y,
        apply("convolution_of_input", w, y, shape=x.shape, **how),
        apply("convolution_of_filter", x, y, shape=w.shape, **how),
    )
    after = auto_cast(Graph("convolution", (x, w), outputs), "matmult").after
    draw = np.random.default_rng(0)
    images = [draw.uniform(-1, 1, p.shape).astype(np.float32) for p in (x, w)]
    rounded = [a.astype(ml_dtypes.bfloat16).astype(np.float32) for a in images]
    (want,) = Plan(Graph("one", (x, w), (y,))).run(rounded)
    found = Plan(after).run(images)
    np.testing.assert_allclose(found[0], want, rtol=0, atol=1e-5)
    assert [o.dtype for o in after.outputs] == ["float32"] * 3
    products = [n for n in after.nodes if n.operation.startswith("convolution")]
    assert all(i.dtype == "bfloat16" for n in products for i in n.inputs)
