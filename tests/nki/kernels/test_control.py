"""Kernels with registers, dynamic loops, grids, stated addresses and halves of the array.

Judges: NumPy; Python's own loops."""

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows, raises
from tests.nki.cases import new, stored
from trainium_edu.specs import NkiValidationError

BF16 = ml_dtypes.bfloat16


@nki.jit
def sum_of_some_tiles(x_hbm, count_hbm):
    """Add as many tiles as a number in HBM says: the bound is known only while it runs."""
    total = nl.zeros((128, x_hbm.shape[1]), nl.float32)
    count = nisa.register_alloc()
    nisa.register_load(count, nl.load(count_hbm))
    tiles = x_hbm.reshape((x_hbm.shape[0] // 128, 128, x_hbm.shape[1]))
    for k in nl.dynamic_range(count):
        index = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        nisa.register_store(index, k)
        tile = new(nisa.dma_copy, (128, x_hbm.shape[1]), src=tiles.select(0, index))
        nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
    return stored(total, nl.float32)


@for_rows("count", 0, 1, 4)
def test_dynamic_bound(count):
    x = np.random.default_rng(0).integers(-9, 9, (512, 32)).astype(np.float32)
    got = sum_of_some_tiles(x, np.int32([[count]]))
    np.testing.assert_array_equal(got, x.reshape(4, 128, 32)[:count].sum(0))


@nki.jit
def matmul_on_a_grid(w_hbm, x_hbm):
    """Rows of the result dealt out to programs; blocks of K in PSUM, evicted by two engines."""
    k, m = w_hbm.shape
    n = x_hbm.shape[1]
    out = nl.ndarray((m, n), nl.float32, buffer=nl.shared_hbm)
    x = nl.ndarray((128, k // 128, n), x_hbm.dtype, buffer=nl.sbuf)
    for kk in nl.affine_range(k // 128):
        nisa.dma_copy(dst=x[:, kk, :], src=x_hbm[nl.ds(kk * 128, 128), :])
    for mm in range(nl.program_id(0), m // 128, nl.num_programs(0)):
        w = nl.ndarray((128, k // 128, 128), w_hbm.dtype, buffer=nl.sbuf)
        tall = w_hbm.reshape((k // 128, 128, m))
        nisa.dma_copy(dst=w, src=tall[:, :, nl.ds(mm * 128, 128)].permute((1, 0, 2)))
        for nn in range(0, n, 512):
            size = min(512, n - nn)
            bank = nl.ndarray((128, size), nl.float32, buffer=nl.psum)
            for kk in nl.affine_range(k // 128):
                nisa.nc_matmul(dst=bank, stationary=w[:, kk, :], moving=x[:, kk, nl.ds(nn, size)],
                               accumulate=kk > 0)  # fmt: skip
            y = nl.ndarray((128, size), nl.float32, buffer=nl.sbuf)
            if (nn // 512) % 2:
                nisa.activation(dst=y, op=nl.copy, data=bank)
            else:
                nisa.tensor_copy(dst=y, src=bank, engine=nisa.engine.vector)
            nisa.dma_copy(dst=out[nl.ds(mm * 128, 128), nl.ds(nn, size)], src=y)
    return out


@for_rows("grid", 1, 2, (2,), 4)
def test_matmul_on_a_grid(grid):
    draw = np.random.default_rng(1)
    w, x = draw.integers(-4, 5, (384, 512)), draw.integers(-4, 5, (384, 700))
    np.testing.assert_array_equal(matmul_on_a_grid[grid](w.astype(BF16), x.astype(BF16)), w.T @ x)


@nki.jit
def two_halves(w_hbm, x_hbm):
    """Two small matmuls on the upper and lower half of the array at once (row tiling)."""
    out = nl.ndarray((2, w_hbm.shape[1], x_hbm.shape[1]), nl.float32, buffer=nl.shared_hbm)
    w, x = nl.load(w_hbm), nl.load(x_hbm)
    for half in range(2):
        rows = slice(64 * half, 64 * half + 64)
        bank = nl.ndarray((w.shape[1], x.shape[1]), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=bank, stationary=w[rows], moving=x[rows],
                       tile_position=(64 * half, 0), tile_size=(64, 128))  # fmt: skip
        nl.store(out[half], nl.copy(bank))
    return out


def test_two_halves():
    draw = np.random.default_rng(2)
    w, x = draw.integers(-4, 5, (128, 32)), draw.integers(-4, 5, (128, 200))
    expected = [w[:64].T @ x[:64], w[64:].T @ x[64:]]
    np.testing.assert_array_equal(two_halves(w.astype(BF16), x.astype(BF16)), expected)


@nki.jit
def stated_addresses(x_hbm):
    """Two buffers at fixed places in SBUF, used in turn, and one PSUM bank by its address."""
    rows, width = x_hbm.shape
    out = nl.ndarray(x_hbm.shape, nl.float32, buffer=nl.shared_hbm)
    identity = nl.shared_identity_matrix(128, dtype=nl.float32)
    for k in range(rows // 128):
        tile = nl.ndarray((128, width), nl.float32, address=(0, 4096 + (k % 2) * 4 * width))
        nisa.dma_copy(dst=tile, src=x_hbm[k * 128 : (k + 1) * 128])
        bank = nl.ndarray((128, width), nl.float32, buffer=nl.psum, address=(0, 2048 * (k % 8)))
        nisa.nc_matmul(dst=bank, stationary=identity, moving=tile)
        doubled = nl.add(tile, bank)
        nisa.dma_copy(dst=out[k * 128 : (k + 1) * 128], src=doubled)
    return out


def test_stated_addresses():
    x = np.random.default_rng(3).standard_normal((640, 100)).astype(np.float32)
    run = nki.run(stated_addresses, x)
    np.testing.assert_array_equal(run.outputs, 2 * x)
    addresses = {a.address for a in run.program.allocations if a.address is not None}
    assert {4096, 4096 + 400, 0, 2048} <= addresses


@nki.jit
def masked_and_dropped(x_hbm, seed_hbm, prob):
    """Replace what is negative, then drop elements by dice that a seed in HBM decides."""
    nisa.set_rng_seed(nl.load(seed_hbm))
    x = nl.load(x_hbm)
    is_negative = nl.ndarray(x.shape, nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=is_negative, data=x, op0=nl.less, operand0=0.0)
    nisa.tensor_copy_predicated(dst=x, src=nl.full(x.shape, 7.0, x.dtype), predicate=is_negative)
    return stored(new(nisa.dropout, x.shape, dtype=x.dtype, data=x, prob=prob), x_hbm.dtype)


def test_masks_and_dice():
    x = np.random.default_rng(4).standard_normal((128, 200)).astype(np.float32)
    chosen = np.where(x < 0, np.float32(7), x)
    np.testing.assert_array_equal(masked_and_dropped(x, np.int32([[5]]), 0.0), chosen)
    one, two, three = (masked_and_dropped(x, np.int32([[s]]), 0.25) for s in (5, 5, 6))
    np.testing.assert_array_equal(one, two)
    assert (one != three).any()
    kept = one != 0
    np.testing.assert_array_equal(one[kept], chosen[kept])
    assert abs(kept.mean() - 0.75) < 5 * np.sqrt(0.25 * 0.75 / x.size)


@nki.jit
def update_cache(cache, new, position_hbm):
    """Write one token's keys into a cache at a position that only HBM knows."""
    position = nisa.register_alloc()
    nisa.register_load(position, position_hbm)
    heads, _, features = cache.shape
    tile = nl.load(new)
    length = cache.shape[1]
    target = cache.ap(
        pattern=[[length * features, heads], [1, features]], scalar_offset=position, indirect_dim=1
    )
    nisa.dma_copy(dst=target, src=tile)
    return cache


def test_cache_update():
    draw = np.random.default_rng(5)
    cache, new = draw.standard_normal((8, 20, 16)), draw.standard_normal((8, 16))
    cache, new = cache.astype(np.float32), new.astype(np.float32)
    expected = cache.copy()
    expected[:, 13] = new
    np.testing.assert_array_equal(update_cache(cache, new, np.int32([[13]])), expected)
    raises(NkiValidationError, "out of bounds", update_cache, cache, new, np.int32([[20]]))
