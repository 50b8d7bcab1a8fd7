"""One head of attention, ``softmax(scale * Q K^T) V``: three kernels, then one that stays on chip.

``qT`` and ``kT`` are [d, length], ``v`` is [length, d]; d <= 128, at most 512 keys.
"""

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["fused_attention", "scores", "weighted_sum"]

P = 128


@nki.jit
def scores(qT, kT, scale=1.0):
    """Return scale * Q K^T [queries, keys], stored to HBM."""
    (d, queries), keys = qT.shape, kT.shape[1]
    out = nl.ndarray((queries, keys), dtype=nl.float32, buffer=nl.shared_hbm)
    k = nl.ndarray((d, keys), dtype=kT.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=k, src=kT)
    for i in nl.affine_range(queries // P):
        q = nl.ndarray((d, P), dtype=qT.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=q, src=qT[:, nl.ds(i * P, P)])
        sums = nl.ndarray((P, keys), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=q, moving=k)
        tile = nl.ndarray((P, keys), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=tile, data=sums, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=out[nl.ds(i * P, P), :], src=tile)
    return out


@nki.jit
def weighted_sum(weights, v):
    """Return weights @ V [queries, d]; the weights [queries, keys] come back from HBM."""
    (queries, keys), d = weights.shape, v.shape[1]
    out = nl.ndarray((queries, d), dtype=nl.float32, buffer=nl.shared_hbm)
    values = _load_values(v)
    for i in nl.affine_range(queries // P):
        tile = nl.ndarray((P, keys), dtype=weights.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=weights[nl.ds(i * P, P), :])
        sums = _times_values(tile, values, d)
        result = nl.ndarray((P, d), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=result, src=sums)
        nisa.dma_copy(dst=out[nl.ds(i * P, P), :], src=result)
    return out


@nki.jit
def fused_attention(qT, kT, v, scale=1.0):
    """Return the whole head; scores and weights never leave the chip."""
    (d, queries), keys = qT.shape, kT.shape[1]
    out = nl.ndarray((queries, d), dtype=nl.float32, buffer=nl.shared_hbm)
    k = nl.ndarray((d, keys), dtype=kT.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=k, src=kT)
    values = _load_values(v)
    for i in nl.affine_range(queries // P):
        q = nl.ndarray((d, P), dtype=qT.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=q, src=qT[:, nl.ds(i * P, P)])
        sums = nl.ndarray((P, keys), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=q, moving=k)

        bias = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=bias, op=nl.maximum, data=sums, axis=1, negate=True)
        nisa.tensor_scalar(dst=bias, data=bias, op0=nl.multiply, operand0=scale)
        tile = nl.ndarray((P, keys), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=tile, op=nl.exp, data=sums, bias=bias, scale=scale,
            reduce_op=nl.add, reduce_res=total,
        )  # fmt: skip
        nisa.reciprocal(dst=total, data=total)

        weighted = _times_values(tile, values, d)
        result = nl.ndarray((P, d), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=weighted, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[nl.ds(i * P, P), :], src=result)
    return out


def _load_values(v):
    """Return V as a list of SBUF tiles of 128 keys."""
    tiles = []
    for c in range(v.shape[0] // P):
        tile = nl.ndarray((P, v.shape[1]), dtype=v.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=v[nl.ds(c * P, P), :])
        tiles.append(tile)
    return tiles


def _times_values(tile, values, d):
    """Return tile @ V in PSUM: each 128 x 128 piece is turned so that keys lie on partitions."""
    sums = nl.ndarray((P, d), dtype=nl.float32, buffer=nl.psum)
    for c, value in enumerate(values):
        turned = nl.ndarray((P, P), dtype=tile.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=tile[:, nl.ds(c * P, P)], engine=nisa.engine.tensor)
        weights = nl.ndarray((P, P), dtype=value.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=weights, src=turned)
        nisa.nc_matmul(dst=sums, stationary=weights, moving=value)
    return sums
