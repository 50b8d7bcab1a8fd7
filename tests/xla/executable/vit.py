"""One training step of a ViT, forward, backward and Adam, as a graph of plain operations."""

import numpy as np

from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.graph import Graph, Type, scope
from trainium_edu.xla.operations import apply, constant, parameter

#: ViT-B/16 at 224 x 224
BASE = {"tokens": 197, "width": 768, "heads": 12, "depth": 12, "inner": 3072, "patch": 768,
        "classes": 1000}  # fmt: skip
#: of 8 x 8 digits
SMALL = {"tokens": 17, "width": 64, "heads": 4, "depth": 4, "inner": 256, "patch": 4, "classes": 10}


def _number(x, value):
    return constant(np.full((1,) * x.type.rank, value), x.dtype)


class Step:
    """Makes parameters as the model asks for them."""

    def __init__(self, batch, tokens, width, heads, depth, inner, patch, classes):
        self.parameters, self.weights = [], []
        self.batch, self.tokens, self.width, self.heads = batch, tokens, width, heads
        self.depth, self.inner, self.patch, self.classes = depth, inner, patch, classes

    def parameter(self, shape, name):
        node = parameter(len(self.parameters), Type(shape, "float32"), name)
        self.parameters.append(node)
        return node

    def weight(self, shape, name):
        self.weights.append(self.parameter(shape, name))
        return self.weights[-1]

    def linear(self, x, out, name):
        weight = self.weight((x.shape[-1], out), f"{name}.weight")
        product = apply("dot", x, weight, turn_a=False, turn_b=False)
        return apply("add", product, self.weight((1, out), f"{name}.bias"))

    def norm(self, x, name):
        size = x.shape[-1]
        scale, shift = (self.weight((size,), f"{name}.{what}") for what in ("weight", "bias"))
        return apply("layer_norm", x, scale, shift, eps=1e-6)

    def split(self, x):
        shape = self.batch, self.tokens, self.heads, self.width // self.heads
        return apply("transpose", apply("reshape", x, shape=shape), perm=(-4, -2, -3, -1))

    def attention(self, x, name):
        q, k, v = (self.split(self.linear(x, self.width, f"{name}.{one}")) for one in "qkv")
        scores = apply("dot", q, k, turn_a=False, turn_b=True)
        scores = apply("multiply", scores, _number(scores, (self.width // self.heads) ** -0.5))
        mixed = apply("dot", apply("softmax", scores), v, turn_a=False, turn_b=False)
        rows = self.batch * self.tokens, self.width
        joined = apply("reshape", apply("transpose", mixed, perm=(-4, -2, -3, -1)), shape=rows)
        return self.linear(joined, self.width, f"{name}.out")

    def loss(self):
        n, t, d = self.batch, self.tokens, self.width
        x = self.linear(self.parameter((n * (t - 1), self.patch), "patches"), d, "patch")
        first = apply("broadcast", self.weight((1, 1, d), "class"), shape=(n, 1, d))
        x = apply("concatenate", first, apply("reshape", x, shape=(n, t - 1, d)), axis=-2)
        x = apply("add", x, self.weight((1, t, d), "positions"))
        x = apply("reshape", x, shape=(n * t, d))
        for layer in range(self.depth):
            with scope(f"encoder.{layer}"):
                x = apply("add", x, self.attention(self.norm(x, "norm1"), "attention"))
                y = apply("gelu", self.linear(self.norm(x, "norm2"), self.inner, "up"))
                x = apply("add", x, self.linear(y, d, "down"))
        x = apply("reshape", self.norm(x, "norm"), shape=(n, t, d))
        x = apply("slice", x, starts=(0, 0, 0), limits=(n, 1, d), strides=(1, 1, 1))
        logits = self.linear(apply("reshape", x, shape=(n, d)), self.classes, "head")
        wanted = self.parameter(logits.shape, "labels")
        picked = apply("multiply", apply("log_softmax", logits), wanted)
        total = apply("reduce_sum", picked, axes=(-2, -1), keep=True)
        return apply("multiply", total, _number(total, -1.0 / n))

    def adam(self, weight, g):
        first, second = (self.parameter(weight.shape, name) for name in ("m", "v"))
        rate = self.parameter((1,) * weight.type.rank, "rate")
        m = apply(
            "add", apply("multiply", first, _number(g, 0.9)), apply("multiply", g, _number(g, 0.1))
        )
        v = apply("add", apply("multiply", second, _number(g, 0.999)),
                  apply("multiply", apply("multiply", g, g), _number(g, 0.001)))  # fmt: skip
        under = apply("add", apply("sqrt", v), _number(g, 1e-8))
        by = apply("divide", apply("multiply", m, rate), under)
        return (apply("subtract", weight, by), weight), (m, first), (v, second)


def step(batch: int, sizes=None) -> Graph:
    """Return a step's graph, in which new weights take the bytes of the old ones."""
    made = Step(batch, **(sizes or BASE))
    loss = made.loss()
    found = gradients(loss, made.weights, constant(np.ones((1, 1))))
    outputs, donated = [loss], []
    for weight, g in zip(list(made.weights), found, strict=True):
        for new, old in made.adam(weight, g):
            donated.append((len(outputs), made.parameters.index(old)))
            outputs.append(new)
    return Graph("vit", tuple(made.parameters), tuple(outputs), tuple(donated))
