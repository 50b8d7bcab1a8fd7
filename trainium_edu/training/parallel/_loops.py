"""Compiled loop of data-parallel training: where replicas do not hold the same bits."""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
import numpy as np
from numba import njit, prange

__all__ = ["differing", "differing_parallel"]


@njit(cache=True, inline="always")
def _differs(words, first, last):
    """Return all bits in which columns `first` to `last` of any row differ from those of row 0."""
    found = np.uint64(0)
    for row in range(1, words.shape[0]):
        one, other = words[0, first:last], words[row, first:last]
        for i in range(last - first):
            found |= one[i] ^ other[i]
    return found


@njit(cache=True)
def differing(words, begin, width, out):
    """Say for blocks of `width` columns of uint64[rows, columns] in which bits rows differ."""
    for block in range(out.size):
        first = begin + block * width
        out[block] = _differs(words, first, min(first + width, words.shape[1]))


@njit(cache=True, parallel=True)
def differing_parallel(words, begin, width, out):
    """Do the same, blocks side by side."""
    for block in prange(out.size):
        first = begin + block * width
        out[block] = _differs(words, first, min(first + width, words.shape[1]))
