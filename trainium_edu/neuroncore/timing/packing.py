"""One memory's tiles on their way to addresses: sites, rotating slots, and what gives way.

A *site* (a line that allocates) whose tiles come and go takes `slots` = the most that it has alive
at once x `buffers`, and its tiles rotate over them: with one buffer a load waits until the tile
before it is used up, with two it runs ahead by one.  Where not all of them fit, sites whose extents
do not meet share bytes, and the others start from the slots that they cannot do without and get
more, slot by slot, in the order of what a byte gains there (``room``), as long as there is room.
Where not even that much fits, slots *lend* their bytes to slots that are never alive at the same
time; to keep them is then the first thing that a site can get.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.timing import _loops, room
from trainium_edu.neuroncore.timing.expansion import MEMORIES
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Packing", "Site", "capacity"]

_MOST_TRIALS = 32  # of more slots for one site, when most are given; where sites have few slots
_MOST_COMPARED = 4_000_000  # more, until so many pairs of slots were compared
_MOST_SHARING = 2048  # slots; of more, nobody asks which are never alive together
_MOST_NAMED = 12  # sites in a note


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


def capacity(spec, memory: Memory) -> int:
    """Return the bytes of each partition."""
    return int((spec.sbuf if memory is Memory.SBUF else spec.psum).bytes_per_partition)


class Packing:
    """One memory's boxes on their way to addresses."""

    def __init__(self, program, spec, run, memory):
        self.program, self.spec, self.run, self.memory = program, spec, run, memory
        self.capacity = capacity(spec, memory)
        self.bank = int(spec.psum.bank_bytes) if memory is Memory.PSUM else 0
        self.notes = []
        allocations = program.allocations
        mine = np.flatnonzero((run.memory == MEMORIES.index(memory)) & (run.last >= 0))
        has_address = np.array([a.address is not None for a in allocations], bool)
        is_stated = has_address[run.allocation[mine]]
        self.stated, members = mine[is_stated], mine[~is_stated]
        self.stated_info = [allocations[k] for k in np.unique(run.allocation[self.stated])]
        fixed = {(x.start_partition, x.start_partition + x.partitions, x.address, x.row_bytes)
                 for x in self.stated_info}  # fmt: skip
        by_address = sorted(fixed, key=lambda box: (*box[2:], *box[:2]))
        self.fixed = np.array(by_address, np.int64).reshape(-1, 4).T
        # instances by site, each site's in order of first access
        used, which = np.unique(run.allocation[members], return_inverse=True)
        numbers, number, self.site_info = {}, [], []
        for info in (allocations[k] for k in used):
            key = info.site, info.start_partition, info.row_bytes, info.partitions
            number.append(numbers.setdefault(key, len(numbers)))
            if len(numbers) > len(self.site_info):
                self.site_info.append(info)
        site = np.array(number, np.int64)[which]
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
    def high_water_bytes(self):
        """The greatest end of any tile, per partition."""
        ends = (self.slot_address + self.slot_size).tolist()
        return max([x.address + x.row_bytes for x in self.stated_info] + ends, default=0)

    @property
    def alive_bytes(self):
        """The most bytes per partition needed at one moment (on the fullest partition)."""
        return self._fullest()[0]

    def _fullest(self):
        """Return (bytes, row, instances) of the fullest moment on the fullest quarter."""
        everyone = np.concatenate((self.members, self.stated))
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

    def _fit(self, start, end, site, lender=None):
        """Return addresses of boxes alive from `start` to `end`, or None.

        Boxes with the numbers of `lender` share bytes with those that they are ``apart`` from.
        """
        lender = np.full(site.size, -1) if lender is None else lender
        f, n, size = self.fixed.shape[1], site.size, self.site_bytes[site]
        for keys in ((start, -size), (-size, start)):
            order = np.lexsort(keys)
            picked = site[order]
            boxes = np.zeros((6, f + n), np.int64)  # two rows, two partitions, address, size
            boxes[1, :f], boxes[2:, :f] = self.run.rows, self.fixed
            boxes[:4, f:] = start[order], end[order], self.p0[picked], self.p1[picked]
            boxes[5, f:] = size[order]
            align = np.concatenate((np.ones(f, np.int64), self.align[picked]))
            who = np.concatenate((np.full(f, -1), lender[order]))
            by_address, count, step = np.arange(f + n), np.array([f]), 2048
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
        size = self.site_bytes[self.site]
        begin = max((x.address + x.row_bytes for x in self.stated_info), default=0)
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
        infos = (allocations[run.allocation[i]] for i in there)
        lines = Counter((x.name, str(x.dtype), x.shape, x.row_bytes) for x in infos)
        table = [
            f"  {n} x {name}: {dtype}{list(shape)} = {n * row_bytes} bytes"
            for (name, dtype, shape, row_bytes), n in sorted(
                lines.items(), key=lambda item: -item[1] * item[0][3]
            )[:_MOST_NAMED]
        ]
        if len(lines) > len(table):
            table.append(f"  and {len(lines) - len(table)} more")
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
