"""Turns of an inner loop of ``affine_range`` that the older compiler made one instruction."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.instruction_set import Call, get_row
from trainium_edu.neuroncore.recording.memory import make_allocation, own_buffer
from trainium_edu.neuroncore.recording.program import Instruction, Program
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.timing.liveness import Lives
from trainium_edu.neuroncore.timing.merging import keeps_state, rebuilt

__all__ = ["reworked", "vectorised"]

#: Operands that may be wider; others are the same column for all.
_TILES = dict.fromkeys(("activation", "tensor_scalar", "reciprocal", "tensor_reduce"),
                       ("dst", "data")) | {
    "tensor_copy": ("dst", "src"), "tensor_tensor": ("dst", "data1", "data2"),
}  # fmt: skip


def vectorised(program: Program) -> Program:
    """Return a program in which each instruction of an inner loop is issued once for all turns.

    That is where turns differ only in places that lie side by side, and all together fit into
    one PSUM bank.

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
            result.append(
                i if accesses == i.accesses else reworked(program, i, accesses, allocations)
            )
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


def reworked(program, instruction, accesses, allocations):
    """Return an instruction with other operands, and the work that they make."""
    operands = {name: value for name, value in instruction.options if value is not None}
    for a in accesses:
        dtype, shape, strides, offset = a.geometry
        buffer = own_buffer(allocations[a.allocation], values=False)
        operands[a.role] = View(buffer, get_dtype(dtype), shape, strides, offset)
    call = Call(get_row(instruction.name), instruction.engine, program, operands)
    return replace(instruction, accesses=accesses, work=call.row.work(call))
