"""Where data name the place: embeddings, gather, scatter, index by tensors of integers.

Indices by bools have shapes that depend on data, so those calls run on the CPU; a mask under one
number is a choice, and so is one number for all places, however often they are named.  Of elements
written to one place twice by different numbers PyTorch promises nothing; here they add up.
"""

from math import prod

import numpy as np

from trainium_edu.torch.operations.table import record, row
from trainium_edu.torch.operations.views import part
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.tensor import Tensor

__all__: list[str] = []


def _int32(indices: Tensor) -> Tensor:
    return xnp.astype(indices, "int32")


def _added(base, places, rows):
    """Add rows to those of a table that places name."""
    if base.dtype == "bool":
        return xnp.astype(_added(_int32(base), places, _int32(rows)), "bool")
    return record("scatter_add", base, _int32(places), xnp.astype(rows, base.dtype))


def _put(base, places, rows):
    """Write rows, or one number, over those of a table that places name."""
    if rows.size == 1:
        return xnp.where(_hit(base, places), xnp.reshape(xnp.astype(rows, base.dtype), ()), base)
    none = xnp.zeros_like(base)
    return xnp.where(_hit(base, places), _added(none, places, rows), base)


def _hit(base, places, axis=0) -> Tensor:
    """Return which rows of a table, along an axis, places name; it broadcasts to the table."""
    count = xnp.zeros(base.shape[axis], device=base.device)
    hit = _added(count, places, xnp.ones(places.shape, device=base.device)) > 0
    return xnp.reshape(hit, (base.shape[axis], *(1,) * (base.ndim - 1 - axis)))


# -- tables ---------------------------------------------------------------------------------------


@row("embedding")
def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return xnp.take(weight, indices)


@row("embedding_dense_backward", fits=lambda *given: not given[4])  # each counts the same
def _embedding_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    if padding_idx >= 0:
        grad_output = xnp.where((indices == padding_idx)[..., None], 0.0, grad_output)
    width = grad_output.shape[-1]
    table = xnp.zeros((num_weights, width), grad_output.dtype, device=grad_output.device)
    return _added(table, indices, grad_output)


@row("one_hot", fits=lambda self, num_classes=-1: num_classes > 0)
def _one_hot(self, num_classes=-1):
    return xnp.one_hot(_int32(self), num_classes, "int32")


# -- along one axis -------------------------------------------------------------------------------


@row("index_select")
def _index_select(self, dim, index):
    return xnp.take(self, index if index.ndim else xnp.expand_dims(index, 0), dim)


def _places(x, dim, index) -> Tensor:
    """Return the number of each element that ``gather`` along an axis takes, row by row."""
    total = _int32(index) * prod(x.shape[dim + 1 :])
    for axis, size in enumerate(index.shape):
        if axis != dim and size > 1:
            count = xnp.arange(size, device=x.device) * prod(x.shape[axis + 1 :])
            total = total + xnp.reshape(count, (-1, *(1,) * (index.ndim - axis - 1)))
    return total


@row("gather")
def _gather(self, dim, index, sparse_grad=False):
    if not self.ndim:
        return xnp.reshape(self, index.shape)
    dim %= self.ndim
    if dim == self.ndim - 1 and index.shape == (*self.shape[:-1], 1):
        return xnp.expand_dims(record("pick", self, _int32(index[..., 0])), -1)
    return xnp.take(xnp.reshape(self, -1), _places(self, dim, index))


def _flat(write, x, dim, index, *values):
    """Write values to the places that ``scatter`` along an axis names."""
    places = xnp.reshape(_places(x, dim % x.ndim, index), -1)
    for axis, size in enumerate(index.shape):
        values = [part(v, axis, 0, size) for v in values]
    values = [xnp.reshape(v, -1) for v in values]
    return xnp.reshape(write(xnp.reshape(x, -1), places, *values), x.shape)


@row("scatter_add")
def _scatter_add(self, dim, index, src):
    return _flat(_added, self, dim, index, src)


def _adds(self, dim, index, src, reduce, include_self=True):
    return reduce == "sum" and include_self  # PyTorch/XLA lowers others too; the table has no rows


@row("scatter_reduce.two", fits=_adds)
def _scatter_reduce(self, dim, index, src, reduce, include_self=True):
    return _scatter_add(self, dim, index, src)


@row("scatter.src")
def _scatter(self, dim, index, src):
    return _flat(_put, self, dim, index, src)


@row("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_fill(self, dim, index, value):
    table = self if self.ndim else xnp.reshape(self, (1,))
    filled = xnp.where(_hit(table, index, dim % table.ndim), value, table)
    return xnp.reshape(xnp.astype(filled, self.dtype), self.shape)


@row("scatter.value")
def _scatter_value(self, dim, index, value):
    return _flat(lambda x, at: xnp.where(_hit(x, at), value, x), self, dim, index)


# -- several axes at once -------------------------------------------------------------------------


def _is_mask(x) -> bool:
    return x is not None and str(x.dtype).split(".")[-1] in ("bool", "uint8")


def _by_integers(self, indices):
    return not any(map(_is_mask, indices))


def _turned(x, indices):
    """Return x with its indexed axes in front as one, and the number of each row asked for."""
    axes = [i for i, one in enumerate(indices) if one is not None]
    rest = [i for i in range(x.ndim) if i not in axes]
    sizes, place = [x.shape[i] for i in axes], None
    for axis, size in zip(axes, sizes, strict=True):
        one = _int32(indices[axis])
        one = xnp.where(one < 0, one + size, one)
        place = one if place is None else place * size + one
    rows = xnp.reshape(xnp.transpose(x, axes + rest), (prod(sizes), *(x.shape[i] for i in rest)))
    together = axes[-1] - axes[0] == len(axes) - 1
    return rows, place, axes, rest, axes[0] if together else 0


def _order(place, rest, front):
    """Return the order of [indices, rest] that puts the indices' axes at `front`."""
    new = list(range(place.ndim))
    old = [place.ndim + i for i in range(len(rest))]
    return [*old[:front], *new, *old[front:]]


@row("index.Tensor", fits=_by_integers)
def _index(self, indices):
    rows, place, _, rest, front = _turned(self, indices)
    return xnp.transpose(xnp.take(rows, place), _order(place, rest, front))


def _can_put(self, indices, values, accumulate=False, unsafe=False):
    alone = len(indices) == 1 and not accumulate and prod(values.shape) == 1
    return alone or _by_integers(self, indices)


@row("index_put", "_index_put_impl_", fits=_can_put)
def _index_put(self, indices, values, accumulate=False, unsafe=False):
    if _is_mask(indices[0]):
        mask = xnp.reshape(indices[0], (*indices[0].shape, *(1,) * (self.ndim - indices[0].ndim)))
        return xnp.where(mask, xnp.reshape(xnp.astype(values, self.dtype), ()), self)
    rows, place, axes, rest, front = _turned(self, indices)
    if accumulate or values.size != 1:
        order = _order(place, rest, front)
        shape = (*place.shape, *rows.shape[1:])
        values = xnp.broadcast_to(values, [shape[i] for i in order])
        values = xnp.transpose(values, [int(i) for i in np.argsort(order)])
    rows = (_added if accumulate else _put)(rows, place, values)
    turned = xnp.reshape(rows, [self.shape[i] for i in axes + rest])
    return xnp.transpose(turned, [int(i) for i in np.argsort(axes + rest)])
