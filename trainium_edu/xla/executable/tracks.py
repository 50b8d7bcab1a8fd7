"""A graph on two tracks: what the engines do, and what the CC-cores carry meanwhile.

Engines run sections in order, one at a time; CC-cores run collectives in order, one at a time.  A
section waits for the collectives whose results it reads, a collective for its operands.  The order
is chosen so that something can be beside: what the first collective needs, that collective, what
the second needs, ..., and in the end the rest, by the last collective that it waits for.

Modelled as AWS documents it (`aws-training-faq`, `nki-trn1-arch`): CC-cores and their DMA rings
are hardware of their own.  Left out: HBM's bandwidth is shared, so a collective beside a
memory-bound section slows both down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from trainium_edu.xla.executable.sections import Section
from trainium_edu.xla.graph import Graph, Node

__all__ = ["ENGINES", "LINKS", "Placed", "critical", "exposed_ns", "place", "reads"]

ENGINES, LINKS = "engines", "CC-cores"


@dataclass(frozen=True, slots=True)
class Placed:
    """One section, in time."""

    name: str
    track: str  #: ``ENGINES`` or ``LINKS``
    start_ns: float
    end_ns: float
    section: Section
    waits_for: int | None  #: number of the section at whose end it starts; None at the beginning


def reads(sections: Sequence[Section], graph: Graph) -> list[frozenset[int]]:
    """Return, by section, the numbers of those whose results it reads, through views too."""
    section_of = {node: i for i, section in enumerate(sections) for node in section.nodes}
    sources: dict[Node, frozenset[int]] = {}
    read: list[frozenset[int]] = [frozenset()] * len(sections)
    for node in graph.nodes:
        before = reduce(or_, (sources[i] for i in node.inputs), frozenset())
        own = section_of.get(node)
        sources[node] = before if own is None else frozenset({own})
        if own is not None:
            read[own] |= before - sources[node]
    return read


def place(sections: Sequence[Section], waits: Sequence[frozenset[int]], ns: Sequence[float],
          overlaps: bool) -> list[Placed]:  # fmt: skip
    """Start every section as soon as its track is free and what it reads is there.

    Parameters
    ----------
    sections : sequence of Section
        In order.
    waits : sequence of set of int
        Of :func:`reads`.
    ns : sequence of float
        How long each takes.
    overlaps : bool
        False: each waits for the one before, so that the makespan is the sum.
    """
    placed: list[Placed] = []
    last: dict[str, int] = {}
    for current, (section, took) in enumerate(zip(sections, ns, strict=True)):
        track = LINKS if section.body.is_collective else ENGINES
        before = sorted({*waits[current], *([last[track]] if track in last else [])})
        if not overlaps:
            before = [current - 1][:current]
        cause = max(before, key=lambda i: placed[i].end_ns, default=None)
        start = 0.0 if cause is None else placed[cause].end_ns
        placed.append(Placed(section.body.name, track, start, start + took, section, cause))
        last[track] = current
    return placed


def critical(placed: Sequence[Placed]) -> list[int]:
    """Return the numbers of sections that follow each other without a gap, to the last end."""
    at = max(range(len(placed)), key=lambda i: placed[i].end_ns, default=None)
    path = []
    while at is not None:
        path.append(at)
        at = placed[at].waits_for
    return path[::-1]


def exposed_ns(placed: Sequence[Placed], one: Placed) -> float:
    """Return for how long of a section's time the engines stand still."""
    return (one.end_ns - one.start_ns) - sum(
        max(0.0, min(other.end_ns, one.end_ns) - max(other.start_ns, one.start_ns))
        for other in placed
        if other.track == ENGINES
    )
