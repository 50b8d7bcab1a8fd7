"""``lhsT.T @ rhs`` in five stages; each takes away what made the one before it slow.

All take ``lhsT`` [K, M] and ``rhs`` [K, N] in HBM and return [M, N] in their dtype.
"""

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["STAGES", "basic", "blocked", "fully_blocked", "hoisted", "tiled"]

P, M_TILE, N_TILE = 128, 128, 512  # contraction, stationary free, moving free: the engine's limits


def _load(source, rows, columns):
    """Return an SBUF tile with source[rows, columns]."""
    tile = nl.ndarray((rows.size, columns.size), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source[rows, columns])
    return tile


def _store(out, rows, columns, sums):
    """Copy a PSUM tile to SBUF, cast it to the dtype of `out`, and store it there."""
    tile = nl.ndarray(sums.shape, dtype=out.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tile, src=sums)
    nisa.dma_copy(dst=out[rows, columns], src=tile)


@nki.jit
def basic(lhsT, rhs):
    """Multiply one tile: K <= 128, M <= 128, N <= 512."""
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    stationary = _load(lhsT, nl.ds(0, k), nl.ds(0, m))
    moving = _load(rhs, nl.ds(0, k), nl.ds(0, n))
    sums = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=stationary, moving=moving)
    _store(out, nl.ds(0, m), nl.ds(0, n), sums)
    return out


@nki.jit
def tiled(lhsT, rhs):
    """Cut all three axes into tiles, and load both operands for every tile product."""
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(m // M_TILE):
        for j in nl.affine_range(n // N_TILE):
            rows, columns = nl.ds(i * M_TILE, M_TILE), nl.ds(j * N_TILE, N_TILE)
            sums = nl.ndarray((M_TILE, N_TILE), dtype=nl.float32, buffer=nl.psum)
            for p in nl.affine_range(k // P):
                stationary = _load(lhsT, nl.ds(p * P, P), rows)
                moving = _load(rhs, nl.ds(p * P, P), columns)
                nisa.nc_matmul(dst=sums, stationary=stationary, moving=moving)
            _store(out, rows, columns, sums)
    return out


@nki.jit
def hoisted(lhsT, rhs):
    """Load the stationary tiles of a row of results once, outside the loop over columns."""
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(m // M_TILE):
        rows = nl.ds(i * M_TILE, M_TILE)
        kept = [_load(lhsT, nl.ds(p * P, P), rows) for p in range(k // P)]
        for j in nl.affine_range(n // N_TILE):
            columns = nl.ds(j * N_TILE, N_TILE)
            sums = nl.ndarray((M_TILE, N_TILE), dtype=nl.float32, buffer=nl.psum)
            for p in nl.affine_range(k // P):
                moving = _load(rhs, nl.ds(p * P, P), columns)
                nisa.nc_matmul(dst=sums, stationary=kept[p], moving=moving)
            _store(out, rows, columns, sums)
    return out


@nki.jit
def blocked(lhsT, rhs, block_m=4, block_n=2):
    """Load a block of stationary and a block of moving tiles once, and use each with each."""
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    high, wide = block_m * M_TILE, block_n * N_TILE
    for i in nl.affine_range(m // high):
        left = [_load(lhsT, nl.ds(p * P, P), nl.ds(i * high, high)) for p in range(k // P)]
        for j in nl.affine_range(n // wide):
            right = [_load(rhs, nl.ds(p * P, P), nl.ds(j * wide, wide)) for p in range(k // P)]
            for a in nl.affine_range(block_m):
                for b in nl.affine_range(block_n):
                    sums = nl.ndarray((M_TILE, N_TILE), dtype=nl.float32, buffer=nl.psum)
                    for p in nl.affine_range(k // P):
                        nisa.nc_matmul(
                            dst=sums,
                            stationary=left[p][:, nl.ds(a * M_TILE, M_TILE)],
                            moving=right[p][:, nl.ds(b * N_TILE, N_TILE)],
                        )
                    rows = nl.ds(i * high + a * M_TILE, M_TILE)
                    _store(out, rows, nl.ds(j * wide + b * N_TILE, N_TILE), sums)
    return out


@nki.jit
def fully_blocked(lhsT, rhs, block_m=16, block_n=2, block_k=8):
    """Block the contraction too: sums of blocks are added up in SBUF, so that any K fits."""
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    high, wide, deep = block_m * M_TILE, block_n * N_TILE, block_k * P
    for j in nl.affine_range(n // wide):
        columns = nl.ds(j * wide, wide)
        results = []
        for _ in range(m // M_TILE):
            result = nl.ndarray((M_TILE, wide), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=result, value=0.0)
            results.append(result)
        for q in nl.sequential_range(k // deep):
            steps = [nl.ds(q * deep + p * P, P) for p in range(block_k)]
            right = [_load(rhs, step, columns) for step in steps]
            for i in nl.affine_range(m // high):
                left = [_load(lhsT, step, nl.ds(i * high, high)) for step in steps]
                for b in nl.affine_range(block_n):
                    part = nl.ds(b * N_TILE, N_TILE)
                    for a in nl.affine_range(block_m):
                        sums = nl.ndarray((M_TILE, N_TILE), dtype=nl.float32, buffer=nl.psum)
                        for p in nl.affine_range(block_k):
                            nisa.nc_matmul(
                                dst=sums,
                                stationary=left[p][:, nl.ds(a * M_TILE, M_TILE)],
                                moving=right[p][:, part],
                            )
                        result = results[i * block_m + a]
                        nisa.tensor_tensor(
                            dst=result[:, part], data1=result[:, part], data2=sums, op=nl.add
                        )
        for i, result in enumerate(results):
            narrow = nl.ndarray((M_TILE, wide), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=narrow, src=result)
            nisa.dma_copy(dst=out[nl.ds(i * M_TILE, M_TILE), columns], src=narrow)
    return out


#: The stages that take matrices of any size, in the order of the lesson.
STAGES = (tiled, hoisted, blocked, fully_blocked)
