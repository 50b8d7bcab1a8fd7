"""Tiles that are filled anew: each filling becomes a tile of its own, with a place of its own."""

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.memory import make_allocation
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.merging import on_tiles, rebuilt

__all__ = ["renamed"]

#: Whose results do not depend on what was there before; matmuls say it themselves.
_OVERWRITE = frozenset({
    "activation", "dma_copy", "iota", "memset", "nc_transpose", "reciprocal", "tensor_copy",
    "tensor_reduce", "tensor_scalar", "tensor_tensor",
})  # fmt: skip


def renamed(program: Program) -> Program:
    """Return a program in which a tile that is wholly overwritten goes on as another tile.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    """
    uses: dict[int, list] = {}  # tile → (instruction's index, what it reads, what it writes)
    for i in program.instructions:
        for tile in dict.fromkeys(a.allocation for a in i.accesses):
            info = program.allocations[tile]
            if info.memory is not Memory.HBM and info.address is None:
                mine = [a for a in i.accesses if a.allocation == tile]
                reads = not _overwrites(i) or not all(a.is_write for a in mine)
                uses.setdefault(tile, []).append((i.index, reads, [a for a in mine if a.is_write]))
    allocations = list(program.allocations)
    instead: dict[int, dict[int, int]] = {}
    for tile, told in uses.items():
        info, now = program.allocations[tile], tile
        begins = _fillings(info, told) if tile not in program.outputs else set()
        for index, _, _ in told:
            if index in begins:
                now = len(allocations)
                allocations.append(make_allocation(now, info.name, info.memory, info.shape,
                                                   info.dtype, info.site, None,
                                                   info.start_partition))  # fmt: skip
            if now != tile:
                instead.setdefault(index, {})[tile] = now
    if not instead:
        return program
    return rebuilt(
        program, (on_tiles(i, instead.get(i.index, {})) for i in program.instructions), allocations
    )


def _overwrites(i) -> bool:
    """Whether nothing is left of what was where an instruction writes."""
    if i.name == "nc_matmul":
        return ("accumulate", False) in i.options
    return i.name in _OVERWRITE and not any(name == "indirect" for name, _ in i.options)


def _fillings(info, uses) -> set:
    """Return where a tile begins to be written whole, by one write or several, and is not read."""
    found, run = set(), []
    for index, reads, writes in (*uses, (-1, True, [])):
        if not reads:
            run.append((index, writes))
            continue
        if run and run[0][0] != uses[0][0] and _covers(info, [a for _, w in run for a in w]):
            found.add(run[0][0])
        run = []
    return found


def _covers(info, writes) -> bool:
    """Whether blocks over all partitions, side by side, leave no byte of a tile out."""
    end = 0
    for a in sorted(writes, key=lambda a: a.first_byte):
        dtype, shape, _, _ = a.geometry
        size = get_dtype(dtype).itemsize
        for n in shape:
            size *= n
        is_block = size == (a.end_row - a.first_row) * (a.end_byte - a.first_byte)
        if is_block and (a.first_row, a.end_row) == (0, info.partitions) and a.first_byte <= end:
            end = max(end, a.end_byte)
    return end == info.row_bytes
