"""Other shapes for the same elements."""

from math import prod

import numpy as np

from trainium_edu.xla.graph import GraphError, Type
from trainium_edu.xla.operations.table import apply, register, sum_to
from trainium_edu.xla.operations.tiles import spread

__all__: list[str] = []


def _infer_reshape(x: Type, shape) -> Type:
    if prod(shape) != x.size:
        raise GraphError(f"reshape of {x} to {list(shape)}: {x.size} elements cannot become "
                         f"{prod(shape)}")  # fmt: skip
    return x.like(shape)


def _reshape(node, x):
    lead = x.shape[: x.ndim - node.inputs[0].type.rank]
    return x.reshape(*lead, *node.shape)


register(
    "reshape", _infer_reshape, value=_reshape, flops=lambda node: 0,
    vjp=lambda node, g: (apply("reshape", g, shape=node.inputs[0].shape),),
    lower=lambda lowering, node: lowering.alias(
        node, lowering.view(node.inputs[0]).reshaped(*(node.shape or (1,)))
    ),
)  # fmt: skip


# -- broadcast: axes of size 1, repeated ------------------------------------------------------


def _infer_broadcast(x: Type, shape) -> Type:
    fits = len(shape) == x.rank
    if not fits or any(n not in (1, m) for n, m in zip(x.shape, shape, strict=True)):
        raise GraphError(f"broadcast of {x} to {list(shape)}: ranks must be equal, and sizes that "
                         "change must be 1 before; reshape first")  # fmt: skip
    return x.like(shape)


def _tile_broadcast(core, node, out, x):
    core.tensor_copy(dst=out, src=spread(core, x, out, None if node.type.is_float else node.dtype))


register(
    "broadcast", _infer_broadcast,
    value=lambda node, x: np.broadcast_to(x, x.shape[: x.ndim - node.type.rank] + node.shape),
    vjp=lambda node, g: (sum_to(g, node.inputs[0].type),), flops=lambda node: 0,
    tile=_tile_broadcast,
    lower=lambda lowering, node: lowering.alias(
        node, lowering.view(node.inputs[0]).broadcast(*(node.shape or (1,)))
    ),
)  # fmt: skip
