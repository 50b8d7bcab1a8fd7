"""Which earlier rows touch bytes that a row writes, or wrote bytes that it touches."""

import numpy as np

from trainium_edu.neuroncore.timing import _loops
from trainium_edu.numerics.launch import launch

__all__ = ["EDGE", "find_overlaps"]

_PIECE = 1_000_000  # looks at an earlier access per call of a loop: Ctrl-C comes between two
_FEW = 512  # accesses of one domain that need no pieces: cutting takes longer than comparing
_MOST_PIECES = 1024
EDGE = np.dtype([("row", np.int32), ("kind", np.int8)], align=True)


def find_overlaps(row_access, engine, domain, rectangle, is_write):
    """Return where each row's edges to those that it must follow begin, and the edges.

    Parameters
    ----------
    row_access : int64[rows + 1]
        Where each row's accesses begin.
    engine : int8[rows]
        What the order of one engine's stream implies is left out, but for transfers.
    domain : int64[accesses]
        Accesses of different domains never overlap.
    rectangle : int64[4, accesses]
        First row, row end, first byte, byte end.
    is_write : bool[accesses]
    """
    rows = engine.size
    row_access, domain, rectangle, is_write = _in_pieces(row_access, domain, rectangle, is_write)
    # of each access: its rectangle, its domain, the older one in its list, and whose it is
    places = np.concatenate((rectangle, [domain, domain, domain]))
    domains = int(domain.max(initial=-1)) + 1
    tracked = np.zeros(domains, np.bool_)
    tracked[domain[is_write]] = True
    capacity = max(64, 3 * domain.size)
    while True:
        newest, seen = np.full((2, domains), -1), np.full(rows, -1)
        start, edges = np.zeros(rows + 1, np.int64), np.zeros(capacity, EDGE)
        progress = np.zeros(2, np.int64)
        while progress[0] < rows:
            launch(_loops.hazards, _PIECE, row_access, engine, places, is_write, tracked, newest,
                   seen, start, edges, progress)  # fmt: skip
        if progress[1] <= capacity:
            return start, edges[: progress[1]]
        capacity = int(progress[1])


def _in_pieces(row_access, domain, rectangle, is_write):
    """Cut written domains with many small accesses, along rows or bytes, into domains of their own.

    An access is in each piece that it touches, so that those that overlap meet in one: what a
    tile's many elements wait for is found among their neighbours.
    """
    count = np.bincount(domain)
    many = (count > _FEW) & (np.bincount(domain[is_write], minlength=count.size) > 0)
    if not many.any():
        return row_access, domain, rectangle, is_write
    low, size, pieces = np.zeros((3, 2, count.size), np.int64)
    for axis in range(2):
        first, end = rectangle[2 * axis : 2 * axis + 2]
        high = np.zeros(count.size, np.int64)
        low[axis] = np.iinfo(np.int64).max
        np.minimum.at(low[axis], domain, first)
        np.maximum.at(high, domain, end)
        extent = np.where(count > 0, high - low[axis], 1)
        usual = np.bincount(domain, end - first) / np.maximum(count, 1)
        pieces[axis] = np.clip(extent / np.maximum(usual, 1), 1, _MOST_PIECES)
        pieces[axis, ~many] = 1
        size[axis] = -(-extent // pieces[axis])
    which, chosen = pieces.argmax(0)[domain], np.arange(count.size)[domain]
    first = np.where(which, rectangle[2], rectangle[0]) - low[which, chosen]
    last = np.where(which, rectangle[3], rectangle[1]) - low[which, chosen] - 1
    first, last = first // size[which, chosen], last // size[which, chosen]
    copies = np.maximum(last - first + 1, 1).astype(np.intp)
    base = np.concatenate(([0], np.cumsum(pieces.max(0))))
    start = np.concatenate(([0], np.cumsum(copies)))
    again = np.arange(start[-1]) - np.repeat(start[:-1], copies)
    return (
        start[row_access], np.repeat(base[domain] + first, copies) + again,
        np.repeat(rectangle, copies, axis=1), np.repeat(is_write, copies),
    )  # fmt: skip
