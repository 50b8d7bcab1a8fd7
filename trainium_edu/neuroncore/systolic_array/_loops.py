"""Compiled loops of the systolic array: arrays in, planes and results filled, nothing checked.

Read ``registers.py`` first: it moves the same numbers between the same registers, one PE at a time.

One cycle of the array is one sweep over its rows, bottom first, so that each row still finds the
sums of the row above from the cycle before.  In row k at cycle t the PEs of columns lo to hi - 1
work for one pass: vector ``t - k - m - start`` meets column m, so that with the moving operand kept
in *reversed* order the three inputs and the output of a row are contiguous in m, and the compiler
takes 8 or 16 columns at once.  Each sum still grows by one product per cycle, top row first: the
order of additions is the array's.

Offsets are unsigned so that the compiler need not think about negative indices, and the plane's
rows are a little longer than a power of two so that a row and the one above do not collide in the
cache.
"""

import numba
from numba import njit, prange, uintp

numba.config.THREADING_LAYER = "workqueue"  # the omp layer slows a following matmul

START, END, K, M, W, X, DST, ACCUMULATE = range(8)  # columns of the table of passes


def thread_count():
    """Return how many threads a parallel loop may use."""
    return numba.config.NUMBA_NUM_THREADS


@njit(cache=True)
def march(t0, t1, table, rows, left, right, w, w_row, x, x_row, plane, p_row, dst, dst_row):
    """Step the columns left to right - 1 through cycles t0 to t1 - 1.

    ``plane[(k + 1) * p_row + m]`` is the sum register of PE (k, m); row 0 of the plane is zero.
    """
    first = 0
    for t in range(t0, t1):
        while first < table.shape[0] and table[first, END] + rows - 1 + right <= t:
            first += 1
        for j in range(first, table.shape[0]):
            start = table[j, START]
            if start + left > t:
                break
            end = table[j, END]
            width = min(right, table[j, M])
            bottom = min(rows - 1, t - start - left)
            top = max(0, t - end + 2 - width)
            depth = table[j, K]
            for k in range(bottom, max(top, depth) - 1, -1):  # below the weights: sums pass
                lo = max(left, t - k - end + 1)
                hi = min(width, t - k - start + 1)
                here = uintp((k + 1) * p_row + lo)
                above = uintp(k * p_row + lo)
                for i in range(uintp(max(hi - lo, 0))):
                    plane[here + i] = plane[above + i]
            for k in range(min(bottom, depth - 1), top - 1, -1):
                lo = max(left, t - k - end + 1)
                hi = min(width, t - k - start + 1)
                here = uintp((k + 1) * p_row + lo)
                above = uintp(k * p_row + lo)
                wi = uintp(table[j, W] + k * w_row + lo)
                xi = uintp(table[j, X] + k * x_row - (t - k) + lo)
                for i in range(uintp(max(hi - lo, 0))):
                    plane[here + i] = plane[above + i] + w[wi + i] * x[xi + i]
            if bottom == rows - 1:  # results leave into PSUM
                lo = max(left, t - bottom - end + 1)
                hi = min(width, t - bottom - start + 1)
                at = table[j, DST] + t - bottom - start
                if table[j, ACCUMULATE]:
                    for m in range(lo, hi):
                        dst[at + m * dst_row - m] += plane[rows * p_row + m]
                else:
                    for m in range(lo, hi):
                        dst[at + m * dst_row - m] = plane[rows * p_row + m]


@njit(cache=True)
def march_recorded(t0, t1, table, rows, columns, w, w_row, x, x_row, planes, dst, dst_row):
    """Step the whole array, keeping every sum: ``planes[(t * rows + k) * columns + m]``."""
    first = 0
    for t in range(t0, t1):
        while first < table.shape[0] and table[first, END] + rows - 1 + columns <= t:
            first += 1
        for j in range(first, table.shape[0]):
            start = table[j, START]
            if start > t:
                break
            end = table[j, END]
            width = table[j, M]
            bottom = min(rows - 1, t - start)
            top = max(0, t - end + 2 - width)
            depth = table[j, K]
            for k in range(bottom, max(top, depth) - 1, -1):
                lo = max(0, t - k - end + 1)
                hi = min(width, t - k - start + 1)
                here = uintp((t * rows + k) * columns + lo)
                above = uintp(((t - 1) * rows + k - 1) * columns + lo)
                for i in range(uintp(max(hi - lo, 0))):
                    planes[here + i] = planes[above + i]
            for k in range(min(bottom, depth - 1), max(top, 1) - 1, -1):
                lo = max(0, t - k - end + 1)
                hi = min(width, t - k - start + 1)
                here = uintp((t * rows + k) * columns + lo)
                above = uintp(((t - 1) * rows + k - 1) * columns + lo)
                wi = uintp(table[j, W] + k * w_row + lo)
                xi = uintp(table[j, X] + k * x_row - (t - k) + lo)
                for i in range(uintp(max(hi - lo, 0))):
                    planes[here + i] = planes[above + i] + w[wi + i] * x[xi + i]
            if top == 0:
                lo = max(0, t - end + 1)
                hi = min(width, t - start + 1)
                here = uintp(t * rows * columns + lo)
                wi = uintp(table[j, W] + lo)
                xi = uintp(table[j, X] - t + lo)
                for i in range(uintp(max(hi - lo, 0))):
                    planes[here + i] = numba.float32(0.0) + w[wi + i] * x[xi + i]
            if bottom == rows - 1:
                lo = max(0, t - bottom - end + 1)
                hi = min(width, t - bottom - start + 1)
                at = table[j, DST] + t - bottom - start
                from_row = (t * rows + bottom) * columns
                if table[j, ACCUMULATE]:
                    for m in range(lo, hi):
                        dst[at + m * dst_row - m] += planes[from_row + m]
                else:
                    for m in range(lo, hi):
                        dst[at + m * dst_row - m] = planes[from_row + m]


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
    """Do the same with one thread per stripe; the same bits, as columns never meet."""
    for s in prange(stripes):
        left, right = s * columns // stripes, (s + 1) * columns // stripes
        march(t0, t1, table, rows, left, right, w, w_row, x, x_row, plane, p_row, dst, dst_row)
