"""Softmax over the rows of a matrix: six passes, then three, and one trip to HBM or two."""

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["softmax_fused", "softmax_in_steps"]


@nki.jit
def softmax_in_steps(x):
    """Return softmax of each row of x [M, N], every step an instruction of its own."""
    rows, n = nl.tile_size.pmax, x.shape[1]
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // rows):
        tile = nl.ndarray((rows, n), dtype=nl.float32, buffer=nl.sbuf)
        top = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[nl.ds(i * rows, rows), :])
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=tile, axis=1)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.subtract, operand0=top)
        nisa.activation(dst=tile, op=nl.exp, data=tile)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[nl.ds(i * rows, rows), :], src=tile)
    return out


@nki.jit
def softmax_fused(x):
    """Return the same with subtraction, exponential and sum in one instruction."""
    rows, n = nl.tile_size.pmax, x.shape[1]
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // rows):
        tile = nl.ndarray((rows, n), dtype=nl.float32, buffer=nl.sbuf)
        minus_top = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[nl.ds(i * rows, rows), :])
        nisa.tensor_reduce(dst=minus_top, op=nl.maximum, data=tile, axis=1, negate=True)
        nisa.activation_reduce(
            dst=tile, op=nl.exp, data=tile, bias=minus_top, reduce_op=nl.add, reduce_res=total
        )
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[nl.ds(i * rows, rows), :], src=tile)
    return out
