"""A collective as plain data: who sends which chunk to whom in which step, and who adds.

A :class:`Schedule` is a table of moves.  It can be executed on arrays, timed, drawn, counted, and
checked by somebody else's code; nothing in it knows how it was made.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import lru_cache
from itertools import islice

import numpy as np

from trainium_edu.fabric.arguments import (
    FabricError,
    are_several,
    choice,
    made,
    shown,
    whole_number,
    whole_numbers,
)

__all__ = [
    "Collective", "Moves", "Op", "Schedule", "ScheduleError", "a_collective", "a_schedule", "check",
    "groups", "item_sizes",
]  # fmt: skip


_MOST_MOVES = 1_000_000
#: The columns of moves, in the order in which `Moves.add` broadcasts them.
_COLUMNS = {
    "step": np.int32, "phase": np.int8, "src": np.int32, "dst": np.int32, "item": np.int32,
    "into": np.int32, "op": np.int8, "fused": np.bool_,
}  # fmt: skip


class Collective(StrEnum):
    """The result that all ranks want in the end."""

    ALL_REDUCE = "all_reduce"  #: every rank gets the sum of all buffers
    REDUCE_SCATTER = "reduce_scatter"  #: rank r gets chunk r of the sum
    ALL_GATHER = "all_gather"  #: every rank gets the chunks of all ranks
    ALL_TO_ALL = "all_to_all"  #: rank d gets chunk d of every rank
    BROADCAST = "broadcast"  #: every rank gets the root's buffer
    PERMUTE = "permute"  #: rank p[r] gets rank r's buffer


def a_collective(value) -> Collective:
    """Return the collective of this name; raise and list them all otherwise."""
    return choice(value, Collective, "collective")


class Op(IntEnum):
    """The use that a move makes of the item that arrives."""

    COPY = 0  #: overwrite
    ADD = 1  #: add to what is there
    MOVE = 2  #: overwrite, and the sender's copy counts as used up
    SETTLE = 3  #: on one rank: write the sum of what arrived back to memory; moves nothing


class ScheduleError(FabricError):
    """A schedule that loses, doubles or misplaces a chunk; found before anything runs."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The moves of one collective, in order.

    Moves with the same ``(step, phase)`` happen together: all read before any writes.  Arrivals
    for the same place are applied in table order, and that is the order of additions.  Phases 0
    and 2 are the on-chip work before and after the links move (phase 1) in the same step.

    A buffer is cut into ``chunks`` chunks, and each chunk into ``lanes`` pieces that travel
    different ways at the same time; an *item* is one piece: ``item = chunk * lanes + lane``.
    ``into`` is the item's place at the receiver, the same but for all-to-all and permute, where
    places ``chunks * lanes ...`` are the output buffer.
    """

    collective: Collective
    algorithm: str
    ranks: int
    ranks_per_chip: int
    chunks: int
    lanes: int
    step: np.ndarray  #: int32[moves], not decreasing
    phase: np.ndarray  #: int8[moves]
    src: np.ndarray  #: int32[moves], rank whose memory is read
    dst: np.ndarray  #: int32[moves], rank whose memory is written
    item: np.ndarray  #: int32[moves]
    into: np.ndarray  #: int32[moves]
    op: np.ndarray  #: int8[moves], of :class:`Op`
    fused: np.ndarray  #: bool[moves]: on-chip, shares a memory touch with the sender's next move
    owner: np.ndarray  #: int32[items], rank that ends a reduce-scatter with, or starts a gather
    root: int = 0  #: the root of a broadcast
    target: tuple[int, ...] = ()  #: the targets of a permute
    note: str = ""

    def __post_init__(self):
        for name in ("owner", *_COLUMNS):
            column = made(getattr(self, name), np.ndarray, f"{name} of a schedule is one")
            if name != "owner" and column.shape != (self.step.size,):
                raise ScheduleError(f"{name} has shape {column.shape} for {self.step.size} moves")
            column.flags.writeable = False

    def __repr__(self):
        return (
            f"Schedule({self.collective} by {self.algorithm}, {self.ranks} ranks, "
            f"{self.steps} steps, {len(self)} moves)"
        )

    def __len__(self):
        return len(self.step)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self.step[-1]) + 1 if len(self.step) else 0

    @property
    def items(self) -> int:
        """Number of pieces that a buffer is cut into."""
        return self.chunks * self.lanes

    @property
    def places(self) -> int:
        """Number of places for items in each rank's memory."""
        two = self.collective in (Collective.ALL_TO_ALL, Collective.PERMUTE)
        return self.items * (2 if two else 1)

    def __str__(self):
        """Show the moves, one per line, as a reader would check them (the first forty)."""
        names = {Op.COPY: "→", Op.ADD: "+→", Op.MOVE: "⇒", Op.SETTLE: "settles"}
        lines = [repr(self)]
        for i in range(min(len(self), 40)):
            lane = f".{self.item[i] % self.lanes}" if self.lanes > 1 else ""
            lines.append(
                f"  step {self.step[i]}: rank {self.src[i]} {names[Op(self.op[i])]} "
                f"rank {self.dst[i]}, chunk {self.item[i] // self.lanes}{lane}"
            )
        if len(self) > 40:
            lines.append(f"  ... and {len(self) - 40} more")
        return "\n".join(lines)

    @classmethod
    def from_moves(
        cls, collective, ranks, moves, *, algorithm="my own", chunks=None, ranks_per_chip=1, root=0
    ):
        """Make a schedule from a list of moves written by hand.

        Parameters
        ----------
        collective : str
        ranks : int
        moves : iterable of (step, src, dst, chunk, op)
            ``op`` is ``"copy"`` or ``"add"``.
        algorithm : str
        chunks : int, optional
            One per rank unless said otherwise.
        ranks_per_chip : int
        root : int

        Returns
        -------
        Schedule
            Not yet checked; :func:`check` does, and the executor always does.

        Raises
        ------
        ScheduleError
            If a line is not a move.

        Examples
        --------
        >>> halves = [(0, 0, 1, 1, "add"), (0, 1, 0, 0, "add")]
        >>> check(Schedule.from_moves("reduce_scatter", 2, halves))
        Schedule(reduce_scatter by my own, 2 ranks, 1 steps, 2 moves)
        """
        collective = a_collective(collective)
        ranks = whole_number(ranks, "the number of ranks", most=4096)
        ranks_per_chip = whole_number(ranks_per_chip, "ranks_per_chip", most=ranks)
        root = whole_number(root, "root", least=0, most=ranks - 1)
        default = 1 if collective is Collective.BROADCAST else ranks
        chunks = whole_number(default if chunks is None else chunks, "chunks", most=65536)
        if not isinstance(algorithm, str):
            raise ScheduleError(f"algorithm is {shown(algorithm)}; it is a name for the plan")
        if ranks % ranks_per_chip:
            raise ScheduleError(f"{ranks} ranks do not fill chips of {ranks_per_chip}; give both")
        recorded = Moves()
        for row in sorted((_move(line) for line in _rows(moves)), key=lambda m: m[0]):
            recorded.add(*row)
        owner = np.arange(chunks) if chunks == ranks else np.full(chunks, root)
        return recorded.schedule(
            collective, algorithm, ranks, ranks_per_chip, owner=owner, root=root
        )


def _rows(moves):
    try:
        listed = list(islice(moves, _MOST_MOVES + 1))
    except TypeError:
        raise ScheduleError(
            f"{shown(moves)} is not a list of moves; give a list of tuples"
        ) from None
    if len(listed) > _MOST_MOVES:
        raise ScheduleError(
            f"over {_MOST_MOVES} moves are too many to write down; take fewer ranks"
        )
    return listed


def _move(line):
    """Return a move written by hand as integers; raise what it should look like otherwise."""
    try:
        *numbers, op = line
        code = Op[op.upper()] if op in ("copy", "add", "COPY", "ADD") else None
        step, src, dst, chunk = numbers
    except (TypeError, ValueError):
        code = None
    if code is None:
        raise ScheduleError(
            f"{shown(line)} is not a move; write (step, src, dst, chunk, 'copy' or 'add')"
        )
    for value, name in ((step, "step"), (src, "src"), (dst, "dst"), (chunk, "chunk")):
        whole_number(value, f"{name} in {shown(line)}", least=0, most=2**31 - 1)
    return step, src, dst, chunk, code


class Moves:
    """A pad on which producers write moves, one or many at a time; arguments broadcast."""

    def __init__(self):
        self._rows = []

    def add(self, step, src, dst, item, op, *, phase=1, fused=False, into=None):
        """Write moves down; any argument may be an array."""
        into = item if into is None else into
        try:
            row = np.broadcast_arrays(step, phase, src, dst, item, into, op, fused)
        except ValueError:
            row = [np.empty(0, object)]
        *numbers, flags = row
        good = flags.dtype.kind == "b" and all(
            n.dtype.kind in "iu" and (not n.size or 0 <= n.min() <= n.max() < 2**31)
            for n in numbers
        )
        if not good:
            raise ScheduleError(
                "a move has integers from 0, or arrays of them of one length, and fused is"
                f" True or False; got step {shown(step)}, src {shown(src)}, dst {shown(dst)}, item"
                f" {shown(item)}, op {shown(op)}"
            )
        self._rows.append([np.ravel(a) for a in row])

    def schedule(
        self, collective, algorithm, ranks, ranks_per_chip, *, owner, lanes=1, root=0, target=(),
        note="",
    ) -> Schedule:  # fmt: skip
        """Put the moves in order of step and phase and make them a schedule."""
        columns = (
            [np.concatenate(c) for c in zip(*self._rows, strict=True)]
            if self._rows
            else [np.zeros(0, np.int64)] * len(_COLUMNS)
        )
        order = np.lexsort((columns[1], columns[0]))  # stable: table order within a phase
        ranks = whole_number(ranks, "the number of ranks")
        lanes = whole_number(lanes, "lanes")
        root = whole_number(root, "root", least=0, most=ranks - 1)
        owner = whole_numbers(owner, "owner", most=ranks - 1).astype(np.int32)
        if not (isinstance(algorithm, str) and isinstance(note, str)) or len(owner) % lanes:
            raise ScheduleError(
                f"algorithm and note are text, and {lanes} lanes of a chunk have an owner each; got"
                f" {shown(algorithm)} and {len(owner)} owners"
            )
        return Schedule(
            collective=a_collective(collective), algorithm=algorithm, ranks=ranks,
            ranks_per_chip=whole_number(ranks_per_chip, "ranks_per_chip", most=ranks),
            chunks=len(owner) // lanes, lanes=lanes, owner=owner, root=root, note=note,
            target=tuple(whole_numbers(target, "target", -1, ranks - 1).tolist()),
            **{name: column[order].astype(dtype)
               for (name, dtype), column in zip(_COLUMNS.items(), columns, strict=True)},
        )  # fmt: skip


def item_sizes(schedule: Schedule, elements) -> np.ndarray:
    """Return how many elements each item has.

    Parameters
    ----------
    schedule : Schedule
    elements : int or int array [chunks]
        Length of the whole buffer, cut as evenly as possible (the first chunks are the longer
        ones), or of each chunk.

    Returns
    -------
    int64[items]

    Examples
    --------
    >>> s = Schedule.from_moves("reduce_scatter", 3, [])
    >>> item_sizes(s, 7).tolist()
    [3, 2, 2]
    """
    chunks = a_schedule(schedule).chunks
    if are_several(elements):
        sizes = whole_numbers(elements, "the lengths of the chunks")
    else:
        count = whole_number(elements, "the number of elements", least=0, most=2**53)
        sizes = count // chunks + (np.arange(chunks) < count % chunks)
    if len(sizes) != chunks:
        raise FabricError(f"{len(sizes)} lengths for {chunks} chunks; give one for each")
    whole, rest = np.divmod(sizes[:, None], schedule.lanes)
    return (whole + (np.arange(schedule.lanes) < rest)).ravel()


def a_schedule(value) -> Schedule:
    """Return a schedule if it is one."""
    return made(value, Schedule, "plan(trn1_32xlarge(), 'all_reduce', 'ring') makes one")


@lru_cache(maxsize=128)
def groups(schedule: Schedule) -> tuple:
    """Return the moves that happen together: for each (step, phase) its rounds of row numbers.

    Arrivals for one place come in different rounds, in table order, so that a round can be applied
    to arrays at once.
    """
    key = schedule.step.astype(np.int64) * 8 + schedule.phase
    cuts = np.flatnonzero(np.diff(key)) + 1
    together = []
    for rows in np.split(np.arange(len(key)), cuts) if len(key) else ():
        rows = rows[schedule.op[rows] != Op.SETTLE]
        if len(rows):
            place = schedule.dst[rows].astype(np.int64) * schedule.places + schedule.into[rows]
            order = np.argsort(place, kind="stable")
            ranked = place[order]
            first = np.concatenate(([True], ranked[1:] != ranked[:-1]))
            starts = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
            turn = np.empty(len(rows), np.int64)
            turn[order] = np.arange(len(rows)) - starts
            together.append((rows, tuple(np.flatnonzero(turn == t) for t in range(turn.max() + 1))))
    return tuple(together)


def expected(schedule: Schedule):
    """Return what each rank holds first and must hold last, as (contributor, item) marks.

    ``first[r, place]`` says whether rank r begins with data of its own there.  ``last`` is a pair:
    which (rank, place) must be right in the end, and from which (rank, item) the value comes
    (-1: the sum over all ranks).
    """
    ranks, items, places = schedule.ranks, schedule.items, schedule.places
    first = np.zeros((ranks, places), bool)
    must = np.zeros((ranks, places), bool)
    origin = np.full((ranks, places, 2), -1, np.int64)
    everyone, every = np.arange(ranks), np.arange(items)
    match schedule.collective:
        case Collective.ALL_REDUCE:
            first[:], must[:] = True, True
            origin[:, :, 1] = every
        case Collective.REDUCE_SCATTER:
            first[:] = True
            must[schedule.owner, every] = True
            origin[:, :, 1] = every
        case Collective.ALL_GATHER | Collective.BROADCAST:
            first[schedule.owner, every] = True
            must[:] = True
            origin[:, :, 0], origin[:, :, 1] = schedule.owner, every
        case Collective.ALL_TO_ALL:
            first[:, :items] = True
            must[:, items:] = True
            chunk, lane = np.divmod(every, schedule.lanes)
            origin[:, items:, 0] = chunk
            origin[:, items:, 1] = everyone[:, None] * schedule.lanes + lane
        case Collective.PERMUTE:
            first[:, :items] = True
            for rank, target in enumerate(schedule.target):
                if target < 0:
                    continue
                must[target, items:] = True
                origin[target, items:, 0], origin[target, items:, 1] = rank, every
    return first, must, origin


def check(schedule: Schedule) -> Schedule:
    """Refuse a schedule that loses, doubles or misplaces a chunk, before it runs.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    Schedule
        The same one, for chaining.

    Raises
    ------
    ScheduleError
        Saying which rank misses, or counts twice, whose part of which chunk.

    Notes
    -----
    Every rank's part of every item gets a random 64-bit number.  The moves are carried out on
    these numbers; where the sum in the end is not the sum that it should be, that item is followed
    once more with one counter per rank.  A wrong schedule passes with a chance of about 2^-64.
    """
    return _checked(a_schedule(schedule))


@lru_cache(maxsize=128)
def _checked(schedule):
    _check_table(schedule)
    ranks, places = schedule.ranks, schedule.places
    first, must, origin = expected(schedule)
    weight = np.random.default_rng(20221010).integers(1, 2**64, (ranks, places), np.uint64)
    with np.errstate(over="ignore"):
        total = weight.sum(axis=0, dtype=np.uint64)
        state = np.where(first, weight, np.uint64(0))
        for rows, rounds in groups(schedule):
            carried = state[schedule.src[rows], schedule.item[rows]]
            if not carried.all():
                row = rows[int(np.flatnonzero(carried == 0)[0])]
                raise ScheduleError(
                    f"{_title(schedule)}: in step {schedule.step[row]} rank {schedule.src[row]} "
                    f"sends {_item(schedule, schedule.item[row])}, which it does not hold by then. "
                    "All moves of a step read before any of them writes"
                )
            for turn in rounds:
                at = rows[turn]
                where = schedule.dst[at], schedule.into[at]
                adds = schedule.op[at] == Op.ADD
                state[where] = carried[turn] + np.where(adds, state[where], np.uint64(0))
            moved = rows[schedule.op[rows] == Op.MOVE]
            state[schedule.src[moved], schedule.item[moved]] = 0
        from_rank, from_item = origin[:, :, 0], origin[:, :, 1]
        wanted = np.where(
            from_rank < 0, total[np.maximum(from_item, 0)], weight[from_rank, from_item]
        )
    wrong = np.argwhere(must & (state != wanted))
    if len(wrong):
        rank, place = (int(i) for i in wrong[0])
        _explain(schedule, rank, place, len(wrong), first, origin)
    return schedule


def _check_table(schedule):
    ranks, items, places = schedule.ranks, schedule.items, schedule.places
    for name, top in (("src", ranks), ("dst", ranks), ("item", places), ("into", places)):
        column = getattr(schedule, name)
        bad = np.flatnonzero((column < 0) | (column >= top))
        if len(bad):
            what = "rank" if top == ranks and name in ("src", "dst") else "item"
            raise ScheduleError(
                f"{_title(schedule)}: move {bad[0]} names {what} {column[bad[0]]} as its {name}; "
                f"there are {top}, numbered from 0"
            )
    if np.any(np.diff(schedule.step) < 0) or (len(schedule) and schedule.step[0] < 0):
        raise ScheduleError(f"{_title(schedule)}: steps must be numbered from 0 and in order")
    far = (schedule.src // schedule.ranks_per_chip) != (schedule.dst // schedule.ranks_per_chip)
    if np.any(far & (schedule.fused | (schedule.op == Op.SETTLE))):
        raise ScheduleError(f"{_title(schedule)}: only moves on one chip can share a memory touch")
    if len(schedule.owner) != items or np.any(schedule.owner >= ranks):
        raise ScheduleError(f"{_title(schedule)}: every chunk needs an owner among the ranks")
    written = np.flatnonzero((schedule.op == Op.COPY) & (schedule.src != schedule.dst))
    place = schedule.dst[written].astype(np.int64) * places + schedule.into[written]
    order = np.argsort(place, kind="stable")
    twice = np.flatnonzero(np.diff(place[order]) == 0)
    if len(twice):
        row = int(written[order[twice[0] + 1]])
        raise ScheduleError(
            f"{_title(schedule)}: rank {schedule.dst[row]} receives "
            f"{_item(schedule, schedule.item[row])} twice, the second time in step "
            f"{schedule.step[row]} from rank {schedule.src[row]}; once is enough"
        )


def _explain(schedule, rank, place, count, first, origin):
    """Follow one item with a counter for every rank's part, and raise with what is wrong."""
    from_rank, item = (int(i) for i in origin[rank, place])
    parts = np.zeros((schedule.ranks, schedule.places, schedule.ranks), np.int32) if (
        schedule.ranks**2 * schedule.places <= 2**26
    ) else None  # fmt: skip
    more = f" ({count - 1} more such gaps)" if count > 1 else ""
    chunk = _item(schedule, item)
    if from_rank >= 0 or parts is None:
        source = f"rank {from_rank}'s {chunk}" if from_rank >= 0 else f"the whole sum of {chunk}"
        raise ScheduleError(f"{_title(schedule)}: rank {rank} misses {source}{more}")
    held = np.argwhere(first)
    parts[held[:, 0], held[:, 1], held[:, 0]] = 1
    for rows, rounds in groups(schedule):
        carried = parts[schedule.src[rows], schedule.item[rows]]
        for turn in rounds:
            at = rows[turn]
            where = schedule.dst[at], schedule.into[at]
            adds = (schedule.op[at] == Op.ADD)[:, None]
            parts[where] = carried[turn] + np.where(adds, parts[where], 0)
        moved = rows[schedule.op[rows] == Op.MOVE]
        parts[schedule.src[moved], schedule.item[moved]] = 0
    got = parts[rank, place]
    missing, doubled = np.flatnonzero(got == 0), np.flatnonzero(got > 1)
    if len(missing):
        others = f" and {len(missing) - 1} other ranks'" if len(missing) > 1 else ""
        wrong = f"misses rank {missing[0]}'s{others} part of {chunk}"
    elif len(doubled):
        wrong = f"counts rank {doubled[0]}'s part of {chunk} {got[doubled[0]]} times"
    else:
        wrong = f"ends with another chunk where {chunk} belongs"
    raise ScheduleError(f"{_title(schedule)}: rank {rank} {wrong}{more}")


def _title(schedule):
    return f"{schedule.collective} by {schedule.algorithm}"


def _item(schedule, item):
    chunk, lane = divmod(int(item) % schedule.items, schedule.lanes)
    return f"chunk {chunk}" + (f" (lane {lane})" if schedule.lanes > 1 else "")
