"""When everything ran on one core, who waited for what, and what that says about the program."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.program import Instruction, Program
from trainium_edu.neuroncore.timing._loops import RAW, STATED
from trainium_edu.neuroncore.timing.durations import Durations
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.hazards import Hazards
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.neuroncore.timing.roofline import Roofline, Traffic, traffic
from trainium_edu.neuroncore.timing.waits import Wait
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.timeline import Span, Timeline

__all__ = ["CoreTimeline"]

_DMA = ENGINES.index(Engine.DMA)
#: What Vector shares: by name, with which engine, and the bit of an execution's ports.
_PORTS = {
    "port: Vector/GpSimd on SBUF": (Engine.GPSIMD, 1),
    "port: Vector/Scalar on PSUM": (Engine.SCALAR, 2),
}


def union_ns(start_ns: np.ndarray, end_ns: np.ndarray) -> float:
    """Return the ns that spans cover together."""
    order = np.argsort(start_ns, kind="stable")
    start, reach = start_ns[order], np.maximum.accumulate(end_ns[order])
    before = np.concatenate(([0.0], reach))[:-1]
    return float(np.maximum(reach - np.maximum(start, before), 0).sum())


def levels(start_ns, end_ns, sizes=1) -> tuple[np.ndarray, np.ndarray]:
    """Add up what is there in intervals: return the moments of change and the sum from each on.

    Examples
    --------
    >>> when, level = levels(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    >>> when.tolist(), level.tolist()
    ([0.0, 1.0, 2.0, 3.0], [1, 2, 1, 0])
    """
    when, place = np.unique(np.concatenate([start_ns, end_ns]), return_inverse=True)
    change = np.zeros(len(when), np.int64)
    np.add.at(change, place, np.outer([1, -1], np.broadcast_to(sizes, len(start_ns))).ravel())
    return when, np.cumsum(change)


@dataclass(frozen=True, eq=False)
class CoreTimeline:
    """Every instruction's time; made by :func:`~trainium_edu.neuroncore.timing.scheduler.schedule`.

    A *row* is one execution of an instruction, numbered in program order; arrays are by row.

    Attributes
    ----------
    start_ns : float64[rows]
        When the engine takes the instruction up; for a transfer, when it is issued.
    release_ns : float64[rows]
        When the engine can take the next one; for a transfer, when its last byte arrived.
    done_ns : float64[rows]
        When others can read the result.
    predecessor : int64[rows]
        The row that held this one back last (-1: none), and in ``wait`` how: a ``Wait``.
    order : int64[rows]
        The rows in the order in which they were started.
    queue_start_ns, queue_end_ns : float64[transfers, 16]
        When each queue moved its share of each transfer (-1: it had none).
    transfer : int64[rows]
        Number of the transfer, where the row is one.
    """

    program: Program
    placement: Placement
    hazards: Hazards
    spec: Record
    parameters: dict  #: the values that it was timed with
    without: frozenset  #: causes that were taken away
    pieces: Durations
    start_ns: np.ndarray
    release_ns: np.ndarray
    done_ns: np.ndarray
    predecessor: np.ndarray
    wait: np.ndarray
    order: np.ndarray
    queue_start_ns: np.ndarray
    queue_end_ns: np.ndarray
    queue_predecessor: np.ndarray
    critical_queue: np.ndarray  #: int64[transfers], the queue that finished last
    ready_predecessor: np.ndarray  #: int64[rows], the last one that its data or place waited for
    ready_wait: np.ndarray
    transfer: np.ndarray

    def __repr__(self):
        return (
            f"CoreTimeline({self.program.name!r}, {self.rows} instructions, "
            f"{self.makespan_ns:.1f} ns)"
        )

    # -- rows ------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many instructions ran (loops run out)."""
        return self.start_ns.size

    @property
    def dma(self) -> int:
        """The number in ``engine`` that stands for a transfer."""
        return _DMA

    @property
    def engine(self) -> np.ndarray:
        """int8[rows]: index into ``expanded.ENGINES``."""
        return self.placement.run.engine

    @property
    def instruction_index(self) -> np.ndarray:
        """int32[rows]: index into ``program.instructions``."""
        return self.placement.run.instruction

    def instruction(self, row: int) -> Instruction:
        """Return what a row executes."""
        if type(row) is not int:
            row = whole(row, "row")
        return self.program.instructions[self.instruction_index[row]]

    @cached_property
    def end_ns(self) -> np.ndarray:
        """float64[rows]: until when the engine shows as busy with the row.

        The pipeline drains until the result is visible, or until the engine's next instruction.
        """
        end = self.done_ns.copy()
        for e in range(_DMA):
            stream = self.rows_on(ENGINES[e])
            end[stream[:-1]] = np.minimum(end[stream[:-1]], self.start_ns[stream[1:]])
        return end

    @checked
    def rows_on(self, engine: Engine) -> np.ndarray:
        """Return the rows of one engine in order."""
        return np.flatnonzero(self.engine == ENGINES.index(Engine(engine)))

    # -- time ------------------------------------------------------------------------------------

    @cached_property
    def makespan_ns(self) -> float:
        """From the first moment to the last result."""
        return float(self.done_ns.max()) if self.rows else 0.0

    @checked
    def busy_ns(self, engine: Engine) -> float:
        """Return the ns in which an engine works; DMA: in which any queue moves data."""
        engine = Engine(engine)
        if engine is not Engine.DMA:
            rows = self.rows_on(engine)
            return float((self.end_ns[rows] - self.start_ns[rows]).sum())
        moved = self.queue_start_ns >= 0
        return union_ns(self.queue_start_ns[moved], self.queue_end_ns[moved])

    @checked
    def idle_ns(self, engine: Engine) -> float:
        """Return the ns in which an engine does nothing: makespan - busy."""
        return self.makespan_ns - self.busy_ns(engine)

    @checked
    def waiting(self, engine: Engine) -> dict[str, float]:
        """Return what a stream's idle time was spent waiting for, in ns, the longest first.

        The sum is ``idle_ns(engine)``.  DMA has no stream of its own; its queues wait in
        ``queue_waiting_ns``.
        """
        engine = Engine(engine)
        if engine is Engine.DMA:
            idle, queue = self.idle_ns(engine), self.queue_waiting_ns
            return {"nothing to move, or transfers still starting": idle} | (
                {"transfers queued up": queue} if queue else {}
            )
        rows = self.rows_on(engine)
        if not rows.size:
            return {"nothing to do": self.makespan_ns} if self.makespan_ns else {}
        ns_by_reason = {}
        late = self.engine[self.waits[0]] == ENGINES.index(engine)
        for _, ns, wait, by in zip(*(part[late].tolist() for part in self.waits), strict=True):
            reason = self.reason_of(wait, by)
            ns_by_reason[reason] = ns_by_reason.get(reason, 0.0) + ns
        tail = self.makespan_ns - float(self.end_ns[rows[-1]])
        if tail > 0:
            ns_by_reason["nothing left to do"] = tail
        return dict(sorted(ns_by_reason.items(), key=lambda item: -item[1]))

    @cached_property
    def waits(self) -> tuple[np.ndarray, ...]:
        """All the time that engines stood still: row, ns, wait (a ``Wait``) and for which row.

        Before one row an engine waits for data; what is left once that is there, for the place
        that the row writes; and what is left then, for a port.  Of one row the last wait comes
        first.
        """
        of, by, why = self.placement.run.kind, self.ready_predecessor, self.ready_wait
        lead, chain = self.pieces.lead[of], self.pieces.chain[of]
        data, data_wait, data_by = self._data_there()
        is_place = (why == Wait.PLACE) | (why == Wait.OVERWRITES)
        operands_ns = np.select(
            [by < 0, why == Wait.PLACE, why == Wait.CHAIN],
            [0.0, self.release_ns[by], self.start_ns[by] + chain[by]], self.done_ns[by],
        )  # fmt: skip
        parts = []
        for engine in ENGINES[:_DMA]:
            rows = self.rows_on(engine)
            begin, place = self.start_ns[rows], is_place[rows]
            before = np.concatenate(([0.0], self.end_ns[rows[:-1]]))[: rows.size]
            ready = np.clip(operands_ns[rows] + lead[rows], before, begin)
            first = np.where(place, np.clip(data[rows] + lead[rows], before, ready), ready)
            parts += [
                (rows, begin - ready, self.wait[rows], self.predecessor[rows]),
                (rows, ready - first, why[rows], by[rows]),
                (rows, first - before, np.where(place, data_wait[rows], why[rows]),
                 np.where(place, data_by[rows], by[rows])),
            ]  # fmt: skip
        row, ns, wait, who = (np.concatenate(part) for part in zip(*parts, strict=True))
        late = np.flatnonzero(ns > 0)
        late = late[np.argsort(row[late], kind="stable")]
        return row[late], ns[late], wait[late], who[late]

    def _data_there(self):
        """Return for each row when its data is there, how it waits for it, and for which row."""
        edges = self.hazards
        data = np.isin(edges.edges["kind"], (RAW, STATED))
        row, by, kind = edges.row[data], edges.edges["row"][data], edges.edges["kind"][data]
        chain = (kind == RAW) & (self.engine[row] == self.engine[by]) & (self.engine[by] != _DMA)
        ns = np.where(
            chain, self.start_ns[by] + self.pieces.chain[self.placement.run.kind[by]],
            self.done_ns[by],
        )  # fmt: skip
        order = np.lexsort((ns, row))
        last = order[np.diff(row[order], append=-1) != 0]
        there, wait, who = np.zeros(self.rows), np.zeros(self.rows, int), np.full(self.rows, -1)
        there[row[last]], who[row[last]] = ns[last], by[last]
        wait[row[last]] = np.select(
            [kind[last] == STATED, chain[last]], [Wait.STATED, Wait.CHAIN], Wait.OPERANDS
        )
        return there, wait, who

    @property
    def queue_waiting_ns(self) -> float:
        """The ns for which transfers, ready to move data, waited for their last queue: a sum."""
        rows = self.rows_on(Engine.DMA)
        if not rows.size:
            return 0.0
        ready = self.start_ns[rows] + self.pieces.lead[self.placement.run.kind[rows]]
        return float(np.maximum(self.queue_start_ns.max(axis=1) - ready, 0).sum())

    def reason(self, row: int) -> str:
        """Return in a few words what a row waited for last."""
        return self.reason_of(int(self.wait[row]), int(self.predecessor[row]))

    @cached_property
    def reasons(self) -> list[str]:
        """The last thing that every row waited for, in a few words."""
        by = self.predecessor
        other = np.where(by < 0, -1, self.engine[by]) if self.rows else by
        codes = self.wait.astype(np.int64) * 8 + other + 1
        _, first, words = np.unique(codes, return_index=True, return_inverse=True)
        found = [self.reason(int(row)) for row in first]
        return [found[i] for i in words.tolist()]

    def reason_of(self, wait: int, by: int) -> str:
        """Return in a few words what a wait of this kind for row `by` means."""
        if whole(by, "by") < 0:
            return Wait(wait).words
        other = self.instruction(by)
        who = "a transfer" if other.engine is Engine.DMA else f"the {other.engine.title}"
        match Wait(wait):
            case Wait.OPERANDS:
                return f"operands from {who}"
            case Wait.OVERWRITES:
                return f"an older write by {who}"
            case Wait.PLACE:
                return f"a place that {who} still reads"
            case Wait.PORT:
                return f"the port that {who} holds"
        return Wait(wait).words

    @cached_property
    def port_users(self) -> dict[str, dict[Engine, np.ndarray]]:
        """By name the ports of memories that Vector shared, and each engine's rows there."""
        found = {}
        for name, (other, bit) in _PORTS.items() if "ports" not in self.without else ():
            asked = (self.placement.run.ports & bit) > 0
            rows = {e: self.rows_on(e) for e in (Engine.VECTOR, other)}
            users = {engine: mine[asked[mine]] for engine, mine in rows.items()}
            if all(mine.size for mine in users.values()):
                found[name] = users
        return found

    # -- as a general timeline -------------------------------------------------------------------

    @cached_property
    def timeline(self) -> Timeline:
        """Spans for pictures and exports: one track per engine, DMA queue and shared port."""
        spans = []
        run = self.placement.run
        instructions = self.program.instructions
        start, end = self.start_ns.tolist(), self.end_ns.tolist()
        queue_start, queue_end = self.queue_start_ns.tolist(), self.queue_end_ns.tolist()
        tracks = [f"DMA queue {q}" for q in range(self.queue_start_ns.shape[1])]
        lines = [str(i.line) if i.line else "" for i in instructions]
        reasons = self.reasons
        for row, index in enumerate(run.instruction.tolist()):
            i = instructions[index]
            info = {
                "instruction": index, "row": row, "line": lines[index],
                "bytes": i.work[3] if i.engine is Engine.DMA else 0, "waits": reasons[row],
            }  # fmt: skip
            label = i.label or i.name
            if i.engine is not Engine.DMA:
                spans.append(Span(i.engine.title, label, start[row], end[row], info))
                continue
            info["issued_ns"] = start[row]
            k = self.transfer[row]
            spans += [
                Span(track, label, begin, stop, info)
                for track, begin, stop in zip(tracks, queue_start[k], queue_end[k], strict=True)
                if begin >= 0
            ]
        for track, users in self.port_users.items():
            for engine, rows in users.items():
                spans += [
                    Span(track, engine.title, start[r], float(self.release_ns[r]),
                         {"row": int(r), "instruction": int(run.instruction[r])})
                    for r in rows
                ]  # fmt: skip
        making, generator = self.pieces.making[run.kind], self.pieces.lanes[run.kind, 2]
        spans += [
            Span(f"descriptors for {ENGINES[generator[r]].title}", "made", start[r],
                 start[r] + float(making[r]), {"row": r, "instruction": int(run.instruction[r])})
            for r in np.flatnonzero(making).tolist()
        ]  # fmt: skip
        return Timeline(spans)

    # -- what it did -----------------------------------------------------------------------------

    @cached_property
    def bytes(self) -> dict[Memory, Traffic]:
        """Bytes read from and written to each memory (a repeated stride-0 element counts once)."""
        count = len(self.program.instructions)
        return traffic(self.program, np.bincount(self.instruction_index, minlength=count))

    @cached_property
    def flops(self) -> int:
        """Floating-point operations of all matmuls."""
        each = np.array([i.flops for i in self.program.instructions], np.float64)
        return int(each[self.instruction_index].sum())

    @property
    def hbm_bytes(self) -> int:
        """Bytes to and from HBM."""
        return self.bytes[Memory.HBM].read + self.bytes[Memory.HBM].written

    @property
    def peak_flops(self) -> float:
        """The Tensor Engine's peak at the clock that it was timed with, BF16, FLOP/s."""
        te = self.spec.tensor_engine
        return int(te.rows) * int(te.columns) * 2 * self.parameters["tensor_clock_hz"]

    @property
    def mfu(self) -> float:
        """FLOPs reached over the Tensor Engine's BF16 peak in the same time."""
        most = self.peak_flops * self.makespan_ns * 1e-9
        return self.flops / most if most else 0.0

    def roofline(self) -> Roofline:
        """Return the limits that compute and memory set, and where this program stands."""
        hbm = float(self.spec.hbm_bytes_per_s_per_core)
        return Roofline(self.flops, self.hbm_bytes, self.makespan_ns, self.peak_flops, hbm,
                        self.parameters["dma_bytes_per_s"])  # fmt: skip

    def __str__(self):
        lines = [f"{self.program.name}: {self.rows} instructions in {_ns(self.makespan_ns)}"]
        for engine in ENGINES:
            rows = self.rows_on(engine)
            if not rows.size:
                continue
            busy = self.busy_ns(engine)
            share = busy / self.makespan_ns if self.makespan_ns else 0.0
            waits = [f"{_ns(ns)} {why}" for why, ns in list(self.waiting(engine).items())[:2] if ns]
            lines.append(
                f"  {engine.title:<14} {rows.size:>6} x  busy {_ns(busy):>10} {share:>6.1%}"
                + (f"  waits: {'; '.join(waits)}" if waits else "")
            )
        for memory, high in self.placement.high_water_bytes.items():
            if high:
                lines.append(
                    f"  {memory.upper():<14} {high} bytes of each partition, {self.bytes[memory]}"
                )
        if self.hbm_bytes:
            lines.append(f"  {'HBM':<14} {self.bytes[Memory.HBM]}")
        if self.flops:
            lines.append(f"  {self.flops:.4g} FLOP, MFU {self.mfu:.1%}, {self.roofline()}")
        lines += [f"  note: {note}" for note in self.placement.notes]
        low, high = (ns / 1e3 for ns in self.spec.measured.start_and_stop_ns.value)
        lines.append(f"  not counted: {low:g} to {high:g} us (measured) to start and stop a kernel")
        return "\n".join(lines)


def _ns(ns):
    return f"{ns / 1e3:.3f} us" if ns >= 1000 else f"{ns:.1f} ns"
