"""Which tiles go through the array, in which order, and when each may start.

A :class:`Pass` is one LoadStationary (or none, when the stationary is reused) and one
MultiplyMoving.  `schedule` says when they start, in *wave time*: the cycle in which something
enters row 0 at column 0.  The PE in row k and column m sees it k + m cycles later, so that one
number per event fixes it for every PE.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainium_edu.neuroncore.systolic_array.array import TRN1_ARRAY, SystolicArray, whole
from trainium_edu.neuroncore.systolic_array.operands import ONE_PASS
from trainium_edu.specs.signatures import checked

__all__ = ["Pass", "Schedule", "plan_gemm", "schedule"]

_MAX_PASSES = 2**20


@dataclass(frozen=True, slots=True)
class Pass:
    """One moving tile through the array: ``dst[m0:m1, n0:n1]`` is overwritten or added to."""

    k0: int
    k1: int
    m0: int
    m1: int
    n0: int
    n1: int
    stationary_piece: int = 0  #: which piece of an FP32 operand, else 0
    moving_piece: int = 0
    load: bool = True  #: whether its stationary is loaded, or still there
    accumulate: bool = False  #: whether PSUM adds, or overwrites

    @property
    def shape(self) -> tuple[int, int, int]:
        """Its own K, M and N."""
        return self.k1 - self.k0, self.m1 - self.m0, self.n1 - self.n0


@dataclass(frozen=True, slots=True)
class Schedule:
    """The start of each pass, in wave time, and the cycles that everything takes."""

    passes: tuple[Pass, ...]
    load_start: tuple[int, ...]  #: wave cycle of the first columns' entry; -1 without a load
    feed_start: tuple[int, ...]  #: wave cycle of the first vector's entry
    cycles: int  #: until the last result has left the bottom row

    @property
    def macs(self) -> int:
        """Multiply-adds that are part of a result (each pass of FP32 counts)."""
        return sum(k * m * n for k, m, n in (p.shape for p in self.passes))

    @property
    def loads(self) -> int:
        """Number of LoadStationary."""
        return sum(p.load for p in self.passes)


@checked
def plan_gemm(
    k: int, m: int, n: int, *, array: SystolicArray = TRN1_ARRAY,
    passes: Sequence[tuple[int, int]] = ONE_PASS,
    reuse: bool = True,
    moving_max: int | None = None,
) -> tuple[Pass, ...]:  # fmt: skip
    """Cut a product of any size into passes.

    Parameters
    ----------
    k, m, n : int
        ``dst[m, n]`` from ``stationary[k, m]`` and ``moving[k, n]``.
    array : SystolicArray
    passes : tuple of (stationary piece, moving piece)
        One pair, or the four of FP32.
    reuse : bool
        True: each stationary tile is loaded once and meets all moving tiles that PSUM can hold
        (m, then k, then n innermost).  False: each result tile is finished first (m, then n, then
        k innermost), and the stationary is loaded again for every moving tile.
    moving_max : int
        Longest moving tile; default, and at most, the columns of a PSUM bank.

    Returns
    -------
    tuple of Pass

    Examples
    --------
    >>> len(plan_gemm(256, 128, 1024)), sum(p.load for p in plan_gemm(256, 128, 1024))
    (4, 2)
    """
    k, m, n = whole(k, "K"), whole(m, "M"), whole(n, "N")
    most = array.moving_max
    moving_max = most if moving_max is None else whole(moving_max, "moving_max")
    if moving_max > most:
        raise ValueError(
            f"moving_max is {moving_max}; one PSUM bank holds {most} FP32 numbers per "
            f"partition, and a result tile lives in one bank. Take {most} or fewer"
        )
    count = -(-k // array.rows) * -(-m // array.columns) * -(-n // moving_max) * len(passes)
    if count > _MAX_PASSES:
        raise ValueError(
            f"{count} tiles: more than a million take hours cycle by cycle; the closed forms "
            "(gemm_cycles) give the time at once"
        )
    plan = []
    in_psum = array.banks * moving_max
    for block in _spans(0, n, in_psum):
        for m0, m1 in _spans(0, m, array.columns):
            contraction = [(ks, p) for ks in _spans(0, k, array.rows) for p in passes]
            moving = _spans(*block, moving_max)
            turns = range(len(contraction))
            order = [(i, ns) for i in turns for ns in moving]
            if not reuse:
                order = [(i, ns) for ns in moving for i in turns]
            before = None
            for i, (n0, n1) in order:
                (k0, k1), (left, right) = contraction[i]
                load = not (reuse and before == i)
                plan.append(Pass(k0, k1, m0, m1, n0, n1, left, right, load, i > 0))
                before = i
    return tuple(plan)


@checked
def schedule(passes: Sequence[Pass], array: SystolicArray = TRN1_ARRAY) -> Schedule:
    """Schedule each load and each moving tile as soon as the PEs allow it.

    A load takes ``ceil(M / load_speed)`` cycles.  With a second weight register it may start in the
    cycle in which the previous weights are taken over; without one, when the last vector of the
    previous tile is in.  A moving tile starts when its weights are complete, the wires are free,
    and `min_issue_cycles` have passed since the last one.

    Examples
    --------
    >>> schedule(plan_gemm(128, 128, 512)).cycles
    798
    """
    if not passes:
        raise ValueError("passes is empty; plan_gemm makes at least one")
    load_start: list[int] = []
    feed_start: list[int] = []
    wires_free = loaded = taken = fed = 0
    for p in passes:
        _, m, n = p.shape
        if p.load:
            start = taken if array.background_load else fed
            loaded = start + -(-m // array.load_speed)
        elif not feed_start:
            raise ValueError("the first pass has load=False, and no stationary is there to reuse")
        load_start.append(start if p.load else -1)
        begin = max(wires_free, loaded)
        feed_start.append(begin)
        fed = begin + n
        wires_free = begin + max(n, array.min_issue_cycles)
        if p.load:
            taken = begin
    ends = (f + p.shape[1] + p.shape[2] for f, p in zip(feed_start, passes, strict=True))
    return Schedule(tuple(passes), tuple(load_start), tuple(feed_start), max(ends) + array.rows - 2)


def _spans(start: int, stop: int, step: int) -> list[tuple[int, int]]:
    return [(i, min(i + step, stop)) for i in range(start, stop, step)]
