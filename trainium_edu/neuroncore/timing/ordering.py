"""In which order a list scheduler issues the instructions of a program.

Every engine takes its instructions in the order of its stream, so one that must wait holds up all
behind it.  A list scheduler goes through the program with a clock.  Of the instructions whose
operands are there it issues the one that can start first, the older one first.  It looks only as
far ahead, and begins only as many tiles out of turn, as there is room for.
"""

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing import _loops
from trainium_edu.neuroncore.timing.durations import durations, settle, table
from trainium_edu.neuroncore.timing.expansion import ENGINES, MEMORIES, Expanded, expand
from trainium_edu.neuroncore.timing.liveness import alive_bytes
from trainium_edu.neuroncore.timing.merging import keeps_state, rebuilt
from trainium_edu.neuroncore.timing.overlaps import find_overlaps
from trainium_edu.numerics.launch import launch

__all__ = ["reordered"]

_PIECE = 20_000  # rows per call of a loop


def reordered(program: Program, room: int) -> Program:
    """Return a program with its instructions in a list scheduler's order.

    Parameters
    ----------
    program : Program
        Without recorded loops.  Where engines wait for each other or count in registers of their
        own, it stays as it is.
    room : int
        Bytes of each SBUF partition that may be alive at once.
    """
    if any(i.engine is Engine.SYNC or not i.accesses for i in program.instructions):
        return program
    run, spec = expand(program), program.spec
    pieces = durations(run, spec, settle(spec))
    moved = pieces.descriptors > 0
    share = np.where(moved, pieces.descriptors / int(spec.dma.queues), 1.0)
    hold = np.maximum(pieces.hold * share, np.where(moved, pieces.fixed, 0.0))
    start, before = _dependences(program, run).T
    backwards = np.argsort(before, kind="stable")
    first = np.searchsorted(before[backwards], np.arange(run.rows + 1))
    rows = np.zeros(run.rows, table("ready lead hold result", "missing order engine"))
    rows["lead"], rows["hold"], rows["result"] = (
        ns[run.kind] for ns in (pieces.lead, hold, pieces.result)
    )
    rows["missing"], rows["engine"] = np.bincount(start, minlength=run.rows), run.engine
    tiles = np.zeros(run.allocation.size, table("", "memory bytes touches left"))
    tiles["memory"], tiles["bytes"] = run.memory, [a.row_bytes for a in program.allocations]
    tiles["touches"] = np.bincount(run.access_instance, minlength=tiles.size)
    tiles["left"] = tiles["touches"]
    memories = np.zeros(len(MEMORIES), table("", "alive room"))
    memories["room"] = _ahead(run, tiles["bytes"], room)
    streams = np.zeros(len(ENGINES), table("free", "count"))
    window, progress = int(spec.timing.order_window), np.zeros(3, np.int64)
    waiting = np.zeros((streams.size, window), np.int64)
    while progress[0] < run.rows:
        launch(_loops.reorder, _PIECE, window, rows, first, start[backwards], run.row_access,
               run.access_instance, tiles, memories, streams, waiting, progress)  # fmt: skip
    return rebuilt(program, (program.instructions[i] for i in rows["order"].tolist()))


def _ahead(run: Expanded, row_bytes, room: int) -> np.ndarray:
    """Return the bytes of each memory up to which instructions may begin tiles out of turn.

    What is begun ahead of the oldest instruction stays within this, and what older ones hold is
    alive in the program's own order too, so both together fit.
    """
    limits = np.zeros(len(MEMORIES), np.int64)
    psum = int(run.program.spec.psum.bytes_per_partition)
    for memory, most in ((Memory.SBUF, room), (Memory.PSUM, psum)):
        held = (run.last >= 0) & (run.memory == MEMORIES.index(memory))
        alive = alive_bytes(run.rows, run.first[held], run.last[held], row_bytes[held])
        limits[MEMORIES.index(memory)] = most - alive.max(initial=0)
    return limits


def _places(program, run):
    """Return which tile each access touches, and where; stated addresses of a memory are one."""
    stated = [a.index for a in program.allocations if a.address is not None]
    place, shift = np.arange(run.allocation.size), np.zeros((2, run.allocation.size), np.int64)
    for index in stated:
        a = program.allocations[index]
        place[index] = next(k for k in stated if program.allocations[k].memory is a.memory)
        shift[:, index] = a.start_partition, a.address
    rows, low = shift[:, run.access_instance]
    return place[run.access_instance], run.rectangle + np.stack((rows, rows, low, low))


def _dependences(program: Program, run: Expanded) -> np.ndarray:
    """Return int64[edges, 2]: a row, and one that it must follow, in order of rows."""
    alone = np.full(run.rows, ENGINES.index(Engine.DMA), np.int8)  # no stream implies an order
    tile, rectangle = _places(program, run)
    start, found = find_overlaps(run.row_access, alone, tile, rectangle, run.is_write)
    edges = np.stack((np.repeat(np.arange(run.rows), np.diff(start)), found["row"]), 1)
    more, newest_of = [], {}
    for i in program.instructions:
        more += [(i.index, other) for other in i.after]
        if i.engine is not Engine.DMA and keeps_state(i):
            if i.engine in newest_of:
                more.append((i.index, newest_of[i.engine]))
            newest_of[i.engine] = i.index
    return np.unique(np.concatenate((edges, more)), axis=0) if more else edges
