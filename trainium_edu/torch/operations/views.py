"""Views, computed as values; and what a write into a view makes of its base."""

from math import prod

import numpy as np

from trainium_edu.torch.operations.table import inverse, row, small_array
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.graph import GraphError
from trainium_edu.xla.tensor import Tensor

__all__ = ["part", "with_part"]


def part(x: Tensor, dim: int, start: int, stop: int, step: int = 1) -> Tensor:
    """Return a stretch of one axis; where it lies in one of joined pieces, a stretch of that."""
    dim %= x.ndim
    first, last, by = slice(start, stop, step).indices(x.shape[dim])
    pieces = _pieces(x, dim, first, last) if by == 1 else []
    return pieces[0] if len(pieces) == 1 else _stretch(x, dim, first, last, by)


def _stretch(x: Tensor, dim: int, start: int, stop: int, step: int = 1) -> Tensor:
    return x[(slice(None),) * dim + (slice(start, stop, step),)]


def _pieces(x: Tensor, dim: int, start: int, stop: int) -> list[Tensor]:
    """Return what lies in a stretch, one behind the other: of the pieces, if `x` was joined."""
    node = x.as_node()
    joined = node.operation == "concatenate" and node.of["axis"] + x.ndim == dim
    found, at = [], 0
    for one in [Tensor(x.device, i.type, i) for i in node.inputs] if joined else [x]:
        first, last = max(start - at, 0), min(stop - at, one.shape[dim])
        if first < last:
            found.append(_stretch(one, dim, first, last))
        at += one.shape[dim]
    return found


def with_part(base: Tensor, new: Tensor, dim: int, start: int, step: int = 1) -> Tensor:
    """Return a tensor with another stretch of one axis, from `start`, each `step`."""
    dim %= base.ndim
    count, size = new.shape[dim], base.shape[dim]
    new = xnp.astype(new, base.dtype)
    if not count:
        return base
    if step == 1:
        before = _pieces(base, dim, 0, start)  # not of base: each write would join it again
        return xnp.concatenate([*before, new, *_pieces(base, dim, start + count, size)], dim)
    place = np.arange(size) - start
    inside = (place >= 0) & (place % step == 0) & (place < count * step)
    places = np.where(inside, place // step, 0).astype(np.int32)
    shape = [-1 if i == dim else 1 for i in range(base.ndim)]
    mask = small_array(base.device, inside.reshape(shape), "bool")
    return xnp.where(mask, xnp.take(new, small_array(base.device, places, "int32"), dim), base)


# -- other shapes ---------------------------------------------------------------------------------


@row("view", "_unsafe_view", "_reshape_alias")
def _view(self, size, stride=None):
    return _shaped(self, size)


@inverse("view", "_unsafe_view", "_reshape_alias", "squeeze", "squeeze.dim",
         "squeeze.dims", "unsqueeze", "alias", "detach", "lift_fresh")  # fmt: skip
def _reshaped_back(base, new, *_, **__):
    return _shaped(xnp.astype(new, base.dtype), base.shape)


def _shaped(x: Tensor, shape) -> Tensor:
    """Return the same elements in another shape; what was reshaped from that one, as it was."""
    node, found = x.as_node(), xnp.reshape(x, shape)
    back = node.operation == "reshape" and node.inputs[0].shape == found.shape
    return Tensor(x.device, found.type, node.inputs[0]) if back else found


@row("alias", "detach", "lift_fresh")
def _alias(self):
    return self


@row("squeeze")
def _squeeze(self):
    return xnp.squeeze(self)


@row("squeeze.dim", "squeeze.dims")
def _squeeze_dims(self, dim):
    dims = dim if isinstance(dim, list | tuple) else [dim]
    return xnp.squeeze(self, [d for d in dims if self.ndim and self.shape[d] == 1])


@row("unsqueeze")
def _unsqueeze(self, dim):
    return xnp.expand_dims(self, dim)


@row("expand")
def _expand(self, size, implicit=False):
    lead = len(size) - self.ndim
    return xnp.broadcast_to(
        self, [self.shape[i - lead] if n == -1 else n for i, n in enumerate(size)]
    )


# -- other orders ---------------------------------------------------------------------------------


@row("t")
def _t(self):
    return xnp.transpose(self)


@inverse("t")
def _t_back(base, new):
    return xnp.astype(xnp.transpose(new), base.dtype)


@row("transpose.int")
def _transpose(self, dim0, dim1):
    return xnp.swapaxes(self, dim0, dim1) if self.ndim else self


@inverse("transpose.int")
def _transpose_back(base, new, dim0, dim1):
    return xnp.astype(_transpose(new, dim0, dim1), base.dtype)


@row("permute")
def _permute(self, dims):
    return xnp.transpose(self, dims)


@inverse("permute")
def _permute_back(base, new, dims):
    order = [int(i) for i in np.argsort([d % base.ndim for d in dims])]
    return xnp.astype(xnp.transpose(new, order), base.dtype)


# -- parts ----------------------------------------------------------------------------------------


@row("slice.Tensor")
def _slice(self, dim=0, start=None, end=None, step=1):
    return part(self, dim, start, end, step)


@inverse("slice.Tensor")
@row("slice_scatter")
def _slice_scatter(self, src, dim=0, start=None, end=None, step=1):
    first = slice(start, end).indices(self.shape[dim])[0]
    return with_part(self, src, dim, first, step)


@row("select.int")
def _select(self, dim, index):
    return self[(slice(None),) * (dim % self.ndim) + (index,)]


@inverse("select.int")
def _select_scatter(self, src, dim, index):
    src = xnp.expand_dims(src, dim % self.ndim)
    return with_part(self, src, dim, index % self.shape[dim])


def _diagonal_places(shape, offset, dim1, dim2) -> tuple[list[int], np.ndarray]:
    """Return the order of axes with both last, and where the diagonal lies in these two."""
    dim1, dim2 = dim1 % len(shape), dim2 % len(shape)
    order = [i for i in range(len(shape)) if i not in (dim1, dim2)] + [dim1, dim2]
    rows, columns = shape[dim1], shape[dim2]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    i = np.arange(count)
    return order, ((i - min(offset, 0)) * columns + i + max(offset, 0)).astype(np.int32)


@row("diagonal")
def _diagonal(self, offset=0, dim1=0, dim2=1):
    order, places = _diagonal_places(self.shape, offset, dim1, dim2)
    turned = xnp.transpose(self, order)
    flat = xnp.reshape(turned, (*turned.shape[:-2], prod(turned.shape[-2:])))
    return xnp.take(flat, small_array(self.device, places, "int32"), -1)


@inverse("diagonal")
@row("diagonal_scatter")
def _diagonal_scatter(self, src, offset=0, dim1=0, dim2=1):
    order, places = _diagonal_places(self.shape, offset, dim1, dim2)
    turned = xnp.transpose(self, order)
    size = prod(turned.shape[-2:])
    flat = xnp.reshape(turned, (*turned.shape[:-2], size))
    back, mask = np.zeros(size, np.int32), np.zeros(size, bool)
    back[places], mask[places] = np.arange(len(places)), True
    spread = xnp.take(src, small_array(self.device, back, "int32"), -1)
    flat = xnp.where(small_array(self.device, mask, "bool"), spread, flat)
    return xnp.transpose(xnp.reshape(flat, turned.shape), [int(i) for i in np.argsort(order)])


@row("as_strided")
def _as_strided(self, size, stride, storage_offset=None):
    """Return elements by their places; the tensor is taken to lie row by row from its start."""
    first, flat, order = storage_offset or 0, xnp.reshape(self, -1), _dense(size, stride)
    if order is not None:
        found = xnp.reshape(part(flat, 0, first, first + prod(size)), [size[i] for i in order])
        return xnp.transpose(found, [order.index(i) for i in range(len(order))])
    places = np.full(size, first)
    for axis, step in enumerate(stride):
        places += (np.arange(size[axis]) * step).reshape(-1, *(1,) * (len(size) - axis - 1))
    return xnp.take(flat, small_array(self.device, places.astype(np.int32), "int32"))


@inverse("as_strided")
def _as_strided_back(base, new, size, stride, storage_offset=None):
    order = _dense(size, stride)
    if order is None and len(size) == 1 and stride[0] > 1:  # as a diagonal lies
        return _every(xnp.reshape(base, -1), new, storage_offset or 0, stride[0], base.shape)
    if order is None:
        raise GraphError(f"a write through as_strided({size}, {stride}), which has gaps or overlaps"
                         "; write through slices")  # fmt: skip
    lies = xnp.reshape(xnp.transpose(new, order), -1)
    flat = with_part(xnp.reshape(base, -1), lies, 0, storage_offset or 0)
    return xnp.reshape(flat, base.shape)


def _every(flat: Tensor, new: Tensor, start: int, step: int, shape) -> Tensor:
    """Return elements with new ones from `start`, each `step`: the first of rows of `step`."""
    count, size = new.size, flat.size
    stop = start + count * step
    wide = xnp.concatenate([flat, part(flat, 0, 0, stop - size)], 0) if stop > size else flat
    rows = xnp.reshape(part(wide, 0, start, stop), (count, step))
    rows = with_part(rows, xnp.reshape(new, (count, 1)), 1, 0)
    wide = with_part(wide, xnp.reshape(rows, -1), 0, start)
    return xnp.reshape(part(wide, 0, 0, size), shape)


def _dense(size, stride) -> list[int] | None:
    """Return the axes in the order in which they lie one inside the other; None with gaps."""
    order = sorted(range(len(size)), key=lambda axis: (-stride[axis], size[axis] != 1))
    step = 1
    for axis in reversed(order):
        if size[axis] != 1 and stride[axis] != step:
            return None
        step *= size[axis]
    return order
