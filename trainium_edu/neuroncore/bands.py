"""How sure a predicted time is: the same program with every doubtful number at its two ends.

Parameters of one group move together.  The order in which instructions start is frozen, so that
time can only grow when a piece grows; then all groups at their fast ends and all at their slow
ends bound everything between.
"""

from dataclasses import dataclass

from trainium_edu.neuroncore.core_timeline import CoreTimeline
from trainium_edu.neuroncore.placement import Placement
from trainium_edu.neuroncore.program import Program
from trainium_edu.neuroncore.scheduler import schedule
from trainium_edu.neuroncore.timing import parameters as known_parameters
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["Band", "band", "band_of", "tie"]


@dataclass(frozen=True, slots=True)
class Band:
    """A predicted time with its range."""

    low_ns: float  #: every doubtful number favourable
    nominal_ns: float
    high_ns: float  #: every doubtful number adverse
    effects: dict  #: group → (low_ns, high_ns) when only that group moves, the widest first

    @property
    def most(self) -> str:
        """The group of parameters that moves the time most ("" if none does)."""
        return next((g for g, (low, high) in self.effects.items() if high > low), "")

    def __contains__(self, ns):
        return self.low_ns <= ns <= self.high_ns

    def __str__(self):
        text = (
            f"{self.nominal_ns / 1e3:.2f} us, between {self.low_ns / 1e3:.2f} and "
            f"{self.high_ns / 1e3:.2f}"
        )
        return text + (f"; {self.most} matters most" if self.most else "")


@checked
def band(program: Program, placement: Placement, spec: Record | None = None, *,
         parameters=None) -> Band:  # fmt: skip
    """Return the range in which a program's time lies.

    Parameters
    ----------
    program, placement, spec, parameters
        As for :func:`~trainium_edu.neuroncore.scheduler.schedule`; a parameter that is given is
        taken as certain.

    Returns
    -------
    Band
    """
    return band_of(schedule(program, placement, spec, parameters=parameters))


@checked
def band_of(timeline: CoreTimeline) -> Band:
    """Return the range of a timeline that was scheduled already."""
    nominal = timeline.parameters
    doubtful = {
        name: p
        for name, p in known_parameters(timeline.spec).items()
        if p.fast != p.slow and nominal[name] == p.nominal
    }

    def makespan(end, names):
        moved = {name: getattr(doubtful[name], end) for name in names}
        return schedule(
            timeline.program, timeline.placement, timeline.spec, parameters={**nominal, **moved},
            order=timeline.order, without=timeline.without,
        ).makespan_ns  # fmt: skip

    groups = {}
    for name, p in doubtful.items():
        groups.setdefault(p.group, []).append(name)
    effects = {g: (makespan("fast", names), makespan("slow", names)) for g, names in groups.items()}
    effects = dict(sorted(effects.items(), key=lambda item: item[1][0] - item[1][1]))
    return Band(makespan("fast", doubtful), timeline.makespan_ns, makespan("slow", doubtful),
                effects)  # fmt: skip


@checked
def tie(a: Band | CoreTimeline, b: Band | CoreTimeline) -> bool:
    """Whether two predictions cannot be told apart: their bands overlap.

    Parameters
    ----------
    a, b : Band or CoreTimeline
    """
    a, b = (x.band if isinstance(x, CoreTimeline) else x for x in (a, b))
    return a.low_ns <= b.high_ns and b.low_ns <= a.high_ns
