"""What one section's run says about each of its operations, as plain data that a cache keeps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.run import Run
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.roofline import touched_bytes
from trainium_edu.neuroncore.timing.timeline import union_ns
from trainium_edu.xla.executable.sections import Body

__all__ = ["ENGINE_NAMES", "Advised", "Piece", "Spent", "Times", "effects_of", "of_collective",
           "times_of", "with_advice", "with_band"]  # fmt: skip

#: Engines whose time is reported; the Sync Engine only starts what others do.
ENGINE_NAMES = ("tensor", "vector", "scalar", "gpsimd", "dma")
_NUMBER = {name: ENGINES.index(Engine(name)) for name in ENGINE_NAMES}


@dataclass(frozen=True, slots=True)
class Spent:
    """One operation's share of its section; times count from the section's beginning."""

    start_ns: float
    end_ns: float
    engine_ns: Mapping[str, float]  #: engine → ns in which it works for the operation
    bytes: int  #: read from and written to HBM
    instructions: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the critical path."""

    place: int  #: position of the operation among the section's own
    cause: str  #: "Vector Engine: work"
    kind: str  #: how well its facts are known: "documented", ..., "assumed"
    ns: float


@dataclass(frozen=True, slots=True)
class Advised:
    """One thing to know about a section."""

    kind: str
    place: int  #: position of the operation among the section's own
    found: str
    remedy: str
    ns: float  #: by how much the section would be shorter; 0 where no time is lost
    low_ns: float
    high_ns: float
    is_most: bool  #: those are bounds
    is_hidden: bool  #: it passes beside other work


@dataclass(frozen=True, slots=True)
class Times:
    """The stored times of a section; band and advice take long, and come when asked for."""

    makespan_ns: float
    spent: tuple[Spent, ...]
    why: tuple[Piece, ...]
    band: Band | None = None
    advice: tuple[Advised, ...] | None = None

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Times":
        """Read what ``dataclasses.asdict`` gave."""
        band, advice = plain["band"], plain["advice"]
        if band is not None:
            ends = {group: tuple(both) for group, both in band["effects"].items()}
            band = Band(**band | {"effects": ends})
        if advice is not None:
            advice = tuple(Advised(**one) for one in advice)
        spent, why = plain["spent"], plain["why"]
        return cls(plain["makespan_ns"], tuple(Spent(**one) for one in spent),
                   tuple(Piece(**one) for one in why), band, advice)  # fmt: skip


def of_collective(band: Band) -> Times:
    """Return the times of an operation of all ranks, from what its links take."""
    ns = band.nominal_ns
    spent = Spent(0.0, ns, dict.fromkeys(ENGINE_NAMES, 0.0), 0, 0)
    return Times(ns, (spent,), (Piece(0, "collective", "derived", ns),), band, ())


def times_of(body: Body) -> Times:
    """Time a section and take its run apart by operation."""
    run, lines = body.run, body.lines
    timeline = run.timeline
    position = np.array([lines[i.line] for i in timeline.program.instructions], np.int64)
    return Times(timeline.makespan_ns, _spent(run, position, len(body.own)), _why(run, position))


def with_band(times: Times, body: Body) -> Times:
    """Return the times with the range in which the makespan lies."""
    return times if times.band is not None else replace(times, band=body.run.band)


def effects_of(bands: Sequence[Band], span: Callable) -> dict[str, tuple[float, float]]:
    """Return what each group of facts does to stretches together, the widest first.

    `span` makes the whole of the stretches' ns.
    """
    effects = {
        group: tuple(span([b.effects.get(group, (b.nominal_ns,) * 2)[end] for b in bands])
                     for end in (0, 1))
        for group in dict.fromkeys(group for b in bands for group in b.effects)
    }  # fmt: skip
    return dict(sorted(effects.items(), key=lambda item: item[1][0] - item[1][1]))


def with_advice(times: Times, body: Body) -> Times:
    """Return the times with what costs time."""
    if times.advice is not None:
        return times
    return replace(times, advice=_advice(body.run, body.lines))


def _spent(run: Run, position, count) -> tuple[Spent, ...]:
    timeline = run.timeline
    rows = position[timeline.instruction_index]
    start, end = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(start, rows, timeline.start_ns)
    np.maximum.at(end, rows, timeline.done_ns)
    worked = timeline.end_ns - timeline.start_ns
    busy = {name: np.bincount(rows, worked * (timeline.engine == number), count)
            for name, number in _NUMBER.items() if name != "dma"}  # fmt: skip
    busy["dma"] = _moving(timeline, rows, count)
    moved = np.bincount(rows, _hbm_bytes(timeline.program)[timeline.instruction_index], count)
    times = np.bincount(rows, minlength=count)
    start = np.minimum(start, end)  # of what a pass left nothing of: no time
    return tuple(
        Spent(
            float(start[i]), float(end[i]), {name: float(ns[i]) for name, ns in busy.items()},
            int(moved[i]), int(times[i]),
        )
        for i in range(count)
    )  # fmt: skip


def _moving(timeline, rows, count):
    """Return float64[operations]: the ns in which any queue moves an operation's data."""
    transfers = np.flatnonzero(timeline.transfer >= 0)
    of, k = rows[transfers], timeline.transfer[transfers]
    start, end = timeline.queue_start_ns[k], timeline.queue_end_ns[k]
    used = start >= 0
    of = np.broadcast_to(of[:, None], start.shape)[used]
    start, end = start[used], end[used]
    total = np.zeros(count)
    for operation in np.unique(of):
        mine = of == operation
        total[operation] = union_ns(start[mine], end[mine])
    return total


def _hbm_bytes(program):
    """Return float64[instructions]: bytes to and from HBM."""
    in_hbm = [a.memory is Memory.HBM for a in program.allocations]
    return np.array([
        sum(touched_bytes(a.geometry) for a in i.accesses if in_hbm[a.allocation])
        for i in program.instructions
    ], float)  # fmt: skip


def _why(run, at) -> tuple[Piece, ...]:
    instructions = run.timeline.instruction_index
    ns_by_cause: dict[tuple[int, str, str], float] = {}
    kinds: dict[int, str] = {}
    for piece in run.why():
        kind = kinds.setdefault(id(piece.facts), str(piece.kind))
        key = int(at[instructions[piece.row]]), piece.cause, kind
        ns_by_cause[key] = ns_by_cause.get(key, 0.0) + piece.duration_ns
    return tuple(Piece(place, cause, kind, ns) for (place, cause, kind), ns in ns_by_cause.items())


def _advice(run, lines) -> tuple[Advised, ...]:
    return tuple(
        Advised(one.kind, lines.get(one.line, 0), one.text, one.remedy,  # type: ignore[call-arg]
                *(one.cost or (0.0, 0.0, 0.0)), one.is_most, one.is_hidden)
        for one in run.advice
    )  # fmt: skip
