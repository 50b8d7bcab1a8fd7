"""Other shapes for the same elements."""

from math import prod

from trainium_edu.xla.graph import GraphError, Type
from trainium_edu.xla.operations.table import apply, register

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
