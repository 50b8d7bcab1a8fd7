"""Element by element: arithmetic and functions.  Sizes of 1 are stretched; ranks are equal."""

import numpy as np

from trainium_edu.xla.graph import GraphError, Node, Type
from trainium_edu.xla.operations.table import apply, constant, register, stretched, sum_to

__all__ = ["scalar_like"]


def scalar_like(node: Node, value: float) -> Node:
    """Return a constant that stretches to a node's shape."""
    return constant(np.full((1,) * node.type.rank, value), node.dtype)


def _pair(name):
    def infer(a: Type, b: Type) -> Type:
        shape = stretched(name, a, b)
        if a.dtype != b.dtype:
            raise GraphError(f"{name} of {a} and {b}: both must have one dtype; cast one of them")
        return a.like(shape)

    return infer


def _function(name):
    def infer(x: Type) -> Type:
        if not x.is_float:
            raise GraphError(f"{name} of {x}: it takes floating-point numbers; cast it first")
        return x

    return infer


def _vector(op):
    """Return instructions for one tile: an operator of the Vector Engine on two operands."""

    def tile(core, node, out, a, b):
        if isinstance(b, float) or b.shape[1:] != out.shape[1:]:  # a number, or one per row
            core.tensor_scalar(dst=out, data=a, op0=op, operand0=b)
        elif a.shape != out.shape:
            core.tensor_scalar(dst=out, data=b, op0=op, operand0=a, reverse0=True)
        else:
            core.tensor_tensor(dst=out, data1=a, data2=b, op=op)

    return tile


def _scalar_engine(op, **options):
    def tile(core, node, out, x):
        core.activation(dst=out, op=op, data=x, **options)

    return tile


def _both(node, a, b):
    """Return the gradients of two operands, each in its own shape."""
    x, y = node.inputs
    return sum_to(a, x.type), sum_to(b, y.type)


register(
    "add", _pair("add"), value=lambda node, a, b: a + b, tile=_vector("add"),
    vjp=lambda node, g: _both(node, g, g),
)  # fmt: skip
register(
    "subtract", _pair("subtract"), value=lambda node, a, b: a - b, tile=_vector("subtract"),
    vjp=lambda node, g: _both(node, g, apply("negate", g)),
)  # fmt: skip
register(
    "multiply", _pair("multiply"), value=lambda node, a, b: a * b, tile=_vector("multiply"),
    vjp=lambda node, g: _both(
        node, apply("multiply", g, node.inputs[1]), apply("multiply", g, node.inputs[0])
    ),
)  # fmt: skip
register(
    "negate", _function("negate"), value=lambda node, x: -x,
    vjp=lambda node, g: (apply("negate", g),), tile=_scalar_engine("copy", scale=-1.0),
)  # fmt: skip
register(
    "exp", _function("exp"), value=lambda node, x: np.exp(x),
    vjp=lambda node, g: (apply("multiply", g, node),), tile=_scalar_engine("exp"),
)  # fmt: skip
