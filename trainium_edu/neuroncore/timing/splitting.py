"""Tiles wider than what is used of them at once, cut into pieces that live for as long as needed.

A whole image is loaded by one transfer and read row by row; a whole result is written block by
block and stored by one.  Where instructions touch parts of a tile that do not overlap, the parts
are tiles of their own: each is loaded before its first reader and stored behind its last writer.
"""

from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np

from trainium_edu.neuroncore.engines.dma import contiguous_run
from trainium_edu.neuroncore.recording.accesses import access_of
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.memory import make_allocation, own_buffer
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.timing.merging import rebuilt
from trainium_edu.neuroncore.timing.psum_tiles import reworked

__all__ = ["split"]

_PIECE_BYTES = 4096  # of a partition: a shorter row slows its transfer down


def split(program: Program) -> Program:
    """Return a program with wide tiles cut where no instruction but a transfer crosses.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    """
    touched: dict[int, list] = {}
    for i in program.instructions:
        for access in i.accesses:
            touched.setdefault(access.allocation, []).append((i, access))
    job = _Splitting(program, touched)
    for info in tuple(program.allocations):
        is_free = info.address is None and info.index not in program.outputs
        if is_free and info.memory is Memory.SBUF and info.row_bytes >= 2 * _PIECE_BYTES:
            job.cut(info, touched.get(info.index, ()))
    return job.done()


class _Splitting:
    """What the pieces change: before, behind and in place of which instructions."""

    def __init__(self, program, touched):
        self.program, self.touched = program, touched
        self.allocations = list(program.allocations)
        self.before: dict = {}
        self.behind: dict = {}
        self.instead: dict = {}  #: instruction -> {access of a cut tile: the same of a piece}
        self.gone: set[int] = set()

    def cut(self, info, uses):
        """Cut one tile, if long transfers and parts that do not overlap are all that it has."""
        whole = [(i, a) for i, a in uses if self._is_long(i, a, info)]
        steps = {_walk(a)[2][1] for _, a in whole}
        parts = [(i, a) for i, a in uses if not any(i is one for one, _ in whole)]
        if len(steps) != 1 or any(_jumps(a, info) for _, a in parts):
            return
        bounds = _bounds(info, steps.pop(), [a for _, a in parts])
        if len(bounds) < 3:
            return
        pieces = []
        for low, end in pairwise(bounds):
            number = len(self.allocations)
            shape = info.shape[0], (end - low) // info.dtype.itemsize
            self.allocations.append(make_allocation(
                number, info.name, info.memory, shape, info.dtype, info.site, None,
                info.start_partition))  # fmt: skip
            pieces.append((low, end, number, []))
        for i, a in parts:
            at = int(np.searchsorted(bounds, a.first_byte, side="right")) - 1
            low, _, number, mine = pieces[at]
            mine.append((i, a))
            self.instead.setdefault(i.index, {})[a] = self._moved(a, info, number, low)
        for i, a in whole:
            self._transfer(i, a, info, pieces, len(whole))

    def _is_long(self, i, a, info) -> bool:
        """Whether an instruction is a transfer of many columns to or from a like part of HBM."""
        if i.name != "dma_copy" or len(i.accesses) != 2 or i.after:
            return False
        other = next(b for b in i.accesses if b is not a)
        dtype, shape, strides, offset = _walk(a)
        size = get_dtype(dtype).itemsize
        return (
            self.program.allocations[other.allocation].memory is Memory.HBM
            and not any(name == "indirect" for name, _ in i.options)
            and len(shape) > 1 and _walk(other)[:2] == (dtype, shape)
            and a.end_byte - a.first_byte >= 2 * _PIECE_BYTES and offset < info.row_bytes
            and contiguous_run(shape, strides, size, 1) == prod(shape[1:])
        )  # fmt: skip

    def _moved(self, a, info, number, low):
        """Return an access to a part of a tile as one to the piece that holds it."""
        dtype, shape, strides, offset = a.geometry
        row, byte = divmod(offset, info.row_bytes)
        pitch = self.allocations[number].row_bytes
        strides = tuple(pitch if s == info.row_bytes else s for s in strides)
        return self._access(a, number, dtype, shape, strides, row * pitch + byte - low)

    def _access(self, a, number, dtype, shape, strides, offset):
        buffer = own_buffer(self.allocations[number], values=False)
        return access_of(View(buffer, get_dtype(dtype), shape, strides, offset), a.role, a.is_write)

    def _transfer(self, i, a, info, pieces, whole):
        """Put a transfer of each piece in place of one of all columns, where it is due."""
        other = next(b for b in i.accesses if b is not a)
        dtype, shape, strides, _ = _walk(a)
        far = _walk(other)
        users = [(user, b) for user, b in self.touched[other.allocation] if not _beside(b, other)]
        for low, end, number, mine in pieces:
            first, end = max(low, a.first_byte), min(end, a.end_byte)
            if first >= end:
                continue
            part = shape[0], (end - first) // strides[1], *shape[2:]
            pitch = self.allocations[number].row_bytes
            here = self._access(a, number, dtype, part, (pitch, *strides[1:]), first - low)
            there = self._access(
                other, other.allocation, dtype, part, far[2],
                far[3] + (first - a.first_byte) // strides[1] * far[2][1])  # fmt: skip
            accesses = tuple(here if b is a else there for b in i.accesses)
            piece = reworked(i, accesses, self.allocations)
            turns = [user.index for user, _ in mine]
            where, at = self.before, i.index
            if a.is_write:
                is_only = whole == 1 and not any(b.is_write for _, b in mine)
                if is_only and not any(b.is_write for _, b in users):
                    at = min((n for n in turns if n > i.index), default=i.index)
            else:
                made = [user.index for user, b in mine if b.is_write and user.index < i.index]
                others = [user.index for user, _ in users if user.index < i.index]
                if made and max(made) > max(others, default=-1):
                    where, at = self.behind, max(made)
            where.setdefault(at, []).append(piece)
        self.gone.add(i.index)

    def done(self) -> Program:
        """Return the program with the pieces in place."""
        if not self.gone:
            return self.program
        result = []
        for i in self.program.instructions:
            result += self.before.get(i.index, ())
            if i.index not in self.gone:
                mine = self.instead.get(i.index)
                accesses = tuple(mine.get(a, a) for a in i.accesses) if mine else i.accesses
                result.append(replace(i, accesses=accesses) if mine else i)
            result += self.behind.get(i.index, ())
        return rebuilt(self.program, result, self.allocations)


def _walk(a):
    """Return the geometry of an access without its free axes of one element."""
    dtype, shape, strides, offset = a.geometry
    kept = [k for k, size in enumerate(shape) if size > 1 or not k]
    return dtype, tuple(shape[k] for k in kept), tuple(strides[k] for k in kept), offset


def _jumps(a, info) -> bool:
    """Whether an access does not go down the partitions of a tile as it lies."""
    _, shape, strides, _ = a.geometry
    return shape[0] > 1 and strides[0] != info.row_bytes


def _beside(a, b) -> bool:
    """Whether two accesses are other columns of rows with the same pitch."""
    (_, shape, strides, start), (_, others, steps, begin) = _walk(a), _walk(b)
    if strides != steps or shape[2:] != others[2:] or len(shape) < 2:
        return False
    end, stop = start + shape[1] * strides[1], begin + others[1] * steps[1]
    return (end <= begin or stop <= start) and max(end, stop) - min(start, begin) <= strides[0]


def _bounds(info, step, parts) -> np.ndarray:
    """Return where to cut: multiples of a step that no part crosses, some distance apart."""
    crossed = np.zeros(info.row_bytes // step + 2, np.int64)
    for a in parts:
        crossed[a.first_byte // step + 1] += 1
        crossed[-(-a.end_byte // step)] -= 1
    free = np.flatnonzero(np.cumsum(crossed)[:-1] == 0) * step
    found = [0]
    for at in free.tolist():
        if at - found[-1] >= _PIECE_BYTES and info.row_bytes - at >= _PIECE_BYTES:
            found.append(at)
    return np.array([*found, info.row_bytes])
