"""Softmax of each row, and its logarithm: less the maximum, exponentials and sum in one pass."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import (
    as_rows,
    load,
    new_like,
    pieces,
    row_tiles,
    store,
)
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["log_softmax", "softmax"]

_PIECE = 8192  #: columns: three tiles of FP32 fit SBUF twice over, one filled as one is used


@checked
def softmax(core: NeuronCore, dst: View, src: View, *, scale: float = 1.0) -> None:
    """Write ``exp(scale * x - max) / sum`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst, src : View[rows, columns]
        HBM or SBUF; rows of HBM that are too wide for a partition are read twice.
    scale : float
        Multiplies the input, for nothing: the Scalar Engine does it on the way in.  Positive, so
        that the largest input stays the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> x = core.hbm(np.zeros((3, 4), np.float32))
    >>> y = core.hbm((3, 4))
    >>> softmax(core, y, x)
    >>> core.value(y)[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    src, dst = _same_shape("softmax", src, dst)
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < 1e30:
        raise ValueError(f"scale is {scale!r}; it must be a positive number")
    for down in row_tiles(core, src):
        parts = _parts(src, down)
        tiles, (exp, top, total) = _in_parts(core, src, parts, float(scale))
        share = core.sbuf(total.shape, name="1 / sum")
        core.reciprocal(dst=share, data=total)
        for part, tile in zip(parts, tiles, strict=True):
            if len(parts) > 1:
                exp = core.sbuf(tile.shape, name="exp")
                core.activation(dst=exp, op="exp", data=tile, scale=float(scale), bias=top)
            piece = dst.sliced(*part)
            result = new_like(core, piece, name="result")
            core.tensor_scalar(dst=result, data=exp, op0="multiply", operand0=share)
            store(core, piece, result)


@checked
def log_softmax(core: NeuronCore, dst: View, src: View) -> None:
    """Write ``x - max - log(sum(exp(x - max)))`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst, src : View[rows, columns]
        HBM or SBUF; rows of HBM that are too wide for a partition are read twice.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> y = core.hbm((1, 4))
    >>> log_softmax(core, y, core.hbm(np.zeros((1, 4), np.float32)))
    >>> core.value(y)[0].astype(float).round(4).tolist()
    [-1.3863, -1.3863, -1.3863, -1.3863]
    """
    src, dst = _same_shape("log_softmax", src, dst)
    for down in row_tiles(core, src):
        parts = _parts(src, down)
        tiles, (_, top, total) = _in_parts(core, src, parts)
        log = core.sbuf(total.shape, name="log of sum")
        core.activation(dst=log, op="log", data=total)
        for part, tile in zip(parts, tiles, strict=True):
            piece = dst.sliced(*part)
            result = new_like(core, piece, name="result")
            core.tensor_scalar(
                dst=result, data=tile, op0="add", operand0=top, op1="subtract", operand1=log
            )
            store(core, piece, result)


def _same_shape(name, src, dst):
    src, dst = as_rows(src, "src"), as_rows(dst, "dst")
    if src.shape != dst.shape:
        raise NkiValidationError(
            f"{name}: src {list(src.shape)} and dst {list(dst.shape)} must have one shape"
        )
    return src, dst


def _parts(src: View, down: slice) -> list[tuple[slice, slice]]:
    """Return where rows are cut: wide ones in HBM are read twice, in pieces of columns."""
    wide = src.shape[1]
    step = _PIECE if src.memory is Memory.HBM and wide > 2 * _PIECE else wide
    return [(down, across) for across in pieces(wide, step)]


def _in_parts(core, src: View, parts, scale: float = 1.0):
    """Return tiles of rows, loaded again if they are several, and what `_raised` finds in them.

    Exponentials of a piece are taken less the piece's own maximum; its sum is brought to the
    whole row's once that is known.
    """
    tiles = (load(core, src.sliced(*part), name="x") for part in parts)
    if len(parts) == 1:
        tile = next(tiles)
        return [tile], _raised(core, tile, scale)
    rows, count = parts[0][0].stop - parts[0][0].start, len(parts)
    tops = core.sbuf((rows, count), name="minus maxima")
    sums = core.sbuf((rows, count), name="sums")
    for number, tile in enumerate(tiles):
        _, top, total = _raised(core, tile, scale)
        for all_of_them, one in ((tops, top), (sums, total)):
            core.tensor_copy(dst=all_of_them.sliced(slice(None), slice(number, number + 1)),
                             src=one)  # fmt: skip
    top, total = (core.sbuf((rows, 1), name=name) for name in ("minus maximum", "sum"))
    core.tensor_reduce(dst=top, op="minimum", data=tops, axis=1)
    core.activation(dst=tops, op="exp", data=tops, scale=-1.0, bias=top)
    core.tensor_tensor(dst=sums, data1=sums, data2=tops, op="multiply")
    core.tensor_reduce(dst=total, op="add", data=sums, axis=1)
    return (load(core, src.sliced(*part), name="x") for part in parts), (None, top, total)


def _raised(core, tile: View, scale: float = 1.0) -> tuple[View, View, View]:
    """Return ``exp(scale * x - max)`` of a tile, minus the maximum, and the sum of each row."""
    rows = tile.shape[0]
    top = core.sbuf((rows, 1), name="minus maximum")
    total = core.sbuf((rows, 1), name="sum")
    core.tensor_reduce(dst=top, op="maximum", data=tile, axis=1, negate=True)
    if scale != 1.0:
        core.tensor_scalar(dst=top, data=top, op0="multiply", operand0=scale)
    exp = core.sbuf(tile.shape, name="exp")
    core.activation_reduce(
        dst=exp, op="exp", data=tile, scale=scale, bias=top, reduce_op="add", reduce_res=total
    )
    return exp, top, total
