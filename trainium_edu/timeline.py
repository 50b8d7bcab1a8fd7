"""What ran where, from which nanosecond to which nanosecond: plain data for every floor above.

Engines, links, ranks and training steps all emit spans on named tracks; pictures and exports read
nothing else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trainium_edu.specs.signatures import checked

__all__ = ["Span", "Timeline"]


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of work on one track."""

    track: str  #: "Tensor Engine", "link 0→1", "host"
    label: str  #: what ran: "nc_matmul", "chunk 3"
    start_ns: float
    end_ns: float
    info: Mapping[str, Any] = field(default_factory=dict, hash=False)  #: bytes, line, ...

    def __post_init__(self):
        if not self.start_ns <= self.end_ns:
            raise ValueError(f"span {self.label!r} ends at {self.end_ns} before {self.start_ns}")

    @property
    def duration_ns(self) -> float:
        """Length in nanoseconds."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Timeline:
    """Spans in order of start, then track, then end; an empty timeline has makespan 0."""

    spans: tuple[Span, ...] = ()

    def __init__(self, spans: Iterable[Span] = ()):
        ordered = sorted(spans, key=lambda s: (s.start_ns, s.track, s.end_ns))
        object.__setattr__(self, "spans", tuple(ordered))

    def __len__(self):
        return len(self.spans)

    def __repr__(self):
        return f"Timeline({len(self)} spans, {len(self.tracks)} tracks, {self.makespan_ns:.1f} ns)"

    @property
    def tracks(self) -> tuple[str, ...]:
        """Track names in order of first use."""
        return tuple(dict.fromkeys(s.track for s in self.spans))

    @property
    def makespan_ns(self) -> float:
        """Nanoseconds from the first start to the last end."""
        if not self.spans:
            return 0.0
        return max(s.end_ns for s in self.spans) - self.spans[0].start_ns

    @checked
    def on(self, track: str) -> tuple[Span, ...]:
        """Return the spans of one track, in order of start."""
        return tuple(s for s in self.spans if s.track == track)

    @checked
    def busy_ns(self, track: str) -> float:
        """Return the nanoseconds in which the track has at least one span running."""
        busy, until = 0.0, float("-inf")
        for span in self.on(track):
            busy += max(0.0, span.end_ns - max(span.start_ns, until))
            until = max(until, span.end_ns)
        return busy

    def __str__(self):
        rows = [f"{self!r}"]
        width = max((len(t) for t in self.tracks), default=0)
        for track in self.tracks:
            busy = self.busy_ns(track)
            share = busy / self.makespan_ns if self.makespan_ns else 0.0
            spans = len(self.on(track))
            rows.append(f"  {track:<{width}}  {spans:>5} spans  {busy:>12.1f} ns {share:>6.1%}")
        return "\n".join(rows)
