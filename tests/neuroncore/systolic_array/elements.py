"""The plain twin: one PE at a time, register to register.  Read this file first.

Each cycle, every PE looks at what its left and upper neighbours held at the end of the cycle
before, and at nothing else.  A sequencer at the corner sends commands ("vector n of pass i",
"columns 4 j to 4 j + 3 of its stationary") into row 0; row k gets the same commands k cycles later.
Slow on purpose: ``march.py`` does the same fast, and tests compare all registers at all cycles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trainium_edu.neuroncore.systolic_array.array import SystolicArray
from trainium_edu.neuroncore.systolic_array.operands import check_operands, pieces_of
from trainium_edu.neuroncore.systolic_array.plan import Pass

__all__ = ["Pe", "simulate_elements"]

_ZERO = np.float32(0)
MOST_CYCLES = 100_000


@dataclass(frozen=True, slots=True)
class Sum:
    """A partial sum on its way down, and the element of dst that it will be."""

    value: np.float32
    pass_index: int
    n: int


@dataclass(frozen=True, slots=True)
class Vector:
    """One element of the moving operand on its way to the right."""

    value: np.float32
    n: int
    pass_index: int
    takes_weights: bool  #: the first of a tile with new weights
    holds_data: bool = True  #: False in rows below the tile's K, where only the command passes


@dataclass(frozen=True, slots=True)
class Weights:
    """A group of weights on its way to the right; each PE picks its own."""

    values: tuple
    group: int


@dataclass(slots=True)
class Pe:
    """One processing element: a multiplier, an adder and these registers."""

    weight: np.float32 | None = None  #: in use
    waiting: np.float32 | None = None  #: loaded for the next tile
    vector: Vector | None = None  #: handed to the right
    weights: Weights | None = None  #: handed to the right
    sum: Sum | None = None  #: handed down

    def cycle(self, column, speed, from_left, weights_from_left, from_above, starts_here) -> "Pe":
        """Return the PE after one cycle; the neighbours' values are those of the cycle before."""
        weight, waiting = self.weight, self.waiting
        if from_left is not None and from_left.takes_weights:
            weight, waiting = waiting, None
        incoming = from_above
        if starts_here and from_left is not None and weight is not None:
            incoming = Sum(_ZERO, from_left.pass_index, from_left.n)
        out = incoming
        if incoming is not None and weight is not None and self._in_use(from_left, incoming):
            x = from_left.value if from_left is not None and from_left.holds_data else _ZERO
            with np.errstate(all="ignore"):
                out = replace(incoming, value=np.float32(incoming.value + np.float32(weight * x)))
        if weights_from_left is not None and weights_from_left.group == column // speed:
            lane = column % speed
            if lane < len(weights_from_left.values):
                waiting = weights_from_left.values[lane]
        return Pe(weight, waiting, from_left, weights_from_left, out)

    @staticmethod
    def _in_use(from_left, incoming) -> bool:
        """Whether this row multiplies for the sum; a row below the tile's K lets it pass."""
        return (
            from_left is None or from_left.holds_data or from_left.pass_index != incoming.pass_index
        )


@dataclass(slots=True)
class Sequencer:
    """Decide at the corner, cycle by cycle, what enters: emergent, not scheduled."""

    passes: tuple[Pass, ...]
    array: SystolicArray
    feeding: int = -1  #: pass being fed
    n: int = 0  #: its next vector
    began: int = 0  #: cycle of its first vector
    next_feed: int = 0
    loading: int = -1  #: pass whose stationary is entering
    group: int = 0
    loaded: int = -1  #: pass whose stationary is complete and waiting
    next_load: int = 0
    log: dict = field(default_factory=dict)

    def cycle(self, t: int):
        """Return this cycle's commands: (pass, n, takes weights) and (pass, group), or None."""
        feed = load = None
        if self.feeding >= 0 and self.n == self._columns(self.feeding):
            self.feeding = -1
        may_issue = not self.log or t >= self.began + self.array.min_issue_cycles
        if self.feeding < 0 and self.next_feed < len(self.passes) and may_issue:
            p = self.passes[self.next_feed]
            if not p.load or self.loaded == self.next_feed:
                self.feeding, self.n, self.began = self.next_feed, 0, t
                self.log[self.next_feed] = t
                self.next_feed += 1
                if p.load:
                    self.loaded = -1
        if self.feeding >= 0:
            takes = self.passes[self.feeding].load and self.n == 0
            feed = (self.feeding, self.n, takes)
            self.n += 1
        self._skip_reused()
        port_free = self.loading < 0 and self.loaded < 0
        quiet = self.array.background_load or (feed is None and self.next_feed == self.next_load)
        if port_free and quiet and self.next_load < len(self.passes):
            self.loading, self.group = self.next_load, 0
            self.next_load += 1
        if self.loading >= 0:
            load = (self.loading, self.group)
            self.group += 1
            p = self.passes[self.loading]
            if self.group * self.array.load_speed >= p.m1 - p.m0:
                self.loaded, self.loading = self.loading, -1
        return feed, load

    def _columns(self, index):
        return self.passes[index].n1 - self.passes[index].n0

    def _skip_reused(self):
        while self.next_load < len(self.passes) and not self.passes[self.next_load].load:
            self.next_load += 1


def simulate_elements(
    stationary, moving, plan: Sequence[Pass], *, array: SystolicArray, fmt=None,
    skew: Sequence[int] | None = None,
):  # fmt: skip
    """Run a plan one PE at a time.

    Parameters
    ----------
    stationary : array [K, M]
    moving : array [K, N]
    plan : tuple of Pass
    array : SystolicArray
    fmt : Format or str, optional
    skew : sequence of int, optional
        Delay of each row's feed.

    Returns
    -------
    result : float32[M, N]
    history : list of list of list of Pe
        ``history[cycle][row][column]``; its length is the number of cycles.
    """
    operands = check_operands(stationary, moving, fmt)
    w = pieces_of(operands.stationary, operands.formats[0])
    x = pieces_of(operands.moving, operands.formats[1])
    delays = list(range(array.rows)) if skew is None else list(skew)
    result = np.zeros((operands.shape[1], operands.shape[2]), np.float32)
    missing = sum((p.m1 - p.m0) * (p.n1 - p.n0) for p in plan)
    sequencer = Sequencer(tuple(plan), array)
    pes = [[Pe() for _ in range(array.columns)] for _ in range(array.rows)]
    commands: list[tuple] = []
    history: list[list[list[Pe]]] = []
    while missing:
        t = len(history)
        if t > MOST_CYCLES:
            raise ValueError(f"the twin stops after {MOST_CYCLES} cycles; use run for long plans")
        commands.append(sequencer.cycle(t))
        before = pes
        pes = []
        for k in range(array.rows):
            feed, load = commands[t - delays[k]] if t >= delays[k] else (None, None)
            row = []
            for m in range(array.columns):
                if m:
                    vector, weights = before[k][m - 1].vector, before[k][m - 1].weights
                else:
                    vector = _enter(feed, plan, x, k)
                    weights = _enter_weights(load, plan, w, k, array.load_speed)
                above = before[k - 1][m].sum if k else None
                row.append(before[k][m].cycle(m, array.load_speed, vector, weights, above, k == 0))
            pes.append(row)
        for m, pe in enumerate(pes[-1]):
            if pe.sum is not None:
                p = plan[pe.sum.pass_index]
                at = p.m0 + m, p.n0 + pe.sum.n
                with np.errstate(all="ignore"):
                    result[at] = result[at] + pe.sum.value if p.accumulate else pe.sum.value
                missing -= 1
        history.append(pes)
    return result, history


def _enter(feed, plan, x, k):
    """Return what enters row k at its left edge: a number, or only the command below the K."""
    if feed is None:
        return None
    index, n, takes = feed
    p = plan[index]
    if k >= p.k1 - p.k0:
        return Vector(_ZERO, n, index, takes, holds_data=False)
    return Vector(x[p.moving_piece, p.k0 + k, p.n0 + n], n, index, takes)


def _enter_weights(load, plan, w, k, speed):
    """Return the group of weights that enters row k, if the tile has such a row."""
    if load is None:
        return None
    index, group = load
    p = plan[index]
    if k >= p.k1 - p.k0:
        return None
    first = p.m0 + group * speed
    return Weights(tuple(w[p.stationary_piece, p.k0 + k, first : min(first + speed, p.m1)]), group)
