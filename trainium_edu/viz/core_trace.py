"""A NeuronCore's run as plain arrays, for the page to draw.

A *listing* (``core_listing``) holds what does not change with time: instructions, operands, source
lines, tiles' names; a *trace* holds one timing of it: spans, waits, the critical path, tiles over
time.  A page gets the listing once, and a new trace whenever a parameter moves.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trainium_edu.files import tables
from trainium_edu.neuroncore.timing.timeline import levels
from trainium_edu.viz.packing import pack

__all__ = ["CoreTrace", "Track"]

#: The arrays of each group of a trace.
GROUPS = tables(__file__)["groups"]


class Track(NamedTuple):
    """One line of a timeline."""

    name: str
    key: str  #: whose colour: a key of ``colours.ENGINE``
    kind: str  #: "engine", "queue" (a DMA queue) or "port"


@dataclass(frozen=True)
class CoreTrace:
    """One timing.

    ``spans`` say what stood on which track; ``rows`` are the executed instructions, a DMA transfer
    once however many queues it used; ``pieces`` are the critical path; ``tiles`` lie in memory from
    first to last access.  All of them are structs of arrays (``GROUPS`` names them), times in
    nanoseconds from the start.
    """

    title: str
    makespan_ns: float
    tracks: tuple[Track, ...]
    spans: dict[str, np.ndarray]
    rows: dict[str, np.ndarray]
    waits: dict[str, np.ndarray]
    pieces: dict[str, np.ndarray]
    tiles: dict[str, np.ndarray]
    words: dict = field(default_factory=dict)  #: texts that the arrays point at, and the numbers

    def __repr__(self):
        return (
            f"CoreTrace({self.title!r}, {len(self.rows['start'])} instructions, "
            f"{self.makespan_ns:.1f} ns)"
        )

    def to_bytes(self, **more) -> bytes:
        """Pack everything for the page; `more` goes into the header."""
        header = {"title": self.title, "makespan": self.makespan_ns, "tracks": self.tracks}
        arrays = {f"{g}_{n}": a for g in GROUPS for n, a in getattr(self, g).items()}
        for name in ("spans_start", "spans_end"):  # where to draw; what is said comes from rows
            arrays[name] = arrays[name].astype(np.float32)
        load_ns, load = self.dma_load()
        return pack(header | self.words | more, {**arrays, "load_ns": load_ns, "load": load})

    def dma_load(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how many DMA queues are busy: from each of these moments, this many."""
        queues = np.array([t.kind == "queue" for t in self.tracks], bool)[self.spans["track"]]
        when, level = levels(self.spans["start"][queues], self.spans["end"][queues])
        return when, level


def columns_of(group: str, columns: Iterable = ()) -> dict[str, np.ndarray]:
    """Return the arrays of a group, made of its columns in order; without any, they are empty."""
    names = GROUPS[group]
    return dict(zip(names, map(np.asarray, list(columns) or [()] * len(names)), strict=True))
