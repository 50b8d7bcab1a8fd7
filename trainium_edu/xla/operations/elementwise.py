"""Element by element: arithmetic, comparisons and choice.  Sizes of 1 are stretched.

Ranks are equal, so a front inserts reshapes.  The functions of one operand are in ``functions.py``;
how tiles are loaded and stored around a row's `tile` is in ``loops.py``.
"""

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.xla.graph import DTYPES, Type, Unfit
from trainium_edu.xla.operations.table import (
    apply,
    carrier,
    check_dtypes,
    register,
    scalar_like,
    stretched,
    sum_to,
)
from trainium_edu.xla.operations.tiles import as_dtype, is_number, spread

__all__ = ["infer_elementwise"]

_WORDS = ("int32", "uint32")


# -- types ------------------------------------------------------------------------------------


def infer_elementwise(count: int, kind: str, result: str | None = None):
    """Return the `infer` of a row with `count` operands of a kind; `result`: a dtype of its own."""

    def infer(*types: Type) -> Type:
        if len(types) != count:
            raise TypeError(f"it takes {count} operands, not {len(types)}")
        check_dtypes(kind, *types)
        return Type(_shape(*types), result or types[0].dtype)

    return infer


def _shape(*types):
    if len({len(t.shape) for t in types}) > 1:
        raise Unfit("ranks must be equal")
    return stretched(*types)


def _infer_select(condition: Type, a: Type, b: Type) -> Type:
    if condition.dtype != "bool":
        raise Unfit("the condition must be pred; compare with 0 first")
    check_dtypes("any", a, b)
    return a.like(_shape(condition, a, b))


def _infer_cast(x: Type, dtype) -> Type:
    if dtype not in DTYPES:
        raise Unfit(f"a graph knows {', '.join(DTYPES)}")
    return x.like(dtype=dtype)


def _infer_relu_gradient(g: Type, y: Type) -> Type:
    if g != y or not g.is_float:
        raise Unfit("both must be numbers of one type")
    return g


# -- tiles ------------------------------------------------------------------------------------


def _vector(op):
    """Return instructions for one tile: an operator of the Vector Engine on two operands."""

    def tile(core, node, out, a, b):
        kept = out
        if node.inputs[0].dtype in _WORDS and out.dtype.name not in _WORDS:
            out = core.sbuf(out.shape, "int32")  # words are compared as words, not in FP32
        _combine(core, op, node.inputs[0].dtype in _WORDS, out, a, b)
        if out is not kept:
            core.tensor_copy(dst=kept, src=out)

    return tile


def _combine(core, op, of_words, out, a, b):
    is_small = [is_number(x) or x.shape != out.shape for x in (a, b)]
    if of_words or not any(is_small):
        one, two = (spread(core, x, out, "int32" if of_words else None) for x in (a, b))
        core.tensor_tensor(dst=out, data1=one, data2=two, op=op)
    elif op == "multiply":  # the Scalar Engine scales, for the Vector Engine has the more to do
        one, scale = (a, b) if is_small[1] else (b, a)
        core.activation(dst=out, op="copy", data=spread(core, one, out),
                        scale=_operand(core, scale))  # fmt: skip
    elif is_small[1]:
        core.tensor_scalar(dst=out, data=spread(core, a, out), op0=op, operand0=_operand(core, b))
    else:
        core.tensor_scalar(dst=out, data=b, op0=op, operand0=_operand(core, a), reverse0=True)


def _operand(core, x):
    """Return a number, or one per row, as ``tensor_scalar`` takes it: FP32."""
    return x if is_number(x) else as_dtype(core, x, "float32")


def _tile_not(core, node, out, x):
    core.tensor_scalar(dst=out, data=spread(core, x, out), op0="equal", operand0=0.0)


def _tile_select(core, node, out, condition, a, b):
    dtype = out.dtype if out.dtype.is_float else get_dtype(node.dtype)
    one = as_dtype(core, spread(core, a, out, dtype), dtype)
    core.tensor_copy(dst=out, src=spread(core, b, out, dtype))
    core.tensor_copy_predicated(dst=out, src=one, predicate=spread(core, condition, out, "uint8"))


def _tile_cast(core, node, out, x):
    before, after = node.inputs[0].type, node.type
    x = spread(core, x, out, None if before.is_float else before.dtype)
    if after.dtype == "bool":
        core.tensor_scalar(dst=out, data=x, op0="not_equal", operand0=0.0)
    elif before.is_float and not after.is_float:  # toward zero; the engines' own way is to nearest
        part = core.sbuf(out.shape, "float32")
        core.tensor_scalar(dst=part, data=x, op0="fmod", operand0=1.0)
        core.tensor_tensor(dst=out, data1=x, data2=part, op="subtract")
    else:
        core.tensor_copy(dst=out, src=x)


def _tile_relu_gradient(core, node, out, g, y):
    core.scalar_tensor_tensor(
        dst=out, data=spread(core, y, out), op0="greater", operand0=0.0, op1="multiply",
        operand1=spread(core, g, out),
    )  # fmt: skip


# -- gradients --------------------------------------------------------------------------------


def _both(node, a, b):
    """Return the gradients of two operands, each in its own shape."""
    x, y = node.inputs
    return sum_to(a, x.type), sum_to(b, y.type)


def _of_multiply(node, g):
    a, b = node.inputs
    return _both(node, g * b, g * a)


def _of_divide(node, g):
    part = g / node.inputs[1]
    return _both(node, part, -(part * node))


def _of_power(node, g):
    """Return both gradients: the base's is 0 where the power is 0, and the other way round."""
    a, b = node.inputs
    zero = scalar_like(g, 0.0)
    slope = apply("select", apply("equal", b, zero), zero, b * apply("power", a, b - 1.0))
    growth = apply("select", apply("equal", a, zero), zero, node * apply("log", a))
    return _both(node, g * slope, g * growth)


def _of_extreme(compare):
    """Return the vjp of maximum or minimum: equal numbers share."""

    def vjp(node, g):
        a, b = node.inputs
        zero, is_tie, half = scalar_like(g, 0.0), apply("equal", a, b), g * 0.5
        parts = [
            apply("select", is_tie, half, apply("select", apply(compare, one, two), g, zero))
            for one, two in ((a, b), (b, a))
        ]
        return _both(node, *parts)

    return vjp


def _of_select(node, g):
    condition, a, b = node.inputs
    zero = scalar_like(g, 0.0)
    return (
        None,
        sum_to(apply("select", condition, g, zero), a.type),
        sum_to(apply("select", condition, zero, g), b.type),
    )


def _of_cast(node, g):
    x = node.inputs[0]
    return (apply("cast", g, dtype=x.dtype) if x.type.is_float and g.type.is_float else None,)


def _value_cast(node, x):
    """Convert as XLA does: to integers toward zero, up to the largest, NaN to 0."""
    held, dtype = carrier(node.dtype), node.dtype
    if dtype == "bool":
        return x != 0
    if x.dtype.kind != "f":
        return x.astype(held)
    if held.kind == "f":
        return x
    least, most = np.iinfo(held).min, np.iinfo(held).max
    return np.clip(np.trunc(np.nan_to_num(x.astype(np.float64))), least, most).astype(held)


# -- the rows ---------------------------------------------------------------------------------


def _value(function):
    return lambda node, *arrays: function(*arrays)


for _name, _function, _kind, _vjp in (
    ("add", np.add, "number", lambda node, g: _both(node, g, g)),
    ("subtract", np.subtract, "number", lambda node, g: _both(node, g, -g)),
    ("multiply", np.multiply, "number", _of_multiply),
    ("divide", np.divide, "float", _of_divide),
    ("power", np.power, "float", _of_power),
    ("maximum", np.maximum, "number", _of_extreme("greater")),
    ("minimum", np.minimum, "number", _of_extreme("less")),
):
    register(_name, infer_elementwise(2, _kind), value=_value(_function), vjp=_vjp,
             tile=_vector(_name))  # fmt: skip

for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    register(_name, infer_elementwise(2, "any", "bool"), value=_value(getattr(np, _name)),
             tile=_vector(_name))  # fmt: skip

for _name in ("logical_and", "logical_or"):
    register(_name, infer_elementwise(2, "bool"), value=_value(getattr(np, _name)),
             tile=_vector(_name))  # fmt: skip
register("logical_not", infer_elementwise(1, "bool"), value=_value(np.logical_not), tile=_tile_not)

register("select", _infer_select, value=_value(np.where), vjp=_of_select, tile=_tile_select)
register("cast", _infer_cast, value=_value_cast, vjp=_of_cast, tile=_tile_cast,
         flops=lambda node: 0)  # fmt: skip
register(
    "relu_gradient", _infer_relu_gradient,  # of g and what relu gave
    value=lambda node, g, y: g * (y > 0),
    vjp=lambda node, g: (apply("relu_gradient", g, node.inputs[1]), None),
    tile=_tile_relu_gradient,
)  # fmt: skip
