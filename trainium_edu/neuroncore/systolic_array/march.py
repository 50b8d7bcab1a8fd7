"""The cycle-level array: every sum of every PE at every cycle, and all other registers from it.

`run` steps the sums with the compiled loops.  Everything else that a PE holds (its weight, the
value passing by, whether they are valid) follows from the schedule in wave time.  The PE in row k
and column m lives k + m cycles after the corner.  The twin ``elements.py`` moves all of it from
register to register instead; tests hold the two equal at every cycle.
"""

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from trainium_edu.neuroncore.systolic_array import _loops
from trainium_edu.neuroncore.systolic_array.array import TRN1_ARRAY, SystolicArray, whole
from trainium_edu.neuroncore.systolic_array.operands import Operands, check_operands, pieces_of
from trainium_edu.neuroncore.systolic_array.plan import (
    Pass,
    Schedule,
    plan_gemm,
    schedule,
)
from trainium_edu.numerics.launch import launch, launch_parallel
from trainium_edu.specs import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["ArrayRun", "PeState", "run"]

_RECORD_LIMIT_BYTES = 2**30
_RUN_LIMIT_CYCLES = 2**31
PE_CYCLES_PER_CALL = 2**27  # about a tenth of a second: Ctrl-C works between calls
PARALLEL_FROM_PE_CYCLES = 2**27
_STRIPE_COLUMNS = 32  # narrower stripes waste vector registers
_CACHE_LINE_FLOATS = 16
_FEW_SUMS = 1024  # in plain Python milliseconds; loading the compiled loop takes half a second
_SPARE_LIMIT_BYTES = 2**26
_UNUSED = 3  # references to a spare record: the list, the loop and the question itself
_spare: list[np.ndarray] = []
_spare_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class PeState:
    """The registers of all PEs at the end of one cycle: arrays [rows, columns]."""

    cycle: int
    weight: np.ndarray  #: float32, the weight in use
    weight_valid: np.ndarray  #: bool
    waiting: np.ndarray  #: float32, the weight loaded for the next tile
    waiting_valid: np.ndarray  #: bool
    moving: np.ndarray  #: float32, the value handed to the right neighbour
    moving_valid: np.ndarray  #: bool
    partial_sum: np.ndarray  #: float32, the sum handed down
    sum_valid: np.ndarray  #: bool
    multiplied: np.ndarray  #: bool, whether the PE did a multiply-add in this cycle
    pass_index: np.ndarray  #: int, which pass the sum belongs to, or -1
    vector: np.ndarray  #: int, which column n of dst the sum belongs to, or -1


@dataclass(frozen=True)
class ArrayRun:
    """The record of a run: results, times, and on request every register."""

    array: SystolicArray
    schedule: Schedule
    operands: Operands
    result: np.ndarray  #: float32[M, N]
    skew: tuple[int, ...] = ()  #: delay of each row's feed; () is the right one, 0, 1, 2, ...
    pieces: tuple = field(default=(), repr=False)  #: float32[P, K, M] and [P, K, N]
    kept: np.ndarray | None = None  #: every sum, as ``_loops.march_recorded`` lays them

    def __repr__(self):
        k, m, n = self.operands.shape
        return (
            f"ArrayRun({self.operands.formats[0].name} [{k}, {m}] x [{k}, {n}] on "
            f"{self.array.rows} x {self.array.columns} PEs, {self.cycles} cycles, "
            f"utilisation {self.utilisation:.1%})"
        )

    @property
    def cycles(self) -> int:
        """Cycles from the first weight in to the last result out."""
        return self.schedule.cycles

    @property
    def macs(self) -> int:
        """The number of multiply-adds."""
        return self.schedule.macs

    @property
    def utilisation(self) -> float:
        """Share of PE-cycles that did a multiply-add."""
        return self.macs / (self.array.pes * self.cycles)

    @property
    def busy_ns(self) -> float:
        """Time of all cycles in nanoseconds."""
        return self.cycles / self.array.clock_hz * 1e9

    @cached_property
    def working(self) -> np.ndarray:
        """Return how many PEs multiply in each cycle: int64[cycles]."""
        busy = np.zeros(self.cycles + 1, np.int64)
        for p, start in zip(self.schedule.passes, self.schedule.feed_start, strict=True):
            k, m, n = p.shape
            diagonal = np.convolve(np.ones(k, np.int64), np.ones(m, np.int64))
            wave = np.convolve(diagonal, np.ones(n, np.int64))
            busy[start : start + wave.size] += wave
        return busy[:-1]

    @property
    def recorded(self) -> bool:
        """Whether every cycle was kept."""
        return self.kept is not None

    @checked
    def state(self, cycle: int) -> PeState:
        """Return what every PE holds at the end of a cycle.

        Raises
        ------
        ValueError
            If the run was not recorded.
        IndexError
            If there is no such cycle.
        """
        self._check_recorded()
        cycle = self._checked_cycle(cycle)
        rows, columns = self.array.rows, self.array.columns
        k, m = np.indices((rows, columns))
        wave = cycle - k - m
        fed_wave = cycle - np.asarray(self._delays)[:, None] - m  # where a wrong skew shows

        weight, weight_valid = self._weights(self._taken(fed_wave), k, m)
        index, n, valid = self._located(fed_wave)
        pass_k = self._tables["k"][index]
        moving_valid = valid & (k < pass_k)
        row = np.minimum(k + self._tables["k0"][index], self.operands.shape[0] - 1)
        column = np.minimum(n + self._tables["n0"][index], self.operands.shape[2] - 1)
        moving = self.pieces[1][self._tables["moving_piece"][index], row, column]

        index, n, valid = self._located(wave)
        sum_valid = valid & (m < self._tables["m"][index])
        multiplied = sum_valid & weight_valid & (k < self._tables["k"][index])
        waiting, waiting_valid = self._waiting(fed_wave, k, m)
        return PeState(
            cycle,
            weight,
            weight_valid,
            waiting,
            waiting_valid,
            np.where(moving_valid, moving, np.float32(0)),
            moving_valid,
            self._kept_sums(index, n, sum_valid, k, m),
            sum_valid,
            multiplied,
            np.where(sum_valid, index, -1),
            np.where(sum_valid, n + self._tables["n0"][index], -1),
        )

    # -- wave time ------------------------------------------------------------------------------

    @cached_property
    def _delays(self):
        return self.skew or tuple(range(self.array.rows))

    def _check_recorded(self):
        if self.kept is None:
            raise ValueError("this run kept results only; run it with record=True to look inside")

    def _kept_sums(self, index, n, valid, k, m):
        """Gather recorded sums of vector n of a pass in PE (k, m); zero where not valid."""
        where = self._tables["record"][index]
        wide, deep = (np.maximum(self._tables[axis][index], 1) for axis in "mn")
        at = where + ((n + m) % deep * self.array.rows + k) * wide + m
        return np.where(valid, self.kept[np.where(valid, at, 0)], np.float32(0))

    def _checked_cycle(self, cycle):
        cycle = whole(cycle, "cycle", least=0)
        if cycle >= self.cycles:
            raise IndexError(f"the run has cycles 0 to {self.cycles - 1}, not {cycle}")
        return cycle

    @cached_property
    def _tables(self) -> dict[str, np.ndarray]:
        """Fields of all passes as arrays, each with a last entry of zero for "none"."""
        passes = self.schedule.passes
        names = ("k0", "m0", "n0", "stationary_piece", "moving_piece")
        fields = {name: [getattr(p, name) for p in passes] for name in names}
        for i, name in enumerate("kmn"):
            fields[name] = [p.shape[i] for p in passes]
        tables = {name: np.array([*values, 0]) for name, values in fields.items()}
        return tables | {"record": np.array([*_record_offsets(passes, self.array.rows)])}

    def _located(self, wave):
        """Return (pass, its vector, whether there is one) for each wave time."""
        starts = np.array(self.schedule.feed_start)
        index = np.searchsorted(starts, wave, side="right") - 1
        n = wave - np.append(starts, 0)[index]
        valid = (index >= 0) & (n < self._tables["n"][index])
        return np.where(valid, index, -1), np.where(valid, n, 0), valid

    def _taken(self, wave):
        """Return the last pass whose weights were taken over at each wave time, or -1."""
        loads = np.array([i for i, p in enumerate(self.schedule.passes) if p.load])
        starts = np.array(self.schedule.feed_start)[loads]
        return np.append(loads, -1)[np.searchsorted(starts, wave, side="right") - 1]

    def _weights(self, index, k, m):
        valid = (index >= 0) & (k < self._tables["k"][index]) & (m < self._tables["m"][index])
        k_all, m_all, _ = self.operands.shape
        row = np.minimum(k + self._tables["k0"][index], k_all - 1)
        column = np.minimum(m + self._tables["m0"][index], m_all - 1)
        values = self.pieces[0][self._tables["stationary_piece"][index], row, column]
        return np.where(valid, values, np.float32(0)), valid

    def _waiting(self, wave, k, m):
        """Return the weights that are loaded and not yet taken over."""
        loads = [i for i, p in enumerate(self.schedule.passes) if p.load]
        starts = np.array([self.schedule.load_start[i] for i in loads])
        arrived = wave - m // self.array.load_speed  # groups follow one another, a cycle apart
        index = np.append(loads, -1)[np.searchsorted(starts, arrived, side="right") - 1]
        values, valid = self._weights(index, k, m)
        taken = np.append(self.schedule.feed_start, 0)[index] <= wave
        valid &= ~taken
        return np.where(valid, values, np.float32(0)), valid


@checked
def run(
    stationary, moving, *, array: SystolicArray = TRN1_ARRAY, fmt=None,
    plan: Sequence[Pass] | None = None, record: bool = False, skew: Sequence[int] | None = None,
    threads: int | None = None,
) -> ArrayRun:  # fmt: skip
    """Send a product through the array, cycle by cycle.

    Parameters
    ----------
    stationary : array [K, M]
    moving : array [K, N]
        Of any size: a product larger than the array goes through in tiles.
    array : SystolicArray
    fmt : Format or str, optional
        Round both operands to this format first; else the dtypes decide.
    plan : tuple of Pass, optional
        Which tiles in which order; ``plan_gemm`` of the shapes if not given.
    record : bool
        Keep every sum at every cycle, so that ``state`` can look inside.
    skew : sequence of int, optional
        The delay in cycles with which each row is fed; 0, 1, 2, ... if not given.  Any other
        gives wrong results, as it would in hardware: one tile only, and row 0 has delay 0.
    threads : int, optional
        1 keeps to one thread; by default large runs use all.  The bits are the same.

    Returns
    -------
    ArrayRun

    Raises
    ------
    ValueError, NkiValidationError
        If shapes, formats or sizes do not go.

    Examples
    --------
    >>> r = run([[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]], fmt="bf16", array=SystolicArray(2, 2))
    >>> r.result.tolist(), r.cycles
    ([[23.0], [34.0]], 4)

    References
    ----------
    `nki-trn1-arch` and `kung-1982` in :data:`trainium_edu.specs.SOURCES`.
    """
    operands = check_operands(stationary, moving, fmt)
    k, m, n = operands.shape
    plan = plan_gemm(k, m, n, array=array, passes=operands.passes) if plan is None else plan
    _check_plan(plan, operands, array)
    timed = schedule(plan, array)
    if timed.cycles > _RUN_LIMIT_CYCLES:
        raise ValueError(f"{timed.cycles} cycles take hours; gemm_cycles gives the count at once")
    pieces = tuple(
        pieces_of(values, fmt)
        for values, fmt in zip(
            (operands.stationary, operands.moving), operands.formats, strict=True
        )
    )
    delays = _checked_skew(skew, array, plan)
    feed = _delayed(pieces[1], delays) if delays else pieces[1]
    weights, vectors = _padded(pieces[0]), _padded(feed[:, :, ::-1])
    table = _table(timed, operands.shape, weights, vectors, array.rows)
    result = np.zeros((m, n), np.float32)
    if record:
        kept = _march_recorded(timed, table, array, weights, vectors, result)
    else:
        kept = None
        _march(timed, table, array, weights, vectors, result, threads)
    return ArrayRun(array, timed, operands, result, delays, pieces, kept)


def _padded(pieces) -> np.ndarray:
    """Return pieces with rows an odd number of cache lines long, so that rows do not collide."""
    lines = -(-pieces.shape[2] // _CACHE_LINE_FLOATS) | 1
    out = np.zeros((*pieces.shape[:2], lines * _CACHE_LINE_FLOATS), np.float32)
    out[:, :, : pieces.shape[2]] = pieces
    return out


def _record_offsets(passes, rows):
    """Yield where each pass's sums begin in the record, and its end."""
    at = 0
    for p in passes:
        yield at
        at += (p.n1 - p.n0) * rows * (p.m1 - p.m0)
    yield at


def _table(timed: Schedule, shape, weights, vectors, rows) -> np.ndarray:
    """Return the passes as the loops read them; offsets are into flat arrays."""
    k_all, _, n_all = shape
    table = np.empty((len(timed.passes), 9), np.int64)
    offsets = _record_offsets(timed.passes, rows)
    for row, p, start, at in zip(table, timed.passes, timed.feed_start, offsets, strict=False):
        k, m, n = p.shape
        row[_loops.START], row[_loops.END], row[_loops.K], row[_loops.M] = start, start + n, k, m
        row[_loops.W] = (p.stationary_piece * k_all + p.k0) * weights.shape[2] + p.m0
        first = (p.moving_piece * k_all + p.k0) * vectors.shape[2]
        row[_loops.X] = first + n_all - 1 - p.n0 + start
        row[_loops.DST] = p.m0 * n_all + p.n0
        row[_loops.ACCUMULATE] = p.accumulate
        row[_loops.RECORD] = at
    return table


def _march(timed, table, array, w, x, result, threads):
    """Step without recording, in calls short enough to interrupt."""
    rows, columns = array.rows, array.columns
    p_row = (-(-columns // _CACHE_LINE_FLOATS) | 1) * _CACHE_LINE_FLOATS
    plane = np.zeros((rows + 1) * p_row, np.float32)
    stripes = min(_loops.thread_count(), max(1, columns // _STRIPE_COLUMNS))
    if threads is not None:
        stripes = min(stripes, whole(threads, "threads"))
    parallel = stripes > 1 and timed.cycles * array.pes >= PARALLEL_FROM_PE_CYCLES
    step = max(4, PE_CYCLES_PER_CALL // array.pes)
    for t0 in range(0, timed.cycles, step):
        t1 = min(t0 + step, timed.cycles)
        window = _under_way(table, t0, t1, array)
        operands = (w.ravel(), w.shape[2], x.ravel(), x.shape[2])
        shared = (*operands, plane, p_row, result.reshape(-1), result.shape[1])
        if parallel:
            both = (_loops.march_stripes_parallel, _loops.march_stripes)
            launch_parallel(*both, stripes, t0, t1, window, rows, columns, *shared)
        else:
            launch(_loops.march, t0, t1, window, rows, 0, columns, *shared)


def _march_recorded(timed, table, array, w, x, result) -> np.ndarray:
    """Step and return all sums."""
    *_, floats = _record_offsets(timed.passes, array.rows)
    if 4 * floats > _RECORD_LIMIT_BYTES:
        raise ValueError(
            f"recording {timed.cycles} cycles of {array.pes} PEs takes {4 * floats >> 20} MiB; the "
            f"limit is {_RECORD_LIMIT_BYTES >> 20} MiB. Record fewer columns, or a smaller array"
        )
    sums = _record_space(floats)
    loop = _loops.march_recorded
    if floats <= _FEW_SUMS and not getattr(loop, "signatures", True):
        loop = loop.py_func  # the same loop uncompiled: nothing to load before the first picture
    step = max(array.rows, PE_CYCLES_PER_CALL // 4 // array.pes)
    for t0 in range(0, timed.cycles, step):
        t1 = min(t0 + step, timed.cycles)
        launch(
            loop, t0, t1, _under_way(table, t0, t1, array), array.rows, w.ravel(),
            w.shape[2], x.ravel(), x.shape[2], sums, result.reshape(-1), result.shape[1],
        )  # fmt: skip
    return sums


def _record_space(floats) -> np.ndarray:
    """Return space for a record: an earlier one's that is no longer in use, or new.

    Fresh pages cost several times the run itself, so the last space (64 MiB at most) is kept.
    """
    with _spare_lock:
        for spare in _spare:
            if spare.size >= floats and sys.getrefcount(spare) <= _UNUSED:
                return spare[:floats]
        space = np.empty(floats, np.float32)
        if space.nbytes <= _SPARE_LIMIT_BYTES:
            _spare[:] = [space]
        return space[:]


def _under_way(table, t0, t1, array):
    """Return the passes that some PE works on between two cycles."""
    last = table[:, _loops.END] + array.rows - 1 + array.columns
    return table[(table[:, _loops.START] < t1) & (last > t0)]


def _check_plan(plan, operands: Operands, array: SystolicArray):
    """Refuse passes that reach outside the operands or the array, or that use a wrong piece."""
    k, m, n = operands.shape
    pieces = 3 if len(operands.passes) > 1 else 1
    if not plan:
        raise ValueError("the plan has no pass; plan_gemm makes one")
    for i, p in enumerate(plan):
        if not isinstance(p, Pass):
            raise TypeError(f"pass {i} of the plan is {type(p).__name__}; it takes Pass records")
        spans = ((p.k0, p.k1, k, "k"), (p.m0, p.m1, m, "m"), (p.n0, p.n1, n, "n"))
        for start, stop, limit, axis in spans:
            if not 0 <= start < stop <= limit:
                raise ValueError(
                    f"pass {i}: {axis} runs from {start} to {stop}, outside 0 to {limit} or empty"
                )
        check_fits(*p.shape, array, where=f"pass {i}: ")
        if not (0 <= p.stationary_piece < pieces and 0 <= p.moving_piece < pieces):
            raise ValueError(f"pass {i}: only FP32 has pieces 0 to 2; others have piece 0")
        if not p.load and (i == 0 or _weights_key(p) != _weights_key(plan[i - 1])):
            raise ValueError(
                f"pass {i}: load=False, but the stationary before it is another one; load it"
            )


def check_fits(k: int, m: int, n: int, array: SystolicArray, *, where: str = ""):
    """Refuse one tile that is larger than the array or than a PSUM bank.

    Raises
    ------
    NkiValidationError
    """
    for have, limit, axis, why in (
        (k, array.rows, "K", "the contraction lies on the rows, one per partition"),
        (m, array.columns, "M", "the stationary's free axis lies on the columns"),
        (n, array.moving_max, "N", "a result tile lives in one PSUM bank"),
    ):
        if have > limit:
            raise NkiValidationError(
                f"{where}a tile with {axis} = {have}: the limit is {limit}, as {why}. Cut it in "
                f"tiles of {limit} (plan_gemm does)"
            )


def _weights_key(p: Pass):
    return p.k0, p.k1, p.m0, p.m1, p.stationary_piece


def _checked_skew(skew, array, plan) -> tuple[int, ...]:
    if skew is None:
        return ()
    delays = tuple(whole(d, "a row's delay", least=0) for d in skew)
    if len(delays) != array.rows or delays[0] != 0 or max(delays) > 4 * array.rows:
        raise ValueError(
            f"skew gives {len(delays)} delays, the first {delays[0] if delays else 'missing'}: it "
            f"takes one per row ({array.rows}), starting with 0, none above {4 * array.rows}"
        )
    if len(plan) > 1:
        raise ValueError("a wrong skew is for one tile; this product needs more than one")
    return () if delays == tuple(range(array.rows)) else delays


def _delayed(pieces, delays) -> np.ndarray:
    """Return what each row's vector n meets: its own element n, or an earlier or later one."""
    fed = np.zeros_like(pieces)
    n = pieces.shape[2]
    for k in range(pieces.shape[1]):
        late = delays[k] - k
        if abs(late) < n:
            source = pieces[:, k, max(0, -late) : n - max(0, late)]
            fed[:, k, max(0, late) : n - max(0, -late)] = source
    return fed
