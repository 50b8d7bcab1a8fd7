"""Compiled loops of the fabric: arrays in, ``out`` filled."""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
from numba import njit, prange

from trainium_edu.fabric import touches

__all__ = ["count_touches", "ring_all_reduce", "ring_all_reduce_parallel"]


#: The plain function of ``touches.py``, compiled; Numba caches it beside that file.
count_touches = njit(cache=True)(touches.count_touches)


@njit(cache=True)
def _ring_block(buffers, starts, low, high, total):
    """Sum columns ``low`` to ``high`` of all rows in ring order, and write the sums to all rows.

    Chunk k is columns ``starts[k]`` to ``starts[k+1]``; its sum starts at row k+1, takes rows in
    ascending order, passes the end, and finishes at row k.  So rows are walked twice: first each
    row gives its part of the chunks that started above it, then of the others.
    """
    ranks = buffers.shape[0]
    for row in range(1, ranks):
        fresh = max(low, min(high, starts[row - 1]))
        end = max(low, min(high, starts[row]))
        running, part = total[low:fresh], buffers[row, low:fresh]
        for i in range(running.size):
            running[i] += part[i]
        running, part = total[fresh:end], buffers[row, fresh:end]
        for i in range(running.size):
            running[i] = part[i]
    fresh = max(low, min(high, starts[ranks - 1]))
    running, part = total[fresh:high], buffers[0, fresh:high]
    for i in range(running.size):
        running[i] = part[i]
    for row in range(ranks):
        begin = max(low, min(high, starts[row]))
        end = fresh if row == 0 else high
        running, part = total[begin:end], buffers[row, begin:end]
        for i in range(running.size):
            running[i] += part[i]
    running = total[low:high]
    for row in range(ranks):
        part = buffers[row, low:high]
        for i in range(running.size):
            part[i] = running[i]


@njit(cache=True)
def ring_all_reduce(buffers, starts, first, last, width, total):
    """Sum columns ``first`` to ``last``, block after block."""
    for block in range((last - first + width - 1) // width):
        left = first + block * width
        _ring_block(buffers, starts, left, min(left + width, last), total)


# A function of its own: two decorators on one function would share one file of Numba's cache.
@njit(cache=True, parallel=True)
def ring_all_reduce_parallel(buffers, starts, first, last, width, total):
    """Sum columns ``first`` to ``last``, blocks side by side."""
    for block in prange((last - first + width - 1) // width):
        left = first + block * width
        _ring_block(buffers, starts, left, min(left + width, last), total)
