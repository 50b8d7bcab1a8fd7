"""Loads of neighbouring columns that the older compiler made one: longer rows, fewer packets."""

from trainium_edu.neuroncore.recording.accesses import access_of
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.memory import own_buffer
from trainium_edu.neuroncore.recording.program import Instruction, Program
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.timing.merging import rebuilt
from trainium_edu.neuroncore.timing.psum_tiles import reworked

__all__ = ["loaded_together"]


def loaded_together(program: Program) -> Program:
    """Return a program in which a line's loads of neighbouring columns of a tile are one.

    They read neighbouring bytes of HBM, which nobody writes in between, and nobody else touches
    the tile until the last has come.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    """
    growing: dict[int, list[Instruction]] = {}  # tile → the loads that its newest one continues
    groups = []
    for i in program.instructions:
        load = _is_row_by_row(i, program.allocations)
        tile = i.accesses[1].allocation if load else -1
        continues = load and tile in growing and _continues(growing[tile][-1], i)
        for a in i.accesses:
            if a.is_write and program.allocations[a.allocation].memory is Memory.HBM:
                growing = {
                    t: mine for t, mine in growing.items()
                    if mine[0].accesses[0].allocation != a.allocation
                }  # fmt: skip
            elif not (continues and a.allocation == tile):
                growing.pop(a.allocation, None)
        if continues:
            growing[tile].append(i)
        elif load:
            groups.append(growing.setdefault(tile, [i]))
    groups = [group for group in groups if len(group) > 1]
    if not groups:
        return program
    at_once = {group[0].index: _together(group, program.allocations) for group in groups}
    gone = {i.index for group in groups for i in group[1:]}
    return rebuilt(
        program, [at_once.get(i.index, i) for i in program.instructions if i.index not in gone]
    )


def _is_row_by_row(i, tiles) -> bool:
    """Whether an instruction loads some columns of a tile: a run of bytes for each partition."""
    if i.name != "dma_copy" or len(i.accesses) != 2 or i.after:
        return False
    source, target = i.accesses
    size = get_dtype(target.geometry[0]).itemsize
    return (
        tiles[source.allocation].memory is Memory.HBM
        and tiles[target.allocation].memory is Memory.SBUF
        and tiles[target.allocation].address is None
        and source.geometry[:2] == target.geometry[:2] and len(target.geometry[1]) == 2
        and source.geometry[2][1] == target.geometry[2][1] == size
        and not any(name == "indirect" for name, _ in i.options)
    )  # fmt: skip


def _continues(one, other) -> bool:
    """Whether a load goes on where another one ends, in HBM and in the tile."""
    return (one.line, one.engine, one.options) == (other.line, other.engine, other.options) and all(
        a.allocation == b.allocation and a.geometry[0] == b.geometry[0]
        and a.geometry[1][0] == b.geometry[1][0] and a.geometry[2] == b.geometry[2]
        and a.geometry[3] + a.geometry[1][1] * a.geometry[2][1] == b.geometry[3]
        for a, b in zip(one.accesses, other.accesses, strict=True)
    )  # fmt: skip


def _together(group, tiles) -> Instruction:
    columns = sum(i.accesses[1].geometry[1][1] for i in group)
    accesses = []
    for a in group[0].accesses:
        dtype, (rows, _), strides, offset = a.geometry
        buffer = own_buffer(tiles[a.allocation], values=False)
        view = View(buffer, get_dtype(dtype), (rows, columns), strides, offset)
        accesses.append(access_of(view, a.role, a.is_write))
    return reworked(group[0], tuple(accesses), tiles)
