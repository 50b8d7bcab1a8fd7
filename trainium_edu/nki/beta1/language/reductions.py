"""Reductions over free dimensions, and what is built on them."""

import builtins
from functools import partial
from math import prod as _prod

from trainium_edu.nki import language as current_interface
from trainium_edu.nki.beta1.index import Mask
from trainium_edu.nki.beta1.isa import affine_select, tensor_reduce
from trainium_edu.nki.beta1.language import elementwise as ew
from trainium_edu.nki.beta1.language.creation import ones
from trainium_edu.nki.beta1.operation import operation, scalar, settle, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.beta1.tile import Held, Tile, of_tensor
from trainium_edu.nki.mistakes import is_whole
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["all", "dropout", "max", "mean", "min", "prod", "rms_norm", "softmax", "sum", "var",
           "where"]  # fmt: skip

_FLOAT32, _BOOL = DTYPE_NAMES["float32"], DTYPE_NAMES["bool"]


def axes_of(name, x, axis) -> tuple:
    """Return the reduced axes in order: free ones."""
    axes = [axis] if is_whole(axis) else axis
    if not isinstance(axes, tuple | list) or not builtins.all(map(is_whole, axes)) or not axes:
        raise TypeError(f"nl.{name}: axis is {axis!r}; it is a whole number, or several in a list")
    count = len(x.window.shape)
    axes = sorted({a + count if a < 0 else int(a) for a in axes})
    if axes[0] < 0 or axes[-1] >= count:
        raise NkiValidationError(f"nl.{name}: axis {axis} of {x!r}, which has {count} dimensions")
    if 0 in axes:
        raise NkiValidationError(
            f"nl.{name}: axis 0 of {x!r} is the partition axis, along which no vector engine adds; "
            "nisa.tensor_partition_reduce, a transpose or a matmul with ones do"
        )
    return tuple(axes)


def reduced(name, op, x, axis, dtype, mask, keepdims):
    """Return a reduction of a tile over free axes."""
    x = tile(x, f"{name}: x")
    axes = axes_of(name, x, axis)
    return tensor_reduce(op, x, axes, dtype=dtype, mask=mask, keepdims=keepdims)


def _reduction(name, op, says):
    def function(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
        ew.refuse(name, kwargs)
        return reduced(name, op, x, axis, dtype, mask, keepdims)

    function.__name__ = function.__qualname__ = name
    function.op = op
    function.__doc__ = f"""Return {says} along free axes, the last of the tile.

    Parameters
    ----------
    x : tile
    axis : int or list of int
        Never 0, the partitions.
    dtype : dtype, optional
        Of the result; default: that of `x`.
    mask : mask over `x`, optional
    keepdims : bool
        Keep reduced axes with size 1; a result without free axes is (P, 1) anyway.
    """
    return function


sum = _reduction("sum", "add", "the sum")
max = _reduction("max", "maximum", "the largest element")
min = _reduction("min", "minimum", "the smallest element")
prod = _reduction("prod", "multiply", "the product")


def all(x, axis, *, dtype=bool, mask=None, **kwargs):
    """Return whether every element along free axes is nonzero."""
    return reduced("all", "logical_and", x, axis, dtype, mask, False)


all.op = "logical_and"  # type: ignore[attr-defined]


def mean(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
    """Return the mean along free axes, computed in FP32."""
    x = tile(x, "mean: x")
    count = _prod(x.window.shape[a] for a in axes_of("mean", x, axis))
    total = reduced("mean", "add", x, axis, _FLOAT32, mask, keepdims)
    return operation("tensor_scalar", total.shape, dtype or x.kind, data=total, op0="multiply",
                     operand0=1.0 / count)  # fmt: skip


def _composed(name, x, mask, dtype, shape=None, **more):
    x = tile(x, f"{name}: x")
    function = getattr(current_interface, name)
    kind = as_dtype(dtype) if dtype is not None else None
    return ew.composed(name, x, shape or x.shape, mask, partial(function, dtype=kind, **more))


def _listed(axis):
    return tuple(axis) if isinstance(axis, list) else axis


def var(x, axis, *, dtype=None, mask=None, **kwargs):
    """Return the variance along free axes, which stay with size 1."""
    x = tile(x, "var: x")
    axes = axes_of("var", x, axis)
    shape = tuple(1 if a in axes else size for a, size in enumerate(x.window.shape))
    return _composed("var", x, mask, dtype, shape, axis=axes)


def softmax(x, axis, *, dtype=None, compute_dtype=None, mask=None, **kwargs):
    """Return exp(x - max) / sum(exp(x - max)) along free axes."""
    return _composed("softmax", x, mask, dtype or compute_dtype, axis=_listed(axis))


def rms_norm(x, w, axis, n, epsilon=1e-06, *, dtype=None, compute_dtype=None, mask=None, **kwargs):
    """Return x / sqrt(sum(x * x) / n + epsilon) * w along a free axis."""
    w = scalar(w)
    weight = tile(w, "rms_norm: w").tensor if isinstance(w, Tile) else w
    compute = None if compute_dtype is None else as_dtype(compute_dtype)
    return _composed("rms_norm", x, mask, dtype, w=weight, axis=_listed(axis), n=n, epsilon=epsilon,
                     compute_dtype=compute)  # fmt: skip


def where(condition, x, y, *, dtype=None, mask=None, **kwargs):
    """Return x where the condition is nonzero, else y.

    Parameters
    ----------
    condition : tile, or comparison of index expressions
    x, y : tile or number
    dtype : dtype, optional
        Of the result; default: that of the first tile of `x` and `y`.
    mask : mask, optional
    """
    if isinstance(condition, Mask):
        shape = next((v.shape for v in (x, y) if isinstance(v, Tile)), condition.shape)
        condition = affine_select(condition, ones(shape, "float32"), 0.0)
    condition = tile(condition, "where: condition")
    x, y = (t.tensor if isinstance(t, Tile) else t for t in (scalar(x), scalar(y)))
    kind = as_dtype(dtype) if dtype is not None else None
    if mask is not None:
        raise NkiValidationError("nl.where: mask= is not modelled; store or use the part you need")
    settle()
    return of_tensor(current_interface.where(condition.tensor, x, y, dtype=kind))


def dropout(x, rate, *, dtype=None, mask=None, **kwargs):
    """Return x, each element 0 with probability `rate`; what is kept is not scaled."""
    rate = scalar(rate)
    return _composed(
        "dropout", x, mask, dtype, rate=rate.tensor if isinstance(rate, Tile) else rate
    )


_NUMPYS = {f.__name__: f for f in (all, max, mean, min, prod, sum, var, where)}
_NUMPYS |= {"amax": max, "amin": min}


def _numpy_function(self, function, types, args, kwargs):
    """Let ``np.mean(tile, axis=1)`` mean this language's function, as ``np.exp(tile)`` does."""
    name = function.__name__
    if name in ("ndim", "shape", "size"):
        return getattr(self, name)
    if name not in _NUMPYS:
        raise TypeError(f"np.{name} does not compute on tiles; nl has what the chip can do")
    return _NUMPYS[name](*args, **kwargs)


setattr(Held, "__array_function__", _numpy_function)  # noqa: B010
