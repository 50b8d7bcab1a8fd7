"""Arithmetic on tiles.  Each function also names an operator to instructions: ``op=nl.add``.

Two tiles go through ``tensor_tensor``, a tile and a number (or one number per partition) through
``tensor_scalar``; functions of one tile are activations of the Scalar Engine where it has them.
"""

import math

from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.issuing import issue
from trainium_edu.nki.language.creation import made, ndarray
from trainium_edu.nki.language.matrix import broadcast_to, copied
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.enums import engine as _engine
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.rows import read
from trainium_edu.nki.running import known_issue, later_chip
from trainium_edu.specs.errors import NkiValidationError

FLOATS = ("float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2")
_FLOAT32 = DTYPE_NAMES["float32"]
BITWISE = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}
_ROWS = read("elementwise.toml")

__all__ = []


def _operator(function, name="", doc=""):
    """Give a function the name by which instructions know it, and publish it."""
    if name:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
    function.op = function.__name__
    if function.op not in __all__:
        __all__.append(function.op)
    return function


# -- two inputs -------------------------------------------------------------------------------


def _wider(a, b):
    """Return the dtype that holds both: floats before integers, then the wider."""
    if a == b:
        return a
    floats = [d for d in (a, b) if d in FLOATS]
    if len(floats) == 1:
        return floats[0]
    if a.itemsize == b.itemsize:
        return _FLOAT32 if floats else DTYPE_NAMES["int32"]
    return max(a, b, key=lambda d: d.itemsize)


def _result_dtype(tile, other, dtype):
    if dtype is not None:
        return dtype
    if isinstance(other, NkiTensor):
        return _wider(tile.dtype, other.dtype)
    if isinstance(other, float) and tile.dtype not in FLOATS:
        return _FLOAT32
    return tile.dtype


def _binary(op, x, y, dtype):
    reverse = not isinstance(x, NkiTensor)
    tile, other = (y, x) if reverse else (x, y)
    if not isinstance(tile, NkiTensor):
        raise TypeError(f"nl.{op} takes at least one tile, not {describe(x)} and {describe(y)}")
    if not isinstance(other, NkiTensor):
        other = _number(op, other)
    _on_chip(op, tile)
    if isinstance(other, NkiTensor):
        _on_chip(op, other)
        if tile._view.shape != other._view.shape:
            return _uneven(op, x, y, dtype)
    dtype = _result_dtype(tile, other, dtype)
    if isinstance(other, NkiTensor):
        return _tensor_tensor(op, ndarray(tile.shape, dtype), x, y)
    return made(
        tile.shape, dtype, "tensor_scalar", data=tile, op0=op, operand0=other, reverse0=reverse
    )


def _tensor_tensor(op, out, x, y):
    """Combine two tiles; if both are in PSUM, copy one to SBUF, as the instruction reads one there.

    ``power`` of two tiles runs on GpSimd, which reads none there.
    """
    if y.buffer is MemoryRegion.psum and (x.buffer is MemoryRegion.psum or op == "power"):
        y = copied(y, y.dtype)
    if x.buffer is MemoryRegion.psum and op == "power":
        x = copied(x, x.dtype)
    issue("tensor_tensor", dst=out, data1=x, data2=y, op=op)
    return out


def _number(op, value):
    """Return an operand that is not a tile as an int or a float."""
    kind = type(value)
    if kind is int or kind is float:
        return value
    if hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0:
        whole = isinstance(value, int) or hasattr(value, "__index__")
        return int(value) if whole else float(value)
    what = describe(value)
    if hasattr(value, "shape"):
        what += " (kernels take arrays as arguments)"
    raise TypeError(f"nl.{op} takes tiles and numbers, not {what}")


def _uneven(op, x, y, dtype):
    """Combine tiles of two shapes: one number per partition, or free dimensions that repeat."""
    shape = common_shape(op, x.shape, y.shape)
    out = ndarray(shape, _result_dtype(x, y, dtype))
    for tile, vector, reverse in ((x, y, False), (y, x, True)):
        if tile.shape == shape and vector.size == shape[0] and op not in BITWISE:
            column = vector.reshape((shape[0], 1))
            if column.dtype != "float32":
                column = copied(column, _FLOAT32)
            issue("tensor_scalar", dst=out, data=tile, op0=op, operand0=column, reverse0=reverse)
            return out
    first, second = (t if t.shape == shape else broadcast_to(t, shape) for t in (x, y))
    return _tensor_tensor(op, out, first, second)


def common_shape(op, x, y):
    if len(x) == len(y) and all(a == b or 1 in (a, b) for a, b in zip(x, y, strict=True)):
        return tuple(max_of(a, b) for a, b in zip(x, y, strict=True))
    raise NkiValidationError(
        f"nl.{op}: shapes {list(x)} and {list(y)} do not match; they need "
        "the same number of dimensions, with sizes equal or 1"
    )


def max_of(a, b):
    """Return the larger of two numbers (`max` is a reduction in this language)."""
    return a if a > b else b


def _on_chip(op, tile):
    if not tile._on_chip:
        raise NkiValidationError(
            f"nl.{op}: {tile!r} is in HBM, which engines do not reach; load it into SBUF first"
        )


def _two(name, says):
    def function(x, y, dtype=None):
        if isinstance(y, NkiTensor):
            if isinstance(x, NkiTensor) and x._view.shape != y._view.shape:
                known_issue(f"broadcasting of {name}")
        elif name == "power":
            known_issue("power")
        return _binary(name, x, y, dtype)

    doc = f"""Return {says}, element by element.

    Parameters
    ----------
    x, y : NkiTensor or number
        At least one is a tile on chip; sizes are equal or 1.
    dtype : dtype, optional
        Of the result; default: the tiles' own, the wider of two.

    Returns
    -------
    NkiTensor in SBUF
    """
    return _operator(function, name, doc)


for _name, _says in _ROWS["two_inputs"].items():
    globals()[_name] = _two(_name, _says)
for _name, _says in _ROWS["comparisons"].items():
    globals()[_name] = _two(_name, f"1 where {_says}, else 0")


@_operator
def abs_max(x, y, dtype=None):
    """Return the operand of larger magnitude (NeuronCore-v4 and later)."""
    raise later_chip("nl.abs_max", "NeuronCore-v4 (Trainium3)")


@_operator
def abs_min(x, y, dtype=None):
    """Return the operand of smaller magnitude (NeuronCore-v4 and later)."""
    raise later_chip("nl.abs_min", "NeuronCore-v4 (Trainium3)")


@_operator
def divide(x, y, dtype=None):
    """Return x / y: the Vector Engine's reciprocal of y, times x (no engine divides)."""
    known_issue("divide")
    if not isinstance(y, NkiTensor):
        y = _number("divide", y)
        return _binary("multiply", x, 1.0 / y if y else math.copysign(math.inf, y), dtype)
    inverse = made(y.shape, _FLOAT32, "reciprocal", data=y)
    return _binary("multiply", x, inverse, dtype or _float_of(x, y))


def _float_of(x, y):
    dtype = _result_dtype(y, x, None)
    return dtype if dtype in FLOATS else _FLOAT32


# -- one input --------------------------------------------------------------------------------


def _activation(name, says):
    def function(x, dtype=None):
        _one_tile(name, x)
        return made(x.shape, dtype or x.dtype, "activation", op=name, data=x)

    doc = f"""Return {says}, element by element, on the Scalar Engine.

    Parameters
    ----------
    x : NkiTensor on chip
    dtype : dtype, optional
        Of the result; default: that of `x`.
    """
    return _operator(function, name, doc)


def _one_tile(name, x):
    if not isinstance(x, NkiTensor):
        raise TypeError(f"nl.{name} takes a tile, not {describe(x)}")
    _on_chip(name, x)


for _name, _says in _ROWS["activations"].items():
    globals()[_name] = _activation(_name, _says)


@_operator
def reciprocal(x, dtype=None):
    """Return 1 / x, element by element, on the Vector Engine."""
    _one_tile("reciprocal", x)
    return made(x.shape, dtype or x.dtype, "reciprocal", data=x)


@_operator
def rsqrt(x, dtype=None):
    """Return 1 / sqrt(x), element by element, on the GpSimd Engine, which does not reach PSUM."""
    _one_tile("rsqrt", x)
    how = {"engine": _engine.gpsimd, "op0": "rsqrt", "operand0": 0.0}
    return made(x.shape, dtype or x.dtype, "tensor_scalar", data=x, **how)


@_operator
def negative(x, dtype=None):
    """Return -x, element by element."""
    _one_tile("negative", x)
    return _binary("multiply", x, -1.0 if x.dtype in FLOATS else -1, dtype)


@_operator
def invert(x, dtype=None):
    """Return an integer tile with its bits inverted."""
    _one_tile("invert", x)
    ones = -1 if x.dtype.startswith("int") else 256**x.dtype.itemsize - 1
    how = {"op0": "bitwise_xor", "operand0": ones}
    return made(x.shape, dtype or x.dtype, "tensor_scalar", data=x, **how)


@_operator
def logical_not(x, dtype=None):
    """Return 1 where x is 0, else 0, for tiles of zeros and ones."""
    _one_tile("logical_not", x)
    return _binary("logical_xor", x, 1, dtype)


__getattr__ = names_of(__name__, "nki.language")
