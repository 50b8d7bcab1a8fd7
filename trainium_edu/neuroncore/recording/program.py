"""What was recorded: instructions in order, what each read and wrote, and its line of source.

A program holds no values.  ``placement`` gives its tiles addresses, ``scheduler`` gives its
instructions times; both only read it.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.memory import Allocation
from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.specs.record import Record

__all__ = ["Access", "Instruction", "Loop", "Program", "copy_of"]


class Access(NamedTuple):
    """One operand of one instruction, without its values.

    ``rows`` are partitions of the allocation on chip, all axes but the last in HBM; the four
    numbers are the smallest rectangle that holds every byte touched.
    """

    allocation: int
    first_row: int
    end_row: int
    first_byte: int
    end_byte: int
    is_write: bool
    role: str  #: the operand's name: "dst", "moving"
    geometry: tuple  #: (dtype name, shape, strides in bytes, offset in bytes)


@dataclass(slots=True)
class Instruction:
    """One instruction as recorded."""

    index: int
    name: str  #: a key of ``engines.INSTRUCTIONS``
    engine: Engine
    accesses: tuple[Access, ...]
    work: tuple  #: what its ``cycles`` function reads: sizes, dtypes, memories
    options: tuple = ()  #: (name, value) of operands that are not tensors, for equality and repr
    line: SourceLine | None = None
    label: str = ""  #: the user's ``name=``
    flops: int = 0  #: multiply-adds of a matmul, times two
    loops: tuple[int, ...] = ()  #: indices of the loops it stands in, outermost first
    after: tuple[int, ...] = ()  #: instructions it waits for besides its data (``depends_on``)
    is_free: bool = False  #: the call named no engine

    def __repr__(self):
        where = f" at {self.line}" if self.line else ""
        return f"{self.index}: {self.name} on {self.engine.title}{where}"


@dataclass(slots=True)
class Loop:
    """A body recorded once that runs `count` times: instructions [start, end)."""

    start: int
    end: int
    count: int
    first_allocation: int
    end_allocation: int


@dataclass
class Program:
    """Instructions and allocations, in the order in which the kernel made them."""

    spec: Record  #: the NeuronCore it was recorded for
    name: str = "program"
    rounding: str = "nearest"  #: under "stochastic" one instruction issued twice differs
    instructions: list[Instruction] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)  #: allocations that must outlive the program
    #: inner loops of the older ``affine_range``: where each turn begins, and where the last ends
    turns: list[tuple[int, ...]] = field(default_factory=list, repr=False)
    _open_loops: list[int] = field(default_factory=list, repr=False)

    def __len__(self):
        return len(self.instructions)

    def __repr__(self):
        return (
            f"Program({self.name!r}, {len(self.instructions)} instructions, "
            f"{len(self.allocations)} allocations)"
        )

    @contextmanager
    def repeat(self, count: int):
        """Record what follows once and time it `count` times (values are computed once)."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"count is {count!r}; a loop runs a whole number of times, at least 1")
        loop = Loop(len(self.instructions), -1, count, len(self.allocations), -1)
        self.loops.append(loop)
        self._open_loops.append(len(self.loops) - 1)
        try:
            yield loop
        finally:
            self._open_loops.pop()
            loop.end, loop.end_allocation = len(self.instructions), len(self.allocations)

    def append(self, instruction: Instruction) -> Instruction:
        """Add an instruction (its index and loops are set here)."""
        instruction.index = len(self.instructions)
        instruction.loops = tuple(self._open_loops)
        self.instructions.append(instruction)
        return instruction


def copy_of(program: Program) -> Program:
    """Return a copy of a program, which does not grow when the original does."""
    return replace(
        program, instructions=list(program.instructions), allocations=list(program.allocations),
        loops=list(program.loops), outputs=list(program.outputs), _open_loops=[],
    )  # fmt: skip
