"""A NeuronCore's run as plain arrays, for the page to draw.

A *listing* (``core_listing``) holds what does not change with time: instructions, operands, source
lines, tiles' names; a *trace* holds one timing of it: spans, waits, the critical path, tiles over
time.  A page gets the listing once, and a new trace whenever a parameter moves.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from trainium_edu.neuroncore.timing.timeline import levels
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.packing import pack

__all__ = ["CoreTrace", "Track", "trace_of_timeline"]

_NAMES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")
_ENGINE_TRACKS = {f"{name} Engine": name.lower() for name in _NAMES}


#: The arrays of each group of a trace, and their kinds.
GROUPS = {
    "spans": {"start": float, "end": float, "track": np.uint16, "row": np.int32},
    "rows": {"start": float, "end": float, "instruction": np.int32, "lane": np.uint16,
             "critical": np.uint8},
    "waits": {"row": np.int32, "ns": float, "reason": np.uint16, "on": np.int32},
    "pieces": {"start": float, "end": float, "row": np.int32, "what": np.uint16,
               "facts": np.uint16, "kind": np.uint8, "then": np.uint16},
    "tiles": {"memory": np.uint8, "address": np.uint32, "bytes": np.uint32, "start": float,
              "end": float, "allocation": np.int32, "slot": np.uint16, "first_row": np.int32,
              "last_row": np.int32},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Track:
    """One line of a timeline."""

    name: str
    key: str  #: whose colour: a key of ``colours.ENGINE``
    kind: str  #: "engine", "queue" (a DMA queue), "port" or "other"


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
        tracks = [[t.name, t.key, t.kind] for t in self.tracks]
        header = {"title": self.title, "makespan": self.makespan_ns, "tracks": tracks}
        arrays = {f"{g}_{n}": a for g in GROUPS for n, a in getattr(self, g).items()}
        for name in ("spans_start", "spans_end"):  # where to draw; what is said comes from rows
            arrays[name] = arrays[name].astype(np.float32)
        load_ns, load = self.dma_load()
        return pack(header | self.words | more, {**arrays, "load_ns": load_ns, "load": load})

    def of_kind(self, kind: str) -> np.ndarray:
        """Return which spans stand on tracks of one kind, bool[spans]."""
        chosen = np.array([t.kind == kind for t in self.tracks], bool)
        return chosen[self.spans["track"]] if len(self.tracks) else np.zeros(0, bool)

    def dma_load(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how many DMA queues are busy: from each of these moments, this many."""
        queues = self.of_kind("queue")
        when, level = levels(self.spans["start"][queues], self.spans["end"][queues])
        return when, level.astype(np.int32)

    def busy_ns(self, track: int) -> float:
        """Return the time in which a track has at least one span."""
        on = self.spans["track"] == track
        when, level = levels(self.spans["start"][on], self.spans["end"][on])
        return float(np.sum(np.diff(when)[level[:-1] > 0])) if len(when) else 0.0


def trace_of_timeline(timeline, title: str = "timeline") -> CoreTrace:
    """Make a trace of any timeline; without a program there are no waits, pieces or tiles.

    Parameters
    ----------
    timeline : Timeline
    title : str

    Returns
    -------
    CoreTrace
        ``words["labels"]`` has one text per row.
    """
    names = sorted(timeline.tracks, key=_track_order)
    number = {name: i for i, name in enumerate(names)}
    begin = timeline.spans[0].start_ns if timeline.spans else 0.0
    start = np.array([s.start_ns - begin for s in timeline.spans], float)
    end = np.array([s.end_ns - begin for s in timeline.spans], float)
    track = np.array([number[s.track] for s in timeline.spans], np.uint16)
    count = len(start)
    order = np.arange(count)
    trace = CoreTrace(
        title, timeline.makespan_ns, tuple(track_of(name) for name in names),
        columns_of("spans", (start, end, track, order)),
        columns_of("rows", (start, end, order, track, np.zeros(count))),
        columns_of("waits"), columns_of("pieces"), columns_of("tiles"),
        {"labels": [s.label for s in timeline.spans]},
    )  # fmt: skip
    trace.words["busy"] = [trace.busy_ns(t) for t in range(len(names))]
    return trace


def track_of(name: str) -> Track:
    """Return what a track's name says about it."""
    if name in _ENGINE_TRACKS:
        return Track(name, _ENGINE_TRACKS[name], "engine")
    if name.startswith("DMA"):
        return Track(name, "dma", "queue")
    if name.startswith("port"):
        return Track(name, "sync", "port")
    return Track(name, list(ENGINE)[sum(map(ord, name)) % len(ENGINE)], "other")


def _track_order(name):
    kinds = ("engine", "other", "port", "queue")
    engines = list(_ENGINE_TRACKS)
    digits = "".join(c for c in name if c.isdigit())
    return (
        kinds.index(track_of(name).kind),
        engines.index(name) if name in engines else 0,
        int(digits) if digits else 0,
        name,
    )


def columns_of(group: str, columns: Iterable = ()) -> dict[str, np.ndarray]:
    """Return the arrays of a group, made of its columns in order; without any, they are empty."""
    kinds, columns = GROUPS[group], list(columns)
    return {name: np.asarray(column).astype(kind) for (name, kind), column in
            zip(kinds.items(), columns or [()] * len(kinds), strict=True)}  # fmt: skip
