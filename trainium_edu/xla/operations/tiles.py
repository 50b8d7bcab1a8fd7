"""What rows do with the operands of one tile: numbers, one per row, or as many as the result."""

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import cast_copy

__all__ = ["as_dtype", "is_number", "spread"]


def is_number(operand) -> bool:
    """Return whether an operand is a number inside the instruction, not a tile."""
    return not isinstance(operand, View)


def spread(core, operand, out: View, dtype=None) -> View:
    """Return an operand with a tile's shape: its one number per row is read again and again.

    Parameters
    ----------
    operand : View[P, F] or View[P, 1] in SBUF, or number
    out : View[P, F]
    dtype : str or DType, optional
        What a number is stored as; FP32 otherwise.
    """
    if is_number(operand):
        tile = core.sbuf((out.shape[0], 1), dtype or "float32")
        core.memset(dst=tile, value=operand if tile.dtype.is_float else int(operand))
        operand = tile
    return operand if operand.shape == out.shape else operand.broadcast(*out.shape)


def as_dtype(core, tile: View, dtype) -> View:
    """Return a tile in another dtype, copied if it has another; a spread tile stays small."""
    dtype = get_dtype(dtype)
    if tile.dtype is dtype:
        return tile
    if tile.strides[1] or tile.shape[1] == 1:
        return cast_copy(core, tile, dtype)
    small = cast_copy(core, tile.sliced(slice(None), slice(0, 1)), dtype)
    return small.broadcast(*tile.shape)
