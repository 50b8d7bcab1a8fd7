"""One piece of advice, and what the finders read to give it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainium_edu.neuroncore.advice.costs import Cost, Costing, WhatIf
from trainium_edu.neuroncore.advice.remedies import Remedy, Words
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.timing.expansion import MEMORIES

__all__ = ["Advice", "Evidence", "called", "count", "engine_called", "several"]

_WORTH_SAYING = 0.01  # of the makespan


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to know about a program: what was found, what it costs, and what to do."""

    kind: str
    line: object  #: SourceLine or None
    text: str  #: what was found
    do: Remedy
    gaps: Mapping  #: what the remedy's sentence leaves open
    words: Words  #: the front end's words
    cost: Cost | None = None  #: by how much the run would be shorter; None if no time is lost
    held: Cost | None = None  #: for how long it holds `who`, or lets it stand still
    who: str = ""  #: "the Vector Engine", "the DMA queues"
    is_most: bool = False  #: `cost` is a bound: loads take no time, or places have no end
    is_hidden: bool = False  #: that passes beside other work: alone it costs next to nothing

    @property
    def remedy(self) -> str:
        """The advised change, in the front end's words."""
        return self.words.say(self.do, self.gaps)

    def __str__(self):
        where = f"{self.line}: " if self.line else ""
        end = "" if self.remedy.endswith("?") else "."
        return f"{where}{self.text}.{self._cost()} {self.remedy}{end}"

    def _cost(self):
        if self.cost is None:
            return ""
        if self.is_hidden:
            return (
                f" It takes {self.held} of {self.who}, but beside other work: alone it costs the "
                "run next to nothing."
            )
        said = f" Costs {'at most ' * self.is_most}{self.cost}"
        if not self.held or self.held.nominal_ns < 1.25 * self.cost.nominal_ns:
            return f"{said}."
        return (
            f"{said}, though it takes {self.held} of {self.who}: the rest passes beside other work."
        )


class Evidence:
    """The facts of one program that the finders read, with how often each instruction ran.

    Parameters
    ----------
    recorded : Program
        As recorded; `timeline.program` may be its optimised copy.
    timeline : CoreTimeline
    notes : sequence of (kind, instruction index, role, allocation index)
    words : Words
    """

    def __init__(self, recorded, timeline, notes, words: Words):
        self.recorded, self.timeline, self.notes, self.words = recorded, timeline, notes, words
        self.program, self.placement = timeline.program, timeline.placement
        self.makespan_ns = timeline.makespan_ns
        self.costing = Costing(timeline)
        size = len(self.program.instructions)
        self.times = np.bincount(timeline.instruction_index, minlength=size).tolist()

    # -- rows and tiles -----------------------------------------------------------------------

    def by_line(self, pick) -> dict:
        """Return {(line, name): [(instruction, times)]} of the instructions that `pick` takes."""
        groups = defaultdict(list)
        for instruction, times in zip(self.program.instructions, self.times, strict=True):
            if pick(instruction):
                groups[instruction.line, instruction.name].append((instruction, times))
        return groups

    def rows_of(self, instructions) -> np.ndarray:
        """Return bool[rows]: the turns of these instructions."""
        picked = np.zeros(len(self.program.instructions), bool)
        picked[[instruction.index for instruction in instructions]] = True
        return picked[self.timeline.instruction_index]

    def on_line(self, *lines) -> np.ndarray:
        """Return bool[rows]: what these lines execute."""
        return self.rows_of(i for i in self.program.instructions if i.line in lines)

    def mask(self, rows) -> np.ndarray:
        """Return row numbers as a mask, bool[rows]."""
        mask = np.zeros(self.timeline.rows, bool)
        mask[rows] = True
        return mask

    @cached_property
    def writes_sbuf(self) -> np.ndarray:
        """bool[rows]: what puts its result into SBUF."""
        run = self.placement.run
        in_sbuf = run.memory[run.access_instance] == MEMORIES.index(Memory.SBUF)
        return self.mask(run.access_row[run.is_write & in_sbuf])

    def tile(self, access):
        """Return the allocation behind an access."""
        return self.program.allocations[access.allocation]

    # -- what would be ------------------------------------------------------------------------

    def long_rows(self, rows) -> WhatIf:
        """Return the what-if in which these transfers (bool[rows]) have rows of 4 KiB."""

        def left(values):
            parts = np.ones((rows.size, 3))
            parts[rows, 1:] = self.costing.long_rows(values)[rows, None]
            return parts

        return WhatIf(left)

    def without(self, rows, placeless=None) -> WhatIf:
        """Return the what-if in which these rows (bool[rows]) take no time."""
        left = np.where(rows[:, None], 0.0, np.ones(3))
        return WhatIf(lambda values: left, placeless)

    def keeping(self, group, left) -> WhatIf:
        """Return the what-if in which of lead, fixed part and work ``left(instruction)`` stay."""
        parts = np.ones((len(self.program.instructions), 3))
        for instruction, _ in group:
            parts[instruction.index] = left(instruction)
        parts = parts[self.timeline.instruction_index]
        return WhatIf(lambda values: parts)

    # -- advice -------------------------------------------------------------------------------

    def advice(self, kind, line, text, remedy, gaps=None, cost=None, **more) -> Advice:
        """Return advice in the front end's words."""
        return Advice(kind, line, text, remedy, gaps or {}, self.words, cost, **more)

    def judged(self, kind, line, text, remedy, change, who, held=None, **more) -> list[Advice]:
        """Return the advice to make a change, with its costs, if it is worth giving."""
        held = held or self.costing.held(change)
        least = _WORTH_SAYING * self.makespan_ns
        if held.nominal_ns <= least:
            return []
        cost = self.costing.saved(change)
        return [self.advice(kind, line, text, remedy, cost=cost, held=held, who=who,
                            is_hidden=cost.nominal_ns <= least, **more)]  # fmt: skip


def engine_called(engine) -> str:
    """Return what a sentence calls an engine."""
    return "the DMA queues" if engine is Engine.DMA else f"the {engine.title}"


def called(info) -> str:
    """Return a tile's name, or where it was allocated if it has no name."""
    if info.name != f"{info.memory}_{info.index}" or len(info.site) < 5:
        return info.name
    what = "tile" if info.memory.is_on_chip else "tensor"
    return f"the {info.memory.upper()} {what} of line {info.site[1]}"


def count(group) -> int:
    """Return how often a line's instructions ran."""
    return sum(times for _, times in group)


def several(number: int, what: str) -> str:
    """Return "1 tile" or "2 tiles"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
