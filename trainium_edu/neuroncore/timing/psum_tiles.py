"""Operands that the older compiler put into PSUM."""

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.memory import make_allocation
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.durations import durations, settle
from trainium_edu.neuroncore.timing.expansion import ENGINES, expand
from trainium_edu.neuroncore.timing.joining import reworked
from trainium_edu.neuroncore.timing.liveness import Lives
from trainium_edu.neuroncore.timing.merging import line_of, rebuilt

__all__ = ["operands_in_psum"]


def operands_in_psum(program: Program) -> Program:
    """Return a program in which results that ``tensor_tensor`` reads are in PSUM, where it helps.

    It helps where the Vector Engine has most to do and nobody uses PSUM.  Results go there first
    come first served, as long as its banks hold two of each.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    """
    tiles = program.allocations
    if any(tiles[a[0]].memory is Memory.PSUM for i in program.instructions for a in i.accesses):
        return program
    chosen = _first_come(program)
    if not chosen or not _is_busiest(program, Engine.VECTOR):
        return program
    tiles = [
        make_allocation(a.index, a.name, Memory.PSUM, a.shape, a.dtype, a.site, None,
                        a.start_partition) if a.index in chosen else a
        for a in tiles
    ]  # fmt: skip
    return rebuilt(program, (
        reworked(program, i, i.accesses, tiles) if any(a[0] in chosen for a in i.accesses) else i
        for i in program.instructions
    ), tiles)  # fmt: skip


def _is_busiest(program, engine) -> bool:
    """Whether an engine has more to do than any other, and than the queues."""
    run, spec = expand(program), program.spec
    pieces = durations(run, spec, settle(spec))
    share = np.where(pieces.descriptors > 0, pieces.descriptors / int(spec.dma.queues), 1.0)
    busy = np.bincount(run.engine, (pieces.hold * share)[run.kind], len(ENGINES))
    return int(busy.argmax()) == ENGINES.index(engine)


def _first_come(program) -> set[int]:
    """Return the tiles that move: those of the first lines whose results may, while banks last."""
    lives, psum = Lives.of(program), program.spec.psum
    partners = _partners(program)
    lines: dict = {}
    for t in lives.tile[lives.is_write].tolist():
        lines.setdefault(line_of(program.allocations[t]), set()).add(t)
    bank, free = int(psum.bank_bytes), int(psum.banks)
    chosen: set[int] = set()
    for tiles in lines.values():
        if not tiles <= partners.keys() or any(partners[t] & (chosen | tiles) for t in tiles):
            continue
        banks = 2 * -(-lives.alive_of(list(tiles)) // bank)
        if banks <= free:
            free -= banks
            chosen |= tiles
    return chosen


def _partners(program) -> dict[int, set[int]]:
    """Return the tiles that could be in PSUM, each with the other operands of its readers."""
    bank, writes = int(program.spec.psum.bank_bytes), [0] * len(program.allocations)
    partners: dict[int, set[int]] = {
        a.index: set() for a in program.allocations
        if a.memory is Memory.SBUF and a.address is None and a.dtype.name == "float32"
        and a.row_bytes <= bank and a.index not in program.outputs
    }  # fmt: skip
    for i in program.instructions:
        reads = {a[0] for a in i.accesses if not a.is_write}
        is_near = i.engine is Engine.VECTOR or i.engine is Engine.SCALAR
        pays = is_near and i.name == "tensor_tensor" and len(reads) == 2
        for a in i.accesses:
            writes[a[0]] += a.is_write
            if not (is_near if a.is_write else pays) or writes[a[0]] > 1:
                partners.pop(a[0], None)
            elif a[0] in partners and not a.is_write:
                partners[a[0]] |= reads - {a[0]}
    return {t: found for t, found in partners.items() if found}
