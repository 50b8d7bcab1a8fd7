"""What a habit costs: the same program is timed once more without it, all else the same.

A cost is by how much the run ends sooner (``saved``); beside it stands for how long the habit
holds its engine, or the queues (``held``), since what passes beside other work costs nothing yet.
Both nominal, and at both ends of the uncertain parameters; what the model chose stays, as it would
while a habit is mended (``compare`` of two runs moves that as well).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.timing.durations import dma_row_ns, durations, parameters, settle
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.hazards import find_hazards
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.neuroncore.timing.scheduler import reschedule

__all__ = ["Cost", "Costing", "WhatIf"]

_DMA = ENGINES.index(Engine.DMA)
_LONG_ROW_BYTES = 4096  # from here on transfers run at the sustained rate
ENDS_UP_TO = 100_000  # rows; of longer programs the ends of a range are scaled


class Cost(NamedTuple):
    """Nanoseconds: the nominal figure, and the range of the band."""

    nominal_ns: float
    low_ns: float
    high_ns: float

    def __str__(self):
        scale, unit = (1e6, "ms") if self.nominal_ns >= 999_500 else (1e3, "us")
        nominal, low, high = (f"{float(f'{round(ns / scale, 3):.3g}'):g}" for ns in self)
        return f"{nominal} {unit} ({low} to {high})"

    @classmethod
    def of(cls, ns) -> "Cost":
        """Make a cost of its nominal figure and those at the ends."""
        return cls(float(ns[0]), float(min(ns)), float(max(ns)))


class WhatIf(NamedTuple):
    """A change to a run, by its rows."""

    #: values -> float64[rows, 3]: the parts left of lead, fixed part and work
    left: Callable | None = None
    #: bool[rows]: they write to bytes of their own, and wait for no place
    placeless: np.ndarray | None = None
    #: other places, with more buffers
    placement: Placement | None = None
    #: bool[rows]: they share no port
    portless: np.ndarray | None = None


class Costing:
    """Times one program again and again.

    Parameters
    ----------
    timeline : neuroncore.CoreTimeline
    """

    def __init__(self, timeline):
        self.timeline = timeline
        known = parameters(timeline.spec).values()
        self.values = [timeline.parameters] + [
            settle(timeline.spec, {p.name: getattr(p, end) for p in known if p.fast != p.slow})
            for end in ("fast", "slow")
        ]
        self._ends = self.values
        if timeline.rows > ENDS_UP_TO:
            self.values = self.values[:1]

    @cached_property
    def now(self) -> list:
        """The program as it is, at each set of parameters and in the nominal order."""
        t = self.timeline
        return [t] + [reschedule(t, parameters=values, order=t.order) for values in self.values[1:]]

    @cached_property
    def _pieces(self) -> list:
        """How long each kind takes, at each set of parameters."""
        run, spec = self.timeline.placement.run, self.timeline.spec
        return [self.timeline.pieces] + [durations(run, spec, values) for values in self.values[1:]]

    def saved(self, change: WhatIf) -> Cost:
        """Return by how much the run ends sooner with a change."""
        placement = change.placement or self.timeline.placement
        hazards = find_hazards(placement) if change.placement else self.timeline.hazards
        if change.placeless is not None:
            hazards = hazards.without_places(placement.run, change.placeless)
        order, saved = None, []
        for now, values in zip(self.now, self.values, strict=True):
            there = replace(placement, run=_changed(placement.run, change, values))
            timed = partial(reschedule, now, there, hazards=hazards)
            then = timed(order=order)
            if order is None:  # engines may now choose worse: the old order stays
                if then.makespan_ns > now.makespan_ns:
                    then = timed(order=now.order)
                order = then.order
            saved.append(max(now.makespan_ns - then.makespan_ns, 0.0))
        return self._cost(saved)

    def held(self, change: WhatIf) -> Cost:
        """Return for how much shorter engines, or all queues at once, would be held."""
        run, spec = self.timeline.placement.run, self.timeline.spec
        ns: list[float] = []
        if change.left is None:
            return self._cost([0.0] * len(self.values))
        for p, values in zip(self._pieces, self.values, strict=True):
            parts = change.left(values)
            rows = np.flatnonzero((parts != 1).any(axis=1))
            kind = run.kind[rows]
            queues = p.descriptors[kind] / int(spec.dma.queues)
            fixed = np.where(queues > 0, 0.0, p.fixed[kind])
            work = p.work[kind] * np.where(queues > 0, queues, 1.0)
            ns.append(float(((1 - parts[rows, 1]) * fixed + (1 - parts[rows, 2]) * work).sum()))
        return self._cost(ns)

    def _cost(self, ns) -> Cost:
        if len(self.values) > 1 or not self.timeline.makespan_ns:
            return Cost.of(ns)
        return Cost.of([ns[0] * scale for scale in self._scales])

    @cached_property
    def _scales(self) -> list:
        """How much longer the whole run takes at each set of parameters."""
        t = self.timeline
        ends = [reschedule(t, parameters=values, order=t.order) for values in self._ends[1:]]
        return [1.0, *(end.makespan_ns / t.makespan_ns for end in ends)]

    def waited(self, pick) -> Cost:
        """Return for how long engines stand still by ``pick(row, wait, by)``, a mask of waits."""
        return self._cost([float(t.waits[1][pick(*t.waits[::2], t.waits[3])].sum())
                           for t in self.now])  # fmt: skip

    def long_rows(self, values) -> np.ndarray:
        """Return float64[rows]: which part of a transfer's work is left when its rows are long."""
        run, spec = self.timeline.placement.run, self.timeline.spec
        size = np.array([k.work[2] if k.packets else _LONG_ROW_BYTES for k in run.kinds], float)
        now = durations(run, spec, values).work
        full = dma_row_ns(_LONG_ROW_BYTES, values, int(spec.dma.queues)) * size / _LONG_ROW_BYTES
        gain = (size < _LONG_ROW_BYTES) & (now > full)
        return np.where(gain, full / np.where(gain, now, 1.0), 1.0)[run.kind]


def _changed(run, change, values):
    """Return a run of the same rows with other ports, and with kinds of which less is left."""
    if change.portless is not None:
        run = replace(run, ports=np.where(change.portless, 0, run.ports).astype(np.uint8))
    if change.left is None:
        return run
    left = change.left(values)
    rows = np.flatnonzero((left != 1).any(axis=1))
    new, number = np.unique(
        np.column_stack((run.kind[rows], left[rows])), axis=0, return_inverse=True
    )
    kind = run.kind.copy()
    kind[rows] = len(run.kinds) + number.ravel()
    kinds = run.kinds + [run.kinds[int(k)]._replace(left=parts) for k, *parts in new.tolist()]
    return replace(run, kind=kind, kinds=kinds, cache={})
