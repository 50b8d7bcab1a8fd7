"""Softmax of each row: the maximum subtracted, exponentials and their sum in one pass."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import as_rows, load, new_like, row_tiles, store
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["softmax"]


@checked
def softmax(core: NeuronCore, dst: View, src: View, *, scale: float = 1.0) -> None:
    """Write ``exp(scale * x - max) / sum`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst, src : View[rows, columns]
        HBM or SBUF; a row has to fit one partition.
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
    src, dst = as_rows(src, "src"), as_rows(dst, "dst")
    if src.shape != dst.shape:
        raise NkiValidationError(
            f"softmax: src {list(src.shape)} and dst {list(dst.shape)} must have one shape"
        )
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < 1e30:
        raise ValueError(f"scale is {scale!r}; it must be a positive number")
    for down in row_tiles(core, src):
        rows = down.stop - down.start
        tile = load(core, src.sliced(down), name="x")
        top = core.sbuf((rows, 1), name="minus maximum")
        total = core.sbuf((rows, 1), name="sum")
        part = core.sbuf((rows, 1), name="1 / sum")
        core.tensor_reduce(dst=top, op="maximum", data=tile, axis=1, negate=True)
        if scale != 1.0:
            core.tensor_scalar(dst=top, data=top, op0="multiply", operand0=float(scale))
        raised = core.sbuf(tile.shape, name="exp")
        core.activation_reduce(
            dst=raised, op="exp", data=tile, scale=float(scale), bias=top, reduce_op="add",
            reduce_res=total,
        )  # fmt: skip
        core.reciprocal(dst=part, data=total)
        piece = dst.sliced(down)
        result = new_like(core, piece, name="result")
        core.tensor_scalar(dst=result, data=raised, op0="multiply", operand0=part)
        store(core, piece, result)
