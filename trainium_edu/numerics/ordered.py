"""Sums of rows in any stated order, rounded after every addition: what many ranks make together.

A sum over ranks is a tree of additions, and another tree gives other last bits.  The tree is data
here, so that a caller with an order (a schedule of moves, say) passes it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainium_edu.numerics import _loops
from trainium_edu.numerics.formats import BF16, FP32, get_format
from trainium_edu.numerics.launch import launch, launch_parallel
from trainium_edu.numerics.random_bits import check_count
from trainium_edu.numerics.rounding import loop_layout
from trainium_edu.specs.arguments import choice
from trainium_edu.specs.signatures import checked

__all__ = ["Additions", "add_in_order"]

_FEW = 2**15  #: additions that one core does before two have begun
_START = 32  #: additions that take as long as to begin with a block
MOST_PER_CALL = 2**24  #: additions between two returns to Python: 0.1 s at most


@dataclass(frozen=True, eq=False)
class Additions:
    """The additions that make the sum of every item, one item after the other.

    An operand below `ranks` is a row, and from there on a slot, where a sum is kept for a while.
    """

    ranks: int
    first: np.ndarray  #: int64[items + 1], where the additions of each item begin
    left: np.ndarray  #: int32[additions]
    right: np.ndarray  #: int32[additions]
    slot: np.ndarray  #: int32[additions], where the sum goes
    stream: np.ndarray  #: uint64[additions], the `step` of the random bits it is rounded by

    @cached_property
    def slots(self) -> int:
        """How many sums are kept at a time."""
        return int(self.slot.max(initial=0)) + 1


@checked
def add_in_order(
    rows: np.ndarray, order: Additions, sizes: np.ndarray, fmt="fp32", rounding="nearest", *, seed=0
) -> np.ndarray:
    """Add rows up in a stated order, and round every sum on the way.

    Parameters
    ----------
    rows : float32[ranks, elements]
        Numbers of the format.
    order : Additions
    sizes : int64[items]
        How many columns each item has; those beyond the last column count as padding.
    fmt : Format or str
    rounding : {"nearest", "stochastic"}
        The random bits of element e of item i are those of (seed, stream, i * widest + e).
    seed : int

    Returns
    -------
    float32[elements]

    Examples
    --------
    >>> order = Additions(3, np.array([0, 2]), *np.int32([[1, 3], [2, 0], [0, 0]]),
    ...                   np.zeros(2, np.uint64))
    >>> add_in_order(np.float32([[1], [2**24], [1]]), order, np.array([1])).tolist()
    [16777216.0]
    """
    fmt, seed = get_format(fmt), check_count(seed, "seed")
    choice(rounding, "rounding", ("nearest", "stochastic"))
    if rows.ndim != 2 or rows.dtype != np.float32 or len(rows) != order.ranks:
        raise ValueError(
            f"rows is {rows.dtype}{list(rows.shape)}; it must be float32[{order.ranks}, elements], "
            "a row for each rank of the order"
        )
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or len(sizes) != len(order.first) - 1:
        raise ValueError(
            f"sizes is {sizes.dtype}{list(sizes.shape)}; it must be int64[{len(order.first) - 1}], "
            "one length for each item of the order"
        )
    rows = np.require(rows, np.float32, ["C", "W"])
    out = np.empty(rows.shape[1], np.float32)
    blocks, adds = _blocks(sizes, rows.shape[1]), np.diff(order.first)
    if order.ranks == 1:
        return rows[0].copy()
    mode = 0 if fmt is FP32 else (1 if fmt is BF16 else 3) + (rounding == "stochastic")
    layout = loop_layout(fmt, "nearest", "infinity")
    settings = (mode, np.uint64(seed), layout, np.uint32(1 << fmt.mantissa_bits),
                np.float32(fmt.smallest_subnormal), out)  # fmt: skip
    inputs = rows, order.first, order.left, order.right, order.slot, order.stream, order.slots
    work = blocks[:, 2] - blocks[:, 1] + _START
    done = np.cumsum(work * adds[blocks[:, 0]])
    begin = before = 0
    while begin < len(blocks):
        end = max(begin + 1, int(np.searchsorted(done, before + MOST_PER_CALL, "right")))
        some = blocks[begin:end]
        if done[end - 1] - before < _FEW:
            launch(_loops.sum_blocks, *inputs, some, *settings)
        else:
            launch_parallel(_loops.sum_blocks_parallel, _loops.sum_blocks, *inputs, some, *settings)
        begin, before = end, int(done[end - 1])
    return out


def _blocks(sizes, columns):
    """Cut items into blocks: (item, first column, end, number of its first element)."""
    starts = np.concatenate(([0], np.cumsum(sizes)))
    inside = np.clip(np.diff(np.minimum(starts, columns)), 0, None)  # without the padding
    counts = -(-inside // _loops.BLOCK)
    item = np.repeat(np.arange(len(sizes)), counts)
    ahead = (np.arange(len(item)) - np.repeat(np.cumsum(counts) - counts, counts)) * _loops.BLOCK
    begin = starts[item] + ahead
    end = np.minimum(begin + _loops.BLOCK, starts[item] + inside[item])
    return np.stack([item, begin, end, item * int(np.max(sizes, initial=0)) + ahead], axis=1)
