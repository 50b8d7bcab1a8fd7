"""A layer of a transformer encoder, forward, backward and update, in one graph.

Judges: PyTorch in float64 for the values; the executor for the instructions, as recorded and fused.
"""

import numpy as np
import pytest

from tests.for_each import for_rows
from tests.xla.operations.cases import lowered, values
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.executor import as_held
from trainium_edu.xla.graph import Graph, as_type
from trainium_edu.xla.operations import apply, constant, parameter
from trainium_edu.xla.passes import fuse

BATCH, TIME, WIDTH, HEADS, CLASSES = 2, 9, 16, 2, 5
ROWS, EACH, RATE = BATCH * TIME, WIDTH // HEADS, 0.1
SHAPES = {
    "x": (BATCH, TIME, WIDTH), "labels": (ROWS,), "mask": (1, 1, TIME, TIME),
    **dict.fromkeys(("norm1", "shift1", "norm2", "shift2"), (WIDTH,)),
    **dict.fromkeys(("query", "key", "value", "out"), (WIDTH, WIDTH)),
    "up": (WIDTH, 4 * WIDTH), "bias1": (1, 4 * WIDTH), "down": (4 * WIDTH, WIDTH),
    "bias2": (1, WIDTH), "classes": (WIDTH, CLASSES),
}  # fmt: skip
DTYPES = {"labels": "int32", "mask": "bool"}


def scalar(x, value):
    return constant(np.full((1,) * x.type.rank, value), x.dtype)


def dot(a, b, turn_b=False):
    return apply("dot", a, b, turn_a=False, turn_b=turn_b)


def heads(x, weight):
    split = apply("reshape", dot(x, weight), shape=(BATCH, TIME, HEADS, EACH))
    return apply("transpose", split, perm=(-4, -2, -3, -1))


def normed(x, weight, bias):
    return apply("layer_norm", x, weight, bias, eps=1e-5)


def loss_of(p):
    x = apply("reshape", p["x"], shape=(ROWS, WIDTH))
    h = normed(x, p["norm1"], p["shift1"])
    query, key, value = (heads(h, p[name]) for name in ("query", "key", "value"))
    scores = dot(query, key, turn_b=True)
    scores = apply("multiply", scores, scalar(scores, EACH**-0.5))
    scores = apply("select", p["mask"], scores, scalar(scores, -np.inf))
    mixed = apply("transpose", dot(apply("softmax", scores), value), perm=(-4, -2, -3, -1))
    y = apply("add", x, dot(apply("reshape", mixed, shape=(ROWS, WIDTH)), p["out"]))
    inner = apply("add", dot(normed(y, p["norm2"], p["shift2"]), p["up"]), p["bias1"])
    y = apply("add", y, apply("add", dot(apply("gelu", inner), p["down"]), p["bias2"]))
    each = apply("cross_entropy", dot(y, p["classes"]), p["labels"])
    return apply("reduce_sum", each, axes=(-1,), keep=False)


def step():
    """Return (graph of a step of gradient descent, feeds)."""
    types = {name: as_type(shape, DTYPES.get(name, "float32")) for name, shape in SHAPES.items()}
    p = {name: parameter(n, type) for n, (name, type) in enumerate(types.items())}
    loss = loss_of(p)
    trained = [node for node in p.values() if node.type.is_float]
    parts = gradients(loss, trained, constant(np.ones(())))
    new = [
        apply("subtract", node, apply("multiply", g, scalar(g, RATE)))
        for node, g in zip(trained, parts, strict=True)
    ]
    rng = np.random.default_rng(0)
    feeds = {name: rng.standard_normal(shape) / 2 for name, shape in SHAPES.items()}
    feeds |= {"labels": rng.integers(-1, CLASSES, ROWS),
              "mask": np.tril(np.ones((1, 1, TIME, TIME), bool))}  # fmt: skip
    held = [as_held(feeds[name], type) for name, type in types.items()]
    return Graph("step", tuple(p.values()), (loss, *new)), held


@pytest.mark.judge
def test_a_step_is_pytorchs():
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    graph, feeds = step()
    t = {name: torch.tensor(a.astype(np.float64) if a.dtype.kind == "f" else a)
         for name, a in zip(SHAPES, feeds, strict=True)}  # fmt: skip
    trained = [v.requires_grad_() for name, v in t.items() if name not in DTYPES]

    def split(x):
        return x.reshape(BATCH, TIME, HEADS, EACH).transpose(1, 2)

    x = t["x"].reshape(ROWS, WIDTH)
    h = functional.layer_norm(x, (WIDTH,), t["norm1"], t["shift1"])
    mixed = functional.scaled_dot_product_attention(
        *(split(h @ t[name]) for name in ("query", "key", "value")), attn_mask=t["mask"]
    )
    y = x + mixed.transpose(1, 2).reshape(ROWS, WIDTH) @ t["out"]
    h = functional.layer_norm(y, (WIDTH,), t["norm2"], t["shift2"])
    y = y + functional.gelu(h @ t["up"] + t["bias1"]) @ t["down"] + t["bias2"]
    loss = functional.cross_entropy(
        y @ t["classes"], t["labels"].long(), ignore_index=-1, reduction="sum"
    )
    loss.backward()
    got, *new = values(graph, feeds)
    assert got == pytest.approx(loss.item(), rel=1e-5)
    for one, weight in zip(new, trained, strict=True):
        want = (weight - RATE * weight.grad).detach().numpy()
        np.testing.assert_allclose(one, want, atol=2e-5)


@for_rows("is_fused", False, True)
def test_its_instructions_compute_the_executors_values(is_fused):
    graph, feeds = step()
    graph = fuse(graph).after if is_fused else graph
    _, got = lowered(graph, feeds)
    for one, want in zip(got, values(graph, feeds), strict=True):
        np.testing.assert_allclose(one, want, atol=1e-5)
