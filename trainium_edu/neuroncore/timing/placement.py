"""Give every tile its bytes: who is where in SBUF and PSUM, and who takes whose place.

Live ranges end at the last access.  A *site* (a line that allocates) whose tiles come and go takes
`slots` = the most that it has alive at once x `buffers`, and its tiles rotate over them: with one
buffer a load waits until the tile before it is used up, with two it runs ahead by one.  Where
not all of them fit, sites whose extents do not meet share bytes, and the others start from the
slots that they cannot do without and get more, slot by slot, in the order of what a byte gains
there (``room.py``), as long as there is room.  Where not even that much
fits, slots *lend* their bytes to slots that are never alive at the same time; to keep them is then
the first thing that a site can get.  Stated addresses never move, and nothing without an address
is laid over one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing import _loops, room
from trainium_edu.neuroncore.timing.durations import check_chip
from trainium_edu.neuroncore.timing.expansion import MEMORIES, Expanded, expand
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["Placement", "Site", "place"]

_SBUF, _PSUM = MEMORIES.index(Memory.SBUF), MEMORIES.index(Memory.PSUM)
_MOST_TRIALS = 32  # of more slots for one site, when most are given; where sites have few slots
_MOST_COMPARED = 4_000_000  # more, until so many pairs of slots were compared
_MOST_SHARING = 2048  # slots; of more, nobody asks which are never alive together
_MOST_NOTES = 20
_MOST_NAMED = 12  # sites in a note
_FAVOURS = "gain", "order", "nobody"


@dataclass(frozen=True, slots=True)
class Site:
    """One line that allocates tiles, and how many of them have bytes at once."""

    name: str  #: of its first tile
    memory: Memory
    shape: tuple
    dtype: str
    row_bytes: int  #: of one tile, in each partition
    tiles: int  #: instances in the whole run
    alive: int  #: the most that are needed at once
    buffers: int  #: how many times that, rounded down
    slots: int  #: how many of its tiles have bytes at once
    wanted: int  #: slots asked for; more than its tiles could use are none
    lends: bool  #: while it has nothing alive, others use its bytes
    addresses: tuple  #: of its slots
    line: object  #: SourceLine-like (file, line) or None

    def __str__(self):
        return (
            f"{self.name}: {self.tiles} x {self.dtype}{list(self.shape)} "
            f"({self.row_bytes} bytes per partition), {self.alive} alive, "
            f"{self.buffers} buffer{'s' * (self.buffers != 1)}, {self.slots} slots"
            + f" of {self.wanted}" * (self.slots < self.wanted)
            + ", lent" * self.lends
        )


@dataclass(frozen=True, slots=True)
class Tile:
    """One instance in its place: a rectangle of a memory for some rows of the run."""

    name: str
    memory: Memory
    address: int  #: first byte in each partition
    row_bytes: int
    start_partition: int
    partitions: int
    first_row: int  #: of the run, see ``CoreTimeline.start_ns``
    last_row: int
    instance: int
    allocation: int
    slot: int  #: -1 for a stated address


@dataclass(frozen=True)
class Placement:
    """Where everything is; made by :func:`place`.

    Attributes
    ----------
    sites : tuple of Site
    address : int64[instances]
        First byte inside each partition (HBM: 0; a tile that nothing touches: -1).
    slot : int32[instances]
        Number of the slot, -1 for stated addresses, HBM and tiles that nothing touches.
    high_water_bytes : dict of Memory to int
        The greatest end of any tile, per partition.
    alive_bytes : dict of Memory to int
        The most bytes per partition that are needed at one moment.
    notes : tuple of str
        What a reader should know: buffers that did not fit, stated tiles that overlap.
    favour : str
        As asked.
    """

    program: Program
    spec: Record
    run: Expanded
    buffers: object  #: as asked
    endless: bool
    sites: tuple
    address: np.ndarray
    slot: np.ndarray
    high_water_bytes: dict
    alive_bytes: dict
    notes: tuple
    favour: str = "gain"

    @property
    def short(self) -> tuple:
        """The sites that got fewer slots than they want: to others it was given what they lack.

        Empty where everything fits; then every `favour` gives the same placement.
        """
        return tuple(site for site in self.sites if site.slots < site.wanted or site.lends)

    def site_of(self, instance: int) -> Site | None:
        """Return the site of an instance of the run; None if it has a stated address or none."""
        at = np.searchsorted(np.cumsum([s.slots for s in self.sites]), self.slot[instance], "right")
        return self.sites[at] if self.slot[instance] >= 0 else None

    def __repr__(self):
        used = ", ".join(
            f"{m.upper()} {b} of {_capacity(self.spec, m)} bytes per partition"
            for m, b in self.high_water_bytes.items()
        )
        return f"Placement({self.program.name!r}, {used})"

    def __str__(self):
        lines = [repr(self)]
        lines += [f"  {site}" for site in self.sites]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def tiles(self, memory=None):
        """Return every touched on-chip instance as a :class:`Tile`, in order of first access."""
        run = self.run
        pick = np.flatnonzero((run.last >= 0) & (run.memory != 0))
        found = []
        for i in pick[np.argsort(run.first[pick], kind="stable")]:
            info = self.program.allocations[run.allocation[i]]
            if memory is None or info.memory is memory:
                found.append(
                    Tile(info.name, info.memory, int(self.address[i]), info.row_bytes,
                         info.start_partition, info.partitions, int(run.first[i]),
                         int(run.last[i]), int(i), info.index, int(self.slot[i]))
                )  # fmt: skip
        return found

    def where(self, allocation) -> tuple[Memory, int | None, int, int]:
        """Return (memory, address, slot, bytes per partition) of an allocation's first instance.

        Parameters
        ----------
        allocation : int or View
        """
        index = getattr(getattr(allocation, "buffer", None), "info", None)
        index = allocation if index is None else index.index
        info = self.program.allocations[index]
        i = int(np.flatnonzero(self.run.allocation == index)[0])
        on_chip = info.memory is not Memory.HBM and self.address[i] >= 0
        return info.memory, int(self.address[i]) if on_chip else None, int(self.slot[i]), (
            info.row_bytes)  # fmt: skip

    @cached_property
    def hazards(self):
        """What each row waits for: (edge_start[rows + 1], predecessor, kind); computed once."""
        from trainium_edu.neuroncore.timing.scheduler import find_hazards

        return find_hazards(self)


@checked
def place(program: Program, spec: Record | None = None, *, buffers=None, endless: bool = False,
          favour: str = "gain"):  # fmt: skip
    """Choose the address of every tile, or say that they do not fit.

    Parameters
    ----------
    program : Program
    spec : Record, optional
        The chip; default the program's own.
    buffers : int, or dict of tile name (or site) to int, optional
        How many tiles of each site, beyond those alive at once, may wait their turn: 1 makes
        every load wait, 2 is double buffering.  Default: as many as fit, at most 4 (assumed:
        ``spec.timing.default_buffers``).  Where not everything fits, sites that are named come
        first, and a note says who got how much.
    endless : bool
        Give every tile bytes of its own, as if memory had no end (a what-if).
    favour : {"gain", "order", "nobody"}
        Who gets more slots than it cannot do without, where not everybody can: whom they help
        most, who comes first in the program, or nobody (two what-ifs about the compiler's choice).

    Returns
    -------
    Placement

    Raises
    ------
    NkiValidationError
        If the tiles do not fit even one at a time; the message lists the fullest moment.
    """
    spec = program.spec if spec is None else spec
    check_chip(spec)
    wanted = _check_buffers(buffers, int(spec.timing.default_buffers))
    if favour not in _FAVOURS:
        raise ValueError(f"favour is {favour!r}; there are {', '.join(map(repr, _FAVOURS))}")
    _check_names(program, wanted[1])
    run = expand(program)
    address = np.full(run.allocation.size, -1, np.int64)
    slot = np.full(run.allocation.size, -1, np.int32)
    address[run.memory == 0] = 0
    sites, notes, high, alive = [], [], {}, {}
    first_slot = 0
    for number in (_SBUF, _PSUM):
        memory = MEMORIES[number]
        mine = np.flatnonzero((run.memory == number) & (run.last >= 0))
        stated = [i for i in mine if program.allocations[run.allocation[i]].address is not None]
        for i in stated:
            address[i] = program.allocations[run.allocation[i]].address
        notes += _overlaps(program, run, stated)
        job = _Packing(program, spec, run, number, mine, stated)
        if endless:
            job.spread()
        else:
            job.pack(wanted, favour)
        if job.members.size:
            address[job.members] = job.slot_address[job.member_slot]
            slot[job.members] = first_slot + job.member_slot
            first_slot += job.slot_address.size
        sites += job.sites()
        notes += job.notes
        ends = [
            int(address[i]) + program.allocations[run.allocation[i]].row_bytes for i in stated
        ] + (job.slot_address + job.slot_size).tolist()
        high[memory] = max(ends, default=0)
        alive[memory] = job.alive_bytes
    return Placement(program, spec, run, buffers, endless, tuple(sites), address, slot, high,
                     alive, tuple(notes), favour)  # fmt: skip


def _check_buffers(buffers, default):
    """Return (default, {name: count})."""
    if buffers is None:
        return default, {}

    def count(value, what):
        return whole(value, what, 1, 1_000_000, why=": it counts how many tiles take turns")

    if isinstance(buffers, Mapping):
        return default, {name: count(b, f"buffers[{name!r}]") for name, b in buffers.items()}
    return count(buffers, "buffers"), {}


def _check_names(program, named):
    """Raise for buffers of a tile or site that the program does not have."""
    known = {x for a in program.allocations for x in (a.name, a.site)} if named else ()
    for name in named:
        if name not in known:
            names = dict.fromkeys(a.name for a in program.allocations if a.memory.is_on_chip)
            raise ValueError(
                f"buffers names {name!r}, and no tile of this program is called that; there are "
                + ", ".join(list(names)[:12])
            )


def _capacity(spec, memory):
    return int((spec.sbuf if memory is Memory.SBUF else spec.psum).bytes_per_partition)


class _Packing:
    """One memory's boxes on their way to addresses."""

    def __init__(self, program, spec, run, number, mine, stated):
        self.program, self.spec, self.run = program, spec, run
        self.memory = MEMORIES[number]
        self.capacity = _capacity(spec, self.memory)
        self.bank = int(spec.psum.bank_bytes) if self.memory is Memory.PSUM else 0
        self.notes = []
        allocations = program.allocations
        self.stated = stated
        stated = set(stated)
        # instances by site, each site's in order of first access
        numbers, self.site_info = {}, []
        site_of_allocation = {}
        members, site = [], []
        for i in mine:
            if i in stated:
                continue
            index = run.allocation[i]
            s = site_of_allocation.get(index)
            if s is None:
                info = allocations[index]
                key = (info.site, info.start_partition, info.row_bytes, info.partitions)
                s = site_of_allocation[index] = numbers.setdefault(key, len(numbers))
                if s == len(self.site_info):
                    self.site_info.append(info)
            members.append(i)
            site.append(s)
        members, site = np.array(members, np.int64), np.array(site, np.int64)
        order = np.lexsort((members, run.first[members], site))
        self.members, self.site = members[order], site[order]
        self.first = run.first[self.members].astype(np.int64)
        self.last = run.last[self.members].astype(np.int64)
        count = len(self.site_info)
        self.site_start = np.searchsorted(self.site, np.arange(count + 1))
        self.tiles = np.diff(self.site_start)
        last_sorted = self.last[np.lexsort((self.last, self.site))]
        self.alive = np.zeros(count, np.int64)
        launch(_loops.most_alive, self.site_start, self.first, last_sorted, self.alive)
        self.site_bytes = np.array([x.row_bytes for x in self.site_info], np.int64)
        self.p0 = np.array([x.start_partition for x in self.site_info], np.int64)
        self.p1 = self.p0 + np.array([x.partitions for x in self.site_info], np.int64)
        self.align = np.array([x.dtype.itemsize for x in self.site_info], np.int64)
        self.apart = np.zeros((1, 1), np.bool_)
        self.slot_address = self.slot_size = np.zeros(0, np.int64)
        self.member_slot = np.zeros(0, np.int64)

    @property
    def alive_bytes(self):
        """The most bytes per partition needed at one moment (on the fullest partition)."""
        return self._fullest()[0]

    def _fullest(self):
        """Return (bytes, row, instances) of the fullest moment on the fullest quarter."""
        everyone = np.concatenate((self.members, np.array(self.stated, np.int64))).astype(np.int64)
        if not everyone.size:
            return 0, 0, everyone
        info = [self.program.allocations[a] for a in self.run.allocation[everyone]]
        size = np.array([x.row_bytes for x in info], np.int64)
        p0 = np.array([x.start_partition for x in info])
        p1 = p0 + np.array([x.partitions for x in info])
        first, last = self.run.first[everyone].astype(np.int64), self.run.last[everyone]
        best = (-1, 0, everyone)
        for quarter in range(0, 128, 32):
            here = (p0 < quarter + 32) & (p1 > quarter)
            change = np.zeros(self.run.rows + 1, np.int64)
            np.add.at(change, first[here], size[here])
            np.subtract.at(change, last[here] + 1, size[here])
            total = np.cumsum(change)
            row = int(np.argmax(total))
            if total[row] > best[0]:
                best = (int(total[row]), row, everyone[here & (first <= row) & (last >= row)])
        return best

    # -- rotating slots -----------------------------------------------------------------------

    def pack(self, wanted, favour):
        """Give every site as many slots as it wants, or those that help most as far as they fit."""
        default, named = wanted
        if not self.site_info:
            return
        is_named = np.array([x.name in named or x.site in named for x in self.site_info])
        goal = np.array(
            [named.get(x.name, named.get(x.site, default)) for x in self.site_info], np.int64
        )
        goal = np.minimum(goal, -(-self.tiles // self.alive))  # more than has tiles does nothing
        self.wanted = np.minimum(self.alive * goal, self.tiles)
        if self._try(self.wanted):
            return
        lending = not self._try(self.alive)
        come_again = np.where(self.tiles > self.alive, 0, self.alive)
        if lending and not (self._share() and (self._try(come_again) or self._try(self.alive * 0))):
            self._pack_instances(goal)
            return
        steps = room.steps(
            self.run, self.spec, self.members, self.site_start, self.last, self.alive, self.wanted,
            self.site_bytes, lending=lending,
        )  # fmt: skip
        begin, _ = self._extents()
        match favour:
            case "gain":
                steps.sort(key=lambda step: not is_named[step.site])
            case "order":
                steps.sort(key=lambda step: (begin[step.site], step.slots))
            case "nobody":
                steps = []
        self._climb(steps)
        self._say_who_is_short(is_named)

    def _climb(self, steps):
        """Take as many steps, in their order, as fit; behind them whatever else still does."""
        base = self.own

        def after(steps):
            own = base.copy()
            for step in steps:
                own[step.site] = step.slots
            return own

        def most(low, high, own_of):
            """Return the greatest number for which it fits; for `low` it does."""
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self._try(own_of(middle)) else (low, middle - 1)
            return low

        taken = most(0, len(steps), lambda count: after(steps[:count]))
        trials, full = _MOST_TRIALS + _MOST_COMPARED // (1 + self.slot_size.size**2), set()
        for step in steps[taken:]:
            s = step.site
            if s in full or trials <= 0:
                continue
            own = self.own.copy()

            def with_slots(slots, own=own, s=s):
                own[s] = slots
                return own.copy()

            trials -= 1
            if not self._try(with_slots(step.slots)):
                least = max(int(self.own[s]), int(self.alive[s]) - 1)
                trials -= (step.slots - least).bit_length()
                most(least, step.slots - 1, with_slots)
                full.add(s)

    def _say_who_is_short(self, is_named):
        """Note who lends, who has fewer slots than it wants, and what the named ones lack."""
        what = self.memory.upper()
        lent, short = np.flatnonzero(self.lends), np.flatnonzero(self.slots < self.wanted)
        if lent.size:
            self.notes.append(
                f"{what} is too full for every site to keep bytes of its own: while none of their "
                f"tiles is alive, others use those of {self._list(lent, lambda s: '')}"
            )
        if short.size:
            self.notes.append(
                f"{what} is full before every tile has its buffers; fewer for "
                + self._list(short, lambda s: f" {self.slots[s]} of {self.wanted[s]} slots")
            )
        by_bytes = np.argsort(-self.slots * self.site_bytes, kind="stable")
        begin, end = self._extents()
        for s in short[is_named[short]][:_MOST_NAMED]:
            beside = (begin <= end[s]) & (end >= begin[s])
            others = [k for k in by_bytes if k != s and beside[k]][:3]
            self.notes.append(
                f"{self.site_info[s].name} got {self.slots[s]} of the {self.wanted[s]} slots that "
                f"buffers asks for, each {self.site_bytes[s]} bytes of {self.capacity} in {what}; "
                "in the way are " + (self._list(
                    others, lambda k: f" ({self.slots[k]} x {self.site_bytes[k]} bytes)"
                ) or "its own tiles")
            )  # fmt: skip

    def _list(self, sites, words):
        said = [f"{self.site_info[s].name}{words(s)}" for s in sites[:_MOST_NAMED]]
        more = len(sites) - len(said)
        return ", ".join(said) + f" and {more} more" * (more > 0)

    def _try(self, own):
        """Take so many slots per site, if they fit: 0 are as many as are alive, lent in between."""
        slots = np.where(own > 0, own, self.alive)
        site = np.repeat(np.arange(slots.size), slots)
        address, never = None, np.zeros(site.size, np.int64)
        lends = own == 0
        if not lends.any() and slots @ self.site_bytes <= self.capacity:
            address = self._fit(never, never + self.run.rows, site)
        if address is None:  # a site's bytes are its own from its first access to its last
            begin, end = self._extents()
            lender = np.full(site.size, -1)
            lender[lends[site]] = np.flatnonzero(np.repeat(lends, self.alive))
            address = self._fit(begin[site], end[site], site, lender)
        if address is None:
            return False
        self.own, self.slots, self.lends = own, slots, lends
        self.slot_address, self.slot_size = address, self.site_bytes[site]
        self.member_slot, self.slot_start = self._rotate(slots)
        return True

    def _extents(self):
        """Return each site's first and last row."""
        return self.first[self.site_start[:-1]], np.maximum.reduceat(
            self.last, self.site_start[:-1]
        )

    def _rotate(self, slots):
        """Return each member's slot, and each site's first."""
        slot_start = np.concatenate(([0], np.cumsum(slots)))
        total = int(slot_start[-1])
        member_slot = np.zeros(self.members.size, np.int64)
        launch(_loops.rotate, self.site_start, self.last, slots, slot_start, np.full(total, -1),
               np.arange(total), member_slot)  # fmt: skip
        return member_slot, slot_start

    def _share(self):
        """Find which slots are never alive together; False where there are too many to ask."""
        slot, slot_start = self._rotate(self.alive)
        n = int(slot_start[-1])
        if n > _MOST_SHARING:
            return False
        order = np.lexsort((self.members, self.first))
        together = np.eye(n + 1, dtype=bool)  # the last is everything that lends nothing
        together[-1] = together[:, -1] = True
        launch(_loops.alive_together, self.first[order], self.last[order], slot[order],
               np.zeros(order.size, np.int64), together)  # fmt: skip
        self.apart = ~together
        return True

    def _fit(self, start, end, site, lender=None, orders=("size", "first")):
        """Return addresses of boxes alive from `start` to `end`, or None.

        Boxes with the numbers of `lender` share bytes with those that they are ``apart`` from.
        """
        lender = np.full(site.size, -1) if lender is None else lender
        allocations, run = self.program.allocations, self.run
        fixed = sorted(
            {
                (x.address, x.row_bytes, x.start_partition, x.start_partition + x.partitions)
                for x in (allocations[run.allocation[i]] for i in self.stated)
            }
        )
        f, n = len(fixed), site.size
        size = self.site_bytes[site]
        for rule in orders:
            by = (start, -size) if rule == "size" else (-size, start)
            order = np.lexsort(by)
            boxes = np.zeros((6, f + n), np.int64)
            if f:
                boxes[4:6, :f] = np.array(fixed).T[[0, 1]]
                boxes[2:4, :f] = np.array(fixed).T[[2, 3]]
                boxes[1, :f] = run.rows
            picked = site[order]
            boxes[0, f:], boxes[1, f:] = start[order], end[order]
            boxes[2, f:], boxes[3, f:] = self.p0[picked], self.p1[picked]
            boxes[5, f:] = size[order]
            align = np.concatenate((np.ones(f, np.int64), self.align[picked]))
            who = np.concatenate((np.full(f, -1), lender[order]))
            by_address = np.zeros(f + n, np.int64)
            by_address[:f] = np.arange(f)
            count = np.array([f])
            step = 2048
            for low in range(f, f + n, step):
                launch(_loops.first_fit, low, min(f + n, low + step), boxes[0], boxes[1], boxes[2],
                       boxes[3], boxes[5], align, who, self.apart, self.bank, self.capacity, count,
                       by_address, boxes[4])  # fmt: skip
                if (boxes[4, low : low + step] < 0).any():
                    break
            else:
                address = np.empty(n, np.int64)
                address[order] = boxes[4, f:]
                return address
        return None

    # -- instance by instance -----------------------------------------------------------------

    def _pack_instances(self, goal):
        """Give every tile bytes for its own live range, stretched by as many turns as fit."""
        for turns in range(int(goal.max()), 0, -1):
            buffers = np.minimum(goal, turns)
            earlier = np.arange(self.site.size) - ((buffers - 1) * self.alive)[self.site]
            earlier = np.maximum(earlier, self.site_start[self.site])
            address = self._fit(self.first[earlier], self.last, self.site)
            if address is not None:
                break
        else:
            raise NkiValidationError(self._too_big())
        self._one_each(address)
        self.own, self.lends = buffers * self.alive, np.ones(goal.size, bool)
        early = f"begun up to {turns - 1} turns early" if turns > 1 else "without buffers"
        self.notes.append(
            f"{self.memory.upper()} is too full for sites to have slots, even lent ones: every "
            f"tile was packed by its own live range, {early}"
        )

    def _one_each(self, address):
        self.slots, self.slot_start = self.tiles, self.site_start
        self.slot_address, self.slot_size = address, self.site_bytes[self.site]
        self.member_slot = np.arange(address.size)

    def spread(self):
        """Give every tile an address of its own behind all others."""
        size = self.site_bytes[self.site] if self.members.size else np.zeros(0, np.int64)
        begin = max(
            (x.address + x.row_bytes for x in
             (self.program.allocations[self.run.allocation[i]] for i in self.stated)), default=0,
        )  # fmt: skip
        self._one_each(begin + np.cumsum(size) - size)
        self.own, self.wanted, self.lends = self.tiles, self.tiles, np.zeros(self.tiles.size, bool)

    def sites(self):
        """Return the Site records."""
        found = []
        for s, info in enumerate(self.site_info):
            a, b = self.slot_start[s], self.slot_start[s + 1]
            site, alive = info.site, int(self.alive[s])
            line = site[:2] if isinstance(site[0], str) else None
            found.append(
                Site(info.name, info.memory, info.shape, info.dtype.name, info.row_bytes,
                     int(self.tiles[s]), alive, max(int(self.own[s]) // alive, 1), int(b - a),
                     int(self.wanted[s]), bool(self.lends[s]),
                     tuple(int(x) for x in self.slot_address[a:b]), line)
            )  # fmt: skip
        return found

    def _too_big(self):
        total, row, there = self._fullest()
        allocations, run = self.program.allocations, self.run
        instruction = self.program.instructions[run.instruction[row]]
        lines = {}
        for i in there:
            info = allocations[run.allocation[i]]
            key = (info.name, str(info.dtype), info.shape, info.row_bytes)
            lines[key] = lines.get(key, 0) + 1
        table = [
            f"  {n} x {name}: {dtype}{list(shape)} = {n * row_bytes} bytes"
            for (name, dtype, shape, row_bytes), n in sorted(
                lines.items(), key=lambda item: -item[1] * item[0][3]
            )[:12]
        ]
        if len(lines) > 12:
            table.append(f"  and {len(lines) - 12} more")
        what = self.memory.upper()
        if total > self.capacity:
            excess = total - self.capacity
            moved = 2 * 128 * excess
            spill_us = moved / float(self.spec.dma.bytes_per_s) * 1e6
            head = (
                f"{self.program.name} needs {total} bytes of each {what} partition at once, and a "
                f"partition has {self.capacity}; spilling the {excess} too many to HBM and back "
                f"would move {moved} bytes, {spill_us:.1f} us of DMA each time. "
            )
        else:
            head = (
                f"{self.program.name}: the tiles alive at once are {total} of {what}'s "
                f"{self.capacity} bytes per partition, and no way to lay them out was found "
                f"(stated addresses{' and 2 KiB banks' * bool(self.bank)} leave gaps). "
            )
        head += "Use smaller tiles, a narrower dtype, or let tiles die earlier."
        return f"{head}\nAt the fullest moment, {instruction}:\n" + "\n".join(table)


def _overlaps(program, run, stated):
    """Name stated tiles that share bytes (the first twenty pairs)."""
    infos = [program.allocations[a] for a in sorted({int(run.allocation[i]) for i in stated})]
    notes, reaching = [], []
    for b in sorted(infos, key=lambda info: info.address):
        reaching = [a for a in reaching if b.address < a.address + a.row_bytes]
        for a in reaching:
            if (
                a.start_partition < b.start_partition + b.partitions
                and b.start_partition < a.start_partition + a.partitions
            ):
                notes.append(
                    f"{a.name} and {b.name} were given overlapping addresses in "
                    f"{a.memory.upper()}: writing one overwrites the other"
                )
        if len(notes) >= _MOST_NOTES:
            return [*notes[:_MOST_NOTES], "more stated tiles overlap"]
        reaching.append(b)
    return notes
