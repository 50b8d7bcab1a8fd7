"""What a compiler decided about a kernel, as passes with names.

A kernel says what to compute, and its compiler goes on from there.  Every pass takes a recorded
program and returns another one that computes the same bits.  Kernels of the current interface run
:data:`DEFAULT_PASSES`, those of the older one all; ``optimise=`` and ``passes=`` name others.
Programs with recorded loops (``core.repeat``) stay as they are, except for ``engine_balance``.

``vectorised_loops``
    Turns of an inner loop of the older ``affine_range`` may differ only in places side by side.
    Then each instruction is issued once for all turns, if together they fit into a PSUM bank
    (the limit is assumed).  Document: such loops are vectorised.  Times: a convolution's loop of 64
    was, its loop of 2,048 was not.
``loads``
    What the Tensor Engine alone reads, loaded again, is loaded once, if what is alive at once fits
    in the 176 KiB of each partition that are left to tiles.  Profile: bmm loads lhs once, not four
    times.  Times: Mamba's first version pays for what Vector reads again.
``algebra``
    The same arithmetic on the same data is done once, but for the transposes that each call of
    ``nl.matmul`` "inserts".  Times: AWS's Mamba kernels.  Profile: bmm transposes lhs once.
``reloads``
    Where what is alive does not fit, the line of loads that holds most of it loads its tiles again
    after long pauses.  Profile: matmul reads rhs again for each of 32 row blocks.
``engine_balance``
    Copies, and operations with a number, that name no engine go to Scalar where that makes the
    busier of Vector and Scalar less busy; results that ``tensor_tensor`` reads go to PSUM where
    Vector has most to do.  Documents: "compiler selects best engine based on engine workload", N
    and 2 N cycles.  Profiles: matmul's copies; adamw's three results in PSUM.
``instruction_order``
    A list scheduler within a window of 32 instructions.  Document: "instruction scheduling" (the
    window is assumed).  Profiles: adamw and matmul, 38 % and 15 % longer without it.

More on each, and on what is not known, is in ``.github/docs/truth.md``.
"""

import gc
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from math import prod

import numpy as np

from trainium_edu.neuroncore.engines.vector import SCALAR_ENGINE_PAIRS
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import cycles_of
from trainium_edu.neuroncore.recording.memory import make_allocation
from trainium_edu.neuroncore.recording.program import Instruction, Program, copy_of
from trainium_edu.neuroncore.timing.joining import vectorised
from trainium_edu.neuroncore.timing.liveness import Lives
from trainium_edu.neuroncore.timing.merging import is_pure, line_of, merge, on_tiles, rebuilt
from trainium_edu.neuroncore.timing.ordering import reordered
from trainium_edu.neuroncore.timing.psum_tiles import operands_in_psum
from trainium_edu.specs.arguments import short
from trainium_edu.specs.signatures import checked

__all__ = ["DEFAULT_PASSES", "PASSES", "PassEffect", "Traffic", "check_passes", "optimise",
           "traffic"]  # fmt: skip

#: What a kernel of the current interface goes through when nothing is said.
DEFAULT_PASSES = ("algebra",)


@checked
def optimise(program: Program, passes: bool | Iterable[str] = DEFAULT_PASSES) -> Program:
    """Return a program as a compiler would have issued it.

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
    ...     tile, twice = core.sbuf((128, 512)), core.sbuf((128, 512))
    ...     core.dma_copy(dst=tile, src=x)
    ...     core.tensor_scalar(dst=twice, data=tile, op0="multiply", operand0=2.0)
    ...     core.dma_copy(dst=y.sliced(i), src=twice)
    >>> len(core.program), len(optimise(core.program, ["loads"]))  # Vector reads each load
    (12, 12)
    """
    names, was_on = check_passes(passes), gc.isenabled()
    gc.disable()  # hundreds of thousands of records are in use, and none is garbage
    try:
        for name, run in PASSES.items():
            if name in names and (not program.loops or name == "engine_balance"):
                program = run(program)
        return program
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
    """A program's instructions, and the bytes that transfers read from HBM and write."""

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
    """The change that one of its passes makes to a program."""

    name: str
    after: Traffic  #: traffic with all requested passes
    before: Traffic  #: traffic with all but this one
    ns: float  #: predicted, with all
    without_ns: float  #: predicted, with all but this one

    def __str__(self):
        if (self.before, self.without_ns) == (self.after, self.ns):
            return f"{self.name}: changes nothing"
        changes = [
            f"{before} -> {after} {name}"
            for name, before, after in zip(
                ("instructions", "bytes read", "bytes written"), astuple(self.before),
                astuple(self.after), strict=True,
            )
            if before != after
        ]  # fmt: skip
        changes.append(f"{self.without_ns / 1e3:.2f} -> {self.ns / 1e3:.2f} us")
        return f"{self.name}: {', '.join(changes)}"


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
    is_load = _is_load(program)
    others = {
        a.allocation for i in program.instructions if i.engine is not Engine.TENSOR
        for a in i.accesses if not a.is_write
    }  # fmt: skip
    known = _known(program, lambda i: is_load(i) and i.accesses[1].allocation not in others)
    return merge(program, known, _room(program), by_line=True)


def _algebra(program: Program) -> Program:
    if program.rounding != "nearest":  # the same instruction gives other results again
        return program
    inserted = _inserted(program)
    known = _known(program, lambda i: i.line not in inserted and is_pure(i))
    return merge(program, known, _room(program), by_line=False)


def _inserted(program) -> set:
    """Return the lines that transpose and multiply in one: calls of ``nl.matmul``."""
    turns, multiplies = set(), set()
    for i in program.instructions:
        if i.engine is Engine.TENSOR:
            is_turn = i.name == "nc_transpose" or ("is_transpose", True) in i.options
            (turns if is_turn else multiplies).add(i.line)
    return (turns & multiplies) - {None}


def _reloads(program: Program) -> Program:
    lives = Lives.of(program)
    if lives.most_alive(*lives.ends()) <= _room(program):
        return program
    lines: dict = {}
    for tile, load in _loaded(program, lives).items():
        lines.setdefault(line_of(program.allocations[tile]), {})[tile] = load
    largest = max(lines.values(), key=lambda loads: lives.alive_of(list(loads)), default={})
    return _loaded_again(program, lives, largest)


def _loaded(program, lives) -> dict:
    """Return {tile: the load that alone writes it}, of data that the program never changes."""
    writes = np.bincount(lives.tile[lives.is_write], minlength=len(program.allocations))
    is_load, loads = _is_load(program), {}
    for i in program.instructions:
        if is_load(i) and ("indirect", "src") not in i.options:
            source, tile = i.accesses[0][0], i.accesses[1][0]
            is_free = program.allocations[tile].address is None and tile not in program.outputs
            if not writes[source] and writes[tile] == 1 and is_free:
                loads[tile] = i
    return loads


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
    busy = dict.fromkeys(Engine, 0.0)
    lines: dict[object, list[tuple[Instruction, Instruction]]] = {}  # that may move, by line
    for instruction in program.instructions:
        busy[instruction.engine] += _held_ns(program, instruction)
        moved = _on_scalar(instruction)
        if moved is not None:
            lines.setdefault((instruction.line, instruction.name), []).append((instruction, moved))
    elsewhere: dict[int, Instruction] = {}
    for pairs in lines.values():
        here_ns, there_ns = (sum(_held_ns(program, pair[k]) for pair in pairs) for k in range(2))
        vector, scalar = busy[Engine.VECTOR] - here_ns, busy[Engine.SCALAR] + there_ns
        if max(vector, scalar) < max(busy[Engine.VECTOR], busy[Engine.SCALAR]):
            busy[Engine.VECTOR], busy[Engine.SCALAR] = vector, scalar
            elsewhere.update((here.index, moved) for here, moved in pairs)
    if elsewhere:
        program = copy_of(program)
        program.instructions = [elsewhere.get(i.index, i) for i in program.instructions]
    return program if program.loops else operands_in_psum(program)


def _held_ns(program, instruction) -> float:
    """Return for how long all turns of an instruction hold their engine."""
    engine, spec = instruction.engine, program.spec
    if engine in (Engine.DMA, Engine.SYNC):
        return 0.0
    cycles = cycles_of(instruction.name, instruction.work, engine, spec)
    cycles += float(spec.cycles.fixed_overhead_cycles)
    clock = float(spec.find(f"{engine}_engine.clock_hz"))
    return prod(program.loops[loop].count for loop in instruction.loops) * cycles / clock * 1e9


def _on_scalar(instruction: Instruction) -> Instruction | None:
    """Return a free Vector instruction as the Scalar Engine would run it, or None."""
    if not instruction.is_free or instruction.engine is not Engine.VECTOR:
        return None
    if not all(get_dtype(access.geometry[0]).is_float for access in instruction.accesses):
        return None  # it computes in FP32, where Vector moves an integer's bits
    if instruction.name == "tensor_copy":  # NeuronCore-v2 copies there with an activation
        accesses = tuple(a if a.is_write else a._replace(role="data") for a in instruction.accesses)
        return replace(instruction, name="activation", engine=Engine.SCALAR, accesses=accesses,
                       work=(*instruction.work, False), options=(("op", "copy"),))  # fmt: skip
    options = dict(instruction.options)
    if instruction.name == "tensor_scalar" and (
        (options["op0"], options["op1"]) in SCALAR_ENGINE_PAIRS
    ):
        return replace(instruction, engine=Engine.SCALAR)
    return None


def _instruction_order(program: Program) -> Program:
    return reordered(program, _room(program))


#: Every pass by its name, in the order in which they run.
PASSES: dict[str, Callable[[Program], Program]] = {
    "vectorised_loops": vectorised,
    "loads": _loads,
    "algebra": _algebra,
    "reloads": _reloads,
    "engine_balance": _engine_balance,
    "instruction_order": _instruction_order,
}
