"""Two uses that the older compiler made of PSUM: wider copies out of it, and operands in it."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import Call, get_row
from trainium_edu.neuroncore.recording.memory import make_allocation, own_buffer
from trainium_edu.neuroncore.recording.program import Access, Program
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.timing.durations import durations, settle
from trainium_edu.neuroncore.timing.expansion import ENGINES, expand
from trainium_edu.neuroncore.timing.liveness import Lives
from trainium_edu.neuroncore.timing.merging import line_of, rebuilt

__all__ = ["joined", "operands_in_psum", "reworked"]

_BANKS_JOINED = 2
_SOURCE = {"tensor_copy": "src", "activation": "data", "tensor_scalar": "data"}


class _Copy(NamedTuple):
    """An instruction that takes a whole PSUM tile to columns of an SBUF tile."""

    at: int
    source: Access
    target: Access
    like: tuple  #: what must be equal to be joined


def joined(program: Program) -> Program:
    """Return a program in which neighbouring results in PSUM are copied out by one instruction.

    Results of single matmuls or transposes, copied one after another to neighbouring columns of
    one tile, lie side by side in up to two banks.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    """
    copies = _copies(program)
    most = _BANKS_JOINED * int(program.spec.psum.bank_bytes)
    toucher = [-1] * len(program.allocations)  # by whom each tile was last touched
    groups: list[list[_Copy]] = [[]]
    for i in program.instructions if copies else ():
        copy = copies.get(i.index)
        if copy is not None:
            if not _continues(groups[-1], copy, toucher, most):
                groups.append([])
            groups[-1].append(copy)
        for access in i.accesses:
            toucher[access[0]] = i.index
    return _with_joined(program, [group for group in groups if len(group) > 1])


def _continues(group, copy, toucher, most) -> bool:
    """Whether a copy takes the next result to the next columns."""
    if not group or group[-1].like != copy.like:
        return False
    last, target = group[-1], copy.target
    return (
        last.target.end_byte == target.first_byte and last.target.allocation == target.allocation
        and toucher[target.allocation] == last.at
        and copy.source.end_byte * (len(group) + 1) <= most
    )  # fmt: skip


def _copies(program) -> dict[int, _Copy]:
    """Return what could be joined: copies of whole PSUM tiles that one matmul filled."""
    tiles = program.allocations
    lives = Lives.of(program)
    on_tensor = np.array([i.engine is Engine.TENSOR for i in program.instructions], bool)
    once = np.ones(len(tiles), bool)
    for which in (lives.is_write, ~lives.is_write, lives.is_write & on_tensor[lives.at]):
        once &= np.bincount(lives.tile[which], minlength=once.size) == 1
    once[[a.memory is not Memory.PSUM or a.address is not None for a in tiles]] = False
    bank, found = int(program.spec.psum.bank_bytes), {}
    for i in program.instructions:
        targets = [a for a in i.accesses if a.is_write] if i.name in _SOURCE else []
        if len(targets) != 1 or i.after:
            continue
        source = next(a for a in i.accesses if a.role == _SOURCE[i.name])
        target, info = targets[0], tiles[source.allocation]
        if (
            once[source.allocation] and bank % info.row_bytes == 0
            and tiles[target.allocation].memory is Memory.SBUF
            and tiles[target.allocation].address is None
            and source[1:5] == (0, info.partitions, 0, info.row_bytes)
            and _is_block(source.geometry) and _is_block(target.geometry)
        ):  # fmt: skip
            others = tuple(
                (a[0], *a[6:]) for a in i.accesses if a is not source and a is not target
            )
            like = (i.name, i.engine, i.line, repr(i.options), i.work, others, info.site,
                    source.geometry, target[1:3], target.geometry[:3])  # fmt: skip
            found[i.index] = _Copy(i.index, source, target, like)
    return found


def _is_block(geometry) -> bool:
    """Whether an operand is [partitions, columns], its columns one after another."""
    dtype, shape, strides, _ = geometry
    return len(shape) == 2 and strides[1] == get_dtype(dtype).itemsize


def _with_joined(program, groups):
    """Return the program with one instruction, and one PSUM tile, for each group of copies."""
    if not groups:
        return program
    allocations, inside, wide = list(program.allocations), {}, {}
    for group in groups:
        info, number = allocations[group[0].source.allocation], len(allocations)
        shape = info.shape[0], len(group) * info.row_bytes // info.dtype.itemsize
        allocations.append(make_allocation(number, info.name, info.memory, shape, info.dtype,
                                           info.site, None, info.start_partition))  # fmt: skip
        for place, copy in enumerate(group):
            inside[copy.source.allocation] = number, place * info.row_bytes
            wide[copy.at] = None
        wide[group[-1].at] = group
    result = []
    for i in program.instructions:
        group = wide.get(i.index, ())
        if group is None:
            continue
        if group:
            first = group[0]
            whole = _inside(first.source, program, allocations, *inside[first.source.allocation])
            firsts = {group[-1].source: whole, group[-1].target: first.target}
            accesses = tuple(
                _widened(firsts[a], len(group)) if a in firsts else a for a in i.accesses
            )
        else:
            accesses = tuple(
                _inside(a, program, allocations, *inside[a[0]]) if a[0] in inside else a
                for a in i.accesses
            )
        result.append(i if accesses == i.accesses else reworked(i, accesses, allocations))
    return rebuilt(program, result, allocations)


def _inside(access, program, allocations, number, shift):
    """Return an access to a tile as one to its bytes inside a wider one."""
    dtype, shape, strides, offset = access.geometry
    pitch = allocations[number].row_bytes
    row, low = divmod(offset, program.allocations[access.allocation].row_bytes)
    geometry = dtype, shape, (pitch, *strides[1:]), row * pitch + low + shift
    return access._replace(allocation=number, first_byte=access.first_byte + shift,
                           end_byte=access.end_byte + shift, geometry=geometry)  # fmt: skip


def _widened(access, count):
    """Return an access to `count` times as many columns."""
    dtype, (rows, columns), strides, offset = access.geometry
    end = access.first_byte + count * (access.end_byte - access.first_byte)
    geometry = dtype, (rows, count * columns), strides, offset
    return access._replace(end_byte=end, geometry=geometry)


def reworked(instruction, accesses, allocations):
    """Return an instruction with other operands, and the work that they make."""
    operands = {name: value for name, value in instruction.options if value is not None}
    for a in accesses:
        dtype, shape, strides, offset = a.geometry
        buffer = own_buffer(allocations[a.allocation], values=False)
        operands[a.role] = View(buffer, get_dtype(dtype), shape, strides, offset)
    call = Call(get_row(instruction.name), instruction.engine, None, operands)
    return replace(instruction, accesses=accesses, work=call.row.work(call))


# -- operands of tensor_tensor -----------------------------------------------------------------


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
        reworked(i, i.accesses, tiles) if any(a[0] in chosen for a in i.accesses) else i
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
