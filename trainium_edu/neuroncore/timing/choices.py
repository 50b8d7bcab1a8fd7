"""What the model chooses where no document settles it, and what a compiler may do instead.

A :class:`Choice` is to a whole program what a ``Parameter`` is to a duration: what is taken, and
what else it may truly be.  What the user states is certain and no choice: ``buffers=``, the engine
of a copy, the passes of ``optimise``.  Copies and products with numbers may go to the Scalar Engine
(in profiles of published kernels they do), and clearing SBUF to GpSimd.

Repeated arithmetic is merged for certain: AWS's times of its Mamba kernels have no room for it.
What the Tensor Engine repeats may be merged or not: one profiled kernel transposes its tiles again
and again.

Left out, since published times speak against it or nobody would see the program that was written:
loads stay as written (AWS's own Mamba kernels measure what loading again costs, although profiles
of larger kernels show loads merged), and what nobody reads is not dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from trainium_edu.neuroncore.engines.vector import SCALAR_ENGINE_PAIRS
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.program import Program, copy_of
from trainium_edu.neuroncore.timing.optimise import DEFAULT_PASSES, optimise
from trainium_edu.neuroncore.timing.placement import Placement, place
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["Choice", "Variants", "choices"]

_BUT_TENSOR = "_but_tensor"
_NAMES = ("merges", "engines", "buffers")
#: Where an instruction may run instead of the Vector Engine.
_ELSEWHERE = {"tensor_copy": Engine.SCALAR, "tensor_scalar": Engine.SCALAR,
              "memset": Engine.GPSIMD}  # fmt: skip
_GIVES_WAY = "the largest gives way"  #: where there is no room for two buffers each


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that the model decides for a whole program."""

    name: str
    group: str  #: as people say it: it stands beside the groups of parameters
    nominal: object
    others: tuple  #: what else it may be

    def __str__(self):
        return f"{self.name} = {self.nominal!r}, or {', '.join(map(repr, self.others))}"


@checked
def choices(spec: Record) -> dict[str, Choice]:
    """Return every choice by name.

    Examples
    --------
    >>> from trainium_edu.specs import TRN1
    >>> print(choices(TRN1)["buffers"])
    buffers = 4, or 2, 8, 'the largest gives way'
    """
    forms = [[(name,), (name + _BUT_TENSOR,)] for name in DEFAULT_PASSES]
    subsets = [sum(kept, ()) for kept in product(*forms, [(), ("copies",)])]
    most = int(spec.timing.default_buffers)
    found = (
        Choice("merges", "what the compiler may merge", DEFAULT_PASSES,
               tuple(kept for kept in subsets if kept != DEFAULT_PASSES)),
        Choice("engines", "which engine takes what names none", "as recorded",
               ("vector", "elsewhere", "in turns")),
        Choice("buffers", "who got buffers", most,
               (*(n for n in spec.timing.buffers_range.value if n != most), _GIVES_WAY)),
    )  # fmt: skip
    return {choice.name: choice for choice in found}


class Variants:
    """One placed program, compiled anew under other choices; equal results are one object.

    Attributes
    ----------
    open : dict of str to Choice
        The choices that can change this program, with what makes a difference.
    """

    def __init__(self, placement: Placement):
        self.nominal = placement
        self._program = program = _as_placed(placement)
        self._recorded = program.recorded
        self._largest = _largest(placement.sites)
        self._merged: dict = {}
        self._moved: dict = {}
        self._placed: dict = {(id(program), None): placement}
        self.open: dict[str, Choice] = {}
        for choice in choices(placement.spec).values():
            others = self._others_of(choice)
            if others:
                self.open[choice.name] = replace(choice, others=others)

    def _others_of(self, choice):
        match choice.name:
            case "merges" if self._recorded is not None:
                self._merge(choice.nominal, self._program)
                idle = _idle_passes(self._recorded)
                others = [passes for passes in choice.others if not idle & {*passes}]
                kept = {id(self._merge(passes)): passes for passes in reversed(others)}
                kept.pop(id(self._program), None)
                return tuple(reversed(kept.values()))
            case "engines":
                kept = {id(self._move(self._program, to)): to for to in reversed(choice.others)}
                kept.pop(id(self._program), None)
                return tuple(reversed(kept.values()))
            case "buffers" if self.nominal.buffers is None and not self.nominal.endless:
                return tuple(n for n in choice.others if n != _GIVES_WAY or self._largest)
        return ()

    def placement(self, settings: Mapping) -> Placement | None:
        """Return the program compiled and placed under some settings, or None if it does not fit.

        Parameters
        ----------
        settings : dict of str to one of a choice's settings
            A choice that is None, not named, or not open here stays nominal.
        """
        merges, engines, buffers = (
            settings.get(name) if name in self.open else None for name in _NAMES
        )
        program = self._program if merges is None else self._merge(merges)
        if engines is not None:
            program = self._move(program, engines)
        key = id(program), buffers
        if key not in self._placed:
            self._placed[key] = self._place(program, buffers)
        return self._placed[key]

    def _merge(self, passes, program=None):
        """Return the recorded program after some passes."""
        done = optimise(self._recorded, passes)
        left = done.origin, tuple(i.loops for i in done.program.instructions)
        return self._merged.setdefault(left, program or done.program)

    def _move(self, program, to):
        """Return the program with what names no engine on Vector, elsewhere, or there in turns."""
        free = [i for i in program.instructions if _may_move(i, program.allocations)]
        turn = dict.fromkeys(_ELSEWHERE, to == "elsewhere")
        engines = []
        for i in free:
            engines.append(_ELSEWHERE[i.name] if turn[i.name] else Engine.VECTOR)
            turn[i.name] ^= to == "in turns"
        if engines == [i.engine for i in free]:
            return program
        key = id(program), tuple(engines)
        if key not in self._moved:
            self._moved[key] = copy_of(program)
            for i, engine in zip(free, engines, strict=True):
                self._moved[key].instructions[i.index] = replace(i, engine=engine)
        return self._moved[key]

    def _place(self, program, buffers):
        nominal = self.nominal
        asked = nominal.buffers if buffers is None else buffers
        if asked == _GIVES_WAY:
            asked = {self._largest: 1} if self._largest else nominal.buffers
        try:
            found = place(program, nominal.spec, buffers=asked, endless=nominal.endless)
        except NkiValidationError:
            return None
        like = (p for p in self._placed.values() if p is not None and p.program is program)
        return next((p for p in like if np.array_equal(p.address, found.address)), found)


def _idle_passes(program: Program) -> set:
    """Return the passes that find nothing whatever others did: no loop, no copy within a memory."""

    def inside(i):
        return len({program.allocations[a.allocation].memory for a in i.accesses}) == 1

    copies = (i for i in program.instructions if i.name == "tensor_copy")
    found = {
        "copies": any(map(inside, copies)),
        "loop_invariants" + _BUT_TENSOR: bool(program.loops),
    }
    return {name for name, may_act in found.items() if not may_act}


def _may_move(instruction, allocations) -> bool:
    """Whether an instruction names no engine and could run elsewhere."""
    if not instruction.is_free:
        return False
    match instruction.name:
        case "tensor_copy":
            return True
        case "tensor_scalar":
            options = dict(instruction.options)
            return (options["op0"], options["op1"]) in SCALAR_ENGINE_PAIRS
        case "memset":  # GpSimd does not reach PSUM
            return allocations[instruction.accesses[0].allocation].memory is Memory.SBUF
    return False


def _largest(sites) -> str:
    """Return the site with most bytes for more buffers, where others have no room for a second."""
    short = {s.memory for s in sites if s.slots < min(2 * s.alive, s.tiles)}
    extra = {s.name: (s.slots - s.alive) * s.row_bytes for s in sites if s.memory in short}
    return max(extra, key=extra.__getitem__) if any(extra.values()) else ""


def _as_placed(placement: Placement) -> Program:
    """Return a program as it was when it was placed, though more was recorded since."""
    program, end = placement.program, int(placement.run.instruction.max(initial=-1)) + 1
    if len(program) == end:
        return program
    result = copy_of(program)
    del result.instructions[end:]
    while result.loops and result.loops[-1].start >= end:
        result.loops.pop()
    return result
