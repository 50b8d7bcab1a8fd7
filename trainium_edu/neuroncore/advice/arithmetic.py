"""What engines compute with empty lanes, at half speed, or in more passes than needed."""

from math import prod

import numpy as np

from trainium_edu.neuroncore.advice.costs import WhatIf
from trainium_edu.neuroncore.advice.evidence import called, count, engine_called, several
from trainium_edu.neuroncore.advice.remedies import Remedy
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import cycles_of

__all__ = ["few_partitions", "fp32_matmuls", "long_strides"]


def few_partitions(run):
    """Find instructions that leave most of the 128 lanes empty."""

    def narrow(instruction):
        if instruction.engine in (Engine.DMA, Engine.SYNC) or instruction.name == "custom_op":
            return False
        rows = [a.end_row - a.first_row for a in instruction.accesses]
        return bool(rows) and max(rows) <= 64

    least = float(run.timeline.spec.cycles.min_initiation_cycles)
    for (line, name), group in run.by_line(narrow).items():
        lanes = max(a.end_row - a.first_row for i, _ in group for a in i.accesses)

        def left(i, lanes=lanes):
            cycles = max(cycles_of(i.name, i.work, i.engine, run.timeline.spec), least)
            return 1, 1, max(lanes / 128, least / cycles)

        change = _side_by_side(run, run.rows_of(i for i, _ in group), 128 // lanes)
        remedy = Remedy.WORK_SIDE_BY_SIDE
        if change is None:
            change = run.keeping(group, left)
            longest = max(prod(a.geometry[1][1:]) for i, _ in group for a in i.accesses)
            remedy = Remedy.TURN_TILE if longest > lanes else Remedy.SPREAD
        yield from run.judged(
            "few partitions", line,
            f"{several(count(group), name)} on {lanes} of 128 partitions: {128 - lanes} lanes do "
            "nothing", remedy, change, engine_called(group[0][0].engine),
        )  # fmt: skip


def _side_by_side(run, rows, many) -> WhatIf | None:
    """Return the what-if in which this many tiles become one: the last one's turn does the work.

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
    is_kept = (of_row % many == many - 1) | (of_row == tiles.size - 1)
    touched = np.zeros(expanded.allocation.size, bool)
    touched[instance[rows[expanded.access_row]]] = True
    placeless = run.mask(expanded.access_row[writes & touched[instance]])
    return run.without(rows & ~is_kept, placeless)


def long_strides(run):
    """Find accesses whose innermost stride is over 16 bytes."""

    def strided(i):
        engines = Engine.VECTOR, Engine.SCALAR, Engine.GPSIMD
        return i.engine in engines and len(i.work) > 1 and i.work[1] is True

    def left(i):
        dense = i.work[0], False, *i.work[2:]
        slow, fast = (cycles_of(i.name, w, i.engine, run.timeline.spec) for w in (i.work, dense))
        return 1, 1, fast / slow if slow else 1

    for (line, name), group in run.by_line(strided).items():
        yield from run.judged(
            "long stride", line,
            f"{several(count(group), name)} with more than 16 bytes from one element to the next, "
            "and such a port runs at half speed",
            Remedy.CONTIGUOUS, run.keeping(group, left), engine_called(group[0][0].engine),
        )  # fmt: skip


def fp32_matmuls(run):
    """Find matmuls of FP32 operands, which take four passes."""

    def fp32(i):
        return i.name == "nc_matmul" and len(i.work) > 3 and i.work[3] == "fp32"

    passes = float(run.timeline.spec.tensor_engine.fp32_factor)
    loaded = {a.allocation for i in run.program.instructions if i.engine is Engine.DMA
              for a in i.accesses if a.is_write}  # fmt: skip
    for (line, _), group in run.by_line(fp32).items():
        operands = {a.allocation: run.tile(a) for i, _ in group
                    for a in i.accesses if not a.is_write}  # fmt: skip
        repeats = [run.words.calls[t.name] for t in operands.values() if t.name in run.words.calls]
        inside = f" inside {repeats[0]}" if repeats else ""
        computed = [called(tile) for k, tile in operands.items() if k not in loaded]
        gaps = {"tiles": ""}
        if repeats:
            remedy, gaps = Remedy.REPEAT_BF16, {"call": repeats[0]}
        elif not computed:
            remedy = Remedy.LOAD_BF16
        else:
            is_part = len(computed) < len(operands)
            remedy = Remedy.LOAD_AND_COMPUTE_BF16 if is_part else Remedy.COMPUTE_BF16
            gaps["tiles"] = computed[0]
            if computed[1:]:
                gaps["tiles"] += f" (and {several(len(computed) - 1, 'other tile')})"
        yield from run.judged(
            "FP32 matmul", line,
            f"{several(count(group), 'matmul')} of FP32 operands{inside}, which take {passes:g} "
            "passes each", remedy, run.keeping(group, lambda i: (1 / passes, 0, 1 / passes)),
            engine_called(Engine.TENSOR), gaps=gaps,
        )  # fmt: skip
