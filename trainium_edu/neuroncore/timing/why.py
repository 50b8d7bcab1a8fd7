"""Where a time comes from: the critical path in pieces, each with the facts that it rests on.

Walk back from the last result: an instruction's own pieces, then what held it back last, then that
one's pieces, until time 0.  Pieces touch each other, and their sum is the makespan to the last bit.
"""

from dataclasses import dataclass, field

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS
from trainium_edu.neuroncore.recording.program import Instruction
from trainium_edu.neuroncore.timing.bands import Times
from trainium_edu.neuroncore.timing.durations import OPERATOR_PARAMETERS, parameters
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.neuroncore.timing.waits import Wait
from trainium_edu.specs.fact import Fact, Kind
from trainium_edu.specs.signatures import checked

__all__ = ["Piece", "Why", "certainty", "differing_facts", "why"]

_RANK = (Kind.DOCUMENTED, Kind.DERIVED, Kind.MEASURED, Kind.ASSUMED)


def certainty(fact: Fact) -> Kind:
    """Return how well we know a fact: a derived one no better than its worst input."""
    return max([fact.kind, *map(certainty, fact.inputs)], key=_RANK.index)


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of the critical path."""

    start_ns: float
    end_ns: float
    row: int
    instruction: Instruction
    what: str  #: "work", "fixed overhead", "result latency", "load stationary", "DMA start", ...
    then: str  #: why the next piece could not begin earlier
    facts: tuple[tuple[str, Fact], ...]  #: (dotted name in the chip's record, fact)
    changed: tuple[str, ...] = ()  #: parameters that were given another value than the fact's

    @property
    def duration_ns(self) -> float:
        """Length in ns."""
        return self.end_ns - self.start_ns

    @property
    def kind(self) -> Kind:
        """The least certain of its facts."""
        return max((certainty(f) for _, f in self.facts), key=_RANK.index, default=Kind.ASSUMED)

    @property
    def sources(self) -> tuple[str, ...]:
        """Keys of ``specs.SOURCES``; of a derived fact those of its inputs."""
        return tuple(dict.fromkeys(source for _, f in self.facts for source in _sources(f)))

    @property
    def cause(self) -> str:
        """Engine and kind of piece: "Vector Engine: work"."""
        if self.instruction.engine is Engine.DMA:
            return self.what
        return f"{self.instruction.engine.title}: {self.what}"

    def __str__(self):
        where = f" ({self.instruction.line})" if self.instruction.line else ""
        return (
            f"{self.start_ns:12.1f} {self.duration_ns:10.1f} ns  {self.instruction.name}{where}: "
            f"{self.what}, {self.kind}; {self.then}"
        )


def _sources(fact):
    return [s for f in fact.inputs for s in _sources(f)] or [fact.source]


@dataclass(frozen=True, slots=True)
class Why:
    """The critical path; iterate over it for its pieces, in order of time."""

    name: str
    makespan_ns: float
    pieces: tuple[Piece, ...]
    times: Times | None = field(default=None, repr=False)  #: what it would be at other ends

    def __iter__(self):
        return iter(self.pieces)

    def __len__(self):
        return len(self.pieces)

    def __repr__(self):
        return f"Why({self.name!r}, {len(self)} pieces, {self.makespan_ns:.1f} ns)"

    @property
    def total_ns(self) -> float:
        """The pieces added up: the makespan, exactly."""
        return sum(p.duration_ns for p in self.pieces)

    @checked
    def at(self, ns: float) -> Piece:
        """Return the piece that covers a moment."""
        if not 0 <= ns <= self.makespan_ns:
            raise ValueError(f"{ns} ns is outside the run: 0 to {self.makespan_ns:.1f} ns")
        return next(p for p in self.pieces if ns <= p.end_ns)

    @checked
    def ns_by(self, key) -> dict:
        """Add up durations by ``key(piece)``, the longest first."""
        found = {}
        for p in self.pieces:
            found[key(p)] = found.get(key(p), 0.0) + p.duration_ns
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def share_by_kind(self) -> dict[Kind, float]:
        """Return how much of the time rests on documented, derived, measured, assumed facts.

        Each piece counts as the least certain of its facts.
        """
        kinds = {}  # pieces that rest on the same facts share one tuple of them

        def kind(piece):
            key = id(piece.facts)
            if key not in kinds:
                kinds[key] = piece.kind
            return kinds[key]

        ns = self.ns_by(kind)
        return {k: ns.get(k, 0.0) / (self.makespan_ns or 1.0) for k in _RANK}

    def share_by_cause(self) -> dict[str, float]:
        """Return how much of the time each engine's work, overhead, ... takes on the path."""
        ns = self.ns_by(lambda p: p.cause)
        return {cause: part / (self.makespan_ns or 1.0) for cause, part in ns.items()}

    def __str__(self):
        lines = [f"{self.name}: {self.makespan_ns:.1f} ns on the critical path"]
        lines += [f"  {part:>6.1%}  {cause}" for cause, part in self.share_by_cause().items()]
        kinds = [f"{part:.1%} {kind}" for kind, part in self.share_by_kind().items()]
        lines.append("  known how: " + ", ".join(kinds))
        if self.times:
            band = self.times.band
            lines.append(f"  between {band.low_ns:.1f} and {band.high_ns:.1f} ns: {band.wider}")
        return "\n".join(lines)


@checked
def why(timeline: CoreTimeline, times: Times | None = None) -> Why:
    """Explain a makespan.

    Parameters
    ----------
    timeline : CoreTimeline
    times : Times, optional
        The timeline's, where they are kept: its text then says how sure the time is, and why.

    Returns
    -------
    Why
        Its pieces are contiguous from 0 to the makespan.

    Examples
    --------
    >>> from trainium_edu.neuroncore import NeuronCore, measure, why
    >>> core = NeuronCore(values=False)
    >>> tile = core.sbuf((128, 512))
    >>> core.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    >>> for piece in why(measure(core.program)):
    ...     print(piece.what, round(piece.duration_ns), piece.kind)
    fixed overhead 89 documented
    work 914 documented
    result latency 121 measured
    """
    walk = _Walk(timeline)
    return Why(timeline.program.name, timeline.makespan_ns, walk.pieces(), times)


@checked
def differing_facts(before: CoreTimeline, after: CoreTimeline) -> dict[str, tuple[Fact, Fact]]:
    """Return what explains two chips' times of one program: facts that differ, by dotted name.

    Those on either critical path, in its order.

    Examples
    --------
    >>> from trainium_edu.neuroncore import NeuronCore, differing_facts, measure
    >>> from trainium_edu.specs import TRN1, TRN2
    >>> core = NeuronCore(values=False)
    >>> tile = core.sbuf((128, 512))
    >>> core.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    >>> runs = (measure(core.program, spec=chip) for chip in (TRN1, TRN2))
    >>> for name, (fact, other) in differing_facts(*runs).items():
    ...     print(f"{name}: {fact.pretty}, {other.pretty}")
    vector_engine.clock_hz: 1.12 GHz, 960 MHz
    cycles.tensor_tensor: max(MIN, 2 * N) Vector Engine cycles, max(MIN, N) Vector Engine cycles
    timing.vector_result_cycles: 135 Vector Engine cycles, 71 Vector Engine cycles
    """
    facts = dict(fact for timeline in (before, after) for p in why(timeline) for fact in p.facts)
    pairs = {name: (before.spec.find(name), after.spec.find(name)) for name in facts}
    return {name: pair for name, pair in pairs.items() if pair[0].value != pair[1].value}


class _Walk:
    """The way back from the last result to time 0."""

    def __init__(self, timeline: CoreTimeline):
        t = self.t = timeline
        self.found = []
        self.facts = {}
        self.then = "the last result is there"
        self.start, self.release = t.start_ns.tolist(), t.release_ns.tolist()
        self.done = t.done_ns.tolist()
        self.by, self.wait = t.predecessor.tolist(), t.wait.tolist()
        self.kind = t.placement.run.kind.tolist()
        p = t.pieces
        self.fixed, self.work, self.lead = p.fixed.tolist(), p.work.tolist(), p.lead.tolist()
        self.is_transfer = (t.engine == t.dma).tolist()
        nominal = parameters(timeline.spec)
        self.changed = {n for n, v in timeline.parameters.items() if v != nominal[n].nominal}

    def pieces(self):
        if not self.start:
            return ()
        row = int(self.t.done_ns.argmax())
        self._result(row)
        queue = None
        while row >= 0:
            if self.is_transfer[row]:
                row, queue = self._transfer(row, queue)
            else:
                row, queue = self._instruction(row), None
        return tuple(reversed(self.found))

    def _transfer(self, row, queue):
        t = self.t
        k = int(t.transfer[row])
        queue = int(t.critical_queue[k]) if queue is None else queue
        begin, end = float(t.queue_start_ns[k, queue]), float(t.queue_end_ns[k, queue])
        self._add(row, begin, end, self._pace(row, end - begin))
        before = int(t.queue_predecessor[k, queue])
        if before >= 0:
            self.then = Wait.QUEUE.words
            return before, queue
        self._add(row, self.start[row], begin, "DMA start")
        wait, by = int(t.ready_wait[row]), int(t.ready_predecessor[row])
        while wait == Wait.GENERATOR:
            self.then = Wait.GENERATOR.words
            self._add(by, self.start[by], self.start[row], "DMA descriptors")
            row, wait, by = by, int(t.ready_wait[by]), int(t.ready_predecessor[by])
        return self._before(row, wait, by), None

    def _pace(self, row, ns):
        """Return how a queue moved its share: sustained, in a burst, or partly so."""
        p, k = self.t.pieces, self.kind[row]
        shares = int(p.lanes[k, 1]) or int(self.t.spec.dma.queues)
        rows = p.descriptors[k] // shares, -(-p.descriptors[k] // shares)
        if ns in [max(n * p.work[k], p.fixed[k]) for n in rows]:
            return "DMA transfer"
        quick = [max(n * p.quick[k], p.quick_fixed[k]) for n in rows]
        return "DMA transfer, in a burst" if ns in quick else "DMA transfer, a burst's end"

    def _instruction(self, row):
        start = self.start[row]
        fixed = self.fixed[self.kind[row]]
        self._add(row, start + fixed, self.release[row], "work")
        is_load = self.t.instruction(row).engine is Engine.TENSOR
        self._add(row, start, start + fixed, "load stationary" if is_load else "fixed overhead")
        return self._before_start(row)

    def _before_start(self, row):
        wait = self.wait[row]
        if wait not in (Wait.ENGINE, Wait.PORT):
            start = self.start[row]
            self._add(row, start - self.lead[self.kind[row]], start, "load stationary")
        return self._before(row, wait, self.by[row])

    def _before(self, row, wait, by):
        """Add what lies between a row and the one that held it back; return the next to visit."""
        self.then = self.t.reason_of(wait, by)
        if by < 0:
            return -1
        if wait in (Wait.OPERANDS, Wait.OVERWRITES, Wait.STATED):
            self._result(by)
        elif wait == Wait.CHAIN:
            k, start = self.kind[by], self.start[by]
            end = start + float(self.t.pieces.chain[k])
            begun = start + self.fixed[k]
            worked = min(begun + self.work[k], end - float(self.t.pieces.result[k]))
            self._add(by, worked, end, "result latency")
            self._add(by, begun, worked, "work")
            is_load = self.t.instruction(by).engine is Engine.TENSOR
            self._add(by, start, begun, "load stationary" if is_load else "fixed overhead")
            return self._before_start(by)
        return by

    def _result(self, row):
        self._add(row, self.release[row], self.done[row], "result latency")

    def _add(self, row, start, end, what):
        if end > start:
            instruction = self.t.instruction(row)
            facts, changed = self._facts_of(instruction, what, self.kind[row])
            what = "DMA transfer" if what.startswith("DMA transfer") else what
            self.found.append(Piece(start, end, row, instruction, what, self.then, facts, changed))
            self.then = "it goes on"

    def _facts_of(self, instruction, piece, row_kind):
        key = instruction.name, instruction.engine, piece, instruction.work, row_kind
        if key in self.facts:
            return self.facts[key]
        engine = instruction.engine.clock
        clock = f"{engine}_engine.clock_hz"
        names = {f"{engine}_clock_hz"}
        match piece:
            case "work":
                row, done_by = INSTRUCTIONS.get(instruction.name), instruction.engine
                paths = row.facts_on(self.t.spec, done_by, instruction.work) if row else ()
                paths = (*paths, clock)
                if row and row.facts_by:
                    paths = row.facts_by(self.t.spec, *instruction.work)
                    names |= OPERATOR_PARAMETERS
                names.add("work_factor")
            case "fixed overhead":
                paths = ("cycles.fixed_overhead_cycles", clock)
                names.add("fixed_cycles")
            case "result latency":
                paths = (f"timing.{engine}_result_cycles", clock)
                names.add(f"{engine}_result_cycles")
            case "load stationary":
                paths = ("tensor_engine.load_stationary_speedup", clock)
                if self.fixed[row_kind]:
                    paths = ("timing.fp32_load_speedup", clock)
                names |= {"load_stationary_speedup", "fp32_load_speedup"}
            case "DMA descriptors":
                paths, names = ("timing.dge_ns",), {"dge_ns"}
            case "DMA start":
                paths, names = ("dma.start_ns",), {"dma_start_ns"}
            case _:
                paths = transfer_facts(self.t, row_kind, piece)
                names = {name for name in self.changed if name.startswith("dma_")}
                names.discard("dma_start_ns")
        facts = tuple((path, self.t.spec.find(path)) for path in dict.fromkeys(paths))
        entry = facts, tuple(sorted(names & self.changed))
        entry = self.facts[key] = self.facts.setdefault((paths, entry[1]), entry)  # one tuple
        return entry


def transfer_facts(timeline, kind: int, what: str) -> tuple[str, ...]:
    """Return the facts that the pace of one kind of transfer rests on."""
    p, values = timeline.pieces, timeline.parameters
    packets = timeline.placement.run.kinds[kind].packets
    far = "far_" if packets.are_far else ""
    rows = max(int(p.descriptors[kind]), 1)
    shares = int(p.lanes[kind, 1]) or int(timeline.spec.dma.queues)
    paths: tuple[str, ...]
    if -(-rows // shares) * p.work[kind] < p.fixed[kind]:
        paths = ("timing.dma_turnaround_ns",)
    elif packets.number * values[f"dma_{far}packet_ns"] >= rows * p.work[kind]:
        paths = (f"timing.dma_{far}packet_ns",)
    elif packets.are_lists:  # as quick in a burst
        return "dma.bytes_per_s", "timing.dma_buffer_ns"
    else:
        paths = "dma.bytes_per_s", "timing.dma_row_ns"
    if what.endswith("in a burst"):
        paths = (*paths, "timing.dma_burst_speedup")
    elif what.endswith("end"):
        paths = (*paths, "timing.dma_burst_ns")
    return paths
