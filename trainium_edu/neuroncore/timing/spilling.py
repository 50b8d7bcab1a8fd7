"""Tiles that do not fit on chip: what the compiler moves out of the way, and brings back.

*PSUM.*  The lines whose results take most of it are copied to SBUF as soon as they are complete,
line by line, until the rest fits, and are read there.  (Without that the Tensor Engine would wait
for every single bank.)

*SBUF.*  Where an instruction needs room, the tile goes out whose next use is furthest ahead (Belady
1966; for tiles of equal size no other choice moves less).  It is written to HBM behind its last
use, unless HBM has it already, and loaded before the next one; what a load filled is loaded again.

That a compiler does so is assumed: AWS documents that it inserts "the necessary spills or refills",
and says nowhere which tiles go.  Tiles with stated addresses stay where they are.
"""

from heapq import heappop, heappush
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.accesses import access_of
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import Call, get_row
from trainium_edu.neuroncore.recording.memory import make_allocation, own_buffer
from trainium_edu.neuroncore.recording.program import Instruction, Program
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.timing.merging import Lives, line_of, on_tiles, rebuilt
from trainium_edu.neuroncore.timing.psum_tiles import reworked

__all__ = ["copied_out", "spilled"]


def copied_out(program: Program) -> Program:
    """Return a program whose PSUM tiles fit, where copies in SBUF can make them fit.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    """
    room, lives = int(program.spec.psum.bytes_per_partition), Lives.of(program, Memory.PSUM)
    first, last = lives.ends()
    if lives.most_alive(first, last) <= room:
        return program
    _, written = lives.ends(lives.is_write)
    read, _ = lives.ends(~lives.is_write)
    lines: dict = {}
    for a in program.allocations:
        if a.memory is Memory.PSUM and a.address is None and written[a.index] < read[a.index]:
            lines.setdefault(line_of(a), []).append(a.index)
    gone = np.zeros(last.size, bool)
    for tiles in sorted(lines.values(), key=lives.alive_of, reverse=True):
        gone[tiles], last[tiles] = True, written[tiles]
        if lives.most_alive(first, last) <= room:
            break
    else:
        return program
    allocations, copies, moved = list(program.allocations), {}, {}
    for t in np.flatnonzero(gone & (written >= 0)).tolist():
        moved[t] = _another(allocations, t, Memory.SBUF)
        copies.setdefault(int(written[t]), []).append(t)
    result = []
    for i in program.instructions:
        reads = tuple(
            a if a.is_write else a._replace(allocation=moved.get(a.allocation, a.allocation))
            for a in i.accesses
        )
        result.append(i if reads == i.accesses else reworked(i, reads, allocations))
        for t in copies.get(i.index, ()):
            result.append(_move("tensor_copy", allocations, t, moved[t], i))
    return rebuilt(program, result, allocations)


def spilled(program: Program, room: int, loads: dict) -> Program:
    """Return a program whose SBUF tiles fit, where transfers to HBM and back can make them fit.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    room : int
        Bytes of each SBUF partition that may be alive at once.
    loads : dict of int to Instruction
        Tiles that a load alone writes, from data that nobody changes.

    Returns
    -------
    Program
        The tensors in HBM that it saves tiles in are its ``spills``.
    """
    lives = Lives.of(program)
    if lives.most_alive(*lives.ends()) <= int(program.spec.sbuf.bytes_per_partition):
        return program
    chosen = _furthest_first(program, lives, room)
    if chosen is None:
        return program
    allocations, now, homes, dirty, result = list(program.allocations), {}, {}, set(), []
    goes: dict[int, list] = {}
    comes: dict[int, list] = {}
    for t, behind, before in chosen:
        goes.setdefault(behind, []).append(t)
        comes.setdefault(before, []).append(t)
    for i in program.instructions:
        for t in comes.get(i.index, ()):
            now[t] = _another(allocations, t, Memory.SBUF)
            result.append(
                on_tiles(loads[t], {t: now[t]}) if t in loads
                else _move("dma_copy", allocations, homes[t], now[t], i, "spill_reload")
            )  # fmt: skip
        result.append(on_tiles(i, now))
        dirty.update(a.allocation for a in i.accesses if a.is_write)
        for t in goes.get(i.index, ()):
            if t in loads or (t in homes and t not in dirty):
                continue
            if t not in homes:
                homes[t] = _another(allocations, t, Memory.HBM)
            dirty.discard(t)
            here = now.get(t, t)
            result.append(_move("dma_copy", allocations, here, homes[t], i, "spill_save"))
    done = rebuilt(program, result, allocations)
    done.spills = frozenset(homes.values())
    return done


def _furthest_first(program, lives, room):
    """Return (tile, its last use before it goes, the use that it comes back for), in order.

    None where even that does not fit.
    """
    infos, size = program.allocations, lives.sbuf_bytes.tolist()
    stays = {a.index for a in infos if a.address is not None} | set(program.outputs)
    pairs = np.unique(np.stack((lives.at, lives.tile))[:, lives.sbuf_bytes[lives.tile] > 0], axis=1)
    order = np.lexsort(pairs)  # by tile, then by row
    follows = np.full(order.size, lives.rows)
    same = np.diff(pairs[1][order]) == 0
    follows[order[:-1][same]] = pairs[0][order[1:][same]]
    bounds = np.searchsorted(pairs[0], np.arange(lives.rows + 1)).tolist()
    tiles, follows = pairs[1].tolist(), follows.tolist()
    used, inside, next_use, gone, heap, chosen = 0, {}, {}, {}, [], []
    for row in range(lives.rows):
        mine = range(bounds[row], bounds[row + 1])
        for k in mine:
            t = tiles[k]
            if t not in inside:
                used += size[t]
                if t in gone:
                    chosen.append((t, gone.pop(t), row))
            inside[t], next_use[t] = row, follows[k]
        while used > room:
            while heap and (heap[0][1] not in inside or -heap[0][0] != next_use[heap[0][1]]):
                heappop(heap)  # it is gone already, or was used since
            if not heap:
                return None
            t = heappop(heap)[1]
            used, gone[t] = used - size[t], inside.pop(t)
        for k in mine:
            t = tiles[k]
            if follows[k] == lives.rows:
                del inside[t]
                used -= size[t]
            elif t not in stays:
                heappush(heap, (-follows[k], t))
    return chosen


def _another(allocations, tile, memory) -> int:
    """Add a place for all of a tile, in some memory, and return its number."""
    a, number = allocations[tile], len(allocations)
    shape = (a.shape[0], prod(a.shape[1:])) if memory is Memory.HBM else a.shape
    start = 0 if memory is Memory.HBM else a.start_partition
    allocations.append(make_allocation(number, a.name, memory, shape, a.dtype, a.site, None, start))
    return number


def _move(name, allocations, source, target, near, label="") -> Instruction:
    """Return an instruction that takes all of a tile elsewhere, said to stand at another's line."""
    operands = {}
    for role, number in (("src", source), ("dst", target)):
        a = allocations[number]
        shape, step = (a.shape[0], prod(a.shape[1:])), a.dtype.itemsize
        buffer = own_buffer(a, values=False)
        operands[role] = View(buffer, a.dtype, shape, (shape[1] * step, step), 0)
    engine = Engine.DMA if name == "dma_copy" else Engine.VECTOR
    call = Call(get_row(name), engine, None, operands)
    accesses = tuple(access_of(view, role, role == "dst") for role, view in operands.items())
    return Instruction(-1, name, engine, accesses, call.row.work(call), (), near.line, label,
                       is_free=engine is Engine.VECTOR)  # fmt: skip
