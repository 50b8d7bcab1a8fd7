"""Reductions over free dimensions, and what is built on them."""

from functools import partial

from trainium_edu.nki import language as current_interface
from trainium_edu.nki.beta1.index import Mask
from trainium_edu.nki.beta1.isa import affine_select
from trainium_edu.nki.beta1.language import elementwise as ew
from trainium_edu.nki.beta1.language.creation import ones
from trainium_edu.nki.beta1.language.elementwise import RULES
from trainium_edu.nki.beta1.operation import scalar, settle, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.beta1.tile import Held, Tile, of_tensor
from trainium_edu.nki.language.rules import REDUCED
from trainium_edu.nki.language.rules import refuse as refuse
from trainium_edu.nki.rows import publish
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["dropout", "rms_norm", "softmax", "var", "where"]


for _name in publish("old", "reductions searches", globals()):
    __all__.append(_name)
    if _name in REDUCED:
        globals()[_name].op = REDUCED[_name]


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
    axes = RULES.axes("var", x, axis)
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
    """Return x, each element 0 with probability `rate`; the others are not scaled."""
    rate = scalar(rate)
    return _composed(
        "dropout", x, mask, dtype, rate=rate.tensor if isinstance(rate, Tile) else rate
    )


_NUMPYS = {name: globals()[name] for name in set(__all__) - {"dropout", "rms_norm", "softmax"}}
_NUMPYS |= {"amax": _NUMPYS["max"], "amin": _NUMPYS["min"]}


def _numpy_function(self, function, types, args, kwargs):
    """Compute ``np.mean(tile, axis=1)`` by this language's function."""
    name = function.__name__
    if name in ("ndim", "shape", "size"):
        return getattr(self, name)
    if name not in _NUMPYS:
        raise TypeError(f"np.{name} does not compute on tiles; nl has what the chip can do")
    return _NUMPYS[name](*args, **kwargs)


setattr(Held, "__array_function__", _numpy_function)  # noqa: B010
