"""One operation on every element: of two tensors, of a tensor and a number, or a function."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import as_rows, load, new_like, pieces, row_tiles, store
from trainium_edu.specs.arguments import instance, whole
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["elementwise"]

COLUMNS = 2048  #: of one tile: rows of 8 KiB in FP32, where DMA has reached its full rate


@checked
def elementwise(
    core: NeuronCore, dst: View, op: str, *sources: View | float,
    scale: View | float = 1.0, bias: View | float | None = None, columns: int = COLUMNS,
) -> None:  # fmt: skip
    """Apply an operator or a function to every element.

    Parameters
    ----------
    core : NeuronCore
    dst : View[rows, columns]
        HBM (stored by DMA) or SBUF.
    op : str
        Two sources: an operator of the Vector Engine ("add", "maximum", ...).  One source: a
        function of the Scalar Engine ("exp", "gelu", ...), of ``scale * x + bias``.
    *sources : View or number
        The first is a tensor of dst's shape.  The second may be a number, [rows, 1] (one number
        per row) or [1, columns] in HBM (one row, repeated on all partitions by its load).
    scale, bias : float or View[rows, 1]
        Of functions; see ``activation``.
    columns : int
        Longest free axis of one instruction.

    Raises
    ------
    NkiValidationError
        If the shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> x = core.hbm(np.ones((300, 5), np.float32))
    >>> y = core.hbm((300, 5))
    >>> elementwise(core, y, "add", x, 2.0)
    >>> float(core.value(y).sum())
    4500.0
    """
    if len(sources) not in (1, 2):
        raise TypeError(f"elementwise takes one or two sources, got {len(sources)}")
    source = instance(sources[0], "the first source", View, "a View")
    out, x = as_rows(dst, "dst"), as_rows(source, "the first source")
    if x.shape != out.shape:
        raise NkiValidationError(
            f"elementwise: dst {list(out.shape)} and source {list(x.shape)} must have one shape"
        )
    other = _other(out, sources[1]) if len(sources) == 2 else None
    width = min(whole(columns, "columns", 1), out.shape[1])
    for across in pieces(out.shape[1], width):  # a repeated row is loaded once per column piece
        shared = _shared(core, out, other, across)
        for down in row_tiles(core, out):
            piece = out.sliced(down, across)
            tile = load(core, x.sliced(down, across))
            result = new_like(core, piece)
            if other is None:
                core.activation(
                    dst=result, op=op, data=tile, scale=_part(core, scale, down),
                    bias=_part(core, bias, down),
                )  # fmt: skip
            else:
                _combine(core, result, op, tile, other, shared, down, across)
            store(core, piece, result)


def _other(out, other):
    if not isinstance(other, View):
        return other
    other = as_rows(other, "the second source")
    rows, columns = other.shape
    if (rows, columns) == out.shape or (rows, columns) == (out.shape[0], 1):
        return other
    if rows == 1 and columns == out.shape[1] and other.memory is Memory.HBM:
        return other
    raise NkiValidationError(
        f"elementwise: the second source is {list(other.shape)} in {other.memory} for a result of "
        f"{list(out.shape)}; it must be a number, a tensor of that shape, one number per row "
        f"[{out.shape[0]}, 1], or one row [1, {out.shape[1]}] in HBM"
    )


def _is_row(out, other):
    return isinstance(other, View) and other.shape[0] == 1 and out.shape[0] > 1


def _shared(core, out, other, across):
    """Return the tile of a row that all row tiles use, or None."""
    if not _is_row(out, other):
        return None
    rows = min(out.shape[0], int(core.spec.limits.tile_partitions_max.value))
    row = other.sliced(slice(0, 1), across)
    return load(core, row.broadcast(rows, row.shape[1]))


def _combine(core, result, op, tile, other, shared, down, across):
    if shared is not None:
        rows = slice(0, down.stop - down.start)
        core.tensor_tensor(dst=result, data1=tile, data2=shared.sliced(rows), op=op)
    elif isinstance(other, View) and other.shape[1] > 1:
        second = load(core, other.sliced(down, across))
        core.tensor_tensor(dst=result, data1=tile, data2=second, op=op)
    elif isinstance(other, View) and tile.shape[1] == 1:
        second = load(core, other.sliced(down))
        core.tensor_tensor(dst=result, data1=tile, data2=second, op=op)
    else:
        core.tensor_scalar(dst=result, data=tile, op0=op, operand0=_part(core, other, down))


def _part(core, value, down):
    """Return a number as it is, and the rows of a column as an FP32 tile."""
    if not isinstance(value, View):
        return value
    return load(core, value.sliced(down), "float32")
