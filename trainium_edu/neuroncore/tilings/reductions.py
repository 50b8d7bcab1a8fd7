"""Sum or maximum of rows (along the free axis) or of columns (across partitions); its place."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.elementwise import COLUMNS
from trainium_edu.neuroncore.tilings.pieces import (
    as_rows,
    cast_copy,
    load,
    new_like,
    pieces,
    row_tiles,
    store,
    store_copy,
)
from trainium_edu.neuroncore.tilings.transpose import transposed_tile
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["argmax", "reduce"]

_FAR = float(2**25)  # beyond any column that FP32 counts exactly


@checked
def reduce(
    core: NeuronCore, dst: View, op: str, src: View, *, axis: int = 1, columns: int = COLUMNS
) -> None:
    """Reduce a tensor along one axis.

    Parameters
    ----------
    core : NeuronCore
    dst : View[rows, 1] or View[1, columns]
        Of axis 1 and axis 0.
    op : str
        "add", "maximum", "minimum", ... of the Vector Engine.
    src : View[rows, columns]
    axis : {1, 0}
        1: along the free axis, where the Vector Engine adds.  0: across partitions, where lanes do
        not meet: "add" multiplies with a column of ones on the Tensor Engine; other operators
        transpose first.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> x = core.hbm(np.arange(6, dtype=np.float32).reshape(2, 3))
    >>> y = core.hbm((1, 3))
    >>> reduce(core, y, "add", x, axis=0)
    >>> core.value(y).tolist()
    [[3.0, 5.0, 7.0]]
    """
    src, dst = as_rows(src, "src"), as_rows(dst, "dst")
    if axis not in (0, 1) or isinstance(axis, bool):
        raise ValueError(f"axis is {axis!r}; it must be 1 (along each row) or 0 (across rows)")
    wanted = (src.shape[0], 1) if axis == 1 else (1, src.shape[1])
    if dst.shape != wanted:
        raise NkiValidationError(
            f"reduce: src {list(src.shape)} along axis {axis} gives {list(wanted)}, and dst is "
            f"{list(dst.shape)}"
        )
    if axis == 1:
        _along_rows(core, dst, op, src, whole(columns, "columns", 1))
    elif op == "add" and src.dtype.is_float:
        _sum_of_rows(core, dst, src)
    else:
        _across_rows(core, dst, op, src)


def _along_rows(core, dst, op, src, columns):
    for down in row_tiles(core, src):
        rows = down.stop - down.start
        spans = list(pieces(src.shape[1], columns))
        parts = core.sbuf((rows, len(spans)))
        for number, across in enumerate(spans):
            tile = load(core, src.sliced(down, across))
            one = parts.sliced(slice(None), slice(number, number + 1))
            core.tensor_reduce(dst=one, op=op, data=tile, axis=1)
        piece = dst.sliced(down)
        if len(spans) == 1:
            store_copy(core, piece, parts)
            continue
        result = new_like(core, piece)
        core.tensor_reduce(dst=result, op=op, data=parts, axis=1)
        store(core, piece, result)


def _sum_of_rows(core, dst, src):
    """Multiply with ones: the sum over partitions is what the array does anyway."""
    tiles = list(row_tiles(core, src))
    wide = int(core.spec.tensor_engine.moving_free_max.value)
    ones = core.sbuf((tiles[0].stop, 1), src.dtype)
    core.memset(dst=ones, value=1.0)
    for across in pieces(src.shape[1], wide):
        total = core.psum((1, across.stop - across.start))
        for down in tiles:
            tile = load(core, src.sliced(down, across))
            core.nc_matmul(dst=total, stationary=ones.sliced(slice(0, tile.shape[0])), moving=tile)
        store_copy(core, dst.sliced(slice(0, 1), across), total)


def _across_rows(core, dst, op, src):
    """Transpose each block, so that the free axis holds what is reduced."""
    tiles = list(row_tiles(core, src))
    for across in pieces(src.shape[1], 128):
        width = across.stop - across.start
        parts = core.sbuf((width, len(tiles)))
        for number, down in enumerate(tiles):
            block = cast_copy(core, load(core, src.sliced(down, across)), DTYPES["float32"])
            turned = transposed_tile(core, block)
            one = parts.sliced(slice(None), slice(number, number + 1))
            core.tensor_reduce(dst=one, op=op, data=turned, axis=1)
        column = core.sbuf((width, 1))
        core.tensor_reduce(dst=column, op=op, data=parts, axis=1)
        store_copy(core, dst.sliced(slice(0, 1), across), transposed_tile(core, column))


@checked
def argmax(core: NeuronCore, dst: View, src: View, *, columns: int = 8192) -> None:
    """Write the first column that holds the largest number of each row.

    Parameters
    ----------
    core : NeuronCore
    dst : View[rows, 1]
    src : View[rows, columns]
    columns : int
        Longest free axis of one search; the places found in a row's pieces are compared at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> y = core.hbm((2, 1), "int32")
    >>> argmax(core, y, core.hbm(np.float32([[1, 5, 5], [3, 2, 1]])))
    >>> core.value(y).tolist()
    [[1], [0]]
    """
    src, dst = as_rows(src, "src"), as_rows(dst, "dst")
    if dst.shape != (src.shape[0], 1):
        raise NkiValidationError(
            f"argmax: src {list(src.shape)} gives [{src.shape[0]}, 1], and dst is {list(dst.shape)}"
        )
    spans = list(pieces(src.shape[1], whole(columns, "columns", 8, 16_384)))
    for down in row_tiles(core, src):
        rows = down.stop - down.start
        best, places = (core.sbuf((rows, len(spans))) for _ in range(2))
        for number, across in enumerate(spans):
            one = slice(number, number + 1)
            value, place = (v.sliced(slice(None), one) for v in (best, places))
            _find(core, value, place, src.sliced(down, across), across.start)
        store_copy(core, dst.sliced(down), _nearest(core, best, places))


def _find(core, value, place, src, start):
    """Write the largest of each row and its column, counted from `start`."""
    rows, columns = src.shape
    if columns < 8:  # the instruction searches eight or more
        tile = core.sbuf((rows, 8))
        core.memset(dst=tile, value=float("-inf"))
        core.dma_copy(dst=tile.sliced(slice(None), slice(0, columns)), src=src)
    else:
        tile = load(core, src)
    largest, index = core.sbuf((rows, 8)), core.sbuf((rows, 8), "uint32")
    core.max8(dst=largest, src=tile)
    core.nc_find_index8(dst=index, data=tile, vals=largest)
    first = slice(None), slice(0, 1)
    core.tensor_copy(dst=value, src=largest.sliced(*first))
    core.tensor_scalar(dst=place, data=index.sliced(*first), op0="add", operand0=float(start))


def _nearest(core, best, places):
    """Return the smallest of the places whose number is the largest of all."""
    if best.shape[1] == 1:
        return places
    rows = best.shape[0]
    top, far, found = core.sbuf((rows, 1)), core.sbuf(best.shape), core.sbuf((rows, 1))
    core.tensor_reduce(dst=top, op="maximum", data=best, axis=1)
    core.tensor_scalar(dst=far, data=best, op0="less", operand0=top, op1="multiply", operand1=_FAR)
    core.tensor_tensor(dst=far, data1=far, data2=places, op="add")
    core.tensor_reduce(dst=found, op="minimum", data=far, axis=1)
    return found
