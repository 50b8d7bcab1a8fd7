"""Kernels in the older interface that do the work of profiled ones, in our own words.

They are written as plainly as those: in tiles of 512 of 1024 columns loaded, every operation by
itself, weights loaded where they are used.  What its compiler made of that is what is judged.
"""

import trainium_edu.nki.beta1 as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl

LOAD, WIDE, P = 1024, 512, 128


def _halves(tile):
    return [tile[:, k : k + WIDE] for k in range(0, LOAD, WIDE)]


def _whole(rows, columns):
    return nl.ndarray((nl.par_dim(rows), columns), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def silu(x):
    """Return x / (1 + exp(-x)) of x [128, I, N]."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[1]):
        for j in range(0, x.shape[2], LOAD):
            loaded, result = nl.load(x[:, i, j : j + LOAD]), _whole(P, LOAD)
            for part, to in zip(_halves(loaded), range(0, LOAD, WIDE), strict=True):
                grown = nisa.activation(nl.exp, part, scale=-1.0)
                below = nisa.tensor_scalar(grown, nl.add, 1.0)
                result[:, to : to + WIDE] = nl.multiply(part, nisa.reciprocal(below))
            nl.store(out[:, i, j : j + LOAD], result)
    return out


@nki.jit
def adamw(theta, g, m, v):
    """Return parameters after a step of AdamW; all [M, N]."""
    out = nl.ndarray(theta.shape, dtype=theta.dtype, buffer=nl.shared_hbm)

    def times(tile, number):
        return nisa.tensor_scalar(tile, nl.multiply, number)

    for first in range(0, theta.shape[0], P):
        rows = min(P, theta.shape[0] - first)
        for j in range(0, theta.shape[1], LOAD):
            here = slice(first, first + rows), slice(j, j + LOAD)
            old, mean, square, slope = (nl.load(a[here]) for a in (theta, m, v, g))
            result = _whole(rows, LOAD)
            for k in range(0, LOAD, WIDE):
                part = slice(None), slice(k, k + WIDE)
                shrunk_by = times(old[part], 1e-5)
                shrunk = nl.subtract(old[part], shrunk_by)
                mean_kept = times(mean[part], 0.9)
                mean_new = times(slope[part], 0.1)
                mean_now = nl.add(mean_kept, mean_new)
                stepped = times(mean_now, 0.01)
                square_kept = times(square[part], 0.999)
                slope_small = times(slope[part], 0.001)
                square_new = nl.multiply(slope_small, slope[part])
                square_now = nl.add(square_kept, square_new)
                root = nisa.activation(nl.sqrt, square_now, scale=1000.0)
                below = nisa.tensor_scalar(root, nl.add, 1e-8)
                inverse = nisa.reciprocal(below)
                step = nl.multiply(stepped, inverse)
                result[part] = nl.subtract(shrunk, step)
            nl.store(out[here], result)
    return out


@nki.jit
def rope(x, cos, sin):
    """Turn the halves of x [d, S] by the angles of cos and sin [d / 2, S]."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    half = x.shape[0] // 2
    for j in nl.affine_range(x.shape[1] // WIDE):
        here = nl.ds(j * WIDE, WIDE)
        both, c, s = nl.load(x[:, here]), nl.load(cos[:, here]), nl.load(sin[:, here])
        result, even = _whole(2 * half, WIDE), both[:half]
        odd = nl.copy(both[half:])
        even_cos, odd_cos = nl.multiply(even, c), nl.multiply(odd, c)
        even_sin, odd_sin = nl.multiply(even, s), nl.multiply(odd, s)
        result[:half] = nl.subtract(even_cos, odd_sin)
        result[half:] = nl.add(odd_cos, even_sin)
        nl.store(out[:, here], result)
    return out


@nki.jit
def matmul_add_rmsnorm(x, w, z, g, eps=1e-5):
    """Return rmsnorm(x @ w + z) * g; x [M, K], w [K, N], z [M, N], g [1, N]."""
    (m, depth), n = x.shape, w.shape[1]
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    gain = nl.load(g)
    for i in nl.affine_range(m // P):
        rows, products = nl.ds(i * P, P), _whole(P, n)
        part = nl.load(x[rows, :])
        for j in nl.affine_range(n // WIDE):
            total = nl.zeros((P, WIDE), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // P):
                weights = nl.load(w[nl.ds(k * P, P), nl.ds(j * WIDE, WIDE)])
                total[...] += nl.matmul(part[:, nl.ds(k * P, P)], weights)
            products[:, nl.ds(j * WIDE, WIDE)] = nl.copy(total)
        summed = nl.add(products, nl.load(z[rows, :]))
        mean = nl.sum(nl.square(summed), axis=[1]) / n
        scaled = nl.multiply(summed, nl.rsqrt(nl.add(mean, eps)))
        nl.store(out[rows, :], nl.multiply(scaled, gain.broadcast_to((P, n))))
    return out


@nki.jit
def add(x, y, rows, columns):
    """Add two vectors in tiles of [rows, columns]."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    shape = x.shape[0] // (rows * columns), rows, columns
    x, y, z = x.reshape(shape), y.reshape(shape), out.reshape(shape)
    for i in nl.affine_range(shape[0]):
        nl.store(z[i], nl.add(nl.load(x[i]), nl.load(y[i])))
    return out
