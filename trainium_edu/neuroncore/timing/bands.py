"""How sure a predicted time is, and what can be concluded from two.

A doubtful *parameter* lies between two ends; those of one group move together.  The order in which
instructions start is frozen, so that time can only grow when a piece grows, and all parameters at
their fast ends and all at their slow ends bound everything between.

**The one rule for two predictions.**  What they assume together cancels, so bands that overlap
decide nothing.  :func:`compare` moves the same parameters together in both and gives
their *ratio* a band of its own: if 1 lies outside, one is faster wherever the truth lies between
the ends; if 1 lies inside, the model cannot tell, and nobody should claim it: a *tie*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.durations import durations
from trainium_edu.neuroncore.timing.durations import parameters as known_parameters
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.neuroncore.timing.scheduler import reschedule, schedule
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["Band", "Ratio", "Times", "band", "band_of", "compare", "tie"]

_ENDS = "fast", "slow"
_MOST_ROWS = 1_000_000  # scheduled for one band or ratio; then not every combination is tried
_ROWS_OF_A_CALL = 500  # as long as a call takes without any


@dataclass(frozen=True, slots=True)
class Band:
    """A predicted time with its range."""

    low_ns: float  #: everything doubtful favourable
    nominal_ns: float
    high_ns: float  #: everything doubtful adverse
    effects: dict  #: group → (low_ns, high_ns) when only that group moves, the widest first

    @property
    def most(self) -> str:
        """The group of parameters that moves the time most ("" if none does)."""
        return _most(self.effects)

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
    #: False for long programs: then one group after the other was moved, for as long as that moved
    #: an end, instead of trying every combination
    is_exhaustive: bool = True

    @property
    def is_tie(self) -> bool:
        """Whether the model cannot tell which is faster: 1 lies inside."""
        return self.low <= 1 <= self.high

    @property
    def most(self) -> str:
        """The group of parameters that moves the ratio most ("" if none does)."""
        return _most(self.effects)

    def __contains__(self, ratio):
        return self.low <= ratio <= self.high

    def __str__(self):
        text = f"{self.nominal:.2f} x as fast, between {self.low:.2f} and {self.high:.2f}"
        return text + (": a tie" if self.is_tie else "")


def _most(effects):
    return next((g for g, (low, high) in effects.items() if high > low), "")


class Times:
    """Makespans of one program, for any ends of its parameters.

    Nothing is timed twice, so keep it for as long as there may be questions (``Run.times`` does).

    Parameters
    ----------
    timeline : CoreTimeline
    in_proportion : bool
        Whether a parameter that was given another value keeps its doubt in proportion; otherwise it
        is taken as certain.
    """

    def __init__(self, timeline: CoreTimeline, *, in_proportion: bool = False):
        self.timeline = timeline
        self._in_proportion = in_proportion
        self._found: dict = {(): timeline.makespan_ns}

    @cached_property
    def groups(self) -> dict:
        """Group of doubtful parameters → end ("fast", "slow") → values by name."""
        nominal, groups = self.timeline.parameters, {}
        names = {name for name, *_ in self.timeline.placement.run.kinds}
        for name, p in known_parameters(self.timeline.spec).items():
            is_open = nominal[name] == p.nominal or (self._in_proportion and p.nominal)
            if p.fast == p.slow or not is_open or (p.only and p.only not in names):
                continue
            times = nominal[name] / p.nominal if p.nominal else 1.0
            for end in _ENDS:
                values = groups.setdefault(p.group, {}).setdefault(end, {})
                values[name] = getattr(p, end) * times
        return groups

    @property
    def axes(self) -> dict:
        """Group of parameters → what it may be, besides nominal (None)."""
        return dict.fromkeys(self.groups, _ENDS)

    def at(self, point: Mapping) -> float:
        """Return the makespan in ns at one point.

        Parameters
        ----------
        point : dict of str to str or None
            Group → end; a group that is not named, or not of this program, is nominal.
        """
        ends = tuple((g, point[g]) for g in self.groups if point.get(g) is not None)
        if ends not in self._found:
            moved = dict(self.timeline.parameters)
            for group, end in ends:
                moved |= self.groups[group][end]
            order = self.timeline.order
            self._found[ends] = reschedule(self.timeline, parameters=moved, order=order).makespan_ns
        return self._found[ends]

    @property
    def active(self) -> set:
        """The groups on which the length of some piece depends.

        Of two terms the longer counts: one may hide behind another unless all others are fast.
        """
        t = self.timeline

        def pieces(group, end, others):
            values = dict(t.parameters)
            for name, ends in self.groups.items():
                values |= ends[end if name == group else others]
            found = durations(t.placement.run, t.spec, values, t.without)
            return [np.asarray(getattr(found, name)).tolist() for name in found.__slots__]

        return {
            group for group in self.groups for others in _ENDS
            if pieces(group, "fast", others) != pieces(group, "slow", others)
        }  # fmt: skip

    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest makespan."""
        low, high = (self.at(dict.fromkeys(self.groups, end)) for end in _ENDS)
        return low, high

    @cached_property
    def band(self) -> Band:
        """The range in which the makespan lies."""
        low, high = self.ends()
        return Band(low, self.timeline.makespan_ns, high, _alone(self.at, self.axes))


def _alone(f, axes):
    """Return axis → (least, greatest) of f while only that axis moves, the widest first."""
    found = {}
    for axis, settings in axes.items():
        values = [f({axis: s}) for s in (None, *settings)]
        found[axis] = min(values), max(values)
    return dict(sorted(found.items(), key=lambda item: item[1][0] - item[1][1]))


def _count(axes):
    return prod(map(len, axes.values()))


def _extreme(f, axes, best, most):
    """Return the `best` (min or max) of f over all combinations of settings.

    Where there are more than `most`, go from the nominal point: one axis after the other to
    whatever is better, until nothing is.  That finds the extreme of a quotient of two sums.
    """
    if _count(axes) <= most:
        points = (dict(zip(axes, settings, strict=True)) for settings in product(*axes.values()))
        return best(map(f, points))
    point, value, before = {}, f({}), None
    while value != before:
        before = value
        for axis, settings in axes.items():
            for setting in settings:
                x = f({**point, axis: setting})
                if x != value and best(x, value) == x:
                    point, value = {**point, axis: setting}, x
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
    The ratio is taken where every group of parameters is at one of its ends, in both alike.
    """
    before, after = _times(before), _times(after)
    axes = {axis: ends for times in (*before, *after) for axis, ends in times.axes.items()}

    def ratio(point):
        return sum(t.at(point) for t in before) / sum(t.at(point) for t in after)

    for side in (before, after):
        if not sum(t.timeline.makespan_ns for t in side):
            raise ValueError(f"{side[0].timeline!r} takes no time, and a ratio needs two times")
    active = {group for t in (*before, *after) for group in t.active}
    corners = {group: ends for group, ends in axes.items() if group in active}
    most = _MOST_ROWS // sum(t.timeline.rows + _ROWS_OF_A_CALL for t in (*before, *after))
    low, high = (_extreme(ratio, corners, best, most) for best in (min, max))
    nominal, effects = ratio({}), _alone(ratio, axes)
    low, high = min(low, nominal), max(high, nominal)
    return Ratio(low, nominal, high, effects, _count(corners) <= most)


def _times(found) -> list:
    """Return the ``Times`` of a run, a timeline, or each of several."""
    several = found if isinstance(found, tuple) and found else (found,)
    times = [Times(x) if isinstance(x, CoreTimeline) else getattr(x, "times", None)
             for x in several]  # fmt: skip
    if not all(isinstance(t, Times) for t in times):
        raise TypeError(
            f"compare takes what nki.run or measure returned, or a tuple of these, not a "
            f"{type(found).__name__}"
        )
    return times


def tie(a, b) -> bool:
    """Whether the model cannot tell which of two predictions is shorter.

    Parameters
    ----------
    a, b : run of a kernel, CoreTimeline, or tuple of these; or two Bands
        Of bands alone nobody knows what cancels: they tie where they overlap.
    """
    if isinstance(a, Band) and isinstance(b, Band):
        return a.low_ns <= b.high_ns and b.low_ns <= a.high_ns
    return compare(a, b).is_tie
