"""What the older compiler decided about a kernel (``neuronxcc.nki``), as passes with names.

A kernel in the older interface says what to compute, and its compiler went on from there.  What
published profiles show of that, and documents explain, is here.  Every pass takes a recorded
program and returns another one that computes the same bits, and can be left out to see its effect.
Where a recorded loop is left in a program, only ``engine_balance`` touches it.

``instances``
    Where all instances of a grid do the same to the same data, as those do that never ask for
    ``nl.program_id``, they are issued once: a loop of invariants.  AWS's own test of its resize
    kernel, whose grid is a batch of ten, states 1 740 us; ten times in full it would be 14 466.
``renames``
    A tile that is wholly overwritten is a new one from there on, as any compiler has it that gives
    each value a name: it gets a place of its own.  A student's convolution in FP32, which loads
    every row into one tile from before its loops, took 3 832 us by its report (on Trainium2); where
    each load waits for the last row's readers, the start-up of 2 664 loads alone is more.
``loads``
    The same region of HBM, which nobody writes in between, loaded again into tiles of one shape is
    loaded once, if what is alive at once fits in the 176 KiB of each partition that the compiler
    does not keep for itself.  A line that loads is decided as a whole, or its inner loops alone.
    Profiled: bmm loads lhs once instead of four times.  Matmul_add_rmsnorm reads w 1.84 times and
    not 32 times, here 1.00 times: which of its tiles went and came again is not known.
``wide_loads``
    Loads of one line, of neighbouring columns of a tile from neighbouring bytes, are one: AWS
    documents that loops of ``affine_range`` are vectorised.  A student's convolution in FP16, which
    loads four rows of 448 bytes so, took 1 060 us by its report; in rows of 448 bytes the queues
    alone are busy for 1 509 us, in rows of 1 792 for 569.  (The report also says that to write one
    load there instead was slower; why is not known.)
``algebra``
    The same arithmetic on the same data is done once, if it fits (bmm transposes lhs once), and
    neighbouring results of single matmuls are copied out of PSUM by one instruction: AWS documents
    that loops of ``affine_range`` are vectorised, and the Scalar Engine's share in bmm, written
    with copies of 512 columns, is that of copies of 1024.  Other consecutive instructions stay
    apart: the counters of silu and adamw show every one of them.  So do the transposes of
    ``nl.matmul``: its documentation (SDK 2.26) says that each call inserts "an additional
    transpose", and names one way to avoid it, to hand over ``x.T``.  (The counters of
    matmul_add_rmsnorm agree; without this rule its prediction is 20 % under its latency.)
``splits``
    Where what is alive at once does not fit in those 176 KiB, tiles that transfers fill or
    empty as a whole or in long stretches, and instructions touch part by part, are cut into the
    parts.  Published solutions of a course hold a result of 193 KiB in each partition, or images of
    196, which SBUF does not have, and ran: what is not needed at once was not there at once.
``reloads``
    Where what is alive at once does not fit in those 176 KiB, the line of loads that holds most of
    it loads its tiles again after the longer pauses of their readers instead of keeping them: where
    live data overflows, the compiler inserts "the necessary spills or refills".  Profiled: matmul
    reads rhs, 160 KiB of each partition, again for each of 32 row blocks.
``spills``
    Where what is alive at once does not fit at all, results are copied from PSUM to SBUF as soon as
    they are complete, and tiles go from SBUF to HBM and come back (``spilling``).  AWS's attention
    tutorial holds the scores of 4096 tokens in PSUM, 512 KiB of each partition, and its script
    times that.  Where everything fits nothing is spilled here: the 12.6 MB that bmm saved and the
    33.8 MB that it loaded again are left out.
``engine_balance``
    Copies, and operations with a number, that name no engine go to the Scalar Engine, line by line,
    where that makes the busier of Vector and Scalar less busy ("compiler selects best engine based
    on engine workload"); profiled matmuls have all copies there.  Where the Vector Engine then has
    most to do, and no tile is in PSUM, results that a ``tensor_tensor`` reads go there, first come
    first served, while two of each fit: with one operand in PSUM it takes N cycles and not 2 N
    (documented).  The counters of adamw show three such results of instructions with one operand.
``instruction_order``
    A list scheduler within a window of 32 instructions (assumed), and within the room there is:
    "instruction scheduling" is a documented step of the compiler, its window is not.

Calibrated by: bmm (``loads``, ``algebra``), matmul (``reloads``), adamw (operands in PSUM; without
them its latency would be 25.3 % too long), and silu, which chose costs and no pass.  The other
profiled kernels validate, see ``specs.times.PROFILES``.
"""

import gc
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.memory import make_allocation
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.instances import issued_once
from trainium_edu.neuroncore.timing.merging import Lives, line_of, merge, on_tiles, rebuilt
from trainium_edu.neuroncore.timing.neighbours import loaded_together
from trainium_edu.neuroncore.timing.optimise import is_pure, optimise
from trainium_edu.neuroncore.timing.ordering import reordered
from trainium_edu.neuroncore.timing.psum_tiles import joined, operands_in_psum
from trainium_edu.neuroncore.timing.renaming import renamed
from trainium_edu.neuroncore.timing.spilling import copied_out, spilled
from trainium_edu.neuroncore.timing.splitting import split
from trainium_edu.specs.arguments import short
from trainium_edu.specs.signatures import checked

__all__ = ["PASSES", "PassEffect", "Traffic", "check_passes", "rewrite", "traffic"]


@checked
def rewrite(program: Program, passes: bool | Iterable[str] = True) -> Program:
    """Return a program as the older compiler would have issued it.

    Parameters
    ----------
    program : Program
        Stays as it is.
    passes : bool or iterable of str
        Which of :data:`PASSES` run, always in that order; True for all.

    Returns
    -------
    Program
        The same one where nothing changes.

    Raises
    ------
    ValueError
        For a name that is not a pass.

    Examples
    --------
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore(values=False)
    >>> x, y = core.hbm((128, 512)), core.hbm((4, 128, 512))
    >>> for i in range(4):
    ...     tile = core.sbuf((128, 512))
    ...     core.dma_copy(dst=tile, src=x)
    ...     core.dma_copy(dst=y.sliced(i), src=tile)
    >>> len(core.program), len(rewrite(core.program, ["loads"]))
    (8, 5)
    """
    names = check_passes(passes)
    with _no_collection():
        for name, run in PASSES.items():
            if name in names:
                program = run(program)
    return program


@contextmanager
def _no_collection():
    """Keep Python from looking for garbage among hundreds of thousands of records in use."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def check_passes(passes: bool | Iterable[str]) -> tuple[str, ...]:
    """Return the names of passes in the order in which they run; raise for others."""
    if isinstance(passes, bool):
        return tuple(PASSES) if passes else ()
    if not isinstance(passes, Iterable):
        raise TypeError(
            f"passes is {short(passes)}; it must be True (all), False (none), or a list of names "
            f"among {', '.join(PASSES)}"
        )
    names = (passes,) if isinstance(passes, str) else tuple(passes)
    for name in names:
        if name not in PASSES:
            raise ValueError(f"no pass {name!r}; choose from {', '.join(PASSES)}")
    return tuple(name for name in PASSES if name in names)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a program issues: instructions, and bytes that transfers read from HBM and write."""

    instructions: int
    hbm_read_bytes: int
    hbm_write_bytes: int


def traffic(program: Program) -> Traffic:
    """Count what a program issues, turns of loops included."""
    issued, moved = 0, [0, 0]
    for i in program.instructions:
        turns = prod(program.loops[loop].count for loop in i.loops)
        issued += turns
        for a in i.accesses if i.engine is Engine.DMA else ():
            if program.allocations[a.allocation].memory is Memory.HBM:
                moved[a.is_write] += turns * prod(a.geometry[1]) * get_dtype(a.geometry[0]).itemsize
    return Traffic(issued, *moved)


@dataclass(frozen=True, slots=True)
class PassEffect:
    """What a program would be without one of its passes."""

    name: str
    after: Traffic  #: with all passes that were asked for
    before: Traffic  #: with all but this one
    ns: float  #: predicted, with all
    without_ns: float  #: predicted, with all but this one

    def __str__(self):
        if (self.before, self.without_ns) == (self.after, self.ns):
            return f"{self.name}: changes nothing"
        said = [
            f"{before} -> {after} {name}"
            for name, before, after in zip(
                ("instructions", "bytes read", "bytes written"), astuple(self.before),
                astuple(self.after), strict=True,
            )
            if before != after
        ]  # fmt: skip
        said.append(f"{self.without_ns / 1e3:.2f} -> {self.ns / 1e3:.2f} us")
        return f"{self.name}: {', '.join(said)}"


def _room(program: Program) -> int:
    """Return the bytes of each SBUF partition that the compiler gives to tiles."""
    sbuf = program.spec.sbuf
    return int(sbuf.bytes_per_partition) - int(sbuf.compiler_bytes)


def _known(program, is_known) -> np.ndarray:
    """Return bool[instructions]: which ones can be issued once, and nobody waits for by name."""
    known = np.array([is_known(i) for i in program.instructions], bool)
    for i in program.instructions:
        if i.after:
            known[[i.index, *i.after]] = False
    return known


def _is_load(program):
    """Return a function: whether an instruction only loads a tile into SBUF."""
    tiles = program.allocations

    def is_load(i):
        return (
            i.name == "dma_copy" and len(i.accesses) == 2 and not i.after
            and tiles[i.accesses[0][0]].memory is Memory.HBM
            and tiles[i.accesses[1][0]].memory is Memory.SBUF
        )  # fmt: skip

    return is_load


def _loads(program: Program) -> Program:
    return merge(program, _known(program, _is_load(program)), _room(program), by_line=True)


def _algebra(program: Program) -> Program:
    if program.rounding == "nearest":  # else the same instruction gives other results again
        inserted = _inserted(program)
        known = _known(program, lambda i: i.line not in inserted and is_pure(i))
        program = merge(program, known, _room(program), by_line=False)
    return joined(program)


def _inserted(program) -> set:
    """Return the lines that transpose and multiply in one: calls of ``nl.matmul``."""
    turns, multiplies = set(), set()
    for i in program.instructions:
        if i.engine is Engine.TENSOR:
            is_turn = i.name == "nc_transpose" or ("is_transpose", True) in i.options
            (turns if is_turn else multiplies).add(i.line)
    return (turns & multiplies) - {None}


def _splits(program: Program) -> Program:
    lives = Lives.of(program)
    return program if lives.most_alive(*lives.ends()) <= _room(program) else split(program)


def _reloads(program: Program) -> Program:
    lives = Lives.of(program)
    if lives.most_alive(*lives.ends()) <= _room(program):
        return program
    lines: dict = {}
    for tile, load in _loaded(program, lives).items():
        lines.setdefault(line_of(program.allocations[tile]), {})[tile] = load
    largest = max(lines.values(), key=lambda loads: lives.alive_of(list(loads)), default={})
    return _loaded_again(program, lives, largest)


def _spills(program: Program) -> Program:
    program = copied_out(program)
    return spilled(program, _room(program), _loaded(program, Lives.of(program)))


def _loaded(program, lives) -> dict:
    """Return {tile: the load that alone writes it}, of data that the program never changes."""
    writes = np.bincount(lives.tile[lives.is_write], minlength=len(program.allocations))
    is_load, found = _is_load(program), {}
    for i in program.instructions:
        if is_load(i) and ("indirect", "src") not in i.options:
            source, tile = i.accesses[0][0], i.accesses[1][0]
            is_free = program.allocations[tile].address is None and tile not in program.outputs
            if not writes[source] and writes[tile] == 1 and is_free:
                found[tile] = i
    return found


def _loaded_again(program, lives, loads):
    """Return a program in which tiles are loaded again behind each long pause of their readers."""
    mine = np.zeros(len(program.allocations), bool)
    mine[list(loads)] = True
    picked = mine[lives.tile] & ~lives.is_write
    order = np.lexsort((lives.at[picked], lives.tile[picked]))
    tile, at = lives.tile[picked][order], lives.at[picked][order]
    is_new = np.diff(tile, prepend=-1) != 0
    pause = np.where(is_new, 0, np.diff(at, prepend=0))
    is_long = 2 * pause > max(int(pause.max(initial=0)), 2)
    allocations, before, instead = list(program.allocations), {}, {}
    now = 0
    for t, reader, first, again in zip(tile.tolist(), at.tolist(), is_new.tolist(),
                                       is_long.tolist(), strict=True):  # fmt: skip
        if first:
            now = t
        elif again:
            a, now = allocations[t], len(allocations)
            allocations.append(make_allocation(now, a.name, a.memory, a.shape, a.dtype, a.site,
                                               None, a.start_partition))  # fmt: skip
        if first or again:
            before.setdefault(reader, []).append(on_tiles(loads[t], {t: now}))
        if now != t:
            instead.setdefault(reader, {})[t] = now
    moved, result = {load.index for load in loads.values()}, []
    for i in program.instructions:
        result += before.get(i.index, ())
        if i.index not in moved:
            result.append(on_tiles(i, instead.get(i.index, {})))
    return rebuilt(program, result, allocations)


def _engine_balance(program: Program) -> Program:
    program = optimise(program, ("engine_balance",)).program
    return program if program.loops else operands_in_psum(program)


def _instruction_order(program: Program) -> Program:
    return reordered(program, _room(program))


def _unrolled(run: Callable[[Program], Program]) -> Callable[[Program], Program]:
    """Return a pass that leaves programs with recorded loops as they are."""

    def run_unrolled(program: Program) -> Program:
        return program if program.loops else run(program)

    return run_unrolled


#: Every pass by its name, in the order in which they run.
PASSES: dict[str, Callable[[Program], Program]] = {
    "instances": _unrolled(issued_once),
    "renames": _unrolled(renamed),
    "loads": _unrolled(_loads),
    "wide_loads": _unrolled(loaded_together),
    "algebra": _unrolled(_algebra),
    "splits": _unrolled(_splits),
    "reloads": _unrolled(_reloads),
    "spills": _unrolled(_spills),
    "engine_balance": _engine_balance,
    "instruction_order": _unrolled(_instruction_order),
}
