"""The vjp of every operation.  Judges: central differences in float64, and PyTorch's autograd."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from tests.xla.operations.cases import add_up, all_cases, values
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations import apply, constant, parameter

SMOOTH = [c for c in all_cases() if c.is_smooth]


def wanted_of(case):
    return [n for n, t in enumerate(case.types) if t.is_float and n not in case.flat]


def graph_of_gradients(case):
    """Return a graph of (inputs, weights) -> gradients of the weighted sum of the result."""
    forward = case.graph()
    (output,), inputs = forward.outputs, forward.parameters
    weights = parameter(len(inputs), output.type)
    total = add_up(output, weights)
    wanted = [inputs[n] for n in wanted_of(case)]
    found = gradients(total, wanted, constant(np.float32(1)))
    return Graph("gradients", (*inputs, weights), (total, *found))


def inputs_and_weights(case):
    graph = case.graph()
    weights = np.random.default_rng(7).uniform(-1, 1, graph.outputs[0].shape)
    arrays = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in case.arrays()]
    return [*arrays, weights]


@for_each("case", SMOOTH, ids=str)
def test_gradients_are_central_differences(case):
    graph, feeds = graph_of_gradients(case), inputs_and_weights(case)
    _, *found = values(graph, feeds)
    rng, step = np.random.default_rng(3), 1e-6
    for place, gradient in zip(wanted_of(case), found, strict=True):
        assert gradient.shape == case.types[place].shape
        way = rng.uniform(-1, 1, gradient.shape)
        ends = []
        for sign in (1, -1):
            moved = list(feeds)
            moved[place] = feeds[place] + sign * step * way
            ends.append(float(values(graph, moved)[0]))
        slope, size = (ends[0] - ends[1]) / (2 * step), np.abs(gradient * way).sum()
        assert np.sum(gradient * way) == pytest.approx(slope, abs=1e-6 * max(1, size))


@pytest.mark.judge
@pytest.mark.parametrize("case", [c for c in SMOOTH if c.torch], ids=str)
def test_gradients_are_pytorchs(case):
    torch = pytest.importorskip("torch")
    graph, feeds = graph_of_gradients(case), inputs_and_weights(case)
    _, *found = values(graph, feeds)
    tensors = [torch.tensor(a) for a in feeds[:-1]]
    wanted = [tensors[n].requires_grad_() for n in wanted_of(case)]
    total = (case.torch(*tensors) * torch.tensor(feeds[-1])).sum()
    for got, want in zip(found, torch.autograd.grad(total, wanted), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.judge
@pytest.mark.parametrize(("name", "judge"), [("maximum", "maximum"), ("minimum", "minimum"),
                                              ("reduce_max", "amax"), ("relu", "relu"),
                                              ("absolute", "abs")])  # fmt: skip
def test_ties_and_kinks_are_pytorchs(name, judge):
    """Equal numbers share what flows back; at 0 relu and the absolute value give nothing."""
    torch = pytest.importorskip("torch")
    x = np.float32([[1, 1, 0, -1], [2, 2, 2, 0]])
    y = np.float32([[1, 0, 0, -1], [2, 3, 1, 0]])
    reduces, arrays = name == "reduce_max", [x, y] if name in ("maximum", "minimum") else [x]
    inputs = tuple(parameter(n, type_of(x)) for n in range(len(arrays)))
    node = apply(name, *inputs, **({"axes": (-1,), "keep": True} if reduces else {}))
    weights = constant(np.ones(node.shape))
    found = gradients(add_up(node, weights), inputs, constant(np.float32(1)))
    got = values(Graph("ties", inputs, tuple(found)), arrays)
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    options = {"dim": -1} if reduces else {}
    want = torch.autograd.grad(getattr(torch, judge)(*tensors, **options).sum(), tensors)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other.numpy())


def type_of(array):
    return constant(array).type


@for_rows("base, power", (0.0, 2.0), (0.0, 0.0), (3.0, 0.0), (0.0, 1.0))
def test_power_at_its_edges_has_finite_gradients(base, power):
    inputs = tuple(parameter(n, type_of(np.zeros((1,)))) for n in range(2))
    node = apply("power", *inputs)
    found = gradients(node, inputs, constant(np.ones(1)))
    got = values(Graph("edges", inputs, tuple(found)), [np.float32([base]), np.float32([power])])
    slope = power * base ** (power - 1) if power else 0.0
    growth = base**power * np.log(base) if base else 0.0
    np.testing.assert_allclose(np.ravel(got), [slope, growth], rtol=1e-6)


@for_rows("name, options", ("sign", {}), ("floor", {}), ("argmax", {"axis": -1}))
def test_steps_let_no_gradient_through(name, options):
    x = parameter(0, type_of(np.zeros((2, 3))))
    node = apply(name, x, **options)
    assert gradients(node, [x], constant(np.zeros(node.shape), node.dtype)) == [None]
