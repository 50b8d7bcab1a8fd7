"""Gradients of whole graphs.  Judges: central differences, PyTorch, hand-made closed forms."""

import numpy as np
import pytest

from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.graph import Graph, GraphError, as_type, walk
from trainium_edu.xla.operations import apply, constant, parameter

ONE = constant(1.0)


def vector(number, size=3):
    return parameter(number, as_type((size,), "float32"), f"v{number}")


def total(x):
    return apply("reduce_sum", x, axes=tuple(range(-x.type.rank, 0)), keep=False)


def value(node, **arrays):
    leaves = tuple(n for n in walk([node]) if n.operation == "parameter")
    return Plan(Graph("g", leaves, (node,))).run([arrays[p.of["name"]] for p in leaves])[0]


def test_gradients_of_paths_leaves_and_gradients_are_closed_forms():
    x = vector(0)
    y = apply("add", apply("multiply", x, x), apply("exp", x))  # x² + exp x
    (g,) = gradients(total(y), [x], ONE)
    v = np.array([0.5, -1.0, 2.0], np.float32)
    np.testing.assert_allclose(value(g, v0=v), 2 * v + np.exp(v), rtol=1e-6)
    square = apply("multiply", x, x)
    stand_in = vector(1)
    end = total(apply("exp", stand_in))
    (g,) = gradients(end, [x], ONE, behind=lambda leaf: square if leaf is stand_in else None)
    v = np.array([0.5, 1.0, -0.5], np.float32)
    np.testing.assert_allclose(value(g, v0=v, v1=v * v), np.exp(v * v) * 2 * v, rtol=1e-6)
    (first,) = gradients(total(apply("exp", apply("multiply", x, x))), [x], ONE)
    (second,) = gradients(total(first), [x], ONE)
    v = np.array([0.3, -0.7, 1.1], np.float32)
    np.testing.assert_allclose(value(second, v0=v), np.exp(v * v) * (2 + 4 * v * v), rtol=1e-5)


def test_what_does_not_matter_gets_none_and_costs_nothing():
    x, y = vector(0), vector(1)
    found = gradients(total(apply("multiply", x, x)), [x, y], ONE)
    assert found[1] is None
    count = len(Graph("g", (x,), (found[0],)).nodes)
    assert count <= 6


def test_a_gradient_stops_at_what_is_wanted_and_at_detach():
    x = vector(0)
    middle = apply("exp", x)
    end = total(apply("multiply", middle, apply("detach", middle)))
    of_middle, of_x = gradients(end, [middle, x], ONE)
    assert of_x is None  # it would be counted twice: what is wanted is taken as a leaf
    v = np.array([0.1, 0.2, 0.3], np.float32)
    np.testing.assert_allclose(value(of_middle, v0=v), np.exp(v), rtol=1e-6)


def test_an_operation_without_gradient_is_named_with_its_line():
    x = vector(0)
    loop = apply(
        "while", x, most=2,
        condition=Graph("c", (x,), (apply("less", total(x), ONE),)), body=Graph("b", (x,), (x,)),
    )  # fmt: skip
    with pytest.raises(GraphError, match=r"while at test_autograd.py:\d+.* has no gradient"):
        gradients(total(apply("item", loop, index=0)), [x], ONE)


@pytest.mark.judge
@pytest.mark.parametrize("seed", range(8))
def test_random_chains_have_pytorchs_gradients(seed):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    names = rng.choice(["tanh", "sigmoid", "exp", "square", "sin", "relu", "gelu"], 5)
    arrays = [rng.uniform(-1, 1, (3, 4)).astype(np.float32) for _ in range(2)]
    a, b = (parameter(i, as_type((3, 4), "float32"), f"v{i}") for i in range(2))
    ta, tb = (torch.tensor(x, requires_grad=True) for x in arrays)
    ours, theirs = a, ta
    for name in names:
        ours = apply("multiply", apply(str(name), ours), b)
        function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        theirs = function(theirs) * tb
    found = gradients(total(ours), [a, b], ONE)
    theirs.sum().backward()
    for node, tensor in zip(found, (ta, tb), strict=True):
        got = value(node, v0=arrays[0], v1=arrays[1])
        np.testing.assert_allclose(got, tensor.grad.numpy(), rtol=3e-5, atol=1e-6)
