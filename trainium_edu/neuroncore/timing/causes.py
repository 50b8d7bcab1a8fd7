"""What a program's time would be without one of its causes, alone and in pairs.

A cause that hides behind another shows only when both are gone, which is why pairs are timed too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.neuroncore.timing.scheduler import check_causes, reschedule
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.neuroncore.timing.waits import CAUSES
from trainium_edu.specs.signatures import checked

__all__ = ["CausesTable", "causes_table", "without"]

_COST = {"dma": "transfers cost", "ports": "shared ports cost", "buffers": "waiting for buffers "
         "costs", "fixed": "fixed overheads cost"}  # fmt: skip
_GONE = {"dma": "transfers take no time", "ports": "ports are free",
         "buffers": "there are buffers enough", "fixed": "fixed overheads are gone"}  # fmt: skip
_WORTH_SAYING = 0.05  # of the time


@checked
def without(timeline: CoreTimeline, *causes: str) -> CoreTimeline:
    """Time the same program again with some causes taken away.

    Parameters
    ----------
    timeline : CoreTimeline
    *causes : {"dma", "ports", "buffers", "fixed"}
        Transfers take no time; engines share ports freely; every tile has bytes of its own; no
        fixed overheads, latencies or DMA start.

    Returns
    -------
    CoreTimeline
        Never slower: if the engines, now free to choose, choose worse, the old order stays.
    """
    gone = timeline.without | set(check_causes(causes))
    placement = None
    if "buffers" in gone and not timeline.placement.endless:
        placement = place(timeline.program, timeline.placement.spec, endless=True)
    free = reschedule(timeline, placement, without=gone)
    if free.makespan_ns <= timeline.makespan_ns:
        return free
    return reschedule(free, order=timeline.order)


@dataclass(frozen=True, slots=True)
class CausesTable:
    """Times without each cause and each pair of causes."""

    makespan_ns: float
    alone_ns: dict  #: cause → makespan without it
    pairs_ns: dict  #: (cause, cause) → makespan without both

    def saved(self, *causes: str) -> float:
        """Return the share of the time that goes away with one cause or two."""
        if len(causes) == 1:
            left = self.alone_ns[causes[0]]
        else:
            a, b = causes
            left = self.pairs_ns[(a, b) if (a, b) in self.pairs_ns else (b, a)]
        return 1 - left / self.makespan_ns if self.makespan_ns else 0.0

    @property
    def first(self) -> str:
        """The single cause whose removal saves most ("" if none saves anything)."""
        best = max(self.alone_ns, key=self.saved)
        return best if self.saved(best) > 0 else ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on what costs how much, and on what costs only once something else is gone."""
        lines = []
        for cause in sorted(self.alone_ns, key=self.saved, reverse=True):
            if self.saved(cause) >= _WORTH_SAYING:
                lines.append(f"{_COST[cause]} {self.saved(cause):.0%}")
        for pair in self.pairs_ns:
            for cause, other in (pair, pair[::-1]):
                left = self.alone_ns[other]
                extra = 1 - self.pairs_ns[pair] / left if left else 0.0
                if extra >= _WORTH_SAYING and extra >= 2 * self.saved(cause):
                    lines.append(f"{_COST[cause]} {extra:.0%}, but only once {_GONE[other]}")
        return tuple(lines)

    def __str__(self):
        def line(ns, words, saved):
            return f"  {ns / 1e3:>9.2f} us {f'-{saved:.0%}' if saved >= 0.005 else '':>5}  {words}"

        lines = [f"{self.makespan_ns / 1e3:.2f} us as it is"]
        for c, ns in self.alone_ns.items():
            lines.append(line(ns, f"if {CAUSES[c]}", self.saved(c)))
        for (a, b), ns in self.pairs_ns.items():
            lines.append(line(ns, f"without {a} and {b}", self.saved(a, b)))
        return "\n".join([*lines, *self.sentences])


@checked
def causes_table(
    timeline: CoreTimeline, causes: str | Iterable[str] = tuple(CAUSES)
) -> CausesTable:
    """Time a program without each cause, alone and in pairs.

    Parameters
    ----------
    timeline : CoreTimeline
    causes : sequence of str

    Returns
    -------
    CausesTable
        ``print`` shows it; ``sentences`` says what to remove first, and what hides behind what.
    """
    causes = check_causes(causes)
    alone = {cause: without(timeline, cause) for cause in causes}
    pairs = {}
    for a, b in combinations(causes, 2):
        pairs[a, b] = min(without(alone[a], b).makespan_ns, without(alone[b], a).makespan_ns)
    return CausesTable(timeline.makespan_ns, {c: t.makespan_ns for c, t in alone.items()}, pairs)
