"""Carry a schedule out on arrays: every rank has memory of its own, and every addition is done.

The slow and clear definition of what a schedule means.  All moves of a group read before any
writes; arrivals for one place are added in table order; each addition is rounded to the buffer's
type.  ``_loops.ring_all_reduce`` does the same additions in the same order, fast.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from trainium_edu import numerics
from trainium_edu.fabric.arguments import FabricError, are_several, flag, shown, whole_number
from trainium_edu.fabric.schedule import Collective, Op, Schedule, check, groups, item_sizes

__all__ = ["RanksDisagree", "States", "check_agreement", "execute"]

_NARROW = {
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(np.float16): "fp16",
    np.dtype(ml_dtypes.float8_e5m2): "fp8_e5m2",
}
_ROUNDINGS = ("nearest", "stochastic", "toward_zero")
_MOST_BYTES = 4 * 2**30


class RanksDisagree(FabricError):
    """Ranks that should hold the same bits do not."""


@dataclass(frozen=True, slots=True)
class States:
    """The values that every rank held after every step, for players and tests."""

    values: np.ndarray  #: [steps + 1, ranks, places, widest item]
    sizes: np.ndarray  #: int64[items], elements of each item


def execute(
    schedule: Schedule, inputs, *, rounding="nearest", seed=0, upset_seed=None, keep_states=False
):
    """Run a schedule on real data.

    Parameters
    ----------
    schedule : Schedule
        Checked before it runs.
    inputs : sequence of arrays, one per rank, or one array [ranks, ...]
        Same dtype everywhere: float32, float64, float16, BF16 (ml_dtypes), or integers.  For an
        all-gather each rank gives its chunk (lengths may differ), else its whole buffer.
    rounding : {"nearest", "stochastic", "toward_zero"}
        How sums are rounded to BF16 and FP16.
    seed : int
        For stochastic rounding.  The random bits of an element depend on (seed, step, turn, place
        in the buffer) and not on the rank, so that ranks that add the same get the same sum.
    upset_seed : int, optional
        Flip one bit of one copy on its way, chosen by this seed: what a broken link would do.
    keep_states : bool
        Return the memory after every step, too.

    Returns
    -------
    list of arrays, one per rank
        Whole buffers in the shape of the inputs; chunks for a reduce-scatter; for a broadcast and a
        permute the buffer received.
    states : States
        Only if asked for.

    Raises
    ------
    ScheduleError
        If the schedule loses or doubles a chunk.
    FabricError
        For inputs that do not fit.

    Examples
    --------
    >>> from trainium_edu.fabric import plan, torus
    >>> out = execute(plan(torus(2, 2), "all_reduce", "ring"), np.arange(12).reshape(4, 3))
    >>> out[3].tolist()
    [18, 22, 26]
    """
    check(schedule), flag(keep_states, "keep_states")
    if not isinstance(rounding, str) or rounding not in _ROUNDINGS:
        raise FabricError(f"rounding is {shown(rounding)}; use {' or '.join(_ROUNDINGS)}")
    whole_number(seed, "seed", least=0, most=2**63 - 1)
    if upset_seed is not None:
        whole_number(upset_seed, "upset_seed", least=0, most=2**63 - 1)
    buffers, shape = _as_buffers(schedule, inputs)
    sizes = _sizes(schedule, buffers)
    dtype, width = buffers[0].dtype, int(sizes.max(initial=0))
    steps = schedule.steps + 1 if keep_states else 1
    _check_memory(steps * schedule.ranks * schedule.places * max(width, 1) * dtype.itemsize)
    memory = np.zeros((schedule.ranks, schedule.places, width), dtype)
    _load(schedule, memory, buffers, sizes)
    add = _adder(dtype, rounding, seed, schedule.places, width)
    upset = _choose_upset(schedule, sizes, dtype, upset_seed)
    states = [memory.copy()] if keep_states else []
    for rows, rounds in groups(schedule):
        carried = memory[schedule.src[rows], schedule.item[rows]]
        if upset is not None and upset[0] in rows:
            _flip(carried[int(np.flatnonzero(rows == upset[0])[0])], upset[1], upset[2])
        step = int(schedule.step[rows[0]])
        for turn, chosen in enumerate(rounds):
            at = rows[chosen]
            where = schedule.dst[at], schedule.into[at]
            arrived, adds = carried[chosen], schedule.op[at] == Op.ADD
            if adds.all():
                memory[where] = add(memory[where], arrived, step, turn, schedule.into[at])
            elif not adds.any():
                memory[where] = arrived
            else:
                total = add(memory[where], arrived, step, turn, schedule.into[at])
                memory[where] = np.where(adds[:, None], total, arrived)
        if keep_states:
            while len(states) <= step + 1:
                states.append(states[-1])
            states[step + 1] = memory.copy()
    outputs = _unload(schedule, memory, sizes, shape)
    return (outputs, States(np.stack(states), sizes)) if keep_states else outputs


def _arrays(inputs):
    """Return one array per entry; raise if an entry is not an array."""
    if isinstance(inputs, np.ma.MaskedArray) or not are_several(inputs):
        raise FabricError(f"{shown(inputs)} is not a list of buffers; give one array to each rank")
    arrays = []
    for rank, buffer in enumerate(inputs):
        try:
            arrays.append(np.asarray(buffer))
        except (ValueError, OverflowError):
            arrays.append(np.empty(0, object))
        if isinstance(buffer, np.ma.MaskedArray) or arrays[-1].dtype == object:
            raise FabricError(f"rank {rank} brings {shown(buffer)}; bring an array of numbers")
    return arrays


def _as_buffers(schedule, inputs):
    """Return the inputs as flat arrays; raise which of them does not fit, and why."""
    arrays = _arrays(inputs)
    if len(arrays) != schedule.ranks:
        raise FabricError(
            f"{len(arrays)} buffers for {schedule.ranks} ranks; give one to each rank"
        )
    first = arrays[0]
    for rank, x in enumerate(arrays):
        if x.dtype != first.dtype:
            raise FabricError(
                f"rank {rank} has dtype {x.dtype} and rank 0 has {first.dtype}; a collective adds"
                " bit patterns of one type. Cast them first"
            )
        if x.shape != first.shape and schedule.collective is not Collective.ALL_GATHER:
            raise FabricError(
                f"rank {rank} has shape {x.shape} and rank 0 has {first.shape}; every rank brings"
                " a buffer of the same shape"
            )
    if first.dtype.kind not in "fiu" and first.dtype not in _NARROW:
        raise FabricError(
            f"buffers of dtype {first.dtype} cannot be added; use float32, BF16 or integers"
        )
    _check_memory(sum(x.nbytes for x in arrays))
    return [np.ascontiguousarray(x).reshape(-1) for x in arrays], first.shape


def _check_memory(nbytes):
    """Refuse what would fill the machine."""
    if nbytes > _MOST_BYTES:
        raise FabricError(
            f"running this takes {nbytes / 2**30:.1f} GiB of buffers; the limit is 4 GiB here."
            " Use shorter buffers, or ring_all_reduce, which works in place"
        )


def _sizes(schedule, buffers):
    if schedule.collective is Collective.ALL_GATHER:
        return item_sizes(schedule, [b.size for b in buffers])
    return item_sizes(schedule, buffers[0].size)


def _load(schedule, memory, buffers, sizes):
    offset = np.concatenate(([0], np.cumsum(sizes)))
    for rank, buffer in enumerate(buffers):
        if schedule.collective is Collective.BROADCAST and rank != schedule.root:
            continue
        mine = range(schedule.items)
        start = 0
        if schedule.collective is Collective.ALL_GATHER:
            mine = np.flatnonzero(schedule.owner == rank)
            start = offset[mine[0]] if len(mine) else 0
        for item in mine:
            at = int(offset[item] - start)
            memory[rank, item, : sizes[item]] = buffer[at : at + sizes[item]]


def _unload(schedule, memory, sizes, shape):
    outputs = []
    for rank in range(schedule.ranks):
        places, lengths = np.arange(schedule.items), sizes
        match schedule.collective:
            case Collective.REDUCE_SCATTER:
                places = np.flatnonzero(schedule.owner == rank)
                lengths = sizes[places]
            case Collective.ALL_TO_ALL:
                mine = sizes.reshape(schedule.chunks, schedule.lanes)[rank]
                places, lengths = places + schedule.items, np.tile(mine, schedule.chunks)
            case Collective.PERMUTE:
                places = places + schedule.items
        parts = [memory[rank, p, :n] for p, n in zip(places, lengths, strict=True)]
        flat = np.concatenate(parts) if parts else np.zeros(0, memory.dtype)
        whole = schedule.collective in (
            Collective.ALL_REDUCE, Collective.BROADCAST, Collective.PERMUTE,
        )  # fmt: skip
        outputs.append(flat.reshape(shape) if whole else flat)
    return outputs


def _adder(dtype, rounding, seed, places, width):
    """Return the addition of this dtype: in float32 and rounded, or the machine's own."""
    if dtype not in _NARROW:
        if rounding != "nearest":
            raise FabricError(f"{rounding} rounding applies to BF16 and FP16, not to {dtype}")

        def add(mine, arrived, step, turn, into):
            with np.errstate(over="ignore", invalid="ignore"):
                return mine + arrived

        return add

    def add_narrow(mine, arrived, step, turn, into):
        total = mine.astype(np.float32) + arrived.astype(np.float32)
        bits = None
        if rounding == "stochastic":
            drawn = numerics.draw_bits(places * width, seed=seed, step=step * 4096 + turn)
            bits = drawn.reshape(places, width)[into]
        return numerics.cast(total, _NARROW[dtype], rounding, random_bits=bits)

    return add_narrow


def _choose_upset(schedule, sizes, dtype, upset_seed):
    """Return (move, element, bit) to flip: among copies, so that one rank ends up different."""
    if upset_seed is None:
        return None
    rng = np.random.default_rng(upset_seed)
    copies = np.flatnonzero((schedule.op == Op.COPY) & (schedule.src != schedule.dst))
    lengths = np.resize(sizes, schedule.places)[schedule.item[copies]] if len(copies) else copies
    copies = copies[lengths > 0]
    if not len(copies):
        raise FabricError(
            f"{schedule.collective} by {schedule.algorithm} copies nothing that could be upset"
        )
    move = int(rng.choice(copies))
    element = int(rng.integers(np.resize(sizes, schedule.places)[schedule.item[move]]))
    return move, element, int(rng.integers(dtype.itemsize * 8))


def _flip(row, element, bit):
    octets = row[element : element + 1].view(np.uint8)
    octets[bit // 8] ^= np.uint8(1 << bit % 8)


def check_agreement(outputs) -> None:
    """Raise unless all ranks hold the same bits.

    Parameters
    ----------
    outputs : sequence of arrays

    Raises
    ------
    RanksDisagree
        Naming the first rank and element that differ from rank 0.

    Examples
    --------
    >>> check_agreement([np.float32([1, 2]), np.float32([1, 2])])
    """
    outputs = _arrays(outputs)
    if not outputs:
        raise FabricError("there are no outputs to compare; give one array for each rank")
    first = np.ascontiguousarray(outputs[0])
    for rank, other in enumerate(outputs):
        other = np.ascontiguousarray(other)
        if other.dtype != first.dtype or other.shape != first.shape:
            raise RanksDisagree(f"rank {rank} holds {other.dtype}{list(other.shape)}, rank 0"
                                f" {first.dtype}{list(first.shape)}")  # fmt: skip
        if other.tobytes() != first.tobytes():
            a = first.reshape(-1).view(np.uint8).reshape(first.size, -1)
            b = other.reshape(-1).view(np.uint8).reshape(first.size, -1)
            where = np.flatnonzero((a != b).any(axis=1))
            at = int(where[0])
            raise RanksDisagree(
                f"rank {rank} holds {other.reshape(-1)[at]!s} at element {at}, rank 0 holds"
                f" {first.reshape(-1)[at]!s} ({len(where)} elements differ): the copies of the"
                " model would now drift apart"
            )
