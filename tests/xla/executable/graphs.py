"""Graphs for the tests of executables: layers, a step with weights in and out."""

import numpy as np

from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.graph import Graph, Type, scope
from trainium_edu.xla.operations import apply, constant, parameter


def number(value):
    return constant(np.full((1, 1), value))


def layers(count=4, rows=256, width=256, dtype="float32") -> Graph:
    """Return x -> gelu(x @ w + b), so many times."""
    x = parameter(0, Type((rows, width), dtype), "x")
    parameters, out = [x], x
    for layer in range(count):
        with scope(f"layer.{layer}"):
            w = parameter(len(parameters), Type((width, width), dtype), f"w{layer}")
            b = parameter(len(parameters) + 1, Type((1, width), dtype), f"b{layer}")
            parameters += [w, b]
            out = apply("dot", out, w, turn_a=False, turn_b=False)
            out = apply("gelu", apply("add", out, b))
    return Graph("layers", tuple(parameters), (out,))


def step_of(count, rows, width, sums=list):
    """Return the parameters of a step of SGD, its loss and its new weights."""
    forward = layers(count, rows, width)
    (out,) = forward.outputs
    loss = apply("reduce_sum", apply("multiply", out, out), axes=(-2, -1), keep=True)
    weights = forward.parameters[1:]
    found = sums(gradients(loss, weights, constant(np.ones((1, 1)))))
    pairs = zip(weights, found, strict=True)
    new = [apply("subtract", w, apply("multiply", g, number(0.01))) for w, g in pairs]
    return forward.parameters, (loss, *new)


def training_step(count=2, rows=64, width=128) -> Graph:
    """Return loss and weights after a step of SGD, which take the weights' bytes."""
    parameters, outputs = step_of(count, rows, width)
    return Graph("step", parameters, outputs, tuple((i, i) for i in range(1, len(parameters))))
