"""Warnings that teach: what costs a kernel time or is dangerous, where, how much, and what to do.

Each finder reads what a run left behind (program, placement, timeline, notes) and returns
:class:`Warning_` records.  A cost is by how much the run would end sooner without the habit, all
else the same (``costs.py``), with the range that the uncertain parameters give; beside it stands
for how long the habit holds its engine or the queues, where that is more.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from trainium_edu.neuroncore.advice.costs import Cost, Costing, WhatIf
from trainium_edu.neuroncore.advice.only_here import NOTED, not_on_the_chip
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import cycles_of
from trainium_edu.neuroncore.timing.expansion import ENGINES, MEMORIES
from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.neuroncore.timing.scheduler import schedule
from trainium_edu.neuroncore.timing.waits import Wait
from trainium_edu.nki.language.matrix import REPEATING

__all__ = ["FINDERS", "Warning_", "find_warnings", "once"]

_WORTH_SAYING = 0.01  # of the makespan
_STARVED = 0.1  # of the makespan
_SERIAL = 0.05  # of the makespan
_SHORT_ROW_BYTES = 2048  # the documents: "approaching peak" from 2 KiB on
_PLACES = Wait.PLACE, Wait.OVERWRITES


@dataclass(frozen=True, slots=True)
class Warning_:
    """One thing to know about a kernel."""

    kind: str
    line: object  #: SourceLine or None
    text: str  #: what was found
    remedy: str
    cost: Cost | None = None  #: by how much the run would be shorter; None if no time is lost
    held: Cost | None = None  #: for how long it holds `who`, or lets it stand still
    who: str = ""  #: "the Vector Engine", "the DMA queues"
    is_most: bool = False  #: `cost` is a bound: loads take no time, or places have no end
    is_hidden: bool = False  #: that passes beside other work: alone it costs next to nothing

    def __str__(self):
        where = f"{self.line}: " if self.line else ""
        end = "" if self.remedy.endswith("?") else "."
        return f"{where}{self.text}.{self._cost()} {self.remedy}{end}"

    def _cost(self):
        if self.cost is None:
            return ""
        if self.is_hidden:
            return (
                f" It takes {self.held} of {self.who}, but beside other work: alone it costs the "
                "run next to nothing."
            )
        said = f" Costs {'at most ' * self.is_most}{self.cost}"
        if not self.held or self.held.nominal_ns < 1.25 * self.cost.nominal_ns:
            return f"{said}."
        return (
            f"{said}, though it takes {self.held} of {self.who}: the rest passes beside other work."
        )


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
    lost = [-cost.nominal_ns if cost else 0 for cost in (warning.cost, warning.held)]
    return warning.cost is not None, warning.is_hidden, *lost, warning.kind


def once(programs) -> list[Warning_]:
    """Return the warnings of programs that run side by side, each line's from where it costs most.

    Parameters
    ----------
    programs : iterable of lists, one for each program
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

    def warning(self, kind, line, text, remedy, group, left) -> list[Warning_]:
        """Return a warning if ``left(instruction)`` parts of lead, fixed part and work pay.

        `left` answers with three numbers, or with `None` for long rows instead of short ones.
        """
        parts = np.ones((len(self.program.instructions), 3))
        for instruction, _ in group:
            parts[instruction.index] = left(instruction)
        return self.judged(kind, line, text, remedy, self.by_instruction(parts),
                           _who(group[0][0].engine))  # fmt: skip

    def by_instruction(self, parts) -> WhatIf:
        """Return the what-if in which every turn of an instruction keeps these parts."""
        parts = parts[self.timeline.instruction_index]
        return WhatIf(lambda values: parts)

    def judged(self, kind, line, text, remedy, change, who, held=None) -> list[Warning_]:
        """Return the warning of a change, with its costs, if it is worth saying."""
        held = held or self.costing.held(change)
        if held.nominal_ns <= _WORTH_SAYING * self.makespan_ns:
            return []
        cost = self.costing.saved(change)
        hidden = cost.nominal_ns <= _WORTH_SAYING * self.makespan_ns
        return [Warning_(kind, line, text, remedy, cost, held, who, is_hidden=hidden)]

    def long_rows(self, rows) -> WhatIf:
        """Return the what-if in which these transfers have rows of 4 KiB."""

        def left(values):
            parts = np.ones((rows.size, 3))
            parts[rows, 1:] = self.costing.long_rows(values)[rows, None]
            return parts

        return WhatIf(left)

    @cached_property
    def writes_sbuf(self):
        """bool[rows]: what puts its result into SBUF."""
        run, found = self.placement.run, np.zeros(self.timeline.rows, bool)
        memory = run.memory[run.access_instance]
        found[run.access_row[run.is_write & (memory == MEMORIES.index(Memory.SBUF))]] = True
        return found

    def rows(self, group):
        """Return bool[rows]: the turns of these instructions."""
        picked = np.zeros(len(self.program.instructions), bool)
        picked[[instruction.index for instruction, _ in group]] = True
        return picked[self.timeline.instruction_index]

    def tile(self, access):
        """Return the allocation behind an access."""
        return self.program.allocations[access.allocation]


def _who(engine):
    return "the DMA queues" if engine is Engine.DMA else f"the {engine.title}"


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
        low, high = (end(i.work[2] for i, _ in group) for end in (min, max))
        row = str(low) if low == high else f"{low} to {high}"
        whole = all(
            run.tile(a).row_bytes <= i.work[2]
            for i, _ in group for a in i.accesses if run.tile(a).memory is Memory.HBM
        )  # fmt: skip
        yield from run.judged(
            "small transfers", line,
            f"{_n(_count(group), 'transfer')} in rows of {row} bytes, and a queue needs 2 to 4 KiB "
            "in one piece to reach its rate",
            _TRANSPOSE if name == "dma_transpose" else _NARROW if whole else _WIDER,
            run.long_rows(run.rows(group)), "the DMA queues",
        )  # fmt: skip


_WIDER = "Load wider tiles: more contiguous columns of each row, and fewer transfers"
_NARROW = (
    "The tensor's rows in HBM are no longer: only another layout there, in which what goes to one "
    "partition lies side by side, has longer ones"
)
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
        roles = {access.role for access in instruction.accesses}
        for access in instruction.accesses:
            source = run.tile(access)
            is_input = source.memory is Memory.HBM and access.allocation not in written
            is_gathered = f"{access.role}.index" in roles  # data says which rows
            if is_input and not access.is_write and not is_gathered:
                loads[access.allocation, access.geometry].append((instruction, times))
    again = defaultdict(list)
    for (allocation, _), group in loads.items():
        if _count(group) > 1:
            again[allocation, group[0][0].line].append(group)
    for (allocation, line), groups in again.items():
        rows = run.rows([entry for group in groups for entry in group])
        for group in groups:  # the first of each is needed
            rows[np.argmax(run.rows(group))] = False
        left = np.where(rows[:, None], 0.0, np.ones(3))
        size = sum(group[0][0].work[3] * (_count(group) - 1) for group in groups)
        most = max(_count(group) for group in groups)
        yield from run.judged(
            "repeated loads", line,
            f"the same bytes of {run.program.allocations[allocation].name} come from HBM "
            f"{most} times: {size / 1e6:.3g} MB more than needed",
            "Load once before the loop, keep the tile in SBUF, or block the loops so that what is "
            "loaded is used up", WhatIf(lambda values, left=left: left, rows), "the DMA queues",
        )  # fmt: skip


def starved_engine(run):
    """Find the engine that waits longest for loads, and which tensor it waits for."""
    timeline = run.timeline
    row, ns, wait, by = timeline.waits
    late = (wait == Wait.OPERANDS) & (timeline.engine[by] == timeline.dma)
    engine = timeline.engine[row]
    lost = {e: float(ns[late & (engine == e)].sum()) for e in range(4)}
    worst = max(lost, key=lost.get)
    if lost[worst] <= _STARVED * run.makespan_ns:  # equal where nothing was issued
        return
    mine = late & (engine == worst)
    tensors = defaultdict(float)
    for load, held in zip(by[mine].tolist(), ns[mine].tolist(), strict=True):
        instruction = timeline.instruction(load)
        source = next((a for a in instruction.accesses
                       if not a.is_write and not a.role.endswith(".index")), None)  # fmt: skip
        tensors[_called(run.tile(source)) if source else "a tensor", instruction.line] += held
    loads = (timeline.engine == timeline.dma) & run.writes_sbuf
    (name, line), most = max(tensors.items(), key=lambda item: item[1])
    none_left = np.where(loads[:, None], 0.0, np.ones(3))
    change = WhatIf(lambda values: none_left, loads)
    who = _who(ENGINES[worst])
    held = run.costing.waited(lambda row, wait, by: (
        (wait == Wait.OPERANDS) & (timeline.engine[by] == timeline.dma)
        & (timeline.engine[row] == worst)
    ))  # fmt: skip
    for warning in run.judged(
        "starved engine", line,
        f"{who} stands still for {lost[worst] / run.makespan_ns:.0%} of the time because its "
        f"operands are still on their way, longest for {name} ({most / lost[worst]:.0%} of that)",
        "", change, who, held,
    ):  # fmt: skip
        ahead = run.costing.saved(WhatIf(placeless=loads))
        first = timeline.rows_on(ENGINES[worst])[0]
        if ahead.nominal_ns > 0.5 * warning.cost.nominal_ns:
            yield replace(warning, remedy=_AHEAD, cost=ahead, is_most=True)
        elif float(ns[mine & (row == first)].sum()) > 0.5 * lost[worst]:
            awaited = [timeline.instruction(k).work[2] for k in by[mine & (row == first)].tolist()]
            pieces = min(awaited) >= 2 * _SHORT_ROW_BYTES  # halves still have long rows
            yield replace(warning, remedy=_SOONER if pieces else _LATENCY, is_most=True)
        else:
            yield replace(warning, remedy=_FEWER_BYTES, is_most=True)


_AHEAD = (
    "Let loads run ahead: allocate their tiles inside the loop, give it more buffers, or use "
    "smaller tiles so that more fit"
)
_SOONER = (
    "Nothing can begin before the first tile is there: load it in pieces, and begin with the first"
)
_LATENCY = (
    "Nothing can begin before the first tile is there, and its rows are too short to come in "
    "pieces: issue this load before the others, and give the engine work meanwhile that needs none"
)
_FEWER_BYTES = (
    "Loads come as fast as the queues can: load less (keep tiles in SBUF, block the loops, a "
    "narrower dtype), in rows of 4 KiB"
)


# -- engines ----------------------------------------------------------------------------------


def few_partitions(run):
    """Find instructions that leave most of the 128 lanes empty."""

    def narrow(instruction):
        if instruction.engine in (Engine.DMA, Engine.SYNC):
            return False
        rows = [a.end_row - a.first_row for a in instruction.accesses]
        return bool(rows) and max(rows) <= 64

    least = float(run.timeline.spec.cycles.min_initiation_cycles)
    for (line, name), group in run.by_line(narrow).items():
        lanes = max(a.end_row - a.first_row for i, _ in group for a in i.accesses)
        text = (
            f"{_n(_count(group), name)} on {lanes} of 128 partitions: {128 - lanes} lanes do "
            "nothing"
        )
        change = _side_by_side(run, run.rows(group), 128 // lanes)
        if change:
            yield from run.judged("few partitions", line, text, _BESIDE, change,
                                  _who(group[0][0].engine))  # fmt: skip
            continue

        def left(i, lanes=lanes):
            cycles = max(cycles_of(i.name, i.work, i.engine, run.timeline.spec), least)
            return 1, 1, max(lanes / 128, least / cycles)

        longest = max(prod(a.geometry[1][1:]) for i, _ in group for a in i.accesses)
        remedy = _TURNED if longest > lanes else _SPREAD
        yield from run.warning("few partitions", line, text, remedy, group, left)


_BESIDE = "Put several rows of work side by side, so that one instruction does what several do now"
_TURNED = "Put the longer axis on the partitions"
_SPREAD = "Spread the elements over 128 partitions, in shorter rows, if the step allows it"


def _side_by_side(run, rows, many) -> WhatIf | None:
    """Return the what-if in which so many tiles become one: the last one's turn does the work.

    They lie beside each other, so that their loads wait for no place.
    """
    expanded = run.placement.run
    writes, instance = expanded.is_write, expanded.access_instance
    tiles = np.unique(instance[writes & rows[expanded.access_row]])
    if tiles.size < 2:
        return None
    tiles = tiles[np.argsort(expanded.first[tiles], kind="stable")]
    number = np.full(expanded.allocation.size, -1)
    number[tiles] = np.arange(tiles.size)
    of_row = np.full(rows.size, -1)
    of_row[expanded.access_row[writes]] = number[instance[writes]]
    kept = ~rows | (of_row % many == many - 1) | (of_row == tiles.size - 1)
    left = np.where(kept[:, None], np.ones(3), 0.0)
    touched = np.zeros(expanded.allocation.size, bool)
    touched[instance[rows[expanded.access_row]]] = True
    placeless = np.zeros(rows.size, bool)
    placeless[expanded.access_row[writes & touched[instance]]] = True
    return WhatIf(lambda values: left, placeless)


def long_strides(run):
    """Find accesses whose innermost stride is over 16 bytes."""

    def strided(instruction):
        work = instruction.work
        return (
            instruction.engine in (Engine.VECTOR, Engine.SCALAR, Engine.GPSIMD)
            and len(work) > 1 and work[1] is True
        )  # fmt: skip

    def left(i):
        slow, dense = (cycles_of(i.name, work, i.engine, run.timeline.spec) for work in (
            i.work, (i.work[0], False, *i.work[2:])))  # fmt: skip
        return 1, 1, dense / slow if slow else 1

    for (line, name), group in run.by_line(strided).items():
        yield from run.warning(
            "long stride", line,
            f"{_n(_count(group), name)} with more than 16 bytes from one element to the "
            "next, and such a port runs at half speed",
            "Lay the tile out so that the last axis is contiguous: let the instruction before "
            "write it so, or pack it once with a copy if it is used more than twice", group, left,
        )  # fmt: skip


def fp32_matmuls(run):
    """Find matmuls of FP32 operands, which take four passes."""

    def fp32(instruction):
        return instruction.name == "nc_matmul" and len(instruction.work) > 3 and (
            instruction.work[3] == "fp32"
        )  # fmt: skip

    passes = float(run.timeline.spec.tensor_engine.fp32_factor)
    loaded = {a.allocation for i in run.program.instructions if i.engine is Engine.DMA
              for a in i.accesses if a.is_write}  # fmt: skip
    for (line, _), group in run.by_line(fp32).items():
        operands = {a.allocation: a.allocation in loaded for i, _ in group
                    for a in i.accesses if not a.is_write}  # fmt: skip
        repeats = any(run.program.allocations[a].name == REPEATING for a in operands)
        yield from run.warning(
            "FP32 matmul", line,
            f"{_n(_count(group), 'matmul')} of FP32 operands{' inside nl.broadcast_to' * repeats}, "
            f"which take {passes:g} passes each", _REPEAT if repeats else _narrower(run, operands),
            group, lambda i: (1 / passes, 0, 1 / passes),
        )  # fmt: skip


_REPEAT = (
    "Give nl.broadcast_to a BF16 tile where its 8 bits do: FP32 is repeated exactly, which takes "
    "all the passes"
)


def _narrower(run, operands):
    """Say how operands, {allocation: whether a DMA wrote it}, come to be BF16."""
    computed = [_called(run.program.allocations[a]) for a, is_loaded in operands.items()
                if not is_loaded]  # fmt: skip
    ways = []
    if any(operands.values()):
        ways.append("load the operands as BF16 (the DMA casts on the way)")
    if computed:
        more = f" (and {_n(len(computed) - 1, 'other tile')})" * (len(computed) > 1)
        ways.append(f"let what computes {computed[0]}{more} write BF16, as its dst's dtype says")
    text = ", and ".join(ways)
    return f"{text[0].upper()}{text[1:]}; sums stay FP32 in PSUM"


# -- memory -----------------------------------------------------------------------------------


def _held(run, wanted, memory):
    """Return {line: (rows, {allocation: ns})}: who waited, for a place in `memory` or a port to it.

    The port to PSUM is the one that Scalar shares, whatever memory it writes.
    """
    timeline, found = run.timeline, {}
    row, ns, wait, by = timeline.waits
    for k in np.flatnonzero(np.isin(wait, wanted)):
        instruction = timeline.instruction(int(row[k]))
        out = next((a for a in instruction.accesses if a.is_write), None)
        if out is None:
            continue
        where = run.tile(out).memory
        if wait[k] == Wait.PORT:
            both = {ENGINES[timeline.engine[r]] for r in (row[k], by[k])}
            where = Memory.PSUM if Engine.SCALAR in both else Memory.SBUF
        if where is memory:
            rows, by_tile = found.setdefault(instruction.line, ([], defaultdict(float)))
            rows.append(int(row[k]))
            by_tile[out.allocation] += float(ns[k])
    return found


def _mask(run, rows):
    mask = np.zeros(run.timeline.rows, bool)
    mask[rows] = True
    return mask


def bank_conflicts(run):
    """Find results that wait for a PSUM bank that another engine still reads or fills."""
    timeline = run.timeline
    for line, (rows, by_tile) in _held(run, _PLACES, Memory.PSUM).items():
        free = [row for row in rows if _store_behind(timeline, row) is None]
        if not free:
            continue
        _, remedy, more = _one_place(run, free[0])
        for warning in run.judged(
            "bank conflict", line,
            f"a result for {_longest(run, by_tile)} waits until the PSUM bank that it goes to "
            "has been read", f"Let results take turns over several banks. {remedy}",
            more or WhatIf(placeless=_on_line(run, line)),
            _who(ENGINES[timeline.engine[rows[0]]]), _waited(run, rows, _PLACES),
        ):  # fmt: skip
            yield replace(warning, is_most=remedy in (_FULL, _TAKEN))
    for memory, pair in ((Memory.SBUF, "Vector and GpSimd"), (Memory.PSUM, "Vector and Scalar")):
        for line, (rows, by_tile) in _held(run, (Wait.PORT,), memory).items():
            where = memory.upper()
            yield from run.judged(
                "port conflict", line,
                f"the {timeline.instruction(rows[0]).name} to {_longest(run, by_tile)} waits for "
                f"the port to {where}, which {pair} share",
                f"Move work from one of the two engines, or to another memory than {where}",
                WhatIf(portless=_on_line(run, line)), _who(ENGINES[timeline.engine[rows[0]]]),
                _waited(run, rows, (Wait.PORT,)),
            )  # fmt: skip


def _on_line(run, line):
    """Return bool[rows]: what a line executes."""
    picked = np.array([i.line == line for i in run.program.instructions], bool)
    return picked[run.timeline.instruction_index]


def _waited(run, rows, wanted):
    mine = _mask(run, rows)
    return run.costing.waited(lambda row, wait, by: mine[row] & np.isin(wait, wanted))


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
    behind = {}
    for rows, _ in _held(run, (Wait.PLACE,), Memory.PSUM).values():
        behind |= {row: _store_behind(timeline, row) for row in rows}
    behind = {row: store for row, store in behind.items() if store is not None}
    if not behind:
        return
    lines = Counter(timeline.instruction(store).line for store in behind.values())
    rows = np.any([_on_line(run, line) for line in lines], axis=0)
    for warning in run.judged(
        "slow stores", lines.most_common(1)[0][0],
        "results wait in PSUM: the copies that empty it need the places of earlier copies, which "
        "are still being stored",
        "Store fewer, longer rows: collect several results in one wide tile",
        run.long_rows(rows), "the Tensor Engine", _waited(run, list(behind), (Wait.PLACE,)),
    ):  # fmt: skip
        if not warning.is_hidden:
            yield warning


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
    what = "tile" if info.memory.is_on_chip else "tensor"
    return f"the {info.memory.upper()} {what} of line {info.site[1]}"


def serialising_buffers(run):
    """Find tiles whose few buffers make the next turn wait for the last one."""
    from trainium_edu.neuroncore.timing.why import why

    timeline, in_sbuf = run.timeline, run.writes_sbuf
    waits = np.isin(timeline.ready_wait, _PLACES) & in_sbuf
    path = dict.fromkeys(piece.row for piece in why(timeline))
    late = [row for row in path if waits[row]]
    if not late:
        return
    line, _ = Counter(timeline.instruction(row).line for row in late).most_common(1)[0]
    row = next(row for row in late if timeline.instruction(row).line == line)
    text, remedy, more = _one_place(run, row)
    cost = run.costing.saved(more or WhatIf(placeless=in_sbuf))
    if cost.nominal_ns > _SERIAL * run.makespan_ns:
        yield Warning_(
            "serialising buffers", line, text, remedy, cost, is_most=remedy in (_FULL, _TAKEN)
        )


_FULL = "There is no room for more: use smaller tiles, or let tiles die earlier"
_TAKEN = (
    "More for it would be taken from tiles that need theirs as much: use smaller tiles, or let "
    "tiles die earlier"
)


def _one_place(run, row):
    """Say why a row waits for the place that another still uses, what to do, and with what change.

    Without a change every result would need bytes of its own.
    """
    expanded, placement = run.placement.run, run.placement
    before = int(run.timeline.ready_predecessor[row])
    first, end = expanded.row_access[row : row + 2]
    at = first + np.argmax(expanded.is_write[first:end])
    mine = int(expanded.access_instance[at])
    first, end = expanded.row_access[before : before + 2]
    info = run.program.allocations[expanded.allocation[mine]]
    name = _called(info)
    if info.address is not None:
        here = {run.program.allocations[expanded.allocation[int(i)]].site
                for i in expanded.access_instance[first:end]}  # fmt: skip
        turns = "in every turn" if info.site in here else f"in {info.memory.upper()}"
        return (
            f"{name} has address {info.address} {turns}: it waits until what lay there before is "
            "used up",
            "Let several addresses take turns, so that work runs ahead", None,
        )  # fmt: skip
    if mine in expanded.access_instance[first:end]:
        return (
            f"{name} is one tile for all turns: the next waits until the last has used it up",
            "Allocate it inside the loop instead of before it, so that turns take different places",
            None,
        )  # fmt: skip
    site = placement.site_of(mine)
    if site.lends:
        text = f"{name} waits until another tile that lies in the same bytes is used up"
    else:
        text = (
            f"{name} waits until the tile before it in the same place is used up (it has "
            f"{_n(site.buffers, 'buffer')})"
        )
    more, words = _more_buffers(run, site)
    if more is None:
        return text, words, None
    return text, words, WhatIf(placement=more)


def _more_buffers(run, site):
    """Return (placement in which a site has more slots and the run is shorter, how to ask for it).

    Without one: (None, why not).
    """
    placement, timeline = run.placement, run.timeline
    asked, twice = placement.buffers, 2 * site.buffers
    alone = {**(asked if isinstance(asked, dict) else {}), site.name: twice}
    trials = [alone]
    if site.slots == site.wanted and not isinstance(asked, dict):
        trials.insert(0, twice)  # everybody has what was asked for: ask for more
    has_more = False
    for buffers in trials:
        found = _again(place(run.program, placement.spec, buffers=buffers), site)
        if found.slots <= site.slots and found.lends >= site.lends:
            continue
        has_more = True
        count = max(found.buffers, -(-found.slots // found.alive))  # part of a set is one, too
        said = {**buffers, site.name: count} if buffers is alone else count
        more = place(run.program, placement.spec, buffers=said)
        then = schedule(run.program, more, timeline.spec, parameters=timeline.parameters,
                        without=timeline.without)  # fmt: skip
        if then.makespan_ns < run.makespan_ns:
            whom = _named(run, site) if buffers is alone else "the loop"
            return more, f"Give {whom} more buffers (buffers={said})"
    return None, _TAKEN if has_more else _FULL


def _again(placement, site):
    return next(s for s in placement.sites if (s.name, s.line) == (site.name, site.line))


def _named(run, site):
    """Name a site by its first tile."""
    first = next((a for a in run.program.allocations if a.name == site.name), None)
    return _called(first) if first else site.name


def high_water(run):
    """Say when SBUF is nearly full."""
    used = run.placement.high_water_bytes.get(Memory.SBUF, 0)
    most = int(run.timeline.spec.sbuf.bytes_per_partition)
    if used > 0.9 * most:
        alive = run.placement.alive_bytes[Memory.SBUF]
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
        short = [s for s in run.placement.short if s.memory is Memory.SBUF]
        yield Warning_(
            "SBUF nearly full", line,
            f"tiles reach byte {used} of {most} in each partition, {alive} are needed at once "
            f"(the rest lets turns overlap); {what}",
            f"{_n(len(short), 'line')} could use more: smaller tiles leave room for that" if short
            else "That is fine: every tile has the buffers that were asked for", None,
        )  # fmt: skip


def _line(place):
    from trainium_edu.neuroncore.recording.program import SourceLine

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
    groups = {}  #: (kind, line, instruction, role, an output's name) -> {tile: its name}
    for kind, index, role, allocation in run.notes:
        if kind in NOTED:
            continue
        instructions = run.recorded.instructions
        instruction = instructions[index] if index < len(instructions) else None
        line = instruction.line if instruction else None
        what = instruction.name if instruction else "an instruction"
        name = _called(run.recorded.allocations[allocation]) if allocation >= 0 else ""
        key = kind, line, what, role, name if kind == "unwritten output" else ""
        groups.setdefault(key, {})[allocation] = name
    for (kind, line, what, role, _), names in groups.items():
        name, *others = names.values()
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


def only_here(run):
    """Find what runs here and not on the chip; see ``only_here.py``."""
    for found in not_on_the_chip(run.recorded, run.notes, _called):
        yield Warning_(*found)


FINDERS = (unwritten_reads, only_here, small_transfers, repeated_loads, starved_engine,
           few_partitions, long_strides, fp32_matmuls, bank_conflicts, slow_stores,
           serialising_buffers, high_water)  # fmt: skip
