"""The sum that a schedule's moves make, without making the moves.

``execute`` moves chunks from memory to memory, as the machine does.  The result is a tree of
additions per chunk.  The table of moves, followed once with names in place of numbers, gives the
list of these additions; a compiled loop carries it out.  The sums are equal bit for bit, with the
roundings of every hop; the tests hold the two equal.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np

from trainium_edu.fabric.arguments import FabricError, choice, shown, whole_number
from trainium_edu.fabric.bulk import ring_all_reduce
from trainium_edu.fabric.schedule import Collective, Op, Schedule, check, groups, item_sizes
from trainium_edu.numerics import ordered
from trainium_edu.numerics.formats import FP32, Format, get_format

__all__ = ["sum_in_ring", "sum_rows"]

_MOST_IN_RING = 4096


def sum_rows(
    schedule: Schedule, rows, fmt="fp32", rounding="nearest", *, seed=0, elements=None
) -> np.ndarray:
    """Return what an all-reduce or a reduce-scatter makes of one row per rank.

    Parameters
    ----------
    schedule : Schedule
        Of an all-reduce, after which all ranks hold the same sum, or of a reduce-scatter.
    rows : float32[ranks, elements]
        Numbers of the format.
    fmt : str
        ``"fp32"``, ``"bf16"``, ``"fp16"``, ...; every sum is rounded to it.
    rounding : {"nearest", "stochastic"}
    seed : int
        As in :func:`execute`, for the same bits.
    elements : int, optional
        Length to which rows count as padded before they are cut into chunks.

    Returns
    -------
    float32[elements of a row]
        Of a reduce-scatter all chunks, one after the other.

    Raises
    ------
    FabricError
        For another collective, for rows that do not fit, and if ranks end with different sums.

    Examples
    --------
    >>> from trainium_edu.fabric import plan, torus
    >>> sum_rows(plan(torus(2, 2), "all_reduce", "rdh"), np.ones((4, 3), np.float32)).tolist()
    [4.0, 4.0, 4.0]
    """
    order = additions(check(schedule))
    rows, fmt = _known(rows, fmt, rounding, seed)
    if len(rows) != schedule.ranks:
        raise FabricError(
            f"there are {len(rows)} rows for {schedule.ranks} ranks; give one row per rank"
        )
    elements = rows.shape[1] if elements is None else whole_number(
        elements, "the number of elements", least=0, most=2**53
    )  # fmt: skip
    if elements < rows.shape[1]:
        raise FabricError(f"rows of {rows.shape[1]} elements cannot be padded to {elements}")
    return ordered.add_in_order(
        rows, order, item_sizes(schedule, elements), fmt, rounding, seed=seed
    )


def sum_in_ring(rows, fmt="fp32", rounding="nearest", *, seed=0) -> np.ndarray:
    """Return the sum of many rows in the order of one directed ring 0, 1, 2, ..., without a plan.

    Parameters
    ----------
    rows : float32[ranks, elements]
    fmt, rounding, seed
        As in :func:`sum_rows`; above 4096 ranks FP32 only.

    Returns
    -------
    float32[elements]

    Examples
    --------
    >>> sum_in_ring(np.ones((600, 2), np.float32), "bf16").tolist()
    [256.0, 256.0]
    """
    rows, fmt = _known(rows, fmt, rounding, seed)
    ranks = len(rows)
    if fmt is FP32:
        return ring_all_reduce(np.array(rows, np.float32))[0]
    if ranks > _MOST_IN_RING:
        raise FabricError(
            f"a ring of {ranks} ranks in {fmt.name} is too long a list of additions (the limit is"
            f" {_MOST_IN_RING} ranks); sum in fp32"
        )
    sizes = rows.shape[1] // ranks + (np.arange(ranks) < rows.shape[1] % ranks)
    return ordered.add_in_order(rows, _ring(ranks), sizes, fmt, rounding, seed=seed)


def _known(rows, fmt, rounding, seed) -> tuple[np.ndarray, Format]:
    """Return rows and a format that sums are made of; raise for what none can be."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype != np.float32:
        dtype = f" of {rows.dtype}" if isinstance(rows, np.ndarray) else ""
        raise FabricError(
            f"rows is {shown(rows)}{dtype}; give float32[ranks, elements], one row per rank"
            " (execute(schedule, buffers) takes other dtypes)"
        )
    choice(rounding, ("nearest", "stochastic"), "rounding")
    whole_number(seed, "seed", least=0, most=2**64 - 1)
    try:
        return rows, get_format(fmt)
    except (TypeError, ValueError) as problem:
        raise FabricError(str(problem)) from None


@lru_cache(maxsize=2)
def _ring(ranks):
    """Return the additions of a ring: chunk k begins at rank k + 1, and ends at rank k."""
    turn = np.tile(np.arange(ranks - 1), ranks)
    chunk = np.repeat(np.arange(ranks), ranks - 1)
    left = np.where(turn == 0, (chunk + 1) % ranks, ranks)
    return ordered.Additions(
        ranks, np.arange(ranks + 1) * (ranks - 1), left.astype(np.int32),
        ((chunk + 2 + turn) % ranks).astype(np.int32), np.zeros(len(turn), np.int32),
        (turn * 4096).astype(np.uint64),
    )  # fmt: skip


@lru_cache(maxsize=64)
def additions(schedule: Schedule) -> ordered.Additions:
    """Follow the moves with names in place of numbers; return each item's additions.

    A name below ``ranks * items`` is a rank's own part of an item; the others are sums of two.
    Equal sums get one name (a + b is b + a), which shows whether all ranks end with equal sums.
    """
    if schedule.collective not in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER):
        raise FabricError(f"{schedule.collective} adds nothing; sum_rows sums")
    ranks, items = schedule.ranks, schedule.items
    leaves = ranks * items
    names = np.arange(leaves).reshape(ranks, items)
    augends: list[np.ndarray] = []
    addends: list[np.ndarray] = []
    stream: list[np.ndarray] = []
    count, turns = leaves, [leaves]
    for rows, rounds in groups(schedule):
        carried = names[schedule.src[rows], schedule.item[rows]]
        for turn, chosen in enumerate(rounds):
            at = rows[chosen]
            where, new = (schedule.dst[at], schedule.into[at]), carried[chosen]
            adds = np.flatnonzero(schedule.op[at] == Op.ADD)
            if len(adds):
                mine, arrived = names[where][adds], new[adds]
                key = np.minimum(mine, arrived) * count + np.maximum(mine, arrived)
                _, firsts, same = np.unique(key, return_index=True, return_inverse=True)
                new = new.copy()
                new[adds] = count + same
                augends.append(mine[firsts])
                addends.append(arrived[firsts])
                stream.append(np.full(len(firsts), int(schedule.step[at[0]]) * 4096 + turn))
                count += len(firsts)
                turns.append(count)
            names[where] = new
    roots = names[0 if schedule.collective is Collective.ALL_REDUCE else schedule.owner,
                  np.arange(items)]  # fmt: skip
    if schedule.collective is Collective.ALL_REDUCE and (names != roots).any():
        raise FabricError(
            f"after {schedule.algorithm} ranks hold sums made in different orders, which need not "
            "be equal; execute(schedule, buffers) returns each"
        )
    a, b, streams = (
        np.concatenate([*parts, np.empty(0, np.int64)]) for parts in (augends, addends, stream)
    )
    return _Tree(leaves, a, b, turns).in_order(roots, items, ranks, streams)


class _Tree:
    """Sums of two, numbered from `own` on, in the order in which they are made."""

    def __init__(self, leaves, augends, addends, turns):
        self.own, self.left, self.right = leaves, augends, addends
        self.turns = list(pairwise(turns))  #: names made side by side
        self.size = np.zeros(leaves + len(augends), np.int64)  #: additions that a sum takes
        self.need = np.zeros(leaves + len(augends), np.int64)  #: slots that it takes
        for begin, end in self.turns:
            a, b = augends[begin - leaves : end - leaves], addends[begin - leaves : end - leaves]
            self.size[begin:end] = self.size[a] + self.size[b] + 1
            more, less = (f(self.need[a], self.need[b]) for f in (np.maximum, np.minimum))
            self.need[begin:end] = np.maximum(more, np.maximum(less + 1, 1))

    def in_order(self, roots, items, ranks, stream) -> ordered.Additions:
        """Lay the additions of each root in a row, operands first: what needs more slots leads."""
        leaves, sizes = self.own, self.size[roots]
        first = np.concatenate(([0], np.cumsum(sizes)))
        begins, slots = np.full(len(self.size), -1), np.zeros(len(self.size), np.int64)
        begins[roots] = first[:-1]
        for begin, end in reversed(self.turns):
            some = begin + np.flatnonzero(begins[begin:end] >= 0)
            a, b = self.left[some - leaves], self.right[some - leaves]
            swap = self.need[b] > self.need[a]
            heavy, light = np.where(swap, b, a), np.where(swap, a, b)
            begins[heavy], slots[heavy] = begins[some], slots[some]
            begins[light], slots[light] = begins[some] + self.size[heavy], slots[some] + 1
        used = leaves + np.flatnonzero(begins[leaves:] >= 0)
        place = begins[used] + self.size[used] - 1
        order = np.empty(len(used), np.int64)
        order[place] = used

        def operand(name):
            return np.where(name < leaves, name // items, ranks + slots[name]).astype(np.int32)

        a, b = self.left[order - leaves], self.right[order - leaves]
        return ordered.Additions(
            ranks, first, operand(a), operand(b), slots[order].astype(np.int32),
            stream[order - leaves].astype(np.uint64),
        )  # fmt: skip
