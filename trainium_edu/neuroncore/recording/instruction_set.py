"""What an instruction is here: a check, a value function, a ``cycles`` function, and one row.

Each file of ``engines`` fills rows of :data:`INSTRUCTIONS`; adding an instruction touches one file.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.specs import arguments
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.instances import TARGETS
from trainium_edu.specs.record import Record

__all__ = ["INSTRUCTIONS", "Call", "InstructionSpec", "cycles_of", "define", "get_row"]


class Call:
    """One instruction being issued: its operands by name, as attributes, and where it runs.

    ``call.dst``, ``call.data``, ... are Views, numbers, strings, tuples or None.
    """

    is_indirect = False  #: whether an index known at run time moves one of its operands
    is_skipped = False  #: whether such an index is out of bounds and the call leaves it out
    index_accesses: tuple = ()  #: what such indices touch

    def __init__(self, row, engine, core, operands):
        self.__dict__.update(row.defaults)
        self.__dict__.update(operands)
        self.row = row
        self.engine = engine
        self.core = core  #: the NeuronCore: its spec, rounding, random state, registers
        self.operands = operands  #: as given: without defaults, and before an index became a place

    def __repr__(self):
        return f"{self.name} on {self.engine.title}"

    def refuse(self, text: str) -> NoReturn:
        """Raise NkiValidationError, naming the instruction."""
        raise NkiValidationError(f"{self.name}: {text}")

    def has(self, feature: str) -> bool:
        """Return whether the chip has a feature of a later generation."""
        return feature in self.core.spec.features.value

    def needs(self, feature: str, what: str, instead: str) -> None:
        """Raise unless the chip has a feature, naming the first chip that does."""
        if not self.has(feature):
            first = next(chip for chip in TARGETS.values() if feature in chip.features.value)
            self.refuse(f"{what} needs {first.core_name.value} ({first.name}); {instead}")

    @property
    def name(self) -> str:
        """The instruction's name."""
        return self.row.name


@dataclass(frozen=True, slots=True)
class InstructionSpec:
    """One row of the instruction set."""

    name: str
    engines: tuple[Engine, ...]  #: engines that can run it; the first is the default
    writes: tuple[str, ...]  #: names of operands that it writes
    reads: tuple[str, ...]  #: names of operands that it reads (a number or None is not one)
    check: Callable[[Call], None]  #: raise NkiValidationError or TypeError on what hardware refuses
    execute: Callable[[Call], None]  #: read, compute in FP32, write
    work: Callable[[Call], tuple]  #: hashable sizes, dtype names, memories: what time depends on
    cycles: Callable[..., float]  #: ``cycles(chip, engine, *work)``, of the engine's own clock
    flops: Callable[[Call], int] | None = None  #: matmuls only
    options: tuple[str, ...] = ()  #: operands that are not tensors but change the result
    pure: bool = True  #: False if an engine's registers or dice matter: twice is not once
    choose: Callable[[dict], Engine] | None = None  #: engine by operands; default: the first
    defaults: dict = field(default_factory=dict)  #: optional operands
    by_shape: bool = False  #: check, work and choose read only shapes, dtypes, memories, numbers
    by_place: bool = False  #: ... and each tile's place in its memory
    waits: bool = False  #: only writes all of `writes`, from `reads`: can be computed later
    more_facts: dict | None = None  #: engine -> further facts, where only that one needs them
    facts: tuple[str, ...] = ()  #: dotted names in the chip's record that `cycles` rests on
    facts_by: Callable[..., tuple] | None = None  #: ``(chip, *work)``: those that matter to a call

    def facts_on(self, chip: Record, engine: Engine, work: tuple = ()) -> tuple[str, ...]:
        """Return the facts of a chip that ``cycles`` rests on when that engine runs it."""
        formula, *others = self.facts or ("",)
        if work and work[-1] in ("2x", "4x") and engine is Engine.VECTOR:
            formula = f"{formula}_{work[-1]}"
        paths = tuple(filter(None, (formula, *others)))
        has_least = any("MIN" in str(chip.find(path).value) for path in paths)
        least = ("cycles.min_initiation_cycles",) * has_least
        return paths + least + (self.more_facts or {}).get(engine, ())

    def check_names(self, operands: dict) -> None:
        """Raise TypeError for unknown or missing operands."""
        known = dict.fromkeys((*self.writes, *self.reads, *self.options, *self.defaults))
        for name in operands:
            if name not in known:
                raise TypeError(f"{self.name} has no operand {name!r}; it has {', '.join(known)}")
        missing = [name for name in known if name not in operands and name not in self.defaults]
        if missing:
            raise TypeError(f"{self.name} needs the operand {missing[0]!r}")


INSTRUCTIONS: dict[str, InstructionSpec] = {}


def define(name: str, engines, *, writes=("dst",), reads=(), **rest) -> InstructionSpec:
    """Add one row to the instruction set."""
    engines = (engines,) if isinstance(engines, Engine) else tuple(engines)
    row = InstructionSpec(name, engines, tuple(writes), tuple(reads), **rest)
    if name in INSTRUCTIONS:
        raise ValueError(f"instruction {name!r} is defined twice")
    INSTRUCTIONS[name] = row
    return row


def get_row(name: str) -> InstructionSpec:
    """Return an instruction's row."""
    row = INSTRUCTIONS.get(name) if isinstance(name, str) else None
    if row is None:
        raise NkiValidationError(
            f"no instruction {arguments.short(name)}; see neuroncore.INSTRUCTIONS"
        )
    return row


def cycles_of(name: str, work: tuple, engine: Engine, chip: Record) -> float:
    """Return the cycles of one instruction on its engine's clock."""
    return INSTRUCTIONS[name].cycles(chip, engine, *work)
