"""The selective scan of Mamba, in ways whose device times were published.

For channel c and state s:  h[t] = exp(delta[t] * A[c, s]) * h[t-1] + delta[t] * B[s, t] * u[t],
and y[t] = sum over s of C[s, t] * h[t].  Shapes: delta, u, y [batch, channels, length];
A [channels, states]; B, C [batch, states, length].

``reload`` loads delta and u again for every state, ``hoisted`` once per channel tile, ``tiled``
also walks the sequence in pieces of 512: they issue what AWS's tutorial's three kernels issue.
``in_pieces`` is a version of the optimisation study's, and so is ``hoisted`` with one product.
"""

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["hoisted", "in_pieces", "reload", "tiled"]

P = 128
PIECE = 512


def _load(part):
    tile = nl.ndarray(part.shape, dtype=part.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=part)
    return tile


def _tile(like):
    return nl.ndarray(like.shape, dtype=like.dtype, buffer=nl.sbuf)


def _product(a, b):
    product = _tile(a)
    nisa.tensor_tensor(dst=product, data1=a, data2=b, op=nl.multiply)
    return product


def _step(delta, weighted, rate, b_row, c_row, total, initial, *, is_last=True, ahead=False):
    """Add one state's share for one stretch of time to `total`, carrying the scan in `initial`.

    `weighted` is delta times u; with `ahead`, C is loaded before the scan.
    """
    decay = _tile(delta)
    nisa.activation(dst=decay, op=nl.exp, data=delta, scale=rate)
    b, c = _load(b_row), _load(c_row) if ahead else None
    driven = _product(weighted, nl.broadcast_to(b, delta.shape))
    scan = _tile(delta)
    nisa.tensor_tensor_scan(
        dst=scan, data0=decay, data1=driven, initial=initial, op0=nl.multiply, op1=nl.add
    )
    if not is_last:  # the tutorial copies here too; a compiler drops what nobody reads
        nisa.tensor_copy(dst=initial, src=scan[:, delta.shape[1] - 1 : delta.shape[1]])
    c = c if ahead else _load(c_row)
    share = _product(scan, nl.broadcast_to(c, delta.shape))
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
                weighted = _product(delta_tile, u_tile)
                _step(delta_tile, weighted, rate, B[i, s : s + 1], C[i, s : s + 1], total, 0.0)
        for rows, total in zip(tiles, totals, strict=True):
            nisa.dma_copy(dst=y[i, rows, :], src=total)
    return y


@nki.jit
def hoisted(delta, u, A, B, C, one_product=False):
    """Return y; delta and u, or with `one_product` delta times u, stay in SBUF for all states."""
    batch, channels, length = delta.shape
    y = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(batch):
        for first in range(0, channels, P):
            rows = slice(first, first + P)
            total = nl.zeros((P, length), dtype=delta.dtype)
            delta_tile, u_tile = _load(delta[i, rows, :]), _load(u[i, rows, :])
            once = _product(delta_tile, u_tile) if one_product else None
            for s in nl.affine_range(A.shape[1]):
                rate = _load(A[rows, s : s + 1])
                weighted = once if one_product else _product(delta_tile, u_tile)
                _step(delta_tile, weighted, rate, B[i, s : s + 1], C[i, s : s + 1], total, 0.0,
                      ahead=one_product)  # fmt: skip
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
                        delta_tile[:, time], _product(delta_tile[:, time], u_tile[:, time]), rate,
                        B[i, s : s + 1, time], C[i, s : s + 1, time], total[:, time], carry,
                        is_last=start + PIECE >= length,
                    )  # fmt: skip
            nisa.dma_copy(dst=y[i, rows, :], src=total)
    return y


@nki.jit
def in_pieces(delta, u, A, B, C):
    """Return y; each piece of 512 takes all states in turn, whose shares add up in PSUM."""
    (batch, channels, length), states = delta.shape, A.shape[1]
    y = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(batch):
        for first in range(0, channels, P):
            rows, carry = slice(first, first + P), nl.zeros((P, states), dtype=delta.dtype)
            rates = _load(A[rows, :])
            for start in nl.sequential_range(0, length, PIECE):
                time = nl.ds(start, PIECE)
                total = nl.ndarray((P, PIECE), dtype=delta.dtype, buffer=nl.psum)
                nisa.memset(dst=total, value=0.0)
                delta_tile = _load(delta[i, rows, time])
                weighted = _product(delta_tile, _load(u[i, rows, time]))
                for s in nl.sequential_range(states):
                    one = nl.ds(s, 1)
                    _step(delta_tile, weighted, rates[:, one], B[i, one, time], C[i, one, time],
                          total, carry[:, one], is_last=False, ahead=True)  # fmt: skip
                result = _tile(delta_tile)
                nisa.activation(dst=result, op=nl.copy, data=total)
                nisa.dma_copy(dst=y[i, rows, time], src=result)
    return y
