"""Named passes over a recorded program: what a compiler would not issue twice, or not at all.

Published times of kernels show that the compiler removes repeated work, so a prediction has to.  A
pass works on a copy, removes instructions, and says which.  Values are never recomputed: what
is removed had the same value as what is kept, bit for bit.

``value_numbering``
    The same compute instruction on the same versions of its operands is issued once.  Every DMA
    makes a new version: a tile that was loaded again counts as new data.
``loop_invariants``
    The same across the turns of a loop that was recorded once with a count: an instruction that
    every turn would repeat on the same versions moves in front of the loop.
``value_numbering_but_tensor``, ``loop_invariants_but_tensor``
    The same, and what the Tensor Engine repeats stays.  Published times of Mamba kernels show that
    repeated arithmetic is issued once; a profiled kernel transposes the same tiles again and again.
``copies``
    A copy inside one memory whose source stays unchanged is dropped, and its readers read the
    source.  Off unless named, since no published time asks for it; the band tries it (``choices``).
``engine_balance``
    Copies, and operations with a number or a scalar per partition, that name no engine go to the
    Scalar Engine where that makes the busier of Vector and Scalar less busy ("compiler selects
    best engine based on engine workload").  Off unless named: which one it chooses is not
    published; profiled kernels had all such work on Scalar.

All but the last touch only tiles that one instruction writes once, without a stated address: a
tile that is overwritten, or whose bytes another tile may overwrite, is left alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import prod

from trainium_edu.neuroncore.engines.vector import SCALAR_ENGINE_PAIRS
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS, cycles_of
from trainium_edu.neuroncore.recording.memory import Allocation
from trainium_edu.neuroncore.recording.program import Access, Instruction, Loop, Program
from trainium_edu.specs.signatures import checked

__all__ = ["DEFAULT_PASSES", "PASSES", "Effect", "Optimised", "is_pure", "keeps_state",
           "optimise"]  # fmt: skip

#: What ``optimise`` does when nothing is said.
DEFAULT_PASSES = ("value_numbering", "loop_invariants")

_LOOK_BACK = 16  # writes of one tile that a read compares itself with
_SETTLED = ("idle", None)  # reduce_cmd values that leave an engine's registers alone


@dataclass(frozen=True, slots=True)
class Effect:
    """What one pass did.

    Attributes
    ----------
    name : str
    removed : tuple of int        indices of instructions in the program before this pass
    moved : tuple of int          likewise: instructions that now run once, in front of a loop
    issued_less : dict            engine → how many times less it issues something (loops counted)
    busy_less_ns : dict           engine → nanoseconds of documented cycles that it saves
    examples : tuple of str       the first few, with the line of the source
    """

    name: str
    removed: tuple[int, ...]
    moved: tuple[int, ...]
    issued_less: dict
    busy_less_ns: dict
    examples: tuple[str, ...]

    def __str__(self):
        if not self.issued_less:
            return f"{self.name}: nothing to remove"
        parts = [
            f"{n} fewer on the {engine.title} ({self.busy_less_ns[engine] / 1e3:.2f} us less)"
            for engine, n in self.issued_less.items()
        ]
        return f"{self.name}: {', '.join(parts)}; for example {self.examples[0]}"


@dataclass(frozen=True, slots=True)
class Optimised:
    """A program after its passes, and what they did.

    Attributes
    ----------
    program : Program
    effects : tuple of Effect     one per pass, in the order in which they ran
    origin : tuple of int         index in the recorded program, for each instruction
    """

    program: Program
    effects: tuple[Effect, ...]
    origin: tuple[int, ...]

    def __str__(self):
        return "\n".join([f"{len(self.program)} instructions left", *map(str, self.effects)])


@checked
def optimise(program: Program, passes: str | Iterable[str] = DEFAULT_PASSES) -> Optimised:
    """Return a copy of a program without the work that a compiler would not issue.

    Parameters
    ----------
    program : Program
        Stays as it is.
    passes : iterable of str
        Names of :data:`PASSES`, run in this order; empty for none.

    Returns
    -------
    Optimised

    Raises
    ------
    ValueError
        For a name that is not a pass.

    Examples
    --------
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore(values=False)
    >>> x = core.sbuf((128, 512), name="x")
    >>> for _ in range(3):
    ...     y = core.sbuf((128, 512))
    ...     core.tensor_scalar(dst=y, data=x, op0="multiply", operand0=2.0)
    >>> print(optimise(core.program).effects[0].issued_less)
    {<Engine.VECTOR: 'vector'>: 2}

    Notes
    -----
    Under stochastic rounding the same instruction gives other results when issued again, so value
    numbering and moving leave such programs alone.

    References
    ----------
    nki-mamba-tutorial: the busy times that v1, v2 and v3 need these passes to reach.
    """
    if isinstance(passes, str):
        passes = (passes,)
    effects = []
    origin: tuple[int, ...] = tuple(range(len(program)))
    for name in passes:
        if name not in PASSES:
            raise ValueError(f"no pass {name!r}; choose one of {', '.join(PASSES)}")
        edit = _Edit()
        PASSES[name](program, edit)
        effects.append(_effect(name, program, edit))
        program, kept = _apply(program, edit)
        origin = tuple(origin[i] for i in kept)
    return Optimised(program, tuple(effects), origin)


@dataclass(slots=True)
class _Edit:
    """What a pass drops, moves before a loop or to another engine, and reads instead."""

    leaves: Engine | None = None  # whose instructions it does not touch
    removed: dict[int, int | None] = field(default_factory=dict)  # index, in order → who stands in
    moved: dict[int, int] = field(default_factory=dict)  # index → index of the loop it leaves
    instead: dict[int, int] = field(default_factory=dict)  # tile → tile that holds the same
    elsewhere: dict[int, Instruction] = field(default_factory=dict)  # → the same on another engine


class _Writes:
    """Who writes each allocation, and when: enough to know whether it ever changes again."""

    __slots__ = ("count", "first_read", "fixed", "only")

    def __init__(self, program: Program):
        n = len(program.allocations)
        self.count = [0] * n  # write accesses
        self.only = [-1] * n  # index of the last instruction that writes it
        self.first_read = [len(program)] * n
        #: tiles that a pass must not touch: stated addresses, HBM, outputs
        self.fixed = [a.address is not None or a.memory is Memory.HBM for a in program.allocations]
        for index in program.outputs:
            self.fixed[index] = True
        count, only, first_read = self.count, self.only, self.first_read
        for at, instruction in enumerate(program.instructions):
            for access in instruction.accesses:
                tile = access[0]
                if access[5]:
                    count[tile] += 1
                    only[tile] = at
                elif first_read[tile] > at:
                    first_read[tile] = at

    def once(self, tile: int, at: int) -> bool:
        """Whether instruction `at` alone writes the tile, and nobody reads it earlier."""
        return self.count[tile] == 1 and not self.fixed[tile] and self.first_read[tile] > at


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


def _value_numbering(program: Program, edit: _Edit) -> None:
    if program.rounding != "nearest":
        return
    versions = _Versions(program)
    first: dict[tuple, list[Instruction]] = {}
    instead = edit.instead
    for at, instruction in enumerate(program.instructions):
        key = versions.key(instruction, at, instead)
        if key is not None and instruction.engine is not edit.leaves:
            like = first.get(key)
            if like is None:
                first[key] = [instruction]
                continue
            earlier = _find_equal(like, instruction, program.allocations)
            if earlier is not None:
                edit.removed[at] = earlier.index
                for mine, theirs in zip(_written(instruction), _written(earlier), strict=True):
                    instead[mine] = theirs
                continue
            like.append(instruction)
        else:
            versions.note_writes(instruction, at)


def _find_equal(like: list[Instruction], instruction: Instruction, tiles) -> Instruction | None:
    """Return the one that computes the same; all of `like` read the same versions already."""
    if not is_pure(instruction):
        return None
    for earlier in like:
        if (
            earlier.work == instruction.work
            and earlier.engine is instruction.engine
            and _same_turn(earlier, instruction)
            and _same_options(earlier.options, instruction.options)
            and _operands(earlier) == _operands(instruction)
            and _places(earlier, tiles) == _places(instruction, tiles)
        ):
            return earlier
    return None


def _same_options(a: tuple, b: tuple) -> bool:
    try:
        return a == b and repr(a) == repr(b)  # 0.0 equals -0.0, and gives other bits
    except ValueError:  # an array among them
        return False


def _operands(instruction):
    return [access[5:] for access in instruction.accesses]


def _places(instruction, tiles):
    """Return what distinguishes the tiles that an instruction writes, apart from their identity."""
    written = (tiles[tile] for tile in _written(instruction))
    return [(t.shape, t.dtype, t.memory, t.start_partition) for t in written]


def _written(instruction):
    return [access[0] for access in instruction.accesses if access[5]]


def _same_turn(earlier: Instruction, later: Instruction) -> bool:
    """Whether the earlier one has run, in this turn of every loop, when the later one would."""
    return earlier.loops == later.loops[: len(earlier.loops)]


class _Versions:
    """Which version of its operands an instruction reads."""

    def __init__(self, program: Program):
        self.program = program
        self.writes = _Writes(program)
        self.history: dict = {}  # tile (or memory of stated tiles) → rectangles written so far

    def key(self, instruction: Instruction, at: int, instead):
        """Return name and versions read, or None where the tiles written are not its alone."""
        if instruction.engine is Engine.DMA:
            return None
        writes = self.writes
        count, only, fixed, first_read = (
            writes.count, writes.only, writes.fixed, writes.first_read)  # fmt: skip
        parts: list = [instruction.name]
        for tile, row, end_row, low, high, is_write, _, _ in instruction.accesses:
            if is_write:
                if count[tile] != 1 or fixed[tile] or first_read[tile] <= at:
                    return None
                continue
            if only[tile] >= at and instruction.loops:
                return None  # a later turn may read what this turn writes later
            tile = instead.get(tile, tile)
            if count[tile] <= 1 and not fixed[tile]:
                parts += (tile, row, low, only[tile] < at)
            else:
                parts += (tile, row, low, self._last_write(tile, row, end_row, low, high))
        return tuple(parts)

    def note_writes(self, instruction: Instruction, at: int):
        """Remember what an instruction overwrites."""
        writes = self.writes
        for tile, row, end_row, low, high, is_write, _, _ in instruction.accesses:
            if is_write and (writes.count[tile] > 1 or writes.fixed[tile]):
                where, row, end_row, low, high = self._place(tile, row, end_row, low, high)
                self.history.setdefault(where, []).append((at, row, end_row, low, high))

    def _place(self, tile, row, end_row, low, high):
        """Return where the bytes are: tiles with stated addresses share their memory's bytes."""
        info = self.program.allocations[tile]
        if info.address is None:
            return tile, row, end_row, low, high
        row, end_row = row + info.start_partition, end_row + info.start_partition
        return info.memory, row, end_row, low + info.address, high + info.address

    def _last_write(self, tile, row, end_row, low, high):
        where, row, end_row, low, high = self._place(tile, row, end_row, low, high)
        done = self.history.get(where, ())
        for at, first, end, start, stop in done[: -_LOOK_BACK - 1 : -1]:
            if first < end_row and row < end and start < high and low < stop:
                return at
        return -1 if len(done) <= _LOOK_BACK else ("of", len(done))


def _loop_invariants(program: Program, edit: _Edit) -> None:
    if program.rounding != "nearest" or not program.loops:
        return
    writes = _Writes(program)
    leaves: dict[int, int] = {}  # allocation whose writer moves → loop it leaves
    for at, instruction in enumerate(program.instructions):
        if not instruction.loops or instruction.after or not is_pure(instruction):
            continue
        if instruction.engine is edit.leaves:
            continue
        out_of = None
        for loop in reversed(instruction.loops):
            if not _is_invariant(program, writes, instruction, at, loop, leaves):
                break
            out_of = loop
        if out_of is not None:
            edit.moved[at] = out_of
            for tile in _written(instruction):
                leaves[tile] = out_of


def _is_invariant(program, writes, instruction, at, loop, leaves) -> bool:
    body = program.loops[loop]
    for access in instruction.accesses:
        tile = access[0]
        if access[5]:
            if not writes.once(tile, at):
                return False
            continue
        left = leaves.get(tile)
        if left is not None and program.loops[left].start <= body.start:
            continue  # its writer moves at least as far
        inside = body.first_allocation <= tile < body.end_allocation
        if inside or writes.fixed[tile] or body.start <= writes.only[tile]:
            return False
    return True


def _copies(program: Program, edit: _Edit) -> None:
    writes = _Writes(program)
    for at, instruction in enumerate(program.instructions):
        if instruction.name != "tensor_copy" or instruction.loops:
            continue
        if len(instruction.accesses) != 2 or not instruction.accesses[1][5]:
            continue
        source, copy = instruction.accesses
        a, b = program.allocations[source[0]], program.allocations[copy[0]]
        same_place = source[7] == copy[7] and a.memory is b.memory and a.shape == b.shape
        same_rows = a.start_partition == b.start_partition and a.dtype == b.dtype
        if not same_place or not same_rows or not writes.once(copy[0], at):
            continue
        tile = edit.instead.get(source[0], source[0])
        if writes.fixed[tile] or writes.only[tile] >= at or not _reads_within(program, copy):
            continue
        edit.removed[at] = None
        edit.instead[copy[0]] = tile


def _reads_within(program, copy) -> bool:
    """Whether the copy covers its whole tile, so that no reader sees fresh memory beside it."""
    info = program.allocations[copy[0]]
    return copy[1:5] == (0, info.partitions, 0, info.row_bytes)


def _engine_balance(program: Program, edit: _Edit) -> None:
    busy = dict.fromkeys(Engine, 0.0)
    lines: dict[object, list[tuple[Instruction, Instruction]]] = {}  # that may move, by line
    for instruction in program.instructions:
        busy[instruction.engine] += _held_ns(program, instruction)
        there = _on_scalar(instruction)
        if there is not None:
            lines.setdefault((instruction.line, instruction.name), []).append((instruction, there))
    for pairs in lines.values():
        here_ns, there_ns = (
            sum(_held_ns(program, pair[k]) for pair in pairs) for k in range(2)
        )  # fmt: skip
        vector, scalar = busy[Engine.VECTOR] - here_ns, busy[Engine.SCALAR] + there_ns
        if max(vector, scalar) < max(busy[Engine.VECTOR], busy[Engine.SCALAR]):
            busy[Engine.VECTOR], busy[Engine.SCALAR] = vector, scalar
            edit.elsewhere.update((here.index, there) for here, there in pairs)


def _held_ns(program, instruction) -> float:
    """Return for how long all turns of an instruction hold their engine."""
    if instruction.engine in (Engine.DMA, Engine.SYNC):
        return 0.0
    clock = float(program.spec.find(f"{instruction.engine}_engine.clock_hz"))
    fixed = float(program.spec.cycles.fixed_overhead_cycles) / clock * 1e9
    return _turns(program, instruction.loops) * (_busy_ns(program.spec, instruction) + fixed)


def _on_scalar(instruction: Instruction) -> Instruction | None:
    """Return a free Vector instruction as the Scalar Engine would run it, or None."""
    if not instruction.is_free or instruction.engine is not Engine.VECTOR:
        return None
    if not all(get_dtype(access.geometry[0]).is_float for access in instruction.accesses):
        return None  # it computes in FP32, where Vector moves an integer's bits
    if instruction.name == "tensor_copy":  # NeuronCore-v2 copies there with an activation
        accesses = tuple(
            a if a.is_write else a._replace(role="data") for a in instruction.accesses
        )  # fmt: skip
        return replace(instruction, name="activation", engine=Engine.SCALAR, accesses=accesses,
                       work=(*instruction.work, False), options=(("op", "copy"),))  # fmt: skip
    options = dict(instruction.options)
    if instruction.name == "tensor_scalar" and (
        (options["op0"], options["op1"]) in SCALAR_ENGINE_PAIRS
    ):
        return replace(instruction, engine=Engine.SCALAR)
    return None


def _but_tensor(run):
    """Return a pass that leaves the Tensor Engine's instructions alone."""

    def run_but_tensor(program: Program, edit: _Edit) -> None:
        edit.leaves = Engine.TENSOR
        run(program, edit)

    return run_but_tensor


#: Every pass by its name.
PASSES: dict[str, Callable[[Program, _Edit], None]] = {
    "value_numbering": _value_numbering,
    "value_numbering_but_tensor": _but_tensor(_value_numbering),
    "loop_invariants": _loop_invariants,
    "loop_invariants_but_tensor": _but_tensor(_loop_invariants),
    "copies": _copies,
    "engine_balance": _engine_balance,
}


def _apply(program: Program, edit: _Edit) -> tuple[Program, list[int]]:
    """Return the edited copy, and for each of its instructions the index before."""
    instructions, removed, instead = program.instructions, edit.removed, edit.instead
    result = Program(program.spec, program.name, program.rounding)
    result.outputs, result.spills = list(program.outputs), program.spills
    order = [i for i in range(len(instructions)) if i not in removed]
    if edit.moved:
        order.sort(key=lambda i: (_position(program, edit, i), i not in edit.moved, i))
    tiles, renumbered = _allocations(program, edit)
    result.allocations = tiles
    if not removed and not edit.moved:
        result.instructions = [edit.elsewhere.get(i.index, i) for i in instructions]
        result.loops = list(program.loops)
        return result, order
    place = {old: new for new, old in enumerate(order)}
    for index, old in enumerate(order):
        instruction = instructions[old]
        accesses = instruction.accesses
        if instead or renumbered:
            accesses = _redirected(accesses, instead, renumbered)
        left = edit.moved.get(old)
        loops = instruction.loops
        if left is not None:
            loops = loops[: loops.index(left)]
        result.instructions.append(
            Instruction(
                index, instruction.name, instruction.engine, accesses, instruction.work,
                instruction.options, instruction.line, instruction.label, instruction.flops,
                loops, _waits(instruction, program, removed, place), instruction.is_free,
            )
        )  # fmt: skip
    result.loops = _loops(program, edit, order, renumbered)
    return result, order


def _waits(instruction, program, removed, place) -> tuple[int, ...]:
    """Return what an instruction was told to wait for; the dropped pass their own wait on."""
    found, ask = set(), list(instruction.after)
    while ask:
        old = ask.pop()
        if old in place:
            found.add(place[old])
        else:
            ask += program.instructions[old].after
            if removed[old] is not None:
                ask.append(removed[old])
    return tuple(sorted(found))


def _position(program, edit, index):
    return program.loops[edit.moved[index]].start if index in edit.moved else index


def _redirected(accesses, instead, renumbered):
    changed = None
    for k, access in enumerate(accesses):
        if not renumbered and access[0] not in instead:
            continue
        tile = instead.get(access[0], access[0])
        tile = renumbered[tile] if renumbered else tile
        if tile != access[0]:
            changed = changed or list(accesses)
            changed[k] = Access(tile, *access[1:])
    return tuple(changed) if changed else accesses


def _allocations(program, edit):
    """Return the allocations, those of moved instructions in front of the loop they leave."""
    if not edit.moved:
        return list(program.allocations), None
    before = {}
    for at, loop in edit.moved.items():
        for tile in _written(program.instructions[at]):
            first = program.loops[loop].first_allocation
            if tile >= first:
                before[tile] = first
    old = sorted(range(len(program.allocations)), key=lambda t: (before.get(t, t), t not in before))
    renumbered = [0] * len(old)
    tiles = []
    for index, tile in enumerate(old):
        renumbered[tile] = index
        a = program.allocations[tile]
        tiles.append(
            Allocation(index, a.name, a.memory, a.shape, a.dtype, a.row_bytes, a.site, a.address,
                       a.start_partition)
        )  # fmt: skip
    return tiles, renumbered


def _loops(program, edit, order, renumbered):
    """Return the loops with the bounds that they have after dropping and moving."""
    loops = []
    for number, loop in enumerate(program.loops):
        body = [
            new
            for new, old in enumerate(order)
            if number in program.instructions[old].loops
            and not _has_left(program, edit, old, number)
        ]
        start, end = (body[0], body[-1] + 1) if body else (0, 0)
        first, stop = loop.first_allocation, loop.end_allocation
        if renumbered:
            left = {
                t for at, out in edit.moved.items() for t in _written(program.instructions[at])
                if _has_left(program, edit, at, number)
            }  # fmt: skip
            inside = [renumbered[t] for t in range(first, stop) if t not in left]
            first, stop = (min(inside), max(inside) + 1) if inside else (0, 0)
        loops.append(Loop(start, end, loop.count, first, stop))
    return loops


def _has_left(program, edit, index, loop):
    out = edit.moved.get(index)
    if out is None:
        return False
    loops = program.instructions[index].loops
    return loop in loops[loops.index(out) :]


def _effect(name: str, program: Program, edit: _Edit) -> Effect:
    issued: dict[Engine, int] = {}
    saved: dict[Engine, float] = {}
    costs: dict[tuple, float] = {}
    examples = []
    for index in (*edit.removed, *edit.moved, *edit.elsewhere):
        instruction = program.instructions[index]
        turns = _turns(program, instruction.loops)
        if index in edit.moved:
            loops = instruction.loops
            turns -= _turns(program, loops[: loops.index(edit.moved[index])])
        engine = instruction.engine
        what = (instruction.name, engine, instruction.work)
        if what not in costs:
            costs[what] = _busy_ns(program.spec, instruction)
        issued[engine] = issued.get(engine, 0) + turns
        saved[engine] = saved.get(engine, 0.0) + turns * costs[what]
        if len(examples) < 3:
            where = f" at {instruction.line}" if instruction.line else ""
            examples.append(f"{instruction.name}{where}")
    return Effect(
        name, tuple(edit.removed), tuple(edit.moved), issued, saved, tuple(dict.fromkeys(examples))
    )


def _turns(program, loops):
    return prod(program.loops[loop].count for loop in loops)


def _busy_ns(spec, instruction) -> float:
    """Return the documented cycles of one issue as nanoseconds (0 for a DMA: its time is rate)."""
    if instruction.engine in (Engine.DMA, Engine.SYNC):
        return 0.0
    record = getattr(spec, f"{instruction.engine}_engine")
    cycles = cycles_of(instruction.name, instruction.work, instruction.engine, spec)
    return cycles / float(record.clock_hz) * 1e9
