"""Advice that teaches: what costs time or is dangerous, where, how much, and what to do.

Each finder reads what a run left behind (program, timeline, notes) and gives :class:`Advice`.  A
cost is by how much the run would end sooner without the habit, all else the same (``costs``), with
the range that the uncertain parameters give; beside it stands for how long the habit holds its
engine or the queues, where that is more.
"""

from collections import defaultdict
from collections.abc import Iterable

from trainium_edu.neuroncore.advice.arithmetic import few_partitions, fp32_matmuls, long_strides
from trainium_edu.neuroncore.advice.custom_operators import custom_operators
from trainium_edu.neuroncore.advice.evidence import Advice, Evidence
from trainium_edu.neuroncore.advice.only_here import not_on_the_chip
from trainium_edu.neuroncore.advice.places import (
    bank_conflicts,
    high_water,
    serialising_buffers,
    slow_stores,
)
from trainium_edu.neuroncore.advice.remedies import Words
from trainium_edu.neuroncore.advice.transfers import repeated_loads, small_transfers, starved_engine
from trainium_edu.neuroncore.advice.values import unwritten_reads
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.timeline import CoreTimeline

__all__ = ["FINDERS", "find_advice", "once"]

FINDERS = (unwritten_reads, not_on_the_chip, small_transfers, repeated_loads, starved_engine,
           few_partitions, long_strides, fp32_matmuls, bank_conflicts, slow_stores,
           serialising_buffers, high_water, custom_operators)  # fmt: skip


def find_advice(program: Program, timeline: CoreTimeline, notes, words: Words) -> list[Advice]:
    """Return all advice on one program: what is wrong first, then what costs most.

    Parameters
    ----------
    program : Program
        As recorded; `timeline.program` may be its optimised copy.
    timeline : CoreTimeline
    notes : sequence of (kind, instruction index, role, allocation index)
    words : Words
        The front end's.
    """
    run = Evidence(program, timeline, notes, words)
    return sorted((advice for finder in FINDERS for advice in finder(run)), key=_weight)


def _weight(advice):
    """Sort what is wrong before what costs time, and the costliest of that first."""
    lost = [-cost.nominal_ns if cost else 0 for cost in (advice.cost, advice.held)]
    return advice.cost is not None, advice.is_hidden, *lost, advice.kind


def once(programs: Iterable[list[Advice]]) -> list[Advice]:
    """Return the advice to programs that run side by side, each line's from where it costs most."""
    costliest: dict[tuple, Advice] = {}
    for programs_advice in programs:
        met: defaultdict = defaultdict(int)
        for advice in programs_advice:
            place = advice.kind, advice.line
            key = *place, met[place]
            met[place] += 1
            costliest[key] = min(costliest.get(key, advice), advice, key=_weight)
    return sorted(costliest.values(), key=_weight)
