"""Warnings that teach: what costs a kernel time or is dangerous, where, how much, and what to do.

Each finder reads what a run left behind (program, placement, timeline, notes) and returns
:class:`Warning_` records.  Costs are time of the engine or queues concerned, with the range that
the uncertain parameters give; what runs beside something slower may cost less than that.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.engine import Engine, Memory
from trainium_edu.neuroncore.expanded import ENGINES
from trainium_edu.neuroncore.waits import Wait
from trainium_edu.nki.costs import Cost, Costing

__all__ = ["FINDERS", "Warning_", "find_warnings", "once"]

_WORTH_SAYING = 0.01  # of the makespan
_SHORT_ROW_BYTES = 2048  # the documents: "approaching peak" from 2 KiB on


@dataclass(frozen=True, slots=True)
class Warning_:
    """One thing to know about a kernel."""

    kind: str
    line: object  #: SourceLine or None
    text: str  #: what was found
    remedy: str
    cost: Cost | None  #: None where it is not time that is lost

    def __str__(self):
        where = f"{self.line}: " if self.line else ""
        cost = f" Costs {self.cost}." if self.cost else ""
        return f"{where}{self.text}.{cost} {self.remedy}."


def find_warnings(program, placement, timeline, notes=()) -> list[Warning_]:
    """Return everything worth saying about one program, what is wrong first, then by cost.

    Parameters
    ----------
    program : neuroncore.Program
        As recorded; `timeline.program` may be its optimised copy.
    placement : neuroncore.Placement
    timeline : neuroncore.CoreTimeline
    notes : sequence of (kind, instruction index, role, allocation index)
    """
    run = _Evidence(program, placement, timeline, notes)
    found = [warning for finder in FINDERS for warning in finder(run)]
    return sorted(found, key=_weight)


def _weight(warning):
    """Sort what is wrong before what costs time, and the costliest of that first."""
    cost = warning.cost
    return cost is not None, -(cost.nominal_ns if cost else 0), warning.kind


def once(programs) -> list[Warning_]:
    """Return the warnings of programs that run side by side, each line's from where it costs most.

    Parameters
    ----------
    programs : iterable of list of Warning_
    """
    kept = {}
    for found in programs:
        met = defaultdict(int)
        for warning in found:
            place = warning.kind, warning.line
            key = *place, met[place]
            met[place] += 1
            kept[key] = min(kept.get(key, warning), warning, key=_weight)
    return sorted(kept.values(), key=_weight)


class _Evidence:
    """What the finders read, with how often each instruction ran."""

    def __init__(self, program, placement, timeline, notes):
        self.recorded = program
        self.placement = placement
        self.timeline = timeline
        self.notes = notes
        self.program = timeline.program
        self.costing = Costing(timeline)
        count = len(self.program.instructions)
        self.times = np.bincount(timeline.instruction_index, minlength=count).tolist()
        self.makespan_ns = timeline.makespan_ns

    def by_line(self, pick):
        """Return {(line, name): [(instruction, times)]} of the instructions that `pick` takes."""
        groups = defaultdict(list)
        for instruction, times in zip(self.program.instructions, self.times, strict=True):
            if pick(instruction):
                groups[instruction.line, instruction.name].append((instruction, times))
        return groups

    def cost(self, group, lost) -> Cost | None:
        """Return the sum of ``lost(instruction, values)``, or None if it is not worth saying."""
        cost = self.costing.cost(
            lambda values: sum(lost(instruction, values) * times for instruction, times in group)
        )
        return cost if cost.nominal_ns > _WORTH_SAYING * self.makespan_ns else None

    def tile(self, access):
        """Return the allocation behind an access."""
        return self.program.allocations[access.allocation]


def _count(group):
    return sum(times for _, times in group)


def _n(count, what):
    return f"{count} {what}{'s' * (count != 1)}"


# -- transfers --------------------------------------------------------------------------------


def small_transfers(run):
    """Find transfers whose contiguous rows are short."""

    def short(instruction):
        work = instruction.work
        return instruction.engine is Engine.DMA and work and work[2] < _SHORT_ROW_BYTES

    for (line, name), group in run.by_line(short).items():
        cost = run.cost(group, lambda i, values: run.costing.small_rows_ns(i.work, values))
        if cost is None:
            continue
        low, high = (end(i.work[2] for i, _ in group) for end in (min, max))
        row = str(low) if low == high else f"{low} to {high}"
        yield Warning_(
            "small transfers", line,
            f"{_n(_count(group), 'transfer')} in rows of {row} bytes, and a queue needs 2 to 4 KiB "
            "in one piece to reach its rate",
            _TRANSPOSE if name == "dma_transpose" else _WIDER, cost,
        )  # fmt: skip


_WIDER = "Load wider tiles: more contiguous columns of each row, and fewer transfers"
_TRANSPOSE = (
    "A DMA moves a transpose element by element: load the rows as they lie and turn the tile on "
    "the Tensor Engine (nisa.nc_transpose), which takes well under a microsecond for 128 x 128"
)


def repeated_loads(run):
    """Find the same bytes of HBM loaded more than once."""
    loads = defaultdict(list)
    written = {
        a.allocation for i in run.program.instructions for a in i.accesses
        if a.is_write and run.tile(a).memory is Memory.HBM
    }  # fmt: skip
    for instruction, times in zip(run.program.instructions, run.times, strict=True):
        if instruction.engine is not Engine.DMA:
            continue
        for access in instruction.accesses:
            source = run.tile(access)
            is_input = source.memory is Memory.HBM and access.allocation not in written
            if is_input and not access.is_write and not access.role.endswith(".index"):
                loads[access.allocation, access.geometry].append((instruction, times))
    again = defaultdict(list)
    for (allocation, _), group in loads.items():
        if _count(group) > 1:
            again[allocation, group[0][0].line].append(group)
    for (allocation, line), groups in again.items():
        extra = [(group[0][0], _count(group) - 1) for group in groups]
        cost = run.cost(extra, lambda i, values: run.costing.transfer_ns(i.work, values))
        if cost is None:
            continue
        size = sum(i.work[3] * times for i, times in extra)
        most = max(_count(group) for group in groups)
        yield Warning_(
            "repeated loads", line,
            f"the same bytes of {run.program.allocations[allocation].name} come from HBM "
            f"{most} times: {size / 1e6:.3g} MB more than needed",
            "Load once before the loop, keep the tile in SBUF, or block the loops so that what is "
            "loaded is used up", cost,
        )  # fmt: skip


def starved_engine(run):
    """Find the engine that waits longest for loads, and which tensor it waits for."""
    timeline = run.timeline
    worst, lost, by = None, 0.0, {}
    for engine in (Engine.TENSOR, Engine.VECTOR, Engine.SCALAR, Engine.GPSIMD):
        rows = timeline.rows_on(engine)
        if not rows.size:
            continue
        before = np.concatenate(([0.0], timeline.end_ns[rows[:-1]]))
        gaps = timeline.start_ns[rows] - before
        tensors = defaultdict(float)
        for k in np.flatnonzero((gaps > 0) & (timeline.wait[rows] == Wait.OPERANDS)):
            load = int(timeline.predecessor[rows[k]])
            if load < 0 or ENGINES[timeline.engine[load]] is not Engine.DMA:
                continue
            instruction = timeline.instruction(load)
            source = next((a for a in instruction.accesses if not a.is_write), None)
            name = run.tile(source).name if source else "a tensor"
            tensors[name, instruction.line] += float(gaps[k])
        total = sum(tensors.values())
        if total > lost:
            worst, lost, by = engine, total, tensors
    if worst is None or lost < 0.05 * run.makespan_ns:
        return
    (name, line), most = max(by.items(), key=lambda item: item[1])
    cost = run.costing.cost(lambda values: _scaled_by_transfers(run, lost, values))
    yield Warning_(
        "starved engine", line,
        f"the {worst.title} stands still for {lost / run.makespan_ns:.0%} of the time because its "
        f"operands are still on their way, longest for {name} ({most / lost:.0%} of that)",
        "Let loads run ahead (allocate tiles inside the loop, more buffers), or do more with each "
        "byte that was loaded", cost,
    )  # fmt: skip


def _scaled_by_transfers(run, lost, values):
    """Return a waiting time at other parameters: it grows as the transfers do."""
    moved = [
        (i, t) for i, t in zip(run.program.instructions, run.times, strict=True)
        if i.engine is Engine.DMA
    ]  # fmt: skip

    def total(at):
        return sum(
            (run.costing.transfer_ns(i.work, at) + at["dma_start_ns"] / 16) * t for i, t in moved
        )

    nominal = total(run.costing.values[0])
    return lost * total(values) / nominal if nominal else lost


# -- engines ----------------------------------------------------------------------------------


def few_partitions(run):
    """Find instructions that leave most of the 128 lanes empty."""

    def narrow(instruction):
        if instruction.engine in (Engine.DMA, Engine.SYNC):
            return False
        rows = [a.end_row - a.first_row for a in instruction.accesses]
        return bool(rows) and max(rows) <= 64

    for (line, name), group in run.by_line(narrow).items():
        lanes = max(a.end_row - a.first_row for i, _ in group for a in i.accesses)

        def lost(instruction, values, lanes=lanes):
            return run.costing.work_ns(instruction, values) * (1 - lanes / 128)

        cost = run.cost(group, lost)
        if cost is not None:
            yield Warning_(
                "few partitions", line,
                f"{_n(_count(group), name)} on {lanes} of 128 partitions: "
                f"{128 - lanes} lanes do nothing",
                "Put the longer axis on the partitions, or several rows of work side by side", cost,
            )  # fmt: skip


def long_strides(run):
    """Find accesses whose innermost stride is over 16 bytes."""

    def strided(instruction):
        work = instruction.work
        return (
            instruction.engine in (Engine.VECTOR, Engine.SCALAR, Engine.GPSIMD)
            and len(work) > 1 and work[1] is True
        )  # fmt: skip

    for (line, name), group in run.by_line(strided).items():

        def lost(instruction, values):
            dense = (instruction.work[0], False, *instruction.work[2:])
            cost = run.costing.work_ns
            return cost(instruction, values) - cost(instruction, values, dense)

        cost = run.cost(group, lost)
        if cost is not None:
            yield Warning_(
                "long stride", line,
                f"{_n(_count(group), name)} with more than 16 bytes from one element to the "
                "next, and such a port runs at half speed",
                "Lay the tile out so that the last axis is contiguous (write it strided once, or "
                "rearrange it with the DMA)", cost,
            )  # fmt: skip


def fp32_matmuls(run):
    """Find matmuls of FP32 operands, which take four passes."""

    def fp32(instruction):
        return instruction.name == "nc_matmul" and len(instruction.work) > 3 and (
            instruction.work[3] == "fp32"
        )  # fmt: skip

    for (line, _), group in run.by_line(fp32).items():
        passes = float(run.timeline.spec.tensor_engine.fp32_factor)

        def lost(instruction, values, passes=passes):
            return run.costing.work_ns(instruction, values) * (1 - 1 / passes)

        cost = run.cost(group, lost)
        if cost is not None:
            yield Warning_(
                "FP32 matmul", line,
                f"{_n(_count(group), 'matmul')} of FP32 operands take {passes:g} passes each",
                "Load the operands as BF16 (the DMA casts on the way); sums stay FP32 in PSUM",
                cost,
            )  # fmt: skip


# -- memory -----------------------------------------------------------------------------------


def _waits(run, wanted, memory, pick=None):
    """Return {line: {allocation: ns}} that rows waited for a reason, their result in `memory`.

    `pick` says of a row of an engine whether it counts.
    """
    timeline = run.timeline
    found = defaultdict(lambda: defaultdict(float))
    for engine in ENGINES[:4]:
        rows = timeline.rows_on(engine)
        if not rows.size:
            continue
        before = np.concatenate(([0.0], timeline.end_ns[rows[:-1]]))
        gaps = timeline.start_ns[rows] - before
        if Wait.PORT in wanted:
            gaps = timeline.port_wait_ns[rows]
        for k in np.flatnonzero((gaps > 0) & np.isin(timeline.wait[rows], wanted)):
            if pick and not pick(int(rows[k])):
                continue
            instruction = timeline.instruction(int(rows[k]))
            out = next((a for a in instruction.accesses if a.is_write), None)
            if out is not None and run.tile(out).memory is memory:
                found[instruction.line][out.allocation] += float(gaps[k])
    if memory is Memory.SBUF:
        rows = timeline.rows_on(Engine.DMA)
        late = np.isin(timeline.wait[rows], wanted)
        for row in rows[late]:
            instruction = timeline.instruction(int(row))
            out = next((a for a in instruction.accesses if a.is_write), None)
            if out is not None and run.tile(out).memory is memory:
                found[instruction.line][out.allocation] += 0.0
    return found


def bank_conflicts(run):
    """Find results that wait for a PSUM bank that another engine still reads or fills."""
    wanted = Wait.PLACE, Wait.OVERWRITES
    held = _waits(run, wanted, Memory.PSUM, lambda row: _store_behind(run.timeline, row) is None)
    for line, by_tile in held.items():
        lost = sum(by_tile.values())
        if lost > _WORTH_SAYING * run.makespan_ns:
            yield Warning_(
                "bank conflict", line,
                f"a result for {_longest(run, by_tile)} waits until the PSUM bank that it goes to "
                "has been read",
                "Let results take turns over several banks: allocate the PSUM tile inside the "
                "loop, and copy it out soon", _fixed(lost),
            )  # fmt: skip
    for memory, pair in ((Memory.SBUF, "Vector and GpSimd"), (Memory.PSUM, "Vector and Scalar")):
        for line, by_tile in _waits(run, (Wait.PORT,), memory).items():
            lost = sum(by_tile.values())
            if lost > _WORTH_SAYING * run.makespan_ns:
                where = memory.upper()
                yield Warning_(
                    "port conflict", line,
                    f"writing {_longest(run, by_tile)} waits for the port to {where}, which {pair} "
                    "share",
                    f"Move work from one of the two engines, or to another memory than {where}",
                    _fixed(lost),
                )  # fmt: skip


def _store_behind(timeline, row):
    """Return the store for which whoever empties a PSUM bank waits, or None if it waits for none.

    The copy out of the bank needs the place of an earlier copy, which is still being stored.
    """
    for _ in range(4):
        if timeline.wait[row] != Wait.PLACE:
            return None
        row = int(timeline.predecessor[row])
        if row < 0:
            return None
        if ENGINES[timeline.engine[row]] is Engine.DMA:
            return row
    return None


def slow_stores(run):
    """Find results that wait in PSUM because the copies out of it wait for stores."""
    timeline = run.timeline
    held = _waits(
        run, (Wait.PLACE,), Memory.PSUM, lambda row: _store_behind(timeline, row) is not None
    )
    lost = sum(sum(by_tile.values()) for by_tile in held.values())
    if lost <= _WORTH_SAYING * run.makespan_ns:
        return
    stores = defaultdict(int)
    for row in timeline.rows_on("tensor"):
        behind = _store_behind(timeline, int(row))
        if behind is not None:
            stores[timeline.instruction(behind).line] += 1
    line = max(stores, key=stores.get)
    yield Warning_(
        "slow stores", line,
        "results wait in PSUM: the copies that empty it need the places of earlier copies, which "
        "are still being stored",
        "Store fewer, longer rows (collect several results in one wide tile), and let less be "
        "loaded at the same time", run.costing.cost(
            lambda values: _scaled_by_transfers(run, lost, values)
        ),
    )  # fmt: skip


def _longest(run, by_tile):
    """Name the tile that waited longest, and say how many waited beside it."""
    allocation = max(by_tile, key=by_tile.get)
    others = len(by_tile) - 1
    return _called(run.program.allocations[allocation]) + (
        f" (and {_n(others, 'other tile')})" if others else ""
    )


def _called(info):
    """Return a tile's name, or where it was allocated if nobody gave it one."""
    if info.name != f"{info.memory}_{info.index}" or len(info.site) < 5:
        return info.name
    return f"the {info.memory.upper()} tile of line {info.site[1]}"


def _fixed(lost):
    return Cost(lost, lost, lost)


def serialising_buffers(run):
    """Find tiles whose few buffers make the next turn wait for the last one."""
    held = _waits(run, (Wait.PLACE, Wait.OVERWRITES), Memory.SBUF)
    if not held or run.placement.endless:
        return
    from trainium_edu.neuroncore.placement import place
    from trainium_edu.neuroncore.scheduler import schedule

    timeline = run.timeline
    free = place(run.program, timeline.spec, endless=True)
    spans = []
    for values in run.costing.values:
        now = schedule(run.program, run.placement, timeline.spec, parameters=values).makespan_ns
        best = schedule(run.program, free, timeline.spec, parameters=values).makespan_ns
        spans.append(now - best)
    cost = Cost(spans[0], min(spans), max(spans))
    if cost.nominal_ns < 0.05 * run.makespan_ns:
        return
    tight = min(
        (s for s in run.placement.sites if s.tiles > s.slots and s.memory is Memory.SBUF),
        key=lambda site: (site.buffers, -site.tiles), default=None,
    )  # fmt: skip
    line, by_tile = max(held.items(), key=lambda item: sum(item[1].values()))
    buffers = f" ({_named(run, tight)} has {_n(tight.buffers, 'buffer')})" if tight else ""
    yield Warning_(
        "serialising buffers", line,
        f"{_longest(run, by_tile)} waits until the tile before it in the same place is used up"
        f"{buffers}",
        "Give the loop more buffers (buffers=2), use smaller tiles so that more fit, or allocate "
        "inside the loop instead of before it", cost,
    )  # fmt: skip


def _named(run, site):
    """Name a site by its first tile."""
    first = next((a for a in run.program.allocations if a.name == site.name), None)
    return _called(first) if first else site.name


def high_water(run):
    """Say when SBUF is nearly full."""
    used = run.placement.high_water_bytes.get(Memory.SBUF, 0)
    most = int(run.timeline.spec.sbuf.bytes_per_partition)
    if used > 0.9 * most:
        sites = [s for s in run.placement.sites if s.memory is Memory.SBUF]
        if not sites:
            placed = [a for a in run.program.allocations if a.address is not None]
            top = max(placed, key=lambda a: (a.memory is Memory.SBUF, a.address + a.row_bytes))
            line = _line(top.site[:2]) if isinstance(top.site[0], str) else None
            what = "all of them placed by address"
        else:
            largest = max(sites, key=lambda s: s.slots * s.row_bytes)
            line = largest.line and _line(largest.line)
            what = f"most is {_named(run, largest)}, {largest.slots} slots of "
            what += f"{largest.row_bytes} bytes"
        yield Warning_(
            "SBUF nearly full", line,
            f"tiles reach byte {used} of {most} in each partition; {what}",
            "That is fine as long as nothing waits for a place; smaller tiles leave room for more "
            "buffers", None,
        )  # fmt: skip


def _line(place):
    from trainium_edu.neuroncore.program import SourceLine

    return place if isinstance(place, SourceLine) else SourceLine(place[0], place[1], "")


# -- values -----------------------------------------------------------------------------------

_NOTES = {
    "accumulate-unwritten": (
        "accumulates into {name}, which nothing was written to: undefined on hardware",
        "Let the first matmul overwrite (accumulate=None or False)",
    ),
    "accumulate-on-value": (
        "accumulates onto a value that no matmul wrote to {name}: undefined on NeuronCore-v2",
        "Let the first matmul overwrite, and add the value afterwards on the Vector Engine",
    ),
    "transposed-infinity": (
        "turns {name} by a matmul with the identity; it holds infinities or NaN, and on "
        "NeuronCore-v2 these times zero make whole rows NaN",
        "Write finite numbers instead (the lowest float32, not -inf), or turn tiles of up to "
        "32 x 32 on the Vector Engine, which moves bits",
    ),
}


def unwritten_reads(run):
    """Find instructions that read what was never written, and other notes on values."""
    groups = {}  #: (kind, line, instruction, role, an output's name) -> the tiles' names
    for kind, index, role, allocation in run.notes:
        instructions = run.recorded.instructions
        instruction = instructions[index] if index < len(instructions) else None
        line = instruction.line if instruction else None
        what = instruction.name if instruction else "an instruction"
        name = run.recorded.allocations[allocation].name if allocation >= 0 else ""
        key = kind, line, what, role, name if kind == "unwritten output" else ""
        groups.setdefault(key, {})[name] = None
    for (kind, line, what, role, _), names in groups.items():
        name, *others = names
        if others:
            name = f"{name} and {_n(len(others), 'more tile')} of this line"
        if kind == "uninitialised":
            yield Warning_(
                "uninitialised", line,
                f"{what} reads {name} ({role}), part of which was never written: floats read NaN, "
                "integers 4",
                "Write all of it first (nisa.memset, nisa.dma_copy), or read less", None,
            )  # fmt: skip
        elif kind == "unwritten output":
            yield Warning_(
                kind, None,
                f"the kernel returns {name}, part of which was never written",
                "Check that the loops reach the last rows and columns: do the sizes divide by the "
                "tiles?", None,
            )  # fmt: skip
        elif kind in _NOTES:
            text, remedy = _NOTES[kind]
            yield Warning_(kind, line, f"{what} {text.format(name=name)}", remedy, None)
        else:
            yield Warning_(
                kind, line, f"{what}: {role}", "Bring the numbers into the stated range first", None
            )


FINDERS = (unwritten_reads, small_transfers, repeated_loads, starved_engine, few_partitions,
           long_strides, fp32_matmuls, bank_conflicts, slow_stores, serialising_buffers,
           high_water)  # fmt: skip
