"""All ranks of a big machine on real data: the ring all-reduce, without a list of its moves.

A ring of 30,000 ranks makes 1.8 thousand million moves, too many to write down.  But the sums they
make are easy to name: the sum of chunk k starts at rank k+1 and takes the ranks in ring order.  The
loop does exactly these additions, chunk by chunk in the order of the ring, on every rank's own
memory, and the tests hold it equal, bit for bit, to the step-by-step executor.
"""

import numpy as np

from trainium_edu.fabric import _loops
from trainium_edu.fabric.topology import FabricError
from trainium_edu.numerics.launch import launch_parallel

__all__ = ["ring_all_reduce"]

BLOCK_BYTES = 64 * 1024  # one block of sums stays in the second-level cache
MOST_BYTES_PER_CALL = 256 * 2**20  # then back to Python, so that Ctrl-C works


def ring_all_reduce(buffers: np.ndarray) -> np.ndarray:
    """Sum the rows of an array in ring order, in place: every row becomes the total.

    Parameters
    ----------
    buffers : float32, float64, int32 or int64 [ranks, elements], C order, writable
        Row r is the memory of rank r; the ring visits ranks 0, 1, 2, ...

    Returns
    -------
    numpy.ndarray
        The same array.

    Raises
    ------
    FabricError
        For another shape, layout or dtype.

    Examples
    --------
    >>> ring_all_reduce(np.float32([[1, 2], [10, 20], [100, 200]])).tolist()
    [[111.0, 222.0], [111.0, 222.0], [111.0, 222.0]]

    Notes
    -----
    Order of additions for chunk k of N: ``x[k+1] + x[k+2] + ... + x[N-1] + x[0] + ... + x[k]``,
    from left to right, as in :mod:`~trainium_edu.fabric.algorithms.ring` with one directed cycle.
    """
    masked = isinstance(buffers, np.ma.MaskedArray)
    if masked or not isinstance(buffers, np.ndarray) or buffers.ndim != 2:
        raise FabricError("ring_all_reduce takes one array [ranks, elements]; stack the buffers")
    if buffers.dtype not in (np.float32, np.float64, np.int32, np.int64):
        raise FabricError(
            f"ring_all_reduce works on float32, float64, int32 and int64, not {buffers.dtype};"
            " execute(plan(...)) rounds sums to BF16"
        )
    if not (buffers.flags.c_contiguous and buffers.flags.writeable):
        raise FabricError("ring_all_reduce writes in place: it needs a writable array in C order")
    ranks, elements = buffers.shape
    if ranks == 0:
        raise FabricError("ring_all_reduce needs at least one rank")
    whole, rest = divmod(elements, ranks)
    chunk = np.arange(ranks + 1, dtype=np.int64)
    starts = chunk * whole + np.minimum(chunk, rest)
    total = np.empty(elements, buffers.dtype)
    width = BLOCK_BYTES // buffers.itemsize
    columns = max(2 * width, MOST_BYTES_PER_CALL // max(1, ranks * buffers.itemsize))
    for first in range(0, elements, columns):
        last = min(first + columns, elements)
        launch_parallel(
            _loops.ring_all_reduce_parallel, _loops.ring_all_reduce,
            buffers, starts, first, last, min(width, max(1, -(-(last - first) // 2))), total,
        )  # fmt: skip
    return buffers
