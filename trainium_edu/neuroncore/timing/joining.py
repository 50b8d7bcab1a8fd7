"""Instructions that the older compiler made one, because what they touch lies side by side.

Copies out of neighbouring results in PSUM, and the turns of an inner loop of ``affine_range``.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import Call, get_row
from trainium_edu.neuroncore.recording.memory import make_allocation, own_buffer
from trainium_edu.neuroncore.recording.program import Access, Instruction, Program
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.timing.liveness import Lives
from trainium_edu.neuroncore.timing.merging import keeps_state, rebuilt

__all__ = ["joined", "reworked", "vectorised"]

_BANKS_JOINED = 2
_SOURCE = {"tensor_copy": "src", "activation": "data", "tensor_scalar": "data"}
#: Operands that may be wider; others are the same column for all.
_TILES = {name: ("dst", source) for name, source in _SOURCE.items()} | {
    "reciprocal": ("dst", "data"), "tensor_reduce": ("dst", "data"),
    "tensor_tensor": ("dst", "data1", "data2"),
}  # fmt: skip


# -- turns of a loop ----------------------------------------------------------------------------


def vectorised(program: Program) -> Program:
    """Return a program in which each instruction of an inner loop is issued once for all turns.

    That is where turns differ only in places that lie side by side, and all together are no wider
    than one PSUM bank.

    Parameters
    ----------
    program : Program
        Without recorded loops; its ``turns`` say where those of ``affine_range`` were.
    """
    if not program.turns:
        return program
    spans = np.stack(Lives.of(program).ends(), 1)
    awaited = {k for i in program.instructions if i.after for k in (i.index, *i.after)}
    groups = []
    for starts in program.turns:
        bodies = [program.instructions[at:end] for at, end in pairwise(starts)]
        alike = list(zip(*bodies, strict=False))
        if (
            alike and len(bodies) > 1 and len({len(body) for body in bodies}) == 1
            and awaited.isdisjoint(range(starts[0], starts[-1]))
            and _may_be_one(program, alike, np.array(starts), spans)
        ):  # fmt: skip
            groups += alike
    return _with_joined(program, groups)


def _may_be_one(program, alike, starts, spans) -> bool:
    """Whether the turns of a loop depend on nothing in each other, and fit side by side."""
    most = int(program.spec.psum.bank_bytes) // get_dtype("float32").itemsize // len(alike[0])
    wide: dict[int, tuple] = {}  # a tile of the first turn → those of all turns
    read, written = set(), set()
    for members in alike:
        kinds = {(i.name, i.engine, i.work, repr(i.options), len(i.accesses)) for i in members}
        if len(kinds) > 1 or members[0].name not in _TILES or keeps_state(members[0]):
            return False
        for accesses in zip(*(i.accesses for i in members), strict=True):
            first, tiles = accesses[0], tuple(a.allocation for a in accesses)
            if len({(*a[1:3], *a[5:7], *a.geometry[:3]) for a in accesses}) > 1:
                return False
            is_wide = first.role in _TILES[members[0].name]
            steps = np.unique(np.diff([a.geometry[3] for a in accesses]))
            if steps.size > 1 or steps[0] < 0 or prod(first.geometry[1][1:]) * is_wide > most:
                return False
            if len(set(tiles)) == 1:
                extent = first.end_byte - first.first_byte
                if (first.is_write and steps[0] != extent) or (steps[0] and not is_wide):
                    return False
                (written if first.is_write else read).add(tiles[0])
            elif steps[0] or not is_wide or wide.setdefault(tiles[0], tiles) != tiles:
                return False
    infos = [[program.allocations[t] for t in tiles] for tiles in wide.values()]
    return read.isdisjoint(written) and all(
        len({(a.memory, a.shape, a.dtype.name, a.start_partition) for a in turns}) == 1
        and turns[0].row_bytes // turns[0].dtype.itemsize <= most
        and all(a.address is None and a.index not in program.outputs for a in turns)
        and (spans[[tiles], 0] >= starts[:-1]).all() and (spans[[tiles], 1] < starts[1:]).all()
        for tiles, turns in zip(wide.values(), infos, strict=True)
    )  # fmt: skip


# -- copies out of PSUM -------------------------------------------------------------------------


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
    return _with_joined(program, [
        [program.instructions[copy.at] for copy in group] for group in groups if len(group) > 1
    ])  # fmt: skip


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


# -- both ---------------------------------------------------------------------------------------


def _with_joined(program: Program, groups: Sequence[Sequence[Instruction]]) -> Program:
    """Return the program with one instruction for each group, where the last of it was.

    What is a tile of its own in each member lies side by side in one.
    """
    allocations, inside, last = list(program.allocations), {}, {}
    for group in groups:
        for accesses in zip(*(i.accesses for i in group), strict=True):
            info, number = allocations[accesses[0].allocation], len(allocations)
            if info.index == accesses[1].allocation or info.index in inside:
                continue
            shape = info.shape[0], len(group) * info.row_bytes // info.dtype.itemsize
            allocations.append(make_allocation(number, info.name, info.memory, shape, info.dtype,
                                               info.site, None, info.start_partition))  # fmt: skip
            for place, access in enumerate(accesses):
                inside[access.allocation] = number, place * info.row_bytes
        last |= dict.fromkeys((i.index for i in group), ()) | {group[-1].index: group}

    def placed(i):
        return tuple(
            _inside(a, program, allocations, *inside[a[0]]) if a[0] in inside else a
            for a in i.accesses
        )

    result = []
    for i in program.instructions if groups else ():
        group, accesses = last.get(i.index, (i,)), placed(i)
        if len(group) > 1:
            roles = _TILES[i.name]
            accesses = tuple(
                _widened(first, end, len(group)) if first.role in roles else first
                for first, end in zip(placed(group[0]), accesses, strict=True)
            )
            if i.name == "tensor_reduce":
                i = _reducing_as_before(i)
        if group:
            result.append(i if accesses == i.accesses else reworked(i, accesses, allocations))
    return rebuilt(program, result, allocations) if groups else program


def _inside(access, program, allocations, number, shift):
    """Return an access to a tile as one to its bytes inside a wider one."""
    dtype, shape, strides, offset = access.geometry
    pitch = allocations[number].row_bytes
    row, low = divmod(offset, program.allocations[access.allocation].row_bytes)
    geometry = dtype, shape, (pitch, *strides[1:]), row * pitch + low + shift
    return access._replace(allocation=number, first_byte=access.first_byte + shift,
                           end_byte=access.end_byte + shift, geometry=geometry)  # fmt: skip


def _widened(first, last, count):
    """Return one access for `count` members, from the first and the last of them."""
    dtype, (rows, *shape), (pitch, *strides), offset = first.geometry
    step = (last.geometry[3] - offset) // (count - 1)
    geometry = dtype, (rows, count, *shape), (pitch, step, *strides), offset
    return first._replace(end_byte=last.end_byte, geometry=geometry)


def _reducing_as_before(i):
    """Return a reduction whose axes are counted from the last one."""
    dims = next(len(a.geometry[1]) for a in i.accesses if a.role == "data")
    options = dict(i.options)
    axes = np.atleast_1d(options["axis"]) % dims - dims
    return replace(i, options=tuple((options | {"axis": tuple(axes.tolist())}).items()))


def reworked(instruction, accesses, allocations):
    """Return an instruction with other operands, and the work that they make."""
    operands = {name: value for name, value in instruction.options if value is not None}
    for a in accesses:
        dtype, shape, strides, offset = a.geometry
        buffer = own_buffer(allocations[a.allocation], values=False)
        operands[a.role] = View(buffer, get_dtype(dtype), shape, strides, offset)
    call = Call(get_row(instruction.name), instruction.engine, None, operands)
    return replace(instruction, accesses=accesses, work=call.row.work(call))
