"""Compiled loops of the systolic array: arrays in, planes and results filled, nothing checked.

Read the plain twin first (``elements.py`` of the tests): the same numbers and registers, one PE at
a time.

A sweep goes over the rows bottom first, so that each row still finds the sums of the row above from
the cycle before.  In row k at cycle t the PEs of columns lo to hi - 1 work for one pass: vector
``t - k - m - start`` meets column m.  The moving operand is in *reversed* order, so that the inputs
and the output of a row are contiguous in m, and the compiler takes 8 or 16 columns at a time.
Each sum grows by one product per cycle, top row first: the order of additions is the array's.

Offsets are unsigned so that the compiler need not think about negative indices.  The plane's rows
are a little longer than a power of two so that a row and the one above do not collide in the cache.
"""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
import numba
from numba import njit, prange, uintp

START, END, K, M, W, X, DST, ACCUMULATE, RECORD = range(9)  # columns of the table of passes


def thread_count():
    """Return how many threads a parallel loop may use."""
    return numba.config.NUMBA_NUM_THREADS


@njit(cache=True)
def march(t0, t1, table, rows, begin, stop, w, w_row, x, x_row, plane, p_row, dst, dst_row):
    """Step the columns begin to stop - 1 through cycles t0 to t1 - 1, four cycles per sweep.

    ``plane[(k + 1) * p_row + m]`` is the sum register of PE (k, m); row 0 of the plane is zero.
    Sums that are in row k at cycle t are in row k + 1 at cycle t + 1.  With ``d = t - k`` they are
    one chain, which in four cycles takes four products, one row each, in this order.
    """
    first = 0
    for t in range(t0, t1, 4):
        after = min(t + 4, t1)
        while first < table.shape[0] and table[first, END] + rows - 1 + stop <= t:
            first += 1
        for j in range(first, table.shape[0]):
            start = table[j, START]
            if start + begin >= after:
                break
            end = table[j, END]
            width = min(stop, table[j, M])
            depth = table[j, K]
            newest = min(after - 1, end - 2 + width)
            for d in range(max(t - rows + 1, start + begin), newest + 1):  # lower rows first
                lo = max(begin, d - end + 1)
                hi = min(width, d - start + 1)
                if lo >= hi:
                    continue
                top = max(0, t - d)
                bottom = min(rows, after - d)
                n = uintp(hi - lo)
                above = uintp(top * p_row + lo)
                below = uintp(bottom * p_row + lo)
                wi = uintp(table[j, W] + top * w_row + lo)
                xi = uintp(table[j, X] + top * x_row - d + lo)
                if min(bottom, depth) - top == 4:
                    w1, w2, w3 = wi + uintp(w_row), wi + uintp(2 * w_row), wi + uintp(3 * w_row)
                    x1, x2, x3 = xi + uintp(x_row), xi + uintp(2 * x_row), xi + uintp(3 * x_row)
                    for i in range(n):
                        s = plane[above + i] + w[wi + i] * x[xi + i]
                        s = s + w[w1 + i] * x[x1 + i]
                        s = s + w[w2 + i] * x[x2 + i]
                        plane[below + i] = s + w[w3 + i] * x[x3 + i]
                else:  # at the top, at the bottom, or below the weights, where sums only pass
                    for i in range(n):
                        plane[below + i] = plane[above + i]
                    for _ in range(top, min(bottom, depth)):
                        for i in range(n):
                            plane[below + i] = plane[below + i] + w[wi + i] * x[xi + i]
                        wi += uintp(w_row)
                        xi += uintp(x_row)
                if bottom == rows:  # results leave into PSUM
                    at = table[j, DST] + d - start
                    if table[j, ACCUMULATE]:
                        for m in range(lo, hi):
                            dst[at + m * dst_row - m] += plane[rows * p_row + m]
                    else:
                        for m in range(lo, hi):
                            dst[at + m * dst_row - m] = plane[rows * p_row + m]


@njit(cache=True)
def march_recorded(t0, t1, table, rows, w, w_row, x, x_row, sums, dst, dst_row):
    """Step the whole array, keeping every sum of every PE at every cycle, `rows` cycles per sweep.

    The sum for vector n in PE (k, m) is ``sums[RECORD + (q * rows + k) * M + m]`` with
    ``q = (n + m) % N``.  No gaps are left, and the PEs of a row at one cycle are contiguous in m.
    """
    first = 0
    widest = 0
    for j in range(table.shape[0]):
        widest = max(widest, table[j, M])
    for t in range(t0, t1, rows):  # long sweeps write long stretches
        after = min(t + rows, t1)
        while first < table.shape[0] and table[first, END] + rows - 1 + widest <= t:
            first += 1
        for j in range(first, table.shape[0]):
            start = table[j, START]
            if start >= after:
                break
            end = table[j, END]
            width = table[j, M]
            depth = table[j, K]
            newest = min(after - 1, end - 2 + width)
            for d in range(max(t - rows + 1, start), newest + 1):
                lo = max(0, d - end + 1)
                hi = min(width, d - start + 1)
                if lo >= hi:
                    continue
                top = max(0, t - d)
                bottom = min(rows, after - d)
                n = uintp(hi - lo)
                chain = table[j, RECORD] + (d - start) % (end - start) * rows * width + lo
                cell = uintp(chain + top * width)
                row = uintp(width)
                wi = uintp(table[j, W] + top * w_row + lo)
                xi = uintp(table[j, X] + top * x_row - d + lo)
                for k in range(top, bottom):
                    above = cell - row
                    if k == 0:
                        for i in range(n):
                            sums[cell + i] = numba.float32(0.0) + w[wi + i] * x[xi + i]
                    elif k < depth:
                        for i in range(n):
                            sums[cell + i] = sums[above + i] + w[wi + i] * x[xi + i]
                    else:
                        for i in range(n):
                            sums[cell + i] = sums[above + i]
                    cell += row
                    wi += uintp(w_row)
                    xi += uintp(x_row)
                if bottom == rows:
                    at = table[j, DST] + d - start
                    last = chain + (rows - 1) * width - lo
                    if table[j, ACCUMULATE]:
                        for m in range(lo, hi):
                            dst[at + m * dst_row - m] += sums[last + m]
                    else:
                        for m in range(lo, hi):
                            dst[at + m * dst_row - m] = sums[last + m]


@njit(cache=True)
def march_stripes(
    stripes, t0, t1, table, rows, columns, w, w_row, x, x_row, plane, p_row, dst, dst_row
):
    """Step the whole array, one stripe of columns after the other: columns never meet."""
    for s in range(stripes):
        left, right = s * columns // stripes, (s + 1) * columns // stripes
        march(t0, t1, table, rows, left, right, w, w_row, x, x_row, plane, p_row, dst, dst_row)


@njit(cache=True, parallel=True)
def march_stripes_parallel(
    stripes, t0, t1, table, rows, columns, w, w_row, x, x_row, plane, p_row, dst, dst_row
):
    """Step the stripes as ``march_stripes`` does, bit for bit, with one thread per stripe."""
    for s in prange(stripes):
        left, right = s * columns // stripes, (s + 1) * columns // stripes
        march(t0, t1, table, rows, left, right, w, w_row, x, x_row, plane, p_row, dst, dst_row)
