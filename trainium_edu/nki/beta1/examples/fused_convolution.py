"""Convolution and max-pooling in one kernel of the older interface, from slow to fast.

Images are (batch, channels, rows, columns), weights (filters, channels, high, wide), the bias
(filters,); no padding, stride 1; pooling keeps the largest of each square of ``pool_size`` ×
``pool_size``.  Channels and filters come in multiples of 128, a row of the result in at most 512.

A convolution is a sum of matrix products: for each place of the window, the weights at that place,
(channels, filters), times the image moved by that place, (channels, pixels).  All of them add up in
PSUM.  The versions differ in where the numbers are meanwhile.
"""

import numpy as np

from trainium_edu.nki.beta1 import isa as nisa
from trainium_edu.nki.beta1 import language as nl
from trainium_edu.nki.beta1.kernel import jit

__all__ = ["fused", "image_kept", "one_row_at_a_time", "weights_kept"]

P = 128  # partitions
BANK = 512  # FP32 values of one partition in one bank of PSUM
BLOCK = 16  # rows of the result that are computed from one load of the image


def _shape_of_result(images, weights, pool_size):
    """Return the shape of the result, and its rows and columns before pooling."""
    batch, channels, height, width = images.shape
    filters, depth, high, wide = weights.shape
    assert channels == depth, f"{channels} channels, and weights for {depth}"
    assert channels % P == filters % P == 0, f"{channels} channels, {filters} filters: not × {P}"
    rows, columns = height - high + 1, width - wide + 1
    assert columns <= BANK, f"{columns} columns: at most {BANK} fit a bank of PSUM"
    assert rows % pool_size == columns % pool_size == 0, f"{rows} × {columns} in {pool_size}s"
    shape = (batch, filters, rows // pool_size, columns // pool_size)
    return shape, rows, columns


def _turned(weights, f, c, i, j):
    """Load what 128 filters weigh 128 channels by at one place; return it channels first."""
    tile = nl.load(weights[f * P : (f + 1) * P, c * P : (c + 1) * P, i, j])
    return nl.copy(nisa.nc_transpose(tile), dtype=weights.dtype)


def _places(weights):
    """Yield channel tile, row and column of the window."""
    _, channels, high, wide = weights.shape
    for c in nl.affine_range(channels // P):
        for i in nl.affine_range(high):
            for j in nl.affine_range(wide):
                yield c, i, j


def _pooled(total, pool_size, bias):
    """Return the largest of each square of (128, rows, columns), with the bias added."""
    _, rows, columns = total.shape
    if pool_size > 1:
        p, r, c, high, wide = nl.mgrid[
            0:P, 0 : rows // pool_size, 0 : columns // pool_size, 0:pool_size, 0:pool_size
        ]
        squares = total[p, r * pool_size + high, c * pool_size + wide]
        total = nisa.tensor_reduce(np.max, squares, axis=[3, 4])
    return nisa.tensor_scalar(total, np.add, bias)


@jit
def one_row_at_a_time(images, weights, bias, pool_size=1):
    """Load everything where it is used."""
    shape, rows, columns = _shape_of_result(images, weights, pool_size)
    result = nl.ndarray(shape, dtype=images.dtype, buffer=nl.shared_hbm)
    batch, filters, _, _ = result.shape
    for b in nl.affine_range(batch):
        for f in nl.affine_range(filters // P):
            shift = nl.load(bias[f * P : (f + 1) * P], dtype=nl.float32)
            for r in nl.affine_range(rows // pool_size):
                total = nl.zeros((P, pool_size, columns), nl.float32, buffer=nl.psum)
                for c, i, j in _places(weights):
                    turned = _turned(weights, f, c, i, j)
                    top = r * pool_size + i
                    row = nl.load(images[b, c * P : (c + 1) * P, top : top + pool_size,
                                         j : j + columns])  # fmt: skip
                    total += nisa.nc_matmul(turned, row)
                nl.store(
                    result[b, f * P : (f + 1) * P, r : r + 1], _pooled(total, pool_size, shift)
                )
    return result


def _all_turned(weights):
    """Load all weights once and turn them; return tiles (channels, filters) by their place."""
    filters, channels, high, wide = weights.shape
    turned = nl.ndarray(
        (filters // P, channels // P, high, wide, nl.par_dim(P), P), weights.dtype, buffer=nl.sbuf
    )
    for f in nl.affine_range(filters // P):
        rows = nl.load(weights[f * P : (f + 1) * P])  # whole rows: long descriptors
        for c, i, j in _places(weights):
            part = rows[:, c * P : (c + 1) * P, i, j]
            turned[f, c, i, j] = nl.copy(nisa.nc_transpose(part), dtype=weights.dtype)
    return turned


@jit
def weights_kept(images, weights, bias, pool_size=1):
    """Turn the weights once; load each row of the image where it is used."""
    shape, rows, columns = _shape_of_result(images, weights, pool_size)
    result = nl.ndarray(shape, dtype=images.dtype, buffer=nl.shared_hbm)
    batch, filters, _, _ = result.shape
    turned = _all_turned(weights)
    for b in nl.affine_range(batch):
        for f in nl.affine_range(filters // P):
            shift = nl.load(bias[f * P : (f + 1) * P], dtype=nl.float32)
            for r in nl.affine_range(rows // pool_size):
                total = nl.zeros((P, pool_size, columns), nl.float32, buffer=nl.psum)
                for c, i, j in _places(weights):
                    top = r * pool_size + i
                    row = nl.load(images[b, c * P : (c + 1) * P, top : top + pool_size,
                                         j : j + columns])  # fmt: skip
                    total += nisa.nc_matmul(turned[f, c, i, j], row)
                nl.store(
                    result[b, f * P : (f + 1) * P, r : r + 1], _pooled(total, pool_size, shift)
                )
    return result


def _in_blocks(images, weights, bias, pool_size, rows_at_once):
    """Keep the weights, and a block of the image's rows; multiply `rows_at_once` rows at a time."""
    shape, rows, columns = _shape_of_result(images, weights, pool_size)
    result = nl.ndarray(shape, dtype=images.dtype, buffer=nl.shared_hbm)
    batch, filters, _, _ = result.shape
    _, channels, _, width = images.shape
    high = weights.shape[2]
    turned = _all_turned(weights)
    shifts = nl.ndarray((filters // P, nl.par_dim(P), 1), nl.float32, buffer=nl.sbuf)
    for f in nl.affine_range(filters // P):
        shifts[f] = nl.load(bias[f * P : (f + 1) * P], dtype=nl.float32)
    for b in nl.affine_range(batch):
        for first in range(0, rows, BLOCK):
            block = min(BLOCK, rows - first)
            image = nl.ndarray(
                (channels // P, nl.par_dim(P), block + high - 1, width), images.dtype
            )
            for c in nl.affine_range(channels // P):
                image[c] = nl.load(images[b, c * P : (c + 1) * P, first : first + block + high - 1])
            for f in nl.affine_range(filters // P):
                done = nl.ndarray(
                    (P, block // pool_size, columns // pool_size), images.dtype, buffer=nl.sbuf
                )
                for top in range(0, block, rows_at_once):
                    n = min(rows_at_once, block - top)
                    total = nl.zeros((P, n, columns), nl.float32, buffer=nl.psum)
                    for c, i, j in _places(weights):
                        moved = image[c, :, top + i : top + i + n, j : j + columns]
                        total += nisa.nc_matmul(turned[f, c, i, j], moved)
                    done[:, top // pool_size : (top + n) // pool_size] = _pooled(
                        total, pool_size, shifts[f]
                    )
                nl.store(
                    result[
                        b, f * P : (f + 1) * P, first // pool_size : (first + block) // pool_size
                    ],
                    done,
                )
    return result


@jit
def image_kept(images, weights, bias, pool_size=1):
    """Load a block of rows once for all places of the window; still a row per product."""
    return _in_blocks(images, weights, bias, pool_size, pool_size)


@jit
def fused(images, weights, bias, pool_size=1):
    """Multiply as many rows at once as fit a bank of PSUM."""
    columns = images.shape[3] - weights.shape[3] + 1
    return _in_blocks(
        images, weights, bias, pool_size, max(BANK // columns // pool_size, 1) * pool_size
    )
