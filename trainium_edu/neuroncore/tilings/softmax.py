"""Softmax of each row, and its logarithm: less the maximum, exponentials and sum in one pass."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import as_rows, load, new_like, row_tiles, store
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["log_softmax", "softmax"]


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
    src, dst = _same_shape("softmax", src, dst)
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < 1e30:
        raise ValueError(f"scale is {scale!r}; it must be a positive number")
    for down in row_tiles(core, src):
        tile = load(core, src.sliced(down), name="x")
        exp, _, total = _raised(core, tile, float(scale))
        part = core.sbuf(total.shape, name="1 / sum")
        core.reciprocal(dst=part, data=total)
        piece = dst.sliced(down)
        result = new_like(core, piece, name="result")
        core.tensor_scalar(dst=result, data=exp, op0="multiply", operand0=part)
        store(core, piece, result)


@checked
def log_softmax(core: NeuronCore, dst: View, src: View) -> None:
    """Write ``x - max - log(sum(exp(x - max)))`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst, src : View[rows, columns]
        HBM or SBUF; a row has to fit one partition.

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
        tile = load(core, src.sliced(down), name="x")
        _, top, total = _raised(core, tile)
        log = core.sbuf(total.shape, name="log of sum")
        core.activation(dst=log, op="log", data=total)
        piece = dst.sliced(down)
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
