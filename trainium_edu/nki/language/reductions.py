"""Reductions over free dimensions, and what is built on them."""

import builtins
import math

from trainium_edu.nki.issuing import issue
from trainium_edu.nki.language import elementwise as ew
from trainium_edu.nki.language.creation import _whole_number, made, ndarray
from trainium_edu.nki.language.matrix import broadcast_to, copied
from trainium_edu.nki.mistakes import is_whole
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["all", "dropout", "max", "mean", "min", "prod", "rms_norm", "softmax", "sum", "var",
           "where"]  # fmt: skip

_FLOAT32 = DTYPE_NAMES["float32"]
_UINT8 = DTYPE_NAMES["uint8"]


def _axes(name, x, axis):
    """Return the reduced axes in order: free ones, the last of the tile."""
    ew._one_tile(name, x)
    requested = [axis] if is_whole(axis) else axis
    if not isinstance(requested, tuple | list) or not builtins.all(map(is_whole, requested)):
        raise TypeError(
            f"nl.{name}: axis is {axis!r}; it must be a whole number, or a tuple of them"
        )
    axes = sorted({a % x.ndim if -x.ndim <= a < x.ndim else a for a in requested})
    if 0 in axes:
        raise NkiValidationError(
            f"nl.{name}: axis 0 of {x!r} is the partition axis, along which no vector engine adds; "
            "transpose the tile, or multiply by ones on the Tensor Engine"
        )
    if axes != list(range(x.ndim - len(axes), x.ndim)) or not axes:
        raise NkiValidationError(
            f"nl.{name}: axis {axis} of {x!r}; reductions go over the last dimensions of a tile: "
            f"{', '.join(str(list(range(k, x.ndim))) for k in range(x.ndim - 1, 0, -1))}"
        )
    return axes


def _shape(x, axes, keepdims):
    if keepdims:
        return (*x.shape[: axes[0]], *(1,) * len(axes))
    kept = x.shape[: axes[0]]
    return kept if len(kept) > 1 else (*kept, 1)


def _reduce(name, op, x, axis, dtype, keepdims):
    axes = _axes(name, x, axis)
    flat = x.flatten_dims(axes[0], axes[-1]) if _is_flat(x, axes) else x
    over = (axes[0],) if flat is not x else tuple(axes)
    shape = _shape(x, axes, keepdims)
    return made(shape, dtype or x.dtype, "tensor_reduce", op=op, data=flat, axis=over)


def _is_flat(x, axes):
    """Return whether the reduced axes are one run in memory."""
    view = x._view
    step = view.strides[axes[-1]]
    for axis in reversed(axes):
        if view.strides[axis] != step:
            return False
        step *= view.shape[axis]
    return len(axes) > 1


def sum(x, axis, dtype=None, keepdims=False) -> NkiTensor:
    """Add up the elements along free axes, in FP32, rounded once at the end.

    Parameters
    ----------
    x : NkiTensor[P, ...] on chip
    axis : int or tuple of int
        The last axes; never 0, the partitions.
    dtype : dtype, optional
        Of the result; default: that of `x`.
    keepdims : bool
        Keep reduced axes with size 1; a result without free axes is [P, 1] anyway.

    Returns
    -------
    NkiTensor in SBUF
    """
    return _reduce("sum", "add", x, axis, dtype, keepdims)


def max(x, axis, dtype=None, keepdims=False) -> NkiTensor:
    """Return the largest element along free axes."""
    return _reduce("max", "maximum", x, axis, dtype, keepdims)


def min(x, axis, dtype=None, keepdims=False) -> NkiTensor:
    """Return the smallest element along free axes."""
    return _reduce("min", "minimum", x, axis, dtype, keepdims)


def prod(x, axis, dtype=None, keepdims=False) -> NkiTensor:
    """Multiply the elements along free axes."""
    return _reduce("prod", "multiply", x, axis, dtype, keepdims)


def all(x, axis, dtype=None) -> NkiTensor:
    """Return 1 where every element along free axes is nonzero, else 0."""
    ones = made(x.shape, _FLOAT32, "tensor_scalar", data=x, op0="not_equal", operand0=0.0)
    return _reduce("all", "minimum", ones, axis, dtype or x.dtype, False)


def mean(x, axis, dtype=None, keepdims=False) -> NkiTensor:
    """Return the mean along free axes, computed in FP32."""
    axes = _axes("mean", x, axis)
    total = _reduce("mean", "add", x, axis, _FLOAT32, keepdims)
    how = {"op0": "multiply", "operand0": 1.0 / math.prod(x.shape[axes[0] :])}
    return made(total.shape, dtype or x.dtype, "tensor_scalar", data=total, **how)


def _spread(small, x, axes):
    """Return a view of one number per kept position, repeated over the reduced axes."""
    for axis in axes:
        small = small.broadcast(axis, x.shape[axis])
    return small


def var(x, axis, dtype=None, keepdims=False) -> NkiTensor:
    """Return the variance along free axes; the reduced axes stay, with size 1."""
    axes = _axes("var", x, axis)
    middle = _spread(mean(x, axis, _FLOAT32, keepdims=True), x, axes)
    away = made(x.shape, _FLOAT32, "tensor_tensor", data1=x, data2=middle, op="subtract")
    squares = made(x.shape, _FLOAT32, "tensor_tensor", data1=away, data2=away, op="multiply")
    return mean(squares, axis, dtype or x.dtype, keepdims=True)


def softmax(x, axis=-1, dtype=None) -> NkiTensor:
    """Return exp(x - max) / sum(exp(x - max)) along free axes."""
    axes = _axes("softmax", x, axis)
    top = _reduce("softmax", "maximum", x, axis, _FLOAT32, True)
    powers = ndarray(x.shape, _FLOAT32)
    if len(axes) == x.ndim - 1:  # one number per partition: the activation's own bias
        column = (x.shape[0], 1)
        how = {"data": top.reshape(column), "op0": "multiply", "operand0": -1.0}
        negative = made(column, _FLOAT32, "tensor_scalar", **how)
        issue("activation", dst=powers, op="exp", data=x, bias=negative)
    else:
        issue("tensor_tensor", dst=powers, data1=x, data2=_spread(top, x, axes), op="subtract")
        issue("activation", dst=powers, op="exp", data=powers)
    total = _reduce("softmax", "add", powers, axis, _FLOAT32, True)
    inverse = _spread(made(total.shape, _FLOAT32, "reciprocal", data=total), x, axes)
    how = {"data1": powers, "data2": inverse, "op": "multiply"}
    return made(x.shape, dtype or x.dtype, "tensor_tensor", **how)


def rms_norm(x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None) -> NkiTensor:
    """Return x / sqrt(sum(x * x) / n + epsilon) * w along a free axis.

    Parameters
    ----------
    x : NkiTensor[P, ...] on chip
    w : NkiTensor or number
        Of the shape of `x`, or with sizes of 1 that repeat.
    axis : int or tuple of int
        The last axes; never 0, the partitions.
    n : number
        How many values one mean is of.
    epsilon : float
    dtype, compute_dtype : dtype, optional
        Of the result (default: that of `x`), and in between (default: float32).

    Returns
    -------
    NkiTensor in SBUF
    """
    axes = _axes("rms_norm", x, axis)
    compute = compute_dtype or _FLOAT32
    if not ew._number("rms_norm", n) > 0:
        raise NkiValidationError(f"nl.rms_norm: n is {n}; it counts the values of one mean, >= 1")
    squares = ew.square(x, compute)
    total = _reduce("rms_norm", "add", squares, axis, _FLOAT32, True)
    mean = {"op0": "multiply", "operand0": 1.0 / n, "op1": "add", "operand1": epsilon}
    root = made(total.shape, _FLOAT32, "tensor_scalar", data=total, **mean)
    issue("activation", dst=root, op="rsqrt", data=root)
    how = {"data1": x, "data2": _spread(root, x, axes), "op": "multiply"}
    scaled = made(x.shape, compute, "tensor_tensor", **how)
    return ew.multiply(scaled, w, dtype or x.dtype)


def where(condition, x, y, dtype=None) -> NkiTensor:
    """Return x where the condition is nonzero, else y.

    Parameters
    ----------
    condition : NkiTensor on chip
    x, y : NkiTensor on chip, or number
        Sizes are equal to the condition's, or 1.
    dtype : dtype, optional
        Of the result; default: that of the first tile of `x` and `y`.

    Returns
    -------
    NkiTensor in SBUF
    """
    ew._one_tile("where", condition)
    tiles = [t for t in (x, y) if isinstance(t, NkiTensor)]
    shape = condition.shape
    for tile in tiles:
        ew._on_chip("where", tile)
        shape = ew.common_shape("where", shape, tile.shape)
    out = ndarray(shape, dtype or (tiles[0].dtype if tiles else condition.dtype))
    if isinstance(y, NkiTensor):
        issue("tensor_copy", dst=out, src=broadcast_to(y, shape))
    else:
        issue("memset", dst=out, value=_whole_number(y) if not out._view.dtype.is_float else y)
    differs = {"data": condition, "op0": "not_equal", "operand0": 0.0}
    mask = made(condition.shape, _UINT8, "tensor_scalar", **differs)
    if isinstance(x, NkiTensor):
        x = broadcast_to(x, shape, out.dtype)  # the instruction moves bits: one dtype
    issue("tensor_copy_predicated", dst=out, src=x, predicate=broadcast_to(mask, shape))
    return out


def dropout(x, rate, dtype=None) -> NkiTensor:
    """Return x, each element 0 with probability `rate` (a number, or one per partition).

    What is kept is not scaled; the random bits are those of ``nl.random_seed``.

    Parameters
    ----------
    x : NkiTensor on chip
    rate : number from 0 to 1, or float NkiTensor[P, 1]
    dtype : dtype, optional
        Of the result; default: that of `x`.
    """
    ew._one_tile("dropout", x)
    out = made(x.shape, x.dtype, "dropout", data=x, prob=rate)
    return out if dtype is None or dtype == x.dtype else copied(out, dtype)
