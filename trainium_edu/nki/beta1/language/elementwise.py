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
from trainium_edu.nki.beta1.tile import Blocks, Held, Moved, Tile, allocate, of_tensor
from trainium_edu.nki.language.elementwise import BITWISE, FLOATS, common_shape
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.rows import make, read
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["broadcast_to"]

_FLOAT32 = DTYPE_NAMES["float32"]
_ROWS = read("elementwise.toml")
_PSUM = MemoryRegion.psum


def _published(function, name="", doc=""):
    if name:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
    function.op = function.__name__
    __all__.append(function.op)
    return function


# -- two inputs -------------------------------------------------------------------------------


def _binary(op, x, y, dtype, mask):
    if op == "add" and Expression in (type(x), type(y)):  # an index that the chip moves
        return Moved(x, y) if type(x) is Expression else Moved(y, x)
    passed, (x, y) = (x, y), (scalar(x), scalar(y))
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
        dtype = promoted(data.kind, of_scalar(passed[is_tile]))
    return operation("tensor_scalar", data.shape, dtype, mask=mask, data=data, op0=op,
                     operand0=number, reverse0=not is_tile, casts=op not in BITWISE)  # fmt: skip


def _two_tiles(op, x, y, kind, mask):
    if x.region is _PSUM or op == "power":  # an instruction reads one of them there
        y = in_sbuf(y)
    if op == "power":  # on GpSimd
        x = in_sbuf(x)
    return operation("tensor_tensor", x.shape, kind, mask=mask, data1=x, data2=y, op=op,
                     casts=op not in BITWISE)  # fmt: skip


def _uneven(op, x, y, kind, mask):
    """Combine tiles of two shapes: one number per partition, or dimensions that repeat."""
    shape = _common_shape(op, x.shape, y.shape)
    for data, vector, reverse in ((x, y, False), (y, x, True)):
        is_column = math.prod(vector.shape) == shape[0] == vector.shape[0]
        if tuple(data.shape) == shape and is_column and op not in BITWISE:
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
    return common_shape(op, x, y)


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


def refuse(name, more) -> None:
    """Raise for arguments that a function does not have."""
    if more:
        raise TypeError(f"nl.{name} has no argument {min(more)}")


def _two(name, says, *, compares=False):
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
    parameters = f"x y * dtype={'bool' if compares else None} mask=None **kwargs"
    body = f"refuse('{name}', kwargs); return _binary('{name}', x, y, dtype, mask)"
    return _published(make(name, parameters, doc, body, globals()), name, doc)


for _name, _says in _ROWS["two_inputs"].items():
    globals()[_name] = _two(_name, _says)
for _name, _says in _ROWS["comparisons"].items():
    globals()[_name] = _two(_name, f"whether {_says}", compares=True)


@_published
def divide(x, y, *, dtype=None, mask=None, **kwargs):
    """Return x / y: the Vector Engine's reciprocal of y, times x (none divides)."""
    refuse("divide", kwargs)
    x, y = scalar(x), scalar(y)
    if not isinstance(y, Tile):
        kind = dtype or promoted(tile(x, "divide: x").kind, of_scalar(float(y)))
        return _binary("multiply", x, 1.0 / y if y else math.copysign(math.inf, y), kind, mask)
    y = tile(y, "divide: y")
    inverse = operation("reciprocal", y.shape, _FLOAT32, mask=mask if y.size > 1 else None, data=y)
    if dtype is None:
        kind = promoted(x.kind if isinstance(x, Tile) else of_scalar(x), y.kind)
        dtype = kind if kind in FLOATS else _FLOAT32
    return _binary("multiply", x, inverse, dtype, mask)


# -- one input --------------------------------------------------------------------------------


def _activation(name, says):
    def function(x, *, dtype=None, mask=None, **kwargs):
        refuse(name, kwargs)
        x = tile(x, f"{name}: x")
        return operation("activation", x.shape, dtype or x.kind, mask=mask, op=name, data=x)

    doc = f"""Return {says}, element by element, on the Scalar Engine.

    Parameters
    ----------
    x : tile
    dtype : dtype, optional
        Of the result; default: that of `x`.
    mask : mask, optional
    """
    return _published(function, name, doc)


for _name in set(_ROWS["activations"]) - {"gelu_apprx_sigmoid_dx"}:
    globals()[_name] = _activation(_name, _ROWS["activations"][_name])


@_published
def reciprocal(x, *, dtype=None, mask=None, **kwargs):
    """Return 1 / x, element by element, on the Vector Engine."""
    refuse("reciprocal", kwargs)
    x = tile(x, "reciprocal: x")
    return operation("reciprocal", x.shape, dtype or x.kind, mask=mask, data=x)


@_published
def negative(x, *, dtype=None, mask=None, **kwargs):
    """Return -x, element by element."""
    x = tile(x, "negative: x")
    return _binary("multiply", x, -1.0 if x.kind in FLOATS else -1, dtype or x.kind, mask)


@_published
def invert(x, *, dtype=None, mask=None, **kwargs):
    """Return an integer tile with its bits inverted."""
    x = tile(x, "invert: x")
    ones = -1 if x.kind.startswith("int") else 256**x.kind.itemsize - 1
    return operation("tensor_scalar", x.shape, dtype or x.kind, mask=mask, data=x,
                     op0="bitwise_xor", operand0=ones, casts=False)  # fmt: skip


@_published
def logical_not(x, *, dtype=bool, mask=None, **kwargs):
    """Return whether x is 0, element by element."""
    x = tile(x, "logical_not: x")
    return operation("tensor_scalar", x.shape, dtype, mask=mask, data=x, op0="equal",
                     operand0=0.0)  # fmt: skip


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

    doc = f"Return {says}, element by element, put together from several instructions."
    return _published(function, name, doc)


for _name, _says in _ROWS["roundings"].items():
    globals()[_name] = _rounding(_name, _says)


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

    doc = f"Return {says}, element by element, put together from several instructions."
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
        is_sum = function.op == "add" and isinstance(other, Operation)
        if is_sum and other.accumulates_into(whole):
            other.accumulate(whole)
        else:
            assign(whole, function(whole, other))
        return self

    return called


_BY_SIGN = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
    "mod": "mod", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
                "eq": "equal", "ne": "not_equal"}  # fmt: skip
for _sign, _name in (_BY_SIGN | _COMPARISONS).items():
    _function = globals()[_name]
    setattr(Held, f"__{_sign}__", _operator(_function))
    if _sign in _BY_SIGN:
        setattr(Held, f"__r{_sign}__", _operator(_function, reverse=True))
        setattr(Held, f"__i{_sign}__", _in_place(_function))
for _sign, _name in (("neg", "negative"), ("abs", "abs"), ("invert", "invert")):
    setattr(Held, f"__{_sign}__", _operator_of_one(globals()[_name]))


def _of_one_tile(method):
    """Return a method of tiles for Blocks that have but one."""
    return lambda self, *args: method(self.one(), *args)


_UFUNCS = {"true_divide": "divide", "absolute": "abs", "remainder": "mod", "bitwise_not": "invert"}


def _ufunc(self, ufunc, method, *inputs, **kwargs):
    """Let ``np.exp(tile)`` and ``np.float32(2) * tile`` mean this language's function."""
    nl_function = globals().get(_UFUNCS.get(ufunc.__name__, ufunc.__name__))
    if method != "__call__" or kwargs.keys() - {"dtype"} or nl_function is None:
        raise TypeError(
            f"np.{ufunc.__name__} does not compute on tiles; nl has what the chip can do"
        )
    return nl_function(*inputs, **kwargs)


def _broadcast_to(self, shape):
    return broadcast_to(self, shape=shape)


def _astype(self, dtype):
    return copied(self, as_dtype(dtype))


setattr(Held, "__array_ufunc__", _ufunc)  # noqa: B010
for _name, _method in (("broadcast_to", _broadcast_to), ("astype", _astype)):
    setattr(Tile, _name, _method)
    setattr(Blocks, _name, _of_one_tile(_method))
