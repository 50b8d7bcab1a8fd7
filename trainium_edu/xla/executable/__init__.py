"""``Executable``: a compiled graph; its values, its time, and where that goes.

Values need no time and time needs no values.  ``plan`` computes; the first question for time cuts
the final graph into *sections*, lowers each distinct one once, and places them on two tracks
(``tracks``): engines run sections one after the other, CC-cores run collectives beside them.
Without collectives makespans, bands and the pieces of ``why()`` are sums.  What is kept of a
section is plain data (``times``), which ``to_bytes`` writes; passes run again, and a section's
program is made again, when someone asks for them.

Read first: ``sections.py``, then ``tracks.py``, then this file.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from threading import RLock
from typing import Protocol, runtime_checkable

from trainium_edu.neuroncore.run import Run
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.specs.instances import TARGETS
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.executable import memory, saved
from trainium_edu.xla.executable.describe import describe
from trainium_edu.xla.executable.sections import Body, Section, cut, in_order
from trainium_edu.xla.executable.summary import Advice, Operation, Why, advice, operations, why
from trainium_edu.xla.executable.times import (
    Times,
    effects_of,
    of_collective,
    times_of,
    with_advice,
    with_band,
)
from trainium_edu.xla.executable.tracks import Placed, place, reads
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.flags import Flags
from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.lowering import casts_on_load
from trainium_edu.xla.operations.custom import check_libraries
from trainium_edu.xla.passes import Step, run_passes, stands_for
from trainium_edu.xla.refusals import sentence

__all__ = ["Advice", "CollectiveTimes", "Executable", "Operation", "Placed", "Section", "Why",
           "describe"]  # fmt: skip


@runtime_checkable
class CollectiveTimes(Protocol):
    """The source of the times of collectives; ``training`` passes it."""

    def collective(self, node: Node) -> float | Band:
        """Return the ns that one collective takes, with their range if that is known."""


class Executable:
    """A compiled graph.

    Parameters
    ----------
    graph : Graph
        As recorded.
    flags : flags.Flags, optional
    spec : specs.Record, optional
        ``TRN1``, ``INF2`` or ``TRN2``; default the flags' target.
    times : CollectiveTimes, optional
    is_fused : bool
        False compiles without fusion, to compare.
    overlaps : bool
        False lets engines stand still while ranks sum: changes times only.

    Attributes
    ----------
    steps : list of Step
        The passes, each with its graph before and after.
    hbm_bytes : int
        The most that parameters, values in between and outputs take at once.

    Raises
    ------
    NkiValidationError
        If they do not fit the core's HBM.

    Examples
    --------
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((128, 512), "float32"), "x")
    >>> executable = Executable(Graph("tiny", (x,), (apply("exp", apply("negate", x)),)))
    >>> [node.operation for node in executable.final.nodes], executable.hbm_bytes
    (['parameter', 'fusion'], 524288)
    >>> len(executable.sections), executable.run.program.instructions[0].name
    (1, 'dma_copy')
    """

    @checked
    def __init__(self, graph: Graph, flags: Flags | None = None, *, spec: Record | None = None,
                 times: CollectiveTimes | None = None, is_fused: bool = True,
                 overlaps: bool = True):  # fmt: skip
        flags = Flags() if flags is None else flags
        if spec is None:
            spec = TARGETS[flags.target or "trn1"]
        self._begin(graph.name, flags, spec, times, is_fused, overlaps)
        self.graph = graph
        check_libraries(graph)
        self.hbm_bytes, alive = memory.high_water(
            self.final, dict(graph.donated), casts_on_load(self.final), in_order(self.final)[0]
        )
        memory.check(self.name, self.hbm_bytes, alive, int(spec.hbm_bytes_per_core))

    def _begin(self, name, flags, spec, times, is_fused, overlaps):
        self.name, self.flags, self.spec, self.times = name, flags, spec, times
        self.is_fused, self.overlaps = is_fused, overlaps
        self._lock = RLock()
        self._known: dict[Body, Times] = {}
        self._kept: saved.Kept | None = None
        self.reported_ns: float | None = None  #: time of one execution, if timed when compiled

    def to_bytes(self) -> bytes:
        """Return it as bytes, with its times, and with band and advice if they were asked for."""
        return saved.pack(self)

    @classmethod
    def from_bytes(cls, data: bytes, *, graph: Graph | None = None, flags: Flags | None = None,
                   times: CollectiveTimes | None = None,
                   overlaps: bool = True) -> "Executable":  # fmt: skip
        """Read what :meth:`to_bytes` gave.

        Parameters
        ----------
        data : bytes
        graph : Graph, optional
            The graph as recorded, if it is at hand: then it need not be read.
        flags : flags.Flags, optional
            Those it was compiled with; default the two of them that change a graph.
        times : CollectiveTimes, optional
        overlaps : bool

        Raises
        ------
        ValueError
            If it is damaged, or of another format.
        """
        kept = saved.unpack(data)
        executable = cls.__new__(cls)
        if flags is None:
            flags = Flags(auto_cast=kept.auto_cast, auto_cast_type=kept.auto_cast_type)
        executable._begin(kept.name, flags, saved.CHIPS[kept.chip], times, kept.is_fused, overlaps)
        executable._kept, executable.hbm_bytes = kept, kept.hbm_bytes
        if graph is not None:
            executable.graph = graph
        return executable

    @checked
    def with_times(self, times: CollectiveTimes | None) -> "Executable":
        """Return the same executable among other ranks; nothing is lowered again."""
        _ = self.sections
        executable = copy(self)
        executable.times, executable.reported_ns = times, None
        with self._lock:
            executable._known = {b: t for b, t in self._known.items() if not b.is_collective}
        return executable

    def __repr__(self):
        timed = f", {self.makespan_ns / 1e3:.1f} us" if self.is_timed else ""
        return f"Executable({self.name!r}, {len(self.final.nodes)} nodes{timed})"

    # -- the graph ------------------------------------------------------------------------------

    @cached_property
    def graph(self) -> Graph:
        """The graph as recorded."""
        assert self._kept is not None  # else it was given
        return Graph.from_json(self._kept.recorded)

    @cached_property
    def steps(self) -> list[Step]:
        """The passes, each with its graph before and after."""
        return run_passes(self.graph, self.flags, is_fused=self.is_fused)

    @property
    def final(self) -> Graph:
        """The graph after its passes, which is lowered and run."""
        return self.steps[-1].after

    @cached_property
    def stands_for(self) -> dict[Node, tuple[Node, ...]]:
        """Each node of the final graph → the recorded nodes whose work it does."""
        return stands_for(self.steps)

    @cached_property
    def plan(self) -> Plan:
        """The plan that computes values."""
        return Plan(self.final)

    @cached_property
    def needs(self) -> dict[str, int]:
        """Bytes that one execution holds in HBM, by class, and its ``flops``."""
        return memory.needs(self.final, self.hbm_bytes)

    # -- time -----------------------------------------------------------------------------------

    @cached_property
    def sections(self) -> list[Section]:
        """The final graph in stretches that each are one program."""
        with self._lock:
            if not self._kept:
                return cut(self.final, self.spec)
            sections = self._kept.sections(self.final)
            for section, number in zip(sections, self._kept.body_of, strict=True):
                if (times := self._kept.times[number]) is not None:
                    self._known.setdefault(section.body, times)
            return sections

    def timed(self) -> Iterator[tuple[Section, Times]]:
        """Yield the sections with their times; the first question times each distinct one.

        Raises
        ------
        ValueError
            If ranks take part and nobody said how long they take.
        """
        yield from zip(self.sections, self._times(), strict=True)

    def _times(self, more=None) -> Iterator[Times]:
        """Yield each section's times; those that were kept need no graph."""
        kept = self._kept
        if kept and more is None and not any(kept.collective):
            yield from (times for n in kept.body_of if (times := kept.times[n]) is not None)
            return
        for section in self.sections:
            yield self.times_of(section.body, more)

    @checked
    def times_of(self, body: Body, more: Callable | None = None) -> Times:
        """Return the times of one distinct section; `more` fills in what is not known yet."""
        with self._lock:
            times = self._known.get(body)
            if times is None:
                times = self._of_collective(body.own[0]) if body.is_collective else times_of(body)
            if more is not None:
                times = more(times, body)
            self._known[body] = times
            return times

    def _of_collective(self, node) -> Times:
        if self.times is not None:
            found = self.times.collective(node)
            band = found if isinstance(found, Band) else Band(*(float(found),) * 3, {})
            return of_collective(band)
        if node.of.get("world") == 1:
            return of_collective(Band(0.0, 0.0, 0.0, {}))  # needs no other rank
        raise ValueError(sentence("executable.no_times", node=node))

    @property
    def is_timed(self) -> bool:
        """Whether every section's time is known, so that the makespan is free to ask for."""
        known = self.__dict__.get("sections", [])
        return bool(known) and all(section.body in self._known for section in known)

    @property
    def known_ns(self) -> float | None:
        """The time of one execution, if it is known already: to work it out may take long."""
        return self.makespan_ns if self.reported_ns is None and self.is_timed else self.reported_ns

    @property
    def makespan_ns(self) -> float:
        """From the first section's beginning to the last one's end."""
        return self._span_ns([times.makespan_ns for times in self._times()], self.overlaps)

    @checked
    def tracks(self, overlap: bool | None = None, *, slowest: float = 1.0) -> list[Placed]:
        """Return the sections in time, on the engines and on the CC-cores.

        Parameters
        ----------
        overlap : bool, optional
            Whether collectives run beside the engines; default as it was compiled.
        slowest : float
            Times which the engines take longer.
        """
        ns = [times.makespan_ns for times in self._times()]
        return self._placed(ns, self.overlaps if overlap is None else overlap, slowest)

    def _placed(self, ns: Sequence[float], overlaps: bool, slowest: float = 1.0) -> list[Placed]:
        sections = self.sections
        if slowest != 1:
            ns = [n if s.body.is_collective else n * slowest
                  for n, s in zip(ns, sections, strict=True)]  # fmt: skip
        return place(sections, self._reads, ns, overlaps)

    @cached_property
    def _reads(self):
        return reads(self.sections, self.final)

    def _span_ns(self, ns: Sequence[float], overlaps: bool, slowest: float = 1.0) -> float:
        kept = self._kept  # if nothing can be beside, its graph need not be read
        several = kept.collective if kept else [s.body.is_collective for s in self.sections]
        if slowest == 1 and not (overlaps and any(several)):
            return sum(ns)
        return max((section.end_ns for section in self._placed(ns, overlaps, slowest)), default=0.0)

    @property
    def band(self) -> Band:
        """The range in which the makespan lies: all sections at their low, at their high ends."""
        return self.band_if(self.overlaps)

    @checked
    def band_if(self, overlap: bool, slowest: float = 1.0) -> Band:
        """Return the range of the makespan with overlap or without, as for :meth:`tracks`."""
        bands = [band for times in self._times(with_band) if (band := times.band) is not None]

        def span(ends):
            return self._span_ns(ends, overlap, slowest)

        return Band(span([b.low_ns for b in bands]), span([b.nominal_ns for b in bands]),
                    span([b.high_ns for b in bands]), effects_of(bands, span))  # fmt: skip

    def why(self) -> Why:
        """Return where the time goes: pieces of the sections' critical paths, which add up."""
        return why(self)

    @cached_property
    def advice(self) -> list[Advice]:
        """Advice on what costs time, over the whole graph; the costliest first."""
        return advice(zip(self.sections, self._times(with_advice), strict=True))

    def operations(self) -> list[Operation]:
        """Return one record per node of the final graph: when, on what, how many bytes."""
        return operations(self)

    @property
    def run(self) -> Run:
        """The run of a graph of one section, as a kernel's.

        Raises
        ------
        ValueError
            If there are none, or several; each has its own ``sections[i].body.run``.
        """
        if len(self.sections) != 1:
            raise ValueError(sentence("executable.runs", count=len(self.sections), executable=self))
        return self.sections[0].body.run
