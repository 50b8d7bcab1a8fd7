"""Tiles that get the same content again: which ones can be one tile, and what that takes of SBUF.

A tile's content is numbered by what was written into it: the same instructions, in the same order,
on operands with the same content, give the same bits.  Of two tiles with equal content the second
one's writers are dropped, and its readers read the first one, which then lives longer.  Whether
there is room for that is asked of live ranges: of the sum of what is alive at any moment.
"""

from itertools import compress

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS
from trainium_edu.neuroncore.recording.memory import Allocation
from trainium_edu.neuroncore.recording.program import Instruction, Program, copy_of
from trainium_edu.neuroncore.timing.liveness import Lives

__all__ = ["is_pure", "keeps_state", "line_of", "merge", "number_contents", "on_tiles", "rebuilt"]

_SETTLED = ("idle", None)  # reduce_cmd values that leave an engine's registers alone
_PLAIN = (str, int, float, bool, type(None))


def is_pure(instruction: Instruction) -> bool:
    """Return whether an instruction gives the same whenever its operands are the same."""
    if instruction.engine is Engine.DMA or instruction.engine is Engine.SYNC:
        return False
    if keeps_state(instruction):
        return False
    for name, value in instruction.options:
        if name == "accumulate" and value:
            return False  # adds to what was there
        if name == "indirect":
            return False  # a register may have moved the operand in between
    return True


def keeps_state(instruction: Instruction) -> bool:
    """Return whether an engine's registers or dice matter to it, or it to them."""
    row = INSTRUCTIONS.get(instruction.name)
    if row is None or not row.pure:
        return True
    if any(access[6] == "reduce_res" for access in instruction.accesses):
        return True
    return any(n == "reduce_cmd" and value not in _SETTLED for n, value in instruction.options)


def line_of(info: Allocation) -> tuple:
    """Return what identifies the line that allocated a tile, of whatever shape."""
    *line, _, _, _ = info.site
    return tuple(line) or info.site


def number_contents(program: Program, counts) -> list[int]:
    """Return a number for what each allocation holds at the end: equal for equal bits.

    Parameters
    ----------
    program : Program
    counts : bool[instructions]
        Whose results are known by what they read; what others write is like nothing else, and so
        is what comes from a stated address, where other tiles may write.
    """
    numbers: dict = {}
    texts: dict = {}
    number = numbers.setdefault
    stated = {a.index for a in program.allocations if a.address is not None}
    content = []
    for info in program.allocations:
        own = info.index if info.memory is Memory.HBM else -1
        fresh = own, info.shape, info.dtype.name, info.memory, info.start_partition
        content.append(number(fresh, len(numbers)))
    for instruction, is_known in zip(program.instructions, counts.tolist(), strict=True):
        accesses, options = instruction.accesses, instruction.options
        key: tuple = ("only", instruction.index)
        if is_known and not (stated and any(a[0] in stated for a in accesses)):
            if id(options) not in texts:
                texts[id(options)] = _as_text(options)
            if texts[id(options)] is not None:
                key = (instruction.name, instruction.engine, instruction.work, texts[id(options)],
                       *[(content[a[0]], a[1:]) for a in accesses])  # fmt: skip
        what = number(key, len(numbers))
        for place, access in enumerate(accesses):
            if access[5]:
                content[access[0]] = number((what, place), len(numbers))
    return content


def _as_text(options: tuple) -> str | None:
    """Return options as a text that is equal only for equal ones; None where there is none."""
    for name, value in options:
        parts = value if isinstance(value, tuple) else (value,)
        if name == "indirect" or not all(isinstance(part, _PLAIN) for part in parts):
            return None
    return repr(options)


def merge(program: Program, counts, room: int, *, by_line: bool) -> Program:
    """Return a program in which tiles with the same content are one tile, as far as they fit.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    counts : bool[instructions]
        See :func:`number_contents`: what may be issued once instead of again.
    room : int
        Bytes of each SBUF partition that may be alive at once.
    by_line : bool
        Whether each line that allocates tiles is decided by itself, in order, or all in one.

    Notes
    -----
    The repetitions of a line are merged all together, or as far as they lie within some distance
    of each other (those of inner loops): the greatest power of two for which there is room.
    """
    job = _Merging(program, counts)
    lines: dict = {}
    for tile in job.again:
        line = line_of(program.allocations[tile]) if by_line else None
        lines.setdefault(line, []).append(tile)
    most = max(room, job.most_alive([])) if lines else room
    for tiles in lines.values():
        distance = [int(job.distance[tile]).bit_length() for tile in tiles]
        for limit in sorted(set(distance), reverse=True):
            more = [tile for tile, far in zip(tiles, distance, strict=True) if far <= limit]
            if job.most_alive(more) <= most:
                job.accepted += more
                break
    return job.done()


class _Merging:
    """The tiles that repeat others, and those of them that are merged so far.

    Attributes
    ----------
    again : list of int
        Tiles whose content an earlier one has, in the order in which they are written.
    earlier, distance : int64[allocations]
        That tile, and how many instructions ago it was last used.
    """

    def __init__(self, program, counts):
        self.program, self.accepted, self.again = program, [], []
        self.lives = lives = Lives.of(program)
        at, tile, writes = lives.at, lives.tile, lives.is_write
        written, done = lives.ends(writes)
        first_read, last_read = lives.ends(~writes)
        free = np.array([a.address is None and a.memory is not Memory.HBM
                         for a in program.allocations], bool)  # fmt: skip
        free[program.outputs] = False
        free[tile[writes & ~counts[at]]] = False
        settled = np.flatnonzero(free & (done >= 0) & (first_read > done))
        settled = settled[np.argsort(written[settled], kind="stable")]
        self.rank = np.full(free.size, -1)
        self.rank[settled] = np.arange(settled.size)
        self.earlier, self.distance = np.arange(free.size), np.zeros(free.size, np.int64)
        content, newest = number_contents(program, counts) if settled.size else [], {}
        for t in settled.tolist():
            one = newest.get(content[t])
            if one is not None and done[one] < first_read[t]:
                self.again.append(t)
                self.earlier[t], self.distance[t] = one, max(written[t] - last_read[one], 1)
            newest[content[t]] = t
        self.in_psum = np.array([a.memory is Memory.PSUM for a in program.allocations], bool)
        self.writes = np.bincount(at[writes], minlength=lives.rows)

    def settle(self, more):
        """Return (who stands in for each tile, which instructions are dropped)."""
        lives, merged = self.lives, sorted([*self.accepted, *more], key=self.rank.__getitem__)
        at, tile, writes = lives.at, lives.tile, lives.is_write
        while True:
            stands_in = np.arange(lives.sbuf_bytes.size)
            for t in merged:
                stands_in[t] = stands_in[self.earlier[t]]
            gone = (stands_in != np.arange(stands_in.size))[tile]
            lost = np.bincount(at[writes & gone], minlength=lives.rows)
            dropped = (lost > 0) & (lost == self.writes)
            # somebody needs the rest of what it writes; PSUM is too small to keep results in
            bad = gone & ~dropped[at] & (writes | self.in_psum[tile])
            if not bad.any():
                return stands_in, dropped
            out = set(tile[bad].tolist())
            merged = [t for t in merged if t not in out]

    def most_alive(self, more) -> int:
        """Return the most bytes alive at once if these tiles were merged, too."""
        stands_in, dropped = self.settle(more)
        lives = self.lives
        return lives.most_alive(*lives.ends(~dropped[lives.at], stands_in[lives.tile]))

    def done(self) -> Program:
        """Return the program with what was accepted."""
        stands_in, dropped = self.settle([])
        if not dropped.any():
            return self.program
        moved = dict(zip(self.accepted, stands_in[self.accepted].tolist(), strict=True))
        return rebuilt(self.program, (
            on_tiles(i, moved) for i in compress(self.program.instructions, ~dropped)
        ))  # fmt: skip


def on_tiles(instruction: Instruction, tiles: dict) -> Instruction:
    """Return an instruction with some tiles (allocation → allocation) in place of others."""
    accesses = instruction.accesses
    for access in accesses:
        if access[0] in tiles:
            accesses = tuple(a._replace(allocation=tiles.get(a[0], a[0])) for a in accesses)
            return _copied(instruction, instruction.index, accesses, instruction.after)
    return instruction


def rebuilt(program: Program, instructions, allocations=None) -> Program:
    """Return a program of some instructions of another, in this order.

    Parameters
    ----------
    program : Program
        Without recorded loops.
    instructions : iterable of Instruction
        Their ``index`` and ``after`` are those of `program`; one index may come twice.
    allocations : list of Allocation, optional
        Default: the program's own.
    """
    result = copy_of(program)
    result.turns = []
    if allocations is not None:
        result.allocations = allocations
    place: dict[int, int] = {}
    copies = result.instructions = []
    for index, old in enumerate(instructions):
        after = old.after
        if after:
            after = tuple(sorted({place[i] for i in after if i in place}))
        place[old.index] = index
        copies.append(_copied(old, index, old.accesses, after))
    return result


def _copied(old, index, accesses, after) -> Instruction:
    """Return a copy; ``dataclasses.replace`` takes twenty times as long."""
    return Instruction(index, old.name, old.engine, accesses, old.work, old.options, old.line,
                       old.label, old.flops, old.loops, after, old.is_free)  # fmt: skip
