"""What was recorded: instructions in order, what each read and wrote, and its line of source.

A program holds no values.  ``placement`` gives its tiles addresses, ``scheduler`` gives its
instructions times; both only read it.
"""

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.memory import Allocation
from trainium_edu.specs.record import Record

__all__ = ["Access", "Instruction", "Loop", "Program", "SourceLine", "copy_of"]

_PACKAGE = str(Path(__file__).resolve().parents[2])
_KERNELS = str(Path(_PACKAGE) / "nki" / "examples")  # kernels that come with the package are code


class SourceLine(NamedTuple):
    """A line of the code that recorded an instruction."""

    file: str
    line: int
    function: str
    callers: tuple = ()  #: (file, line, function) of the calls that lead here, the nearest first

    def __str__(self):
        way = "".join(
            f", called from {f'line {line}' if file == self.file else _place(file, line)}"
            for file, line, _ in self.callers[:1]
        )
        return _place(self.file, self.line) + way


def _is_cell(file: str) -> bool:
    """Return whether a file is a notebook cell's: its name says nothing."""
    return Path(file).parent.name.startswith("ipykernel_") or file.startswith("<ipython-input")


def _place(file: str, line: int) -> str:
    return f"cell line {line}" if _is_cell(file) else f"{Path(file).name}:{line}"


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
    options: tuple = ()  #: (name, value) of operands that are no tensors, for equality and repr
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
    #: the program before those passes that the model chose to run (see ``choices``)
    recorded: "Program | None" = field(default=None, repr=False, compare=False)
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
        """Record what follows once and time it `count` times (values run once)."""
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
    """Return a program of the same instructions that does not grow with the first."""
    return replace(
        program, instructions=list(program.instructions), allocations=list(program.allocations),
        loops=list(program.loops), outputs=list(program.outputs), _open_loops=[],
    )  # fmt: skip


_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
_MOST_CALLERS = 6
_LONGEST_WAY = 24  # calls; deeper ones are taken together
_inside = {}  # file -> whether it belongs to this package


def source_line(known: dict, above: int = 1) -> SourceLine | None:
    """Return the innermost line outside this package that is running now, and who called it.

    The first `above` frames are known to be inside; `known` keeps what each place is called.
    """
    frame: FrameType | None = sys._getframe(above)
    while frame is not None:
        code = frame.f_code
        if not _inside.get(code.co_filename) and not _is_inside(code):
            line = _place_of(frame, known)[1]
            if line.function in _COMPREHENSIONS:
                line = line._replace(function=_name(frame))
            callers = _callers(frame, known)
            return line._replace(callers=callers) if callers else line
        frame = frame.f_back
    return None


def _place_of(frame, known) -> tuple:
    """Return (code, SourceLine without callers, "function:line") of where a frame stands.

    To count a long function's lines takes long, so it is done once.  What is known holds the code,
    so that no other can get its id.
    """
    code = frame.f_code
    key = id(code), frame.f_lasti
    found = known.get(key)
    if found is None:
        line = SourceLine(code.co_filename, frame.f_lineno, code.co_name)
        found = known[key] = code, line, f"{line.function}:{line.line}"
    return found


def _name(frame) -> str:
    """Return the function that a line stands in; before Python 3.12 a comprehension is another."""
    while frame.f_code.co_name in _COMPREHENSIONS and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name


def _callers(frame, known) -> tuple:
    """Return (file, line, function) of the calls between a line and the kernel that it serves."""
    if frame.f_code.co_name == "<module>":
        return ()
    found: list[tuple] = []
    below, frame = _place_of(frame, known)[1].line, frame.f_back
    while frame is not None and len(found) < _MOST_CALLERS:
        code = frame.f_code
        if _inside.get(code.co_filename) or _is_inside(code):  # the kernel's caller
            return tuple(found)
        if code.co_name == "<module>":  # no kernel: a script that issues instructions itself
            return tuple(found)
        file, line, name, _ = _place_of(frame, known)[1]
        if line != below:
            found.append((file, line, _name(frame) if name in _COMPREHENSIONS else name))
        below, frame = line, frame.f_back
    return ()


def allocation_site(known: dict) -> tuple:
    """Return what tells places that allocate apart: (file, line, ...) and the way to here.

    The way is the calls that lead here from the kernel (a compiler inlines them: a function that
    loads, called on two lines, is two sites) and the lines of this package on it, since tiles of
    one template (``tilings``) share the user's line.
    """
    frame: FrameType | None = sys._getframe(2)
    place: tuple = ()
    way: list[str] = []
    while frame is not None and len(way) < _LONGEST_WAY:
        code, line, step = _place_of(frame, known)
        inside = _inside.get(line.file) or _is_inside(code)
        if inside and place:  # the kernel's caller
            break
        if not inside and not place:
            place = line[:2]
        else:
            way.append(step)
        if line.function == "<module>":
            break
        frame = frame.f_back
    return (*place, *way) if place else ()


def _is_inside(code) -> bool:
    name = code.co_filename
    inside = _inside.get(name)
    if inside is None:
        inside = _inside[name] = name.startswith(_PACKAGE) and not name.startswith(_KERNELS)
    return inside
