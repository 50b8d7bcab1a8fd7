"""How sure a predicted time is, and what can be concluded from two.

A band is as wide, at either end, as the wider of two things.

* *Documents leave numbers open.*  A doubtful parameter lies between two ends; those of one group
  move together.  The order in which instructions start is frozen, so that time can only grow when a
  piece grows, and all parameters at their fast ends and all at their slow ends bound everything
  between.
* *The model leaves things out.*  By so much published times of kernels that are bound by the same
  thing differ from predictions in which their source had no part (``specs.times.spread``).

**The one rule for two predictions.**  What they assume together cancels, so bands that overlap
decide nothing.  :func:`compare` moves the same parameters together in both, and takes two kernels
that are bound by the same thing to be off by the same factor.  It gives their *ratio* a band of its
own: if 1 lies outside, one is faster wherever the truth lies between the ends.  If 1 lies inside,
the model cannot tell which is faster: a *tie*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.durations import durations
from trainium_edu.neuroncore.timing.durations import parameters as known_parameters
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.neuroncore.timing.scheduler import reschedule, schedule
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.specs.times import spread

__all__ = ["Band", "Ratio", "Times", "band", "band_of", "bound_by", "compare"]

_ENDS = "fast", "slow"
_BOUND = 0.75  # of the time in which the busiest engine, or a queue on average, works
_SHORT_ROW_BYTES = 2048  # "the packet rate, not HBM bandwidth, is the limiting factor" below
_PUBLISHED = "published kernels bound by "


@dataclass(frozen=True, slots=True)
class Band:
    """A predicted time with its range."""

    low_ns: float  #: everything doubtful favourable
    nominal_ns: float
    high_ns: float  #: everything doubtful adverse
    effects: dict  #: group → (low_ns, high_ns) when only that group moves, the widest first

    @property
    def most(self) -> str:
        """The group that moves the time most ("" if none does)."""
        return _most(self.effects)

    @property
    def wider(self) -> str:
        """The one of the two reasons that makes the band as wide as it is ("" if it is a point)."""
        for group, (low, high) in self.effects.items():
            if group.startswith(_PUBLISHED):
                by_documents = max(self.nominal_ns - self.low_ns, self.high_ns - self.nominal_ns)
                if max(self.nominal_ns - low, high - self.nominal_ns) >= by_documents:
                    return f"how far predictions of {group} were off"
        return "what documents leave open" if self.effects else ""

    def __contains__(self, ns):
        return self.low_ns <= ns <= self.high_ns

    def __str__(self):
        text = (
            f"{self.nominal_ns / 1e3:.2f} us, between {self.low_ns / 1e3:.2f} and "
            f"{self.high_ns / 1e3:.2f}"
        )
        return text + (f"; {self.most} matters most" if self.most else "")


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast one version of a kernel is as another, with its range."""

    low: float
    nominal: float
    high: float
    effects: dict  #: group → (low, high) when only that group moves, the widest first

    @property
    def is_tie(self) -> bool:
        """Whether the model cannot tell which is faster: 1 lies inside."""
        return self.low <= 1 <= self.high

    @property
    def most(self) -> str:
        """The group that moves the ratio most ("" if none does)."""
        return _most(self.effects)

    def __contains__(self, ratio):
        return self.low <= ratio <= self.high

    def __str__(self):
        text = f"{self.nominal:.2f} x as fast, between {self.low:.2f} and {self.high:.2f}"
        return text + (": a tie" if self.is_tie else "")


def _most(effects):
    return next((g for g, (low, high) in effects.items() if high > low), "")


def bound_by(timeline: CoreTimeline) -> str:
    """Return what bounds a program, in the words of ``specs.times``."""
    t, total = timeline, timeline.makespan_ns or 1.0
    moved = (t.queue_end_ns - t.queue_start_ns).sum(axis=1)
    row_bytes = [k.work[2] if k.packets else 0 for k in t.placement.run.kinds]
    is_short = np.array(row_bytes)[t.placement.run.kind[t.engine == t.dma]] < _SHORT_ROW_BYTES
    shares = {_name(t, e): t.busy_ns(e) / total for e in ENGINES if e is not Engine.DMA}
    dma = "short rows" if 2 * moved[is_short].sum() > moved.sum() else "long rows"
    shares[f"DMA in {dma}"] = moved.sum() / int(t.spec.dma.queues) / total
    busiest = max(shares, key=shares.__getitem__)
    return busiest if shares[busiest] >= _BOUND else "several engines"


def _name(timeline, engine) -> str:
    """Return an engine's name, or "short instructions" where it mostly waits to begin the next."""
    cycles = timeline.busy_ns(engine) * timeline.parameters[f"{engine.clock}_clock_hz"] / 1e9
    least = 3 * int(timeline.spec.cycles.min_initiation_cycles) * timeline.rows_on(engine).size
    return "short instructions" if 0 < cycles < least else f"the {engine.title}"


class Times:
    """Makespans of one program, for any ends of what is doubtful about it.

    Nothing is timed twice, so keep it for as long as there may be questions (``Run.times`` does).

    Parameters
    ----------
    timeline : CoreTimeline
    in_proportion : bool
        Whether a parameter that was given another value keeps its doubt in proportion; otherwise it
        is taken as certain.
    left_out : str
        A source whose rows have no part in the band.
    """

    def __init__(self, timeline: CoreTimeline, *, in_proportion: bool = False, left_out: str = ""):
        self.timeline, self._left_out, self._in_proportion = timeline, left_out, in_proportion
        self._found = {_as_key(timeline.pieces): timeline.makespan_ns}

    @cached_property
    def groups(self) -> dict:
        """Group of doubtful parameters → end ("fast", "slow") → values by name."""
        nominal, groups = self.timeline.parameters, {}
        names = {kind.name for kind in self.timeline.placement.run.kinds}
        for name, p in known_parameters(self.timeline.spec).items():
            is_open = nominal[name] == p.nominal or (self._in_proportion and p.nominal)
            if p.fast == p.slow or not is_open or (p.only and p.only not in names):
                continue
            times = nominal[name] / p.nominal if p.nominal else 1.0
            for end in _ENDS:
                values = groups.setdefault(p.group, {}).setdefault(end, {})
                values[name] = getattr(p, end) * times
        return groups

    @cached_property
    def published(self) -> dict:
        """Group of the published kernels that are bound by the same thing → end → factor."""
        kind = bound_by(self.timeline)
        return {_PUBLISHED + kind: dict(zip(_ENDS, spread(kind, self._left_out), strict=True))}

    def at(self, point: Mapping) -> float:
        """Return the makespan in ns at one point.

        Parameters
        ----------
        point : dict of str to str
            Group → end; a group that is not named is nominal, one not of this program is left out.
        """
        t, moved, factor = self.timeline, dict(self.timeline.parameters), 1.0
        for group, end in point.items():
            moved |= self.groups.get(group, {}).get(end, {})
            factor *= self.published.get(group, {}).get(end, 1.0)
        key = _as_key(durations(t.placement.run, t.spec, moved, t.without))
        if key not in self._found:
            self._found[key] = reschedule(t, parameters=moved, order=t.order).makespan_ns
        return self._found[key] * factor

    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest makespan."""
        low, high = (
            best(self.at(dict.fromkeys(groups, end)) for groups in (self.groups, self.published))
            for best, end in zip((min, max), _ENDS, strict=True)
        )
        return low, high

    @cached_property
    def band(self) -> Band:
        """The range in which the makespan lies."""
        effects = _alone(self.at, (*self.groups, *self.published))
        return Band(self.ends()[0], self.timeline.makespan_ns, self.ends()[1], effects)


def _as_key(pieces) -> bytes:
    return b"".join(np.asarray(getattr(pieces, name)).tobytes() for name in pieces.__slots__)


def _alone(f, groups):
    """Return group → (least, greatest) of f while only that group moves, the widest first."""
    found = {}
    for group in groups:
        values = [f(point) for point in ({}, *({group: end} for end in _ENDS))]
        found[group] = min(values), max(values)
    return dict(sorted(found.items(), key=lambda item: item[1][0] - item[1][1]))


def _extreme(f, groups, best):
    """Return the `best` (min or max) of f over the ends of groups, from the nominal point on.

    One group after the other goes to whatever is better, until nothing is: that finds the extreme
    of a quotient of two sums.
    """
    point, value, before = {}, f({}), None
    while value != before:
        before = value
        for group in groups:
            for end in _ENDS:
                x = f({**point, group: end})
                if x != value and best(x, value) == x:
                    point, value = {**point, group: end}, x
    return value


@checked
def band(program: Program, placement: Placement, spec: Record | None = None, *,
         parameters=None) -> Band:  # fmt: skip
    """Return the range in which a program's time lies.

    Parameters
    ----------
    program, placement, spec, parameters
        As for ``schedule``; a parameter that is given is taken as certain.

    Returns
    -------
    Band
    """
    return band_of(schedule(program, placement, spec, parameters=parameters))


@checked
def band_of(timeline: CoreTimeline) -> Band:
    """Return the range of a timeline that was scheduled already."""
    return Times(timeline).band


def compare(before, after) -> Ratio:
    """Return how many times as fast `after` is as `before`, with the range of that ratio.

    Parameters
    ----------
    before, after : run of a kernel, CoreTimeline, or tuple of these that follow one another

    Returns
    -------
    Ratio
        Above 1 where `after` is faster; ``is_tie`` where the model cannot tell.

    Raises
    ------
    TypeError
        If something else is given.
    ValueError
        If one of them takes no time.

    Examples
    --------
    Half as many loads: the band of each time is wide, since nobody knows what short rows cost, but
    both pay for them.

    >>> from trainium_edu.neuroncore import NeuronCore, band_of, measure
    >>> def loads(count):
    ...     core = NeuronCore(values=False)
    ...     for _ in range(count):
    ...         core.dma_copy(dst=core.sbuf((128, 64)), src=core.hbm((128, 64)))
    ...     return measure(core.program)
    >>> before, after = loads(64), loads(32)
    >>> ratio = compare(before, after)
    >>> band = band_of(before)
    >>> ratio.high / ratio.low < band.high_ns / band.low_ns
    True
    >>> ratio.is_tie
    False

    Notes
    -----
    As of a time, the wider of two: every group of parameters at one of its ends, in both alike; or
    what published kernels bound by the same as one, and as the other, were off, which are
    independent of each other: logarithms of their effects add up as squares.
    """
    before, after = _times(before), _times(after)
    both = (*before, *after)
    for side in (before, after):
        if not sum(t.timeline.makespan_ns for t in side):
            raise ValueError(f"{side[0].timeline!r} takes no time, and a ratio needs two times")

    def ratio(point):
        return sum(t.at(point) for t in before) / sum(t.at(point) for t in after)

    open_, published = ({g: None for t in both for g in getattr(t, name)}
                        for name in ("groups", "published"))  # fmt: skip
    nominal, effects = ratio({}), _alone(ratio, (*open_, *published))
    logs = np.log([effects[group] for group in published]) - np.log(nominal)
    off, (lows, highs) = np.sqrt((logs**2).sum(axis=0)), zip(*effects.values(), strict=True)
    low = min(_extreme(ratio, open_, min), nominal * float(np.exp(-off[0])), *lows)
    high = max(_extreme(ratio, open_, max), nominal * float(np.exp(off[1])), *highs)
    return Ratio(low, nominal, high, effects)


def _times(timed) -> list:
    """Return the ``Times`` of a run, a timeline, or each of several."""
    several = timed if isinstance(timed, tuple) and timed else (timed,)
    times = [Times(x) if isinstance(x, CoreTimeline) else getattr(x, "times", None)
             for x in several]  # fmt: skip
    if not all(isinstance(t, Times) for t in times):
        raise TypeError(
            f"compare takes what nki.run or measure returned, or a tuple of these, not a "
            f"{type(timed).__name__}"
        )
    return times
