"""What transfers do slowly, again, or too late."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from trainium_edu.neuroncore.advice.costs import WhatIf
from trainium_edu.neuroncore.advice.evidence import called, count, engine_called, several
from trainium_edu.neuroncore.advice.remedies import Remedy
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.waits import Wait

__all__ = ["repeated_loads", "small_transfers", "starved_engine"]

_STARVED = 0.1  # of the makespan
_SHORT_ROW_BYTES = 2048  # the documents: "approaching peak" from 2 KiB on


def small_transfers(run):
    """Find transfers whose contiguous rows are short."""

    def short(instruction):
        work = instruction.work
        return instruction.engine is Engine.DMA and work and work[2] < _SHORT_ROW_BYTES

    for (line, name), group in run.by_line(short).items():
        low, high = (end(i.work[2] for i, _ in group) for end in (min, max))
        row = str(low) if low == high else f"{low} to {high}"
        is_whole = all(
            run.tile(a).row_bytes <= i.work[2]
            for i, _ in group for a in i.accesses if run.tile(a).memory is Memory.HBM
        )  # fmt: skip
        remedy = Remedy.OTHER_LAYOUT if is_whole else Remedy.LOAD_WIDER
        yield from run.judged(
            "small transfers", line,
            f"{several(count(group), 'transfer')} in rows of {row} bytes, and a queue needs 2 to 4 "
            "KiB in one piece to reach its rate",
            Remedy.TURN_ON_TENSOR_ENGINE if name == "dma_transpose" else remedy,
            run.long_rows(run.rows_of(i for i, _ in group)), engine_called(Engine.DMA),
        )  # fmt: skip


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
            is_input = run.tile(access).memory is Memory.HBM and access.allocation not in written
            is_gathered = f"{access.role}.index" in roles  # data says which rows
            if is_input and not access.is_write and not is_gathered:
                loads[access.allocation, access.geometry].append((instruction, times))
    again = defaultdict(list)
    for (allocation, _), group in loads.items():
        if count(group) > 1:
            again[allocation, group[0][0].line].append(group)
    for (allocation, line), groups in again.items():
        rows = run.rows_of(i for group in groups for i, _ in group)
        for group in groups:  # the first of each is needed
            rows[np.argmax(run.rows_of(i for i, _ in group))] = False
        size = sum(group[0][0].work[3] * (count(group) - 1) for group in groups)
        yield from run.judged(
            "repeated loads", line,
            f"the same bytes of {run.program.allocations[allocation].name} come from HBM "
            f"{max(map(count, groups))} times: {size / 1e6:.3g} MB more than needed",
            Remedy.LOAD_ONCE, run.without(rows, rows), engine_called(Engine.DMA),
        )  # fmt: skip


def starved_engine(run):
    """Find the engine that waits longest for loads, and which tensor it waits for."""
    timeline = run.timeline
    row, ns, wait, by = timeline.waits

    def is_late(row, wait, by):
        return (wait == Wait.OPERANDS) & (timeline.engine[by] == timeline.dma)

    late, engine = is_late(row, wait, by), timeline.engine[row]
    lost = {e: float(ns[late & (engine == e)].sum()) for e in range(4)}
    worst = max(lost, key=lost.get)
    if lost[worst] <= _STARVED * run.makespan_ns:  # equal where nothing was issued
        return
    is_starving = late & (engine == worst)
    tensors = defaultdict(float)
    for load, wait_ns in zip(by[is_starving].tolist(), ns[is_starving].tolist(), strict=True):
        instruction = timeline.instruction(load)
        source = next((a for a in instruction.accesses
                       if not a.is_write and not a.role.endswith(".index")), None)  # fmt: skip
        tensors[called(run.tile(source)) if source else "a tensor", instruction.line] += wait_ns
    (name, line), most = max(tensors.items(), key=lambda item: item[1])
    loads = (timeline.engine == timeline.dma) & run.writes_sbuf
    who = engine_called(ENGINES[worst])
    cost = run.costing.waited(
        lambda row, wait, by: is_late(row, wait, by) & (timeline.engine[row] == worst)
    )
    for advice in run.judged(
        "starved engine", line,
        f"{who} stands still for {lost[worst] / run.makespan_ns:.0%} of the time because its "
        f"operands are still on their way, longest for {name} ({most / lost[worst]:.0%} of that)",
        Remedy.LOAD_LESS, run.without(loads, loads), who, cost, is_most=True,
    ):  # fmt: skip
        ahead = run.costing.saved(WhatIf(placeless=loads))
        first = is_starving & (row == timeline.rows_on(ENGINES[worst])[0])
        if ahead.nominal_ns > 0.5 * advice.cost.nominal_ns:
            advice = replace(advice, do=Remedy.LOAD_AHEAD, cost=ahead)
        elif float(ns[first].sum()) > 0.5 * lost[worst]:
            shortest = min(timeline.instruction(k).work[2] for k in by[first].tolist())
            pieces = shortest >= 2 * _SHORT_ROW_BYTES  # halves still have long rows
            remedy = Remedy.LOAD_FIRST_TILE_IN_PIECES if pieces else Remedy.LOAD_FIRST_TILE_FIRST
            advice = replace(advice, do=remedy)
        yield advice
