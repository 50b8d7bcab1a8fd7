"""Arithmetic on tiles, element by element.  Each function also names an operator: ``op=nl.add``.

Two tiles go through ``tensor_tensor``, a tile and a number (or one number per partition) through
``tensor_scalar``; functions of one tile are activations of the Scalar Engine where it has them.
"""

import math
from functools import partial

from trainium_edu.nki import language as current_interface
from trainium_edu.nki.beta1.access import cut
from trainium_edu.nki.beta1.index import EMPTY, Expression, box_of
from trainium_edu.nki.beta1.operation import (
    Operation,
    assign,
    copied,
    in_sbuf,
    operation,
    perform,
    scalar,
    settle,
    tile,
)
from trainium_edu.nki.beta1.promotion import as_dtype, of_scalar, promoted
from trainium_edu.nki.beta1.tile import Blocks, Moved, Tile, allocate, of_tensor
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["broadcast_to"]

_FLOAT32 = DTYPE_NAMES["float32"]
_FLOATS = frozenset({"float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2"})
_BITWISE = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"})
_PSUM = MemoryRegion.psum


def _published(function, name, doc):
    function.__name__ = function.__qualname__ = function.op = name
    function.__doc__ = doc
    __all__.append(name)
    return function


# -- two inputs -------------------------------------------------------------------------------


def _binary(op, x, y, dtype, mask):
    if op == "add" and Expression in (type(x), type(y)):  # an index that the chip moves
        return Moved(x, y) if type(x) is Expression else Moved(y, x)
    given, (x, y) = (x, y), (scalar(x), scalar(y))
    is_tile, also = isinstance(x, Tile), isinstance(y, Tile)
    if not is_tile and not also:
        raise TypeError(f"nl.{op} takes at least one tile, not {describe(x)} and {describe(y)}")
    if is_tile and also:
        x, y = tile(x, f"{op}: x"), tile(y, f"{op}: y")
        kind = as_dtype(dtype) if dtype is not None else promoted(x.kind, y.kind)
        if x.shape != y.shape:
            return _uneven(op, x, y, kind, mask)
        return _two_tiles(op, x, y, kind, mask)
    data, number = (x, y) if is_tile else (y, x)
    data = tile(data, f"{op}: {'x' if is_tile else 'y'}")
    if dtype is None:
        dtype = promoted(data.kind, of_scalar(given[is_tile]))
    return operation("tensor_scalar", data.shape, dtype, mask=mask, data=data, op0=op,
                     operand0=number, reverse0=not is_tile, casts=op not in _BITWISE)  # fmt: skip


def _two_tiles(op, x, y, kind, mask):
    if x.region is _PSUM or op == "power":  # an instruction reads one of them there
        y = in_sbuf(y)
    if op == "power":  # on GpSimd
        x = in_sbuf(x)
    return operation("tensor_tensor", x.shape, kind, mask=mask, data1=x, data2=y, op=op,
                     casts=op not in _BITWISE)  # fmt: skip


def _uneven(op, x, y, kind, mask):
    """Combine tiles of two shapes: one number per partition, or dimensions that repeat."""
    shape = _common_shape(op, x.shape, y.shape)
    for data, vector, reverse in ((x, y, False), (y, x, True)):
        is_column = math.prod(vector.shape) == shape[0] == vector.shape[0]
        if tuple(data.shape) == shape and is_column and op not in _BITWISE:
            if vector.kind != "float32":
                vector = copied(vector, _FLOAT32)
            if len(vector.window.shape) != 2:
                vector = vector.reshape((shape[0], 1))
            return operation("tensor_scalar", shape, kind, mask=mask, data=data, op0=op,
                             operand0=vector, reverse0=reverse,
                             axes={"operand0": (0, None)})  # fmt: skip
    x, y = broadcast_to(x, shape=shape), broadcast_to(y, shape=shape)
    return _two_tiles(op, x, y, kind, mask)


def _common_shape(op, x, y):
    x, y = tuple(x), tuple(y)
    if len(x) == 1 and len(y) == 2:
        x = (*x, 1)
    elif len(y) == 1 and len(x) == 2:
        y = (*y, 1)
    if len(x) == len(y) and all(a == b or 1 in (a, b) for a, b in zip(x, y, strict=True)):
        return tuple(max(a, b) for a, b in zip(x, y, strict=True))
    raise NkiValidationError(
        f"nl.{op}: shapes {list(x)} and {list(y)} do not match; they need the same number of "
        "dimensions, with sizes equal or 1"
    )


def broadcast_to(src, *, shape, **kwargs) -> Tile:
    """Return a tile that repeats `src` along its dimensions of size 1.

    Free dimensions are repeated by the access pattern; partitions by the Tensor Engine (a row of
    ones times `src`).

    Parameters
    ----------
    src : tile in SBUF or PSUM
    shape : tuple of int
    """
    src = tile(src, "broadcast_to: src")
    shape = tuple(shape)
    have = tuple(src.window.shape)
    if len(have) == 2 and len(shape) > 2 and shape[0] in (have[0], 1):
        src = src.reshape((have[0], *(1,) * (len(shape) - 2), have[1]))
        have = tuple(src.window.shape)
    if len(have) != len(shape) or any(a not in (1, b) for a, b in zip(have, shape, strict=True)):
        raise NkiValidationError(
            f"nl.broadcast_to: {src!r} to {list(shape)}; dimensions of size 1 can be repeated"
        )
    if have == shape:
        return src
    if have[0] != shape[0]:
        settle()
        narrow = (shape[0], *have[1:])
        src = of_tensor(current_interface.broadcast_to(src.tensor, narrow))
    view = src.window
    return src.like(view.broadcast(*shape)) if tuple(view.shape) != shape else src


def _two(name, says, *, compares=False):
    if compares:

        def function(x, y, *, dtype=bool, mask=None, **kwargs):
            if kwargs:
                raise unknown(name, kwargs)
            return _binary(name, x, y, dtype, mask)

    else:

        def function(x, y, *, dtype=None, mask=None, **kwargs):
            if kwargs:
                raise unknown(name, kwargs)
            return _binary(name, x, y, dtype, mask)

    doc = f"""Return {says}, element by element.

    Parameters
    ----------
    x, y : tile or number
        At least one is a tile on chip; sizes are equal or 1.
    dtype : dtype, optional
        Of the result; default: {"bool" if compares else "what the two become together"}.
    mask : mask, optional
        Where it is computed.
    """
    return _published(function, name, doc)


def unknown(name, more) -> TypeError:
    """Return the error for an argument that a function does not have."""
    return TypeError(f"nl.{name} has no argument {min(more)}")


add = _two("add", "x + y")
subtract = _two("subtract", "x - y")
multiply = _two("multiply", "x * y")
maximum = _two("maximum", "the larger of x and y")
minimum = _two("minimum", "the smaller of x and y")
power = _two("power", "x to the power of y")
bitwise_and = _two("bitwise_and", "the bits of x and y")
bitwise_or = _two("bitwise_or", "the bits of x or y")
bitwise_xor = _two("bitwise_xor", "the bits of x or y but not both")
left_shift = _two("left_shift", "the bits of x shifted up by y places")
right_shift = _two("right_shift", "the bits of x shifted down by y places")
equal = _two("equal", "whether x == y", compares=True)
not_equal = _two("not_equal", "whether x != y", compares=True)
less = _two("less", "whether x < y", compares=True)
less_equal = _two("less_equal", "whether x <= y", compares=True)
greater = _two("greater", "whether x > y", compares=True)
greater_equal = _two("greater_equal", "whether x >= y", compares=True)
logical_and = _two("logical_and", "whether x and y are nonzero", compares=True)
logical_or = _two("logical_or", "whether x or y is nonzero", compares=True)
logical_xor = _two("logical_xor", "whether one of x and y is nonzero", compares=True)


def divide(x, y, *, dtype=None, mask=None, **kwargs):
    if kwargs:
        raise unknown("divide", kwargs)
    x, y = scalar(x), scalar(y)
    if not isinstance(y, Tile):
        kind = dtype or promoted(tile(x, "divide: x").kind, of_scalar(float(y)))
        return _binary("multiply", x, 1.0 / y if y else math.copysign(math.inf, y), kind, mask)
    y = tile(y, "divide: y")
    inverse = operation("reciprocal", y.shape, _FLOAT32, mask=mask if y.size > 1 else None, data=y)
    if dtype is None:
        kind = promoted(x.kind if isinstance(x, Tile) else of_scalar(x), y.kind)
        dtype = kind if kind in _FLOATS else _FLOAT32
    return _binary("multiply", x, inverse, dtype, mask)


_published(
    divide, "divide", "Return x / y: the Vector Engine's reciprocal of y, times x (none divides)."
)


# -- one input --------------------------------------------------------------------------------


def _activation(name, says, op=None):
    def function(x, *, dtype=None, mask=None, **kwargs):
        if kwargs:
            raise unknown(name, kwargs)
        x = tile(x, f"{name}: x")
        return operation("activation", x.shape, dtype or x.kind, mask=mask, op=op or name, data=x)

    doc = f"""Return {says}, element by element, on the Scalar Engine.

    Parameters
    ----------
    x : tile
    dtype : dtype, optional
        Of the result; default: that of `x`.
    mask : mask, optional
    """
    return _published(function, name, doc)


abs = _activation("abs", "the absolute value of x")
square = _activation("square", "x times x")
exp = _activation("exp", "e to the power of x")
log = _activation("log", "the natural logarithm of x")
sqrt = _activation("sqrt", "the square root of x")
rsqrt = _activation("rsqrt", "1 / sqrt(x)")
tanh = _activation("tanh", "the hyperbolic tangent of x")
sigmoid = _activation("sigmoid", "1 / (1 + exp(-x))")
relu = _activation("relu", "the larger of x and 0")
gelu = _activation("gelu", "x times the normal distribution function at x")
gelu_apprx_sigmoid = _activation("gelu_apprx_sigmoid", "x * sigmoid(1.702 x)")
gelu_apprx_tanh = _activation("gelu_apprx_tanh", "gelu by its tanh formula")
gelu_dx = _activation("gelu_dx", "the derivative of gelu")
silu = _activation("silu", "x * sigmoid(x)")
silu_dx = _activation("silu_dx", "the derivative of silu")
softplus = _activation("softplus", "log(1 + exp(x))")
mish = _activation("mish", "x * tanh(softplus(x))")
erf = _activation("erf", "the error function of x")
erf_dx = _activation("erf_dx", "the derivative of the error function")
arctan = _activation("arctan", "the inverse tangent of x")
sign = _activation("sign", "-1, 0 or 1")


def reciprocal(x, *, dtype=None, mask=None, **kwargs):
    if kwargs:
        raise unknown("reciprocal", kwargs)
    x = tile(x, "reciprocal: x")
    return operation("reciprocal", x.shape, dtype or x.kind, mask=mask, data=x)


def negative(x, *, dtype=None, mask=None, **kwargs):
    x = tile(x, "negative: x")
    return _binary("multiply", x, -1.0 if x.kind in _FLOATS else -1, dtype or x.kind, mask)


def invert(x, *, dtype=None, mask=None, **kwargs):
    x = tile(x, "invert: x")
    ones = -1 if x.kind.startswith("int") else 256**x.kind.itemsize - 1
    return operation("tensor_scalar", x.shape, dtype or x.kind, mask=mask, data=x,
                     op0="bitwise_xor", operand0=ones, casts=False)  # fmt: skip


def logical_not(x, *, dtype=bool, mask=None, **kwargs):
    x = tile(x, "logical_not: x")
    return operation("tensor_scalar", x.shape, dtype, mask=mask, data=x, op0="equal",
                     operand0=0.0)  # fmt: skip


_published(reciprocal, "reciprocal", "Return 1 / x, element by element, on the Vector Engine.")
_published(negative, "negative", "Return -x, element by element.")
_published(invert, "invert", "Return an integer tile with its bits inverted.")
_published(logical_not, "logical_not", "Return whether x is 0, element by element.")


# -- put together by the current interface ----------------------------------------------------


def composed(name, x, shape, mask, call):
    """Return what a function of the current interface, of several instructions, gives.

    Parameters
    ----------
    name : str
    x : Tile
    shape : tuple of int
        Of the whole result, of which a mask leaves a box.
    call : callable
        Takes the part of `x` that the mask leaves, as a tensor; returns a tensor.
    """
    settle()
    box = box_of(mask, tuple(x.shape), f"nl.{name}")
    if box is None:
        return of_tensor(call(x.tensor))
    whole = None
    if box is not EMPTY:
        part = of_tensor(call(x.like(cut(x, box, None, tuple(x.shape))).tensor))
        whole = allocate(shape, part.kind)
        kept = tuple(slice(*pair) if size != 1 else slice(None)
                     for pair, size in zip(box, shape, strict=False))  # fmt: skip
        perform("tensor_copy", dst=whole[kept], src=part)
    return whole if whole is not None else allocate(shape, x.kind)


def _rounding(name, says):
    def function(x, *, dtype=None, mask=None, **kwargs):
        x = tile(x, f"{name}: x")
        kind = as_dtype(dtype) if dtype is not None else x.kind
        return composed(
            name, x, x.shape, mask, partial(getattr(current_interface, name), dtype=kind)
        )

    doc = f"""Return {says}, element by element, put together from several instructions."""
    return _published(function, name, doc)


floor = _rounding("floor", "the largest whole number not above x")
ceil = _rounding("ceil", "the smallest whole number not below x")
trunc = _rounding("trunc", "x without its fraction")
sin = _rounding("sin", "the sine of x")
cos = _rounding("cos", "the cosine of x")
tan = _rounding("tan", "the tangent of x")


def _remainder(name, says):
    def function(x, y, dtype=None, mask=None, **kwargs):
        x, y = scalar(x), scalar(y)
        first = x if isinstance(x, Tile) else tile(y, f"{name}: y")
        second = y.tensor if isinstance(y, Tile) else y
        kind = as_dtype(dtype) if dtype is not None else None
        of = getattr(current_interface, name)
        if not isinstance(x, Tile):
            return composed(name, first, first.shape, mask, lambda t: of(x, t, dtype=kind))
        if isinstance(y, Tile) and mask is not None:
            box = box_of(mask, tuple(x.shape), f"nl.{name}")
            second = y.like(cut(y, box, None, tuple(x.shape))).tensor
        return composed(name, first, first.shape, mask, lambda t: of(t, second, dtype=kind))

    doc = f"""Return {says}, element by element, put together from several instructions."""
    return _published(function, name, doc)


mod = _remainder("mod", "the remainder of x / y, with the sign of y")
fmod = _remainder("fmod", "the remainder of x / y, with the sign of x")


# -- operators of tiles -----------------------------------------------------------------------


def _operator(function, *, reverse=False):
    def called(self, other):
        return function(other, self) if reverse else function(self, other)

    return called


def _operator_of_one(function):
    return lambda self: function(self)


def _in_place(function):
    def called(self, other):
        whole = self.one() if type(self) is Blocks else self
        is_sum = function is add and isinstance(other, Operation)
        if is_sum and other.accumulates_into(whole):
            other.accumulate(whole)
        else:
            assign(whole, function(whole, other))
        return self

    return called


for _kind in (Tile, Blocks):
    for _sign, _function in (
        ("add", add), ("sub", subtract), ("mul", multiply), ("truediv", divide), ("pow", power),
        ("mod", mod), ("and", bitwise_and), ("or", bitwise_or), ("xor", bitwise_xor),
        ("lshift", left_shift), ("rshift", right_shift),
    ):  # fmt: skip
        setattr(_kind, f"__{_sign}__", _operator(_function))
        setattr(_kind, f"__r{_sign}__", _operator(_function, reverse=True))
        setattr(_kind, f"__i{_sign}__", _in_place(_function))
    for _sign, _function in (
        ("lt", less), ("le", less_equal), ("gt", greater), ("ge", greater_equal), ("eq", equal),
        ("ne", not_equal),
    ):  # fmt: skip
        setattr(_kind, f"__{_sign}__", _operator(_function))
    for _sign, _function in (("neg", negative), ("abs", abs), ("invert", invert)):
        setattr(_kind, f"__{_sign}__", _operator_of_one(_function))


def _of_one_tile(method):
    """Return a method of tiles for Blocks that have but one."""
    return lambda self, *args: method(self.one(), *args)


_UFUNCS = {"true_divide": divide, "absolute": abs, "remainder": mod, "bitwise_not": invert}


def _ufunc(self, ufunc, method, *inputs, **kwargs):
    """Let ``np.exp(tile)`` and ``np.float32(2) * tile`` mean this language's function."""
    found = _UFUNCS.get(ufunc.__name__) or globals().get(ufunc.__name__)
    if method != "__call__" or kwargs.keys() - {"dtype"} or found is None:
        raise TypeError(
            f"np.{ufunc.__name__} does not compute on tiles; nl has what the chip can do"
        )
    return found(*inputs, **kwargs)


def _broadcast_to(self, shape):
    return broadcast_to(self, shape=shape)


def _astype(self, dtype):
    return copied(self, as_dtype(dtype))


for _name, _method in (
    ("__array_ufunc__", _ufunc), ("broadcast_to", _broadcast_to), ("astype", _astype),
):  # fmt: skip
    setattr(Tile, _name, _method)
    setattr(Blocks, _name, _ufunc if _method is _ufunc else _of_one_tile(_method))
