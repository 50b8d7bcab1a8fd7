"""Exchange rows and columns: through the Tensor Engine's array, or by DMA."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import as_rows, load, new_like, pieces, row_tiles, store
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["transpose", "transposed_tile"]

BLOCK = 128  #: rows and columns of one block: the array's size


@checked
def transpose(core: NeuronCore, dst: View, src: View, *, via: str = "tensor") -> None:
    """Write ``src.T`` to dst.

    Parameters
    ----------
    core : NeuronCore
    dst : View[columns, rows]
    src : View[rows, columns]
        HBM or SBUF; through the Tensor Engine its dtype is a float.
    via : {"tensor", "dma"}
        A matmul against an identity per 128 x 128 block, or a transposing DMA.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> x = core.hbm(np.arange(6, dtype=np.float32).reshape(2, 3))
    >>> y = core.hbm((3, 2))
    >>> transpose(core, y, x)
    >>> core.value(y).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    src, dst = as_rows(src, "src"), as_rows(dst, "dst")
    if dst.shape != src.shape[::-1]:
        raise NkiValidationError(
            f"transpose: src is {list(src.shape)}, so dst must be {list(src.shape[::-1])}, not "
            f"{list(dst.shape)}"
        )
    if via not in ("tensor", "dma"):
        raise ValueError(f"via is {via!r}; it must be 'tensor' or 'dma'")
    for down in row_tiles(core, src):
        for across in pieces(src.shape[1], BLOCK):
            piece = dst.sliced(across, down)
            if via == "dma":
                result = new_like(core, piece, None if piece.dtype is src.dtype else src.dtype)
                core.dma_transpose(dst=result, src=src.sliced(down, across))
            else:
                block = load(core, src.sliced(down, across))
                result = transposed_tile(core, block, new_like(core, piece))
            store(core, piece, result)


def transposed_tile(core, block: View, out: View | None = None) -> View:
    """Return a block of at most 128 x 128, transposed by the Tensor Engine, in SBUF.

    Parameters
    ----------
    block : View[p, f] in SBUF
    out : View[f, p] in SBUF, optional
        Where it goes; default a new tile of the block's dtype.
    """
    rows, columns = block.shape
    turned = core.psum((columns, rows), block.dtype)
    core.nc_transpose(dst=turned, data=block, engine="tensor")
    if out is None:
        out = core.sbuf((columns, rows), block.dtype)
    core.tensor_copy(dst=out, src=turned)
    return out
