"""Give every tile its bytes: who is where in SBUF and PSUM, and who takes whose place.

Live ranges end at the last access.  How tiles share what there is: ``packing``.  Stated addresses
never move, and nothing without an address is laid over one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.durations import check_chip
from trainium_edu.neuroncore.timing.expansion import Expanded, expand
from trainium_edu.neuroncore.timing.packing import Packing, Site, capacity
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["Placement", "place"]

_MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class Tile:
    """One instance in its place: a rectangle of a memory for some rows of the run."""

    name: str
    memory: Memory
    address: int  #: first byte in each partition
    row_bytes: int
    start_partition: int
    partitions: int
    first_row: int  #: the run's row, see ``CoreTimeline.start_ns``
    last_row: int
    instance: int
    allocation: int
    slot: int  #: -1 for a stated address


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """The places of all tiles; made by :func:`place`.

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

    @property
    def short(self) -> tuple:
        """The sites that got fewer slots than they want, for lack of room."""
        return tuple(site for site in self.sites if site.slots < site.wanted)

    def site_of(self, instance: int) -> Site | None:
        """Return the site of an instance of the run; None if it has a stated address or none."""
        at = np.searchsorted(np.cumsum([s.slots for s in self.sites]), self.slot[instance], "right")
        return self.sites[at] if self.slot[instance] >= 0 else None

    def __repr__(self):
        used = ", ".join(
            f"{m.upper()} {b} of {capacity(self.spec, m)} bytes per partition"
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
        tiles = []
        for i in pick[np.argsort(run.first[pick], kind="stable")]:
            info = self.program.allocations[run.allocation[i]]
            if memory is None or info.memory is memory:
                tiles.append(
                    Tile(info.name, info.memory, int(self.address[i]), info.row_bytes,
                         info.start_partition, info.partitions, int(run.first[i]),
                         int(run.last[i]), int(i), info.index, int(self.slot[i]))
                )  # fmt: skip
        return tiles

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


@checked
def place(program: Program, spec: Record | None = None, *, buffers=None, endless: bool = False,
          beside: bool = False):  # fmt: skip
    """Choose the address of every tile; raise if they do not fit.

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
    beside : bool
        Give tiles that do not fit even one at a time bytes behind the memory's end, with a note.

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
    requested = _check_buffers(buffers, int(spec.timing.default_buffers))
    _check_names(program, requested[1])
    run = expand(program)
    address = np.full(run.allocation.size, -1, np.int64)
    slot = np.full(run.allocation.size, -1, np.int32)
    address[run.memory == 0] = 0
    sites, notes, high, alive, first_slot = [], [], {}, {}, 0
    for memory in (Memory.SBUF, Memory.PSUM):
        job = Packing(program, spec, run, memory)
        if endless:
            job.spread()
        else:
            job.pack(requested, beside)
        for i in job.stated:
            address[i] = program.allocations[run.allocation[i]].address
        if job.members.size:
            address[job.members] = job.slot_address[job.member_slot]
            slot[job.members] = first_slot + job.member_slot
            first_slot += job.slot_address.size
        sites += job.sites()
        notes += [*_overlaps(job.stated_info), *job.notes]
        high[memory], alive[memory] = job.high_water_bytes, job.fullest()[0]
    return Placement(program, spec, run, buffers, endless, tuple(sites), address, slot, high,
                     alive, tuple(notes))  # fmt: skip


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
                f"buffers names {name!r}, and no tile of this program has that name; there are "
                + ", ".join(list(names)[:12])
            )


def _overlaps(infos):
    """Name stated tiles that share bytes (the first twenty pairs)."""
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
