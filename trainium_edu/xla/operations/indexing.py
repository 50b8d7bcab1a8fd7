"""Where data name the place: rows of a table, one element per row, sums into rows, one-hot."""

from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.indirect import IndirectView
from trainium_edu.neuroncore.tilings.pieces import cast_copy, load, pieces
from trainium_edu.xla.graph import Type, Unfit, as_type
from trainium_edu.xla.operations.loops import dense
from trainium_edu.xla.operations.shapes import zeros
from trainium_edu.xla.operations.table import apply, carrier, register
from trainium_edu.xla.operations.turns import turns
from trainium_edu.xla.refusals import sentence

__all__: list[str] = []

PARTITIONS = 128
COLUMNS = 512  #: columns of one result in PSUM
WIDEST = 16384  #: columns of rows that are loaded to take one element of each
HELD_BYTES = 96 * 1024  #: per partition, of updates that stay in SBUF
_F32 = get_dtype("float32")


def _need_indices(indices: Type):
    if indices.dtype not in ("int32", "uint32"):
        raise Unfit(f"the indices are {indices}; cast them to int32")


def _inside(node, indices, limit):
    """Return indices, and raise for the first one that is not from 0 to ``limit - 1``."""
    wrong = (indices < 0) | (indices >= limit)
    if wrong.any():
        raise IndexError(sentence("indexing.range", index=indices[wrong][0], node=node, size=limit))
    return indices


# -- gather and scatter_add: each the other's gradient ----------------------------------------


def _infer_gather(table: Type, indices: Type) -> Type:
    _need_indices(indices)
    if not table.rank:
        raise Unfit("a scalar has no rows")
    return table.like((*indices.shape, *table.shape[1:]))


def _gather_back(node, g):
    table, indices = node.inputs
    return apply("scatter_add", zeros(table.type), indices, g), None


def _rows(view, width):
    return view.reshaped(view.size // width, width)


def _lower_gather(lowering, node):
    """Have the DMA engines fetch 128 rows at a time by their numbers."""
    core, (table, indices) = lowering.core, node.inputs
    width = max(prod(table.shape[1:]), 1)
    rows = dense(lowering, table, (table.shape[0], width))
    index = dense(lowering, indices, (max(indices.type.size, 1), 1))
    out = _rows(lowering.out(node), width)
    for down in pieces(indices.type.size, PARTITIONS):
        place = load(core, index.sliced(down))
        tile = core.sbuf((place.shape[0], width), out.dtype)
        core.dma_copy(dst=tile, src=IndirectView.of(rows, place, is_vector=True))
        core.dma_copy(dst=out.sliced(down), src=tile)


register("gather", _infer_gather, vjp=_gather_back, flops=lambda node: 0, by_replica=True,
         value=lambda node, table, indices: table[_inside(node, indices, table.shape[0])],
         lower=_lower_gather)  # fmt: skip


def _infer_scatter_add(operand: Type, indices: Type, updates: Type) -> Type:
    _need_indices(indices)
    wanted = (*indices.shape, *operand.shape[1:])
    if not operand.rank or updates != operand.like(wanted):
        need = f"{operand.dtype}{list(wanted)}"
        raise Unfit(f"the updates must be {need}, one row for each index")
    return operand


def _scatter_add(node, operand, indices, updates):
    """Add rows in the order of their indices: sorted, then summed run by run."""
    rows = _inside(node, indices, operand.shape[0]).reshape(-1)
    out = operand.copy()
    if rows.size:
        order = np.argsort(rows, kind="stable")
        place, first = np.unique(rows[order], return_index=True)
        updates = updates.reshape(rows.size, -1)[order]
        sums = np.add.reduceat(updates, first, axis=0)
        out[place] += sums.reshape(place.size, *operand.shape[1:])
    return out


def _lower_scatter_add(lowering, node):
    """Multiply one-hot rows with the updates: equal indices then add up in PSUM."""
    core, (operand, indices, updates) = lowering.core, node.inputs
    size, width = operand.shape[0], max(prod(operand.shape[1:]), 1)
    out = _rows(lowering.out(node), width)
    before = dense(lowering, operand, (size, width))
    index = dense(lowering, indices, (max(indices.type.size, 1), 1))
    rows = dense(lowering, updates, (index.shape[0], width))
    updates = _Updates(core, index, rows)
    whole = size // PARTITIONS
    if whole:
        blocks = [v.sliced(slice(0, whole * PARTITIONS)).reshaped(whole, PARTITIONS, width)
                  for v in (out, before)]  # fmt: skip
        for i, (there, here) in enumerate(turns(core, *blocks)):
            updates.add(there, here, i * PARTITIONS)
    if size % PARTITIONS:
        rest = slice(whole * PARTITIONS, size)
        updates.add(out.sliced(rest), before.sliced(rest), rest.start)


class _Updates:
    """Rows to add, with their indices; they stay in SBUF if they fit."""

    def __init__(self, core, index, rows):
        self.core, self.rows = core, rows
        self.dtype = rows.dtype if rows.dtype.is_float else _F32  # the array multiplies floats
        self.parts = [
            (down, cast_copy(core, load(core, index.sliced(down)), _F32))
            for down in pieces(rows.shape[0], PARTITIONS)
        ]
        self.fits = len(self.parts) * rows.shape[1] * self.dtype.itemsize <= HELD_BYTES
        self.held = [self._load(rows.sliced(down)) for down, _ in self.parts if self.fits]

    def _load(self, view):
        tile = load(self.core, view)
        return tile if view.dtype is self.dtype else cast_copy(self.core, tile, self.dtype)

    def _piece(self, number, across):
        if self.fits:
            return self.held[number].sliced(slice(None), across)
        return self._load(self.rows.sliced(self.parts[number][0], across))

    def add(self, out, before, first):
        """Write to rows from `first` what was there, and the updates whose index names them."""
        core, hot = self.core, []
        for _, index in self.parts:
            tile = core.sbuf((index.shape[0], out.shape[0]), self.dtype)
            _compare(core, tile, index, first)
            hot.append(tile)
        for across in pieces(out.shape[1], COLUMNS):
            total = core.psum((out.shape[0], across.stop - across.start))
            for number, tile in enumerate(hot):
                core.nc_matmul(
                    dst=total, stationary=tile, moving=self._piece(number, across),
                    is_stationary_onezero=True,
                )  # fmt: skip
            result = core.sbuf(total.shape, out.dtype)
            there = load(core, before.sliced(slice(None), across))
            core.tensor_tensor(dst=result, data1=there, data2=total, op="add")
            core.dma_copy(dst=out.sliced(slice(None), across), src=result)


def _compare(core, tile, index, first):
    """Write 1 where a column's number (from `first`) is the row's index, else 0."""
    numbers = core.sbuf(tile.shape, _F32)
    core.iota(dst=numbers, pattern=[[1, tile.shape[1]]], offset=first)
    core.tensor_scalar(dst=tile, data=numbers, op0="equal", operand0=index)


register(
    "scatter_add", _infer_scatter_add, value=_scatter_add, by_replica=True,
    lower=_lower_scatter_add,
    vjp=lambda node, g: (g, None, apply("gather", g, node.inputs[1])),
    flops=lambda node: node.inputs[2].type.size,
)  # fmt: skip


# -- one element per row ----------------------------------------------------------------------


def _infer_pick(x: Type, indices: Type) -> Type:
    _need_indices(indices)
    if not x.rank or indices.shape != x.shape[:-1]:
        raise Unfit("it takes one index for each row")
    return x.like(indices.shape)


def _pick(node, x, indices):
    picked = np.take_along_axis(x, _inside(node, indices, x.shape[-1])[..., None], -1)
    return picked[..., 0]


def _pick_back(node, g):
    x, indices = node.inputs
    hot = apply("one_hot", indices, classes=x.shape[-1], dtype=x.dtype)
    return hot * apply("reshape", g, shape=(*g.shape, 1)), None


def _lower_pick(lowering, node):
    core, (x, indices) = lowering.core, node.inputs
    rows = dense(lowering, x, (max(indices.type.size, 1), x.shape[-1]))
    index = dense(lowering, indices, (rows.shape[0], 1)).as_dtype("uint32")
    out, width = _rows(lowering.out(node), 1), x.shape[-1]
    is_wide = width > WIDEST
    for down in pieces(indices.type.size, min(PARTITIONS, 2**24 // width)):
        data, place = rows.sliced(down), load(core, index.sliced(down))
        tile = core.sbuf((data.shape[0], 1), data.dtype)
        if is_wide:
            core.dma_copy(dst=tile, src=_of_each_row(core, data, place))
        else:
            core.nc_n_gather(dst=tile, data=load(core, data), indices=place)
        core.dma_copy(dst=out.sliced(down), src=tile)


def _of_each_row(core, data, place):
    """Return one element of each row in HBM, found by its number from the first row's begin."""
    count, width = data.shape
    first = core.sbuf((count, 1), _F32)  # exact: numbers are below 2 ** 24
    core.iota(dst=first, pattern=[[1, 1]], channel_multiplier=width)
    number = core.sbuf((count, 1), place.dtype)
    core.tensor_tensor(dst=number, data1=first, data2=cast_copy(core, place, _F32), op="add")
    return IndirectView.of(data.reshaped(count * width, 1), number, is_vector=True)


register("pick", _infer_pick, value=_pick, vjp=_pick_back, flops=lambda node: 0,
         by_replica=True, lower=_lower_pick)  # fmt: skip


def _infer_one_hot(indices: Type, classes, dtype) -> Type:
    _need_indices(indices)
    return as_type((*indices.shape, classes), dtype)


def _one_hot(node, indices):
    classes = node.shape[-1]
    flat = _inside(node, indices, classes).reshape(-1)
    out = np.zeros((prod(indices.shape), classes), carrier(node.dtype))
    out[np.arange(flat.size), flat] = 1
    return out.reshape(*indices.shape, classes)


def _lower_one_hot(lowering, node):
    core, (indices,) = lowering.core, node.inputs
    index = dense(lowering, indices, (max(indices.type.size, 1), 1))
    out = _rows(lowering.out(node), node.shape[-1])
    for down in pieces(indices.type.size, PARTITIONS):
        place = cast_copy(core, load(core, index.sliced(down)), _F32)
        for across in pieces(node.shape[-1], 4 * COLUMNS):
            tile = core.sbuf((place.shape[0], across.stop - across.start), out.dtype)
            _compare(core, tile, place, across.start)
            core.dma_copy(dst=out.sliced(down, across), src=tile)


register("one_hot", _infer_one_hot, value=_one_hot, vjp=lambda node, g: (None,),
         flops=lambda node: 0, lower=_lower_one_hot)  # fmt: skip
