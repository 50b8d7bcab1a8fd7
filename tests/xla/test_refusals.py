"""What a graph or a lazy device cannot do is refused in one sentence; rows in ``refusals.toml``."""

import numpy as np
import pytest

from tests.refused import refusals
from trainium_edu.xla import (
    buckets,
    cache,
    control,
    device,
    distributed,
    executor,
    flags,
    graph,
    loader,
    numpy,
    parallel_compile,
    tensor,
)
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.operations import apply, parameter
from trainium_edu.xla.passes import auto_cast


def typed(dtype):
    return lambda *shape: graph.Type(shape, dtype)


def recorded(name, *types, **attributes):
    return apply(name, *(parameter(n, kind) for n, kind in enumerate(types)), **attributes)


ROWS = graph.Type((4, 3), "float32")
X = (parameter(0, ROWS),)
MODULES = buckets, cache, control, device, executor, flags, graph, loader, parallel_compile, tensor
SCOPE = {name: value for module in MODULES for name, value in vars(module).items()} | {
    "f": typed("float32"), "h": typed("bfloat16"), "i": typed("int32"), "b": typed("bool"),
    "recorded": recorded, "parameter": parameter, "turned": {"turn_a": False, "turn_b": False},
    "gradient": lambda node: gradients(node, node.inputs, node), "auto_cast": auto_cast,
    "SAME": graph.Graph("same", X, X), "xnp": numpy, "dist": distributed,
    "WRONG": graph.Graph("wrong", X, (apply("cast", *X, dtype="bool"),)),
    "x": tensor.as_tensor(np.ones((3, 4), np.float32), device.Device()),
    "cache": cache.CompileCache("nowhere", "1.0"),
}  # fmt: skip

test_each_call_is_refused_in_one_sentence = refusals(__file__, SCOPE)


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left():
    yield
    assert not distributed.is_initialized()
    assert not SCOPE["x"].device.compiler.history
