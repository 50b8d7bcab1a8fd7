"""From many elements to few, and running sums."""

from functools import wraps
from math import inf

from trainium_edu.torch.operations.table import record, row, to_dtype
from trainium_edu.torch.operations.views import part
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.tensor import Tensor

__all__: list[str] = []


def _over(dim):
    """Return axes as ``xla.numpy`` takes them: none given, or an empty list, means all."""
    return None if dim is None or dim == [] or dim == () else dim


def _of_scalars_too(function):
    """Return the row for tensors without axes too, which count as having one."""

    @wraps(function)
    def call(self, *given, **options):
        if self.ndim:
            return function(self, *given, **options)
        found = function(xnp.expand_dims(self, 0), *given, **options)
        if isinstance(found, Tensor):
            return xnp.reshape(found, ())
        return tuple(xnp.reshape(one, ()) for one in found)

    return call


def _counted(x: Tensor, dtype) -> Tensor:
    """Return what is summed: in the dtype asked for, bools as integers."""
    x = to_dtype(x, dtype)
    return xnp.astype(x, "int32") if x.dtype in ("bool", "uint8") else x


def _summed(x, dim, keepdim):
    return xnp.sum(x, _over(dim), keepdims=keepdim) if x.ndim else x


@row("sum.dim_IntList")
def _sum_dims(self, dim, keepdim=False, dtype=None):
    return _summed(_counted(self, dtype), dim, keepdim)


@row("mean")
def _mean(self, dtype=None):
    return xnp.mean(to_dtype(self, dtype))


@row("mean.dim")
@_of_scalars_too
def _mean_dims(self, dim, keepdim=False, dtype=None):
    return xnp.mean(to_dtype(self, dtype), _over(dim), keepdims=keepdim)


def _fewer(correction) -> int:
    return 1 if correction is None else int(correction)


def _whole_correction(self, dim=None, correction=None, keepdim=False):
    """Return whether a correction is an integer smaller than the count."""
    axes = range(len(self.shape)) if _over(dim) is None else dim
    count = 1
    for axis in [axes] if isinstance(axes, int) else axes:
        count *= self.shape[axis]
    return 0 <= _fewer(correction) == (1 if correction is None else correction) < count


@row("var.correction", fits=_whole_correction)
def _var(self, dim=None, correction=None, keepdim=False):
    return xnp.var(self, _over(dim), ddof=_fewer(correction), keepdims=keepdim)


@row("var_mean.correction", fits=_whole_correction)
def _var_mean(self, dim=None, correction=None, keepdim=False):
    mean = xnp.mean(self, _over(dim), keepdims=keepdim)
    return _var(self, dim, correction, keepdim), mean


# -- extremes -------------------------------------------------------------------------------------


@row("amax")
@_of_scalars_too
def _amax(self, dim=(), keepdim=False):
    return xnp.max(self, _over(dim), keepdims=keepdim)


@row("amin")
@_of_scalars_too
def _amin(self, dim=(), keepdim=False):
    return xnp.min(self, _over(dim), keepdims=keepdim)


@row("max")
def _max(self):
    return xnp.max(self)


@row("min")
def _min(self):
    return xnp.min(self)


def _position(x, dim, keepdim):
    if not x.ndim:
        return xnp.zeros((), "int32", device=x.device)
    return xnp.argmax(x, dim, keepdims=keepdim)


@row("max.dim")
@_of_scalars_too
def _largest(self, dim, keepdim=False):
    return xnp.max(self, dim, keepdims=keepdim), _position(self, dim, keepdim)


@row("min.dim")
@_of_scalars_too
def _smallest(self, dim, keepdim=False):
    values = xnp.min(self, dim, keepdims=keepdim)
    return values, _position(xnp.negative(_counted(self, None)), dim, keepdim)


@row("argmax")
def _argmax(self, dim=None, keepdim=False):
    return _position(self, dim, keepdim)


@row("argmin")
def _argmin(self, dim=None, keepdim=False):
    return _position(xnp.negative(_counted(self, None)), dim, keepdim)


_MOST_OF_TOP = 64  #: elements that topk finds one after the other


def _few(self, k, dim=-1, largest=True, sorted=True):
    return k <= _MOST_OF_TOP and str(self.dtype).split(".")[-1].startswith(("float", "bfloat"))


@row("topk", fits=_few)
@_of_scalars_too
def _topk(self, k, dim=-1, largest=True, sorted=True):
    """Find the largest, put minus infinity there, find the next."""
    x = xnp.swapaxes(self if largest else xnp.negative(self), dim, -1)
    values, places = [], []
    for _ in range(k):
        place = xnp.argmax(x, -1)
        values.append(record("pick", x, place))
        places.append(place)
        x = xnp.where(xnp.one_hot(place, x.shape[-1]) > 0, -inf, x)
    values, places = (xnp.swapaxes(xnp.stack(one, -1), dim, -1) for one in (values, places))
    return (values if largest else xnp.negative(values)), places


# -- products and running sums --------------------------------------------------------------------


@row("prod.dim_int")
def _prod_dim(self, dim, keepdim=False, dtype=None):
    """Multiply one half of the axis with the other, until one is left."""
    x = _counted(self, dtype)
    if not x.ndim:
        return x
    while (size := x.shape[dim]) > 1:
        half = size // 2
        left = part(x, dim, 0, half) * part(x, dim, half, 2 * half)
        x = xnp.concatenate([left, part(x, dim, 2 * half, size)], dim) if size % 2 else left
    return x if keepdim else xnp.squeeze(x, dim)


def _running(x, dim, join, start):
    """Join each element with the one 1, 2, 4, ... places before, so that all before are in it."""
    if not x.ndim:
        return x
    dim, reach = dim % x.ndim, 1
    while reach < x.shape[dim]:
        width = [(reach if i == dim else 0, 0) for i in range(x.ndim)]
        x = join(x, xnp.pad(part(x, dim, 0, x.shape[dim] - reach), width, constant_values=start))
        reach *= 2
    return x


@row("cumsum")
def _cumsum(self, dim, dtype=None):
    return _running(_counted(self, dtype), dim, xnp.add, 0)


@row("cumprod")
def _cumprod(self, dim, dtype=None):
    return _running(_counted(self, dtype), dim, xnp.multiply, 1)
