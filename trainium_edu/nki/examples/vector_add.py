"""Adding two matrices: the smallest kernel, in two layouts."""

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["add_rows", "add_tiles"]


@nki.jit
def add_rows(x, y):
    """Add [M, N] matrices one row at a time: one partition of 128 works."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for row in nl.affine_range(x.shape[0]):
        a = nl.ndarray((1, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        b = nl.ndarray((1, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=x[row : row + 1, :])
        nisa.dma_copy(dst=b, src=y[row : row + 1, :])
        nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
        nisa.dma_copy(dst=out[row : row + 1, :], src=a)
    return out


@nki.jit
def add_tiles(x, y, width=512):
    """Add [M, N] matrices in tiles of 128 rows and `width` columns."""
    rows = nl.tile_size.pmax
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // rows):
        for j in nl.affine_range(x.shape[1] // width):
            here = (nl.ds(i * rows, rows), nl.ds(j * width, width))
            a = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
            b = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=a, src=x[here])
            nisa.dma_copy(dst=b, src=y[here])
            nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
            nisa.dma_copy(dst=out[here], src=a)
    return out
