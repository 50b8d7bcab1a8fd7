"""The selective scan of Mamba, three ways: the kernels whose device times AWS published.

For channel c and state s:  h[t] = exp(delta[t] * A[c, s]) * h[t-1] + delta[t] * B[s, t] * u[t],
and y[t] = sum over s of C[s, t] * h[t].  Shapes: delta, u, y [batch, channels, length];
A [channels, states]; B, C [batch, states, length].

``reload`` loads delta and u again for every state, ``hoisted`` once per channel tile, ``tiled``
also walks the sequence in pieces of 512.  They issue what the tutorial's three kernels issue.
"""

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["hoisted", "reload", "tiled"]

P = 128
PIECE = 512


def _load(part):
    tile = nl.ndarray(part.shape, dtype=part.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=part)
    return tile


def _tile(like):
    return nl.ndarray(like.shape, dtype=like.dtype, buffer=nl.sbuf)


def _step(delta, u, rate, b_row, c_row, total, initial, *, is_last=True):
    """Add one state's share for one stretch of time to `total`, carrying the scan in `initial`."""
    decay = _tile(delta)
    nisa.activation(dst=decay, op=nl.exp, data=delta, scale=rate)
    b = _load(b_row)
    weighted = _tile(delta)
    nisa.tensor_tensor(dst=weighted, data1=delta, data2=u, op=nl.multiply)
    b_all = nl.broadcast_to(b, delta.shape)
    driven = _tile(delta)
    nisa.tensor_tensor(dst=driven, data1=weighted, data2=b_all, op=nl.multiply)
    scan = _tile(delta)
    nisa.tensor_tensor_scan(
        dst=scan, data0=decay, data1=driven, initial=initial, op0=nl.multiply, op1=nl.add
    )
    if not is_last:  # the tutorial copies here too; a compiler drops what nobody reads
        nisa.tensor_copy(dst=initial, src=scan[:, delta.shape[1] - 1 : delta.shape[1]])
    c = _load(c_row)
    c_all = nl.broadcast_to(c, delta.shape)
    share = _tile(delta)
    nisa.tensor_tensor(dst=share, data1=scan, data2=c_all, op=nl.multiply)
    nisa.tensor_tensor(dst=total, data1=total, data2=share, op=nl.add)


@nki.jit
def reload(delta, u, A, B, C):
    """Return y; states outside, so that delta and u come from HBM again for every state."""
    batch, channels, length = delta.shape
    y = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(batch):
        tiles = [slice(first, first + P) for first in range(0, channels, P)]
        totals = [nl.zeros((P, length), dtype=delta.dtype) for _ in tiles]
        for s in nl.affine_range(A.shape[1]):
            for rows, total in zip(tiles, totals, strict=True):
                delta_tile = _load(delta[i, rows, :])
                rate = _load(A[rows, s : s + 1])
                u_tile = _load(u[i, rows, :])
                _step(delta_tile, u_tile, rate, B[i, s : s + 1], C[i, s : s + 1], total, 0.0)
        for rows, total in zip(tiles, totals, strict=True):
            nisa.dma_copy(dst=y[i, rows, :], src=total)
    return y


@nki.jit
def hoisted(delta, u, A, B, C):
    """Return y; delta and u stay in SBUF while the states go by."""
    batch, channels, length = delta.shape
    y = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(batch):
        for first in range(0, channels, P):
            rows = slice(first, first + P)
            total = nl.zeros((P, length), dtype=delta.dtype)
            delta_tile, u_tile = _load(delta[i, rows, :]), _load(u[i, rows, :])
            for s in nl.affine_range(A.shape[1]):
                rate = _load(A[rows, s : s + 1])
                _step(delta_tile, u_tile, rate, B[i, s : s + 1], C[i, s : s + 1], total, 0.0)
            nisa.dma_copy(dst=y[i, rows, :], src=total)
    return y


@nki.jit
def tiled(delta, u, A, B, C):
    """Return y; the sequence is walked in pieces of 512, the scan handed from one to the next."""
    batch, channels, length = delta.shape
    y = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(batch):
        for first in range(0, channels, P):
            rows = slice(first, first + P)
            total = nl.zeros((P, length), dtype=delta.dtype)
            delta_tile, u_tile = _load(delta[i, rows, :]), _load(u[i, rows, :])
            for s in nl.affine_range(A.shape[1]):
                rate = _load(A[rows, s : s + 1])
                carry = nl.zeros((P, 1), dtype=delta.dtype)
                for start in range(0, length, PIECE):
                    time = slice(start, start + PIECE)
                    _step(
                        delta_tile[:, time], u_tile[:, time], rate, B[i, s : s + 1, time],
                        C[i, s : s + 1, time], total[:, time], carry,
                        is_last=start + PIECE >= length,
                    )  # fmt: skip
            nisa.dma_copy(dst=y[i, rows, :], src=total)
    return y
