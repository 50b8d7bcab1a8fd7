"""Compiled loops of the fabric: arrays in, ``out`` filled."""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
from numba import njit, prange

from trainium_edu.fabric import touches

__all__ = ["count_touches", "ring_all_reduce", "ring_all_reduce_parallel"]


#: The plain function of ``touches.py``, compiled; Numba caches it beside that file.
count_touches = njit(cache=True)(touches.count_touches)


@njit(cache=True)
def _ring_block(buffers, starts, left, right, total):
    """Sum columns ``left`` to ``right`` of all rows in ring order, and write the sums to all rows.

    Chunk k is columns ``starts[k]`` to ``starts[k+1]``; its sum starts at row k+1, takes rows in
    ascending order, passes the end, and finishes at row k.  So rows are walked twice: first each
    row gives its part of the chunks that started above it, then of the others.
    """
    ranks = buffers.shape[0]
    for row in range(1, ranks):
        fresh = max(left, min(right, starts[row - 1]))
        end = max(left, min(right, starts[row]))
        running, own = total[left:fresh], buffers[row, left:fresh]
        for i in range(running.size):
            running[i] += own[i]
        running, own = total[fresh:end], buffers[row, fresh:end]
        for i in range(running.size):
            running[i] = own[i]
    fresh = max(left, min(right, starts[ranks - 1]))
    running, own = total[fresh:right], buffers[0, fresh:right]
    for i in range(running.size):
        running[i] = own[i]
    for row in range(ranks):
        begin = max(left, min(right, starts[row]))
        end = fresh if row == 0 else right
        running, own = total[begin:end], buffers[row, begin:end]
        for i in range(running.size):
            running[i] += own[i]
    running = total[left:right]
    for row in range(ranks):
        own = buffers[row, left:right]
        for i in range(running.size):
            own[i] = running[i]


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
