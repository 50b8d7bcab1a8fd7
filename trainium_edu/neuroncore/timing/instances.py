"""Instances of a grid that all do the same to the same data, which the older compiler issued once.

A grid's instances are the turns of a loop.  One that never uses where it stands is a loop of
invariants: whoever runs it once has its results.  Not so where it counts how often: where HBM that
is written is read, too, where an engine keeps something, or where dice are thrown.
"""

from itertools import pairwise

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.merging import Lives, rebuilt
from trainium_edu.neuroncore.timing.optimise import keeps_state

__all__ = ["issued_once"]


def issued_once(program: Program) -> Program:
    """Return a program with the first instance of its grid alone, where all are alike.

    Parameters
    ----------
    program : Program
        Without recorded loops; ``instances`` says where each instance of its grid begins.
    """
    bounds = [*program.instances[1:], len(program)]
    if len(bounds) < 2 or not _may_repeat(program):
        return program
    born, _ = Lives.of(program).ends()
    first = program.instructions[: bounds[0]]
    for start, end in pairwise(bounds):
        if not _Alike(program.allocations, born >= start).are(
            first, program.instructions[start:end]
        ):
            return program
    return rebuilt(program, first)


def _may_repeat(program) -> bool:
    """Whether a part of a program leaves the same behind, however often it runs."""
    read, written = set(), set()
    for i in program.instructions:
        if i.after or (i.engine is not Engine.DMA and keeps_state(i)):
            return False
        for a in i.accesses:
            if program.allocations[a.allocation].memory is Memory.HBM:
                (written if a.is_write else read).add(a.allocation)
    return program.rounding == "nearest" and not read & written


class _Alike:
    """Whether an instance does what the first one did, on other tiles on chip."""

    def __init__(self, tiles, is_own):
        self.tiles, self.is_own = tiles, is_own
        self.older: dict[int, int] = {}  #: the instance's tiles → the first one's
        self.newer: dict[int, int] = {}  #: and back

    def are(self, first, instance) -> bool:
        """Go through both; what the first alone did (constants) must fill no tile of both."""
        rest, alone = iter(first), []
        for i in instance:
            for one in rest:
                if self._matches(one, i):
                    break
                alone.append(one)
            else:
                return False
        filled = {a.allocation for one in (*alone, *rest) for a in one.accesses if a.is_write}
        return not any(t in self.newer or self.tiles[t].memory is Memory.HBM for t in filled)

    def _matches(self, one, other) -> bool:
        what, its = (
            (i.name, i.engine, i.is_free, i.work, _as_text(i.options), [a[1:] for a in i.accesses])
            for i in (one, other)
        )
        pairs = [(a[0], b[0], b[5]) for a, b in zip(one.accesses, other.accesses, strict=False)]
        if what != its or not all(self._may_stand(*pair) for pair in pairs):
            return False
        for old, new, _ in pairs:
            if old != new:
                self.older[new], self.newer[old] = old, new
        return True

    def _may_stand(self, old, new, is_write) -> bool:
        if old == new:  # what all have in common is in HBM, or nobody changes it
            return not is_write or self.tiles[new].memory is Memory.HBM
        if new in self.older or old in self.newer:
            return self.older.get(new) == old and self.newer.get(old) == new
        mine, its = (
            (a.memory, a.shape, a.dtype, a.address, a.start_partition)
            for a in (self.tiles[old], self.tiles[new])
        )
        return mine == its and mine[0] is not Memory.HBM and bool(self.is_own[new])


def _as_text(options):
    """Return options as a text that is equal for equal ones; of arrays it would leave some out."""
    text = repr(options)
    return object() if "array(" in text else text
