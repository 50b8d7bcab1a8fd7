"""One memory's tiles on their way to addresses: sites, rotating slots, and what gives way.

A *site* (a line that allocates) whose tiles come and go takes `slots` = the most that it has alive
at the same time x `buffers`, and its tiles rotate over them.  With one buffer a load waits until
the tile before it is used up, with two it runs ahead by one.  All sites have the same number of
buffers, the largest that fits.  Sites whose extents do not meet share bytes.  Where not even one
buffer each fits, and in PSUM where not two do, sites share all bytes.  Every tile then gets some
for its own live range, begun as many instructions early as fit for all, so that a bank goes to the
tile that needs it next.
"""

from bisect import bisect
from collections import Counter
from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.timing import _loops
from trainium_edu.neuroncore.timing.expansion import MEMORIES
from trainium_edu.neuroncore.timing.liveness import alive_bytes
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Packing", "Site", "capacity"]

_ENDLESS = 2**40  # bytes
_MOST_NAMED = 12  # sites in a note


@dataclass(frozen=True, slots=True)
class Site:
    """One line that allocates tiles, and how many of them have bytes at once."""

    name: str  #: name of the first tile
    memory: Memory
    shape: tuple
    dtype: str
    row_bytes: int  #: bytes of one tile in each partition
    tiles: int  #: instances in the whole run
    alive: int  #: the most that are needed at once
    buffers: int  #: how many times that, rounded down
    slots: int  #: how many of its tiles have bytes at once
    wanted: int  #: slots requested, at most one for each tile
    addresses: tuple  #: the slots' addresses
    line: object  #: SourceLine-like (file, line) or None

    def __str__(self):
        return (
            f"{self.name}: {self.tiles} x {self.dtype}{list(self.shape)} "
            f"({self.row_bytes} bytes per partition), {self.alive} alive, "
            f"{self.buffers} buffer{'' if self.buffers == 1 else 's'}, {self.slots} slots"
        ) + f" of {self.wanted}" * (self.slots < self.wanted)


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
        ends = np.sort(self.site * (run.rows + 1) + self.last)  # by site, as are the beginnings
        gone = np.searchsorted(ends, self.site * (run.rows + 1) + self.first)
        self.alive = np.zeros(count, np.int64)
        np.maximum.at(self.alive, self.site, np.arange(1, self.site.size + 1) - gone)
        self.site_bytes = np.array([x.row_bytes for x in self.site_info], np.int64)
        self.p0 = np.array([x.start_partition for x in self.site_info], np.int64)
        self.p1 = self.p0 + np.array([x.partitions for x in self.site_info], np.int64)
        self.align = np.array([x.dtype.itemsize for x in self.site_info], np.int64)
        self.slot_address = self.slot_size = np.zeros(0, np.int64)
        self.member_slot = np.zeros(self.members.size, np.int64)

    @property
    def high_water_bytes(self):
        """The greatest end of any tile, per partition."""
        ends = (self.slot_address + self.slot_size).tolist()
        return max([x.address + x.row_bytes for x in self.stated_info] + ends, default=0)

    def fullest(self):
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
            total = alive_bytes(self.run.rows, first[here], last[here], size[here])
            row = int(np.argmax(total))
            if total[row] > best[0]:
                best = (int(total[row]), row, everyone[here & (first <= row) & (last >= row)])
        return best

    # -- rotating slots -----------------------------------------------------------------------

    def pack(self, requested, beside):
        """Assign every site the most buffers that fit for all, or as many as it asks for.

        Sites that are named keep theirs for as long as the others have one.  What room is left
        then goes to the smallest sites first, each as much as it asks for.  PSUM is shared tile by
        tile where no site is named and all would have one buffer each.
        """
        default, named = requested
        if not self.site_info:
            return
        asked = [named.get(x.name, named.get(x.site)) for x in self.site_info]
        is_named = np.array([count is not None for count in asked])
        goal = np.array([default if count is None else count for count in asked], np.int64)
        goal = np.minimum(goal, -(-self.tiles // self.alive))  # more than has tiles does nothing
        self.wanted = np.minimum(self.alive * goal, self.tiles)

        def most(limited, others):
            """Return the most buffers for `limited` sites with which everything fits, or 0."""

            def fails(count):
                buffers = np.where(limited, np.minimum(goal, count), others)
                return not self._try(np.minimum(self.alive * buffers, self.tiles))

            counts = range(1, int(goal[limited].max(initial=1)) + 1)
            return bisect(counts, False, key=fails)

        if self._try(self.wanted):
            return
        buffers = most(~is_named, goal)
        is_shared = buffers == 1 and self.bank > 0 and not named
        if is_shared or (not buffers and not most(is_named, 1)):
            self._pack_instances(goal, beside, is_shared)
        else:
            for s in np.argsort(self.alive * self.site_bytes, kind="stable"):
                if self.slots[s] < self.wanted[s]:
                    self._try(np.where(np.arange(self.slots.size) == s, self.wanted, self.slots))
        short = np.flatnonzero(self.slots < self.wanted)
        if short.size:
            self.notes.append(
                f"{self.memory.upper()} is full before every tile has its buffers; fewer for "
                + self._list(short, lambda s: f" {self.slots[s]} of {self.wanted[s]} slots")
            )
        self._say_what_is_in_the_way(short[is_named[short]])

    def _say_what_is_in_the_way(self, short):
        by_bytes = np.argsort(-self.slots * self.site_bytes, kind="stable")
        begin, end = self._extents()
        for s in short[:_MOST_NAMED]:
            others = [k for k in by_bytes if k != s and begin[k] <= end[s] and end[k] >= begin[s]]
            self.notes.append(
                f"{self.site_info[s].name} got {self.slots[s]} of the {self.wanted[s]} slots that "
                f"buffers asks for, each {self.site_bytes[s]} bytes of {self.capacity} in "
                f"{self.memory.upper()}; in the way are " + (self._list(
                    others[:3], lambda k: f" ({self.slots[k]} x {self.site_bytes[k]} bytes)"
                ) or "its own tiles")
            )  # fmt: skip

    def _list(self, sites, words):
        names = [f"{self.site_info[s].name}{words(s)}" for s in sites[:_MOST_NAMED]]
        more = len(sites) - len(names)
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")

    def _try(self, slots):
        """Take these numbers of slots, if they fit."""
        site = np.repeat(np.arange(slots.size), slots.astype(np.intp))
        begin, end = np.zeros(site.size, np.int64), np.full(site.size, self.run.rows)
        address = None
        if slots @ self.site_bytes <= self.capacity:
            address = self._fit(begin, end, site)
        if address is None:  # a site's bytes are its own from its first access to its last
            begin, end = (rows[site] for rows in self._extents())
            address = self._fit(begin, end, site)
        if address is None:
            return False
        self.slots, self.slot_address, self.slot_size = slots, address, self.site_bytes[site]
        self.slot_start = np.concatenate(([0], np.cumsum(slots)))
        launch(_loops.rotate, self.site_start, self.last, slots, self.slot_start,
               np.full(site.size, -1), np.arange(site.size), self.member_slot)  # fmt: skip
        return True

    def _extents(self):
        """Return each site's first and last row."""
        begin = self.site_start[:-1]
        return self.first[begin], np.maximum.reduceat(self.last, begin)

    def _fit(self, start, end, site, orders=(False, True), capacity=None):
        """Return addresses of boxes alive from `start` to `end`, or None.

        They are laid down by start or not (by size), in each of the `orders` until one fits.
        """
        f, n, size = self.fixed.shape[1], site.size, self.site_bytes[site]
        for by_start in orders:
            order = np.lexsort((-size, start) if by_start else (start, -size))
            picked = site[order]
            boxes = np.zeros((6, f + n), np.int64)  # two rows, two partitions, address, size
            boxes[1, :f], boxes[2:, :f] = self.run.rows, self.fixed
            boxes[:4, f:] = start[order], end[order], self.p0[picked], self.p1[picked]
            boxes[5, f:] = size[order]
            align = np.concatenate((np.ones(f, np.int64), self.align[picked]))
            by_address, count, step = np.arange(f + n), np.array([f]), 2048
            for low in range(f, f + n, step):
                if by_start:  # what died before will never be in the way again
                    alive = by_address[: count[0]][
                        boxes[1, by_address[: count[0]]] >= boxes[0, low]
                    ]
                    by_address[: alive.size], count[0] = alive, alive.size
                launch(_loops.first_fit, low, min(f + n, low + step), boxes, align, self.bank,
                       capacity or self.capacity, count, by_address)  # fmt: skip
                if (boxes[4, low : low + step] < 0).any():
                    break
            else:
                address = np.empty(n, np.int64)
                address[order] = boxes[4, f:]
                return address
        return None

    # -- instance by instance -----------------------------------------------------------------

    def _pack_instances(self, goal, beside, has_slots):
        """Assign every tile bytes for its own live range, begun as early as fits for all.

        No tile begins more than its buffers' turns early.  Where not even the live ranges fit,
        slots stay where sites have them, or else, if `beside`, bytes behind the memory's end hold
        the rest.
        """
        memory = self.memory.upper()
        turns = np.arange(self.site.size) - ((goal - 1) * self.alive)[self.site]
        earliest = self.first[np.maximum(turns, self.site_start[self.site])]
        address = None

        def fails(early):
            nonlocal address
            begin, orders = np.maximum(self.first - early, earliest), (True, False)
            found = self._fit(begin, self.last, self.site, orders[: 1 + (early == 0)])
            address = address if found is None else found
            return found is None

        ahead = bisect(range(int((self.first - earliest).max()) + 1), False, key=fails) - 1
        if address is not None:
            early = f"begun up to {ahead} instructions early" if ahead else "without buffers"
            note = f"{memory} is too full for sites to have slots: every tile was packed by its "
            self.notes.append(f"{note}own live range, {early}")
        elif has_slots:
            return
        else:
            if not beside:
                raise NkiValidationError(self._too_big())
            address = self._fit(self.first, self.last, self.site, (True,), _ENDLESS)
            self.notes.append(
                f"{memory} is too small: {self.fullest()[0]} bytes of each partition are needed at "
                f"once, and there are {self.capacity}; the rest is timed as if it lay beside them, "
                "without what it costs to move it out and in"
            )
        self._one_each(address)

    def _one_each(self, address):
        self.slots, self.slot_start = self.tiles, self.site_start
        self.slot_address, self.slot_size = address, self.site_bytes[self.site]
        self.member_slot = np.arange(address.size)

    def spread(self):
        """Assign every tile an address of its own behind all others."""
        size = self.site_bytes[self.site]
        begin = max((x.address + x.row_bytes for x in self.stated_info), default=0)
        self._one_each(begin + np.cumsum(size) - size)
        self.wanted = self.tiles

    def sites(self):
        """Return the Site records."""
        records = []
        for s, info in enumerate(self.site_info):
            a, b = self.slot_start[s], self.slot_start[s + 1]
            site, alive = info.site, int(self.alive[s])
            own = int(b - a) if b - a <= self.wanted[s] else alive  # more: tiles in shared bytes
            line = site[:2] if isinstance(site[0], str) else None
            records.append(
                Site(info.name, info.memory, info.shape, info.dtype.name, info.row_bytes,
                     int(self.tiles[s]), alive, max(own // alive, 1), int(b - a),
                     int(self.wanted[s]), tuple(int(x) for x in self.slot_address[a:b]), line)
            )  # fmt: skip
        return records

    def _too_big(self):
        total, row, there = self.fullest()
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
        memory = self.memory.upper()
        if total > self.capacity:
            excess = total - self.capacity
            moved = 2 * 128 * excess
            spill_us = moved / float(self.spec.dma.bytes_per_s) * 1e6
            head = (
                f"{self.program.name} needs {total} bytes of each {memory} partition at once, and "
                f"a partition has {self.capacity}; spilling the {excess} too many to HBM and back "
                f"would move {moved} bytes, {spill_us:.1f} us of DMA each time. "
            )
        else:
            head = (
                f"{self.program.name}: the tiles alive at once are {total} of {memory}'s "
                f"{self.capacity} bytes per partition, and no way to lay them out was found "
                f"(stated addresses{' and 2 KiB banks' if self.bank else ''} leave gaps). "
            )
        head += "Use smaller tiles, a narrower dtype, or let tiles die earlier."
        return f"{head}\nAt the fullest moment, {instruction}:\n" + "\n".join(table)
