"""When every instruction runs: five in-order streams, 16 DMA queues, and what each must wait for.

An instruction starts when its engine is free, its operands are written, the place that it writes is
free again, and the shared ports allow it.  Among the streams' next instructions the one that can
start first goes first, ties in program order; a transfer goes as soon as what it needs is there.
"""

from collections.abc import Iterable

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing import _loops
from trainium_edu.neuroncore.timing.durations import Durations, durations, settle
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.hazards import Hazards, find_hazards
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.neuroncore.timing.waits import CAUSES
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["check_causes", "reschedule", "schedule"]

_PIECE = 100_000  # rows per call of the loop
_DMA = ENGINES.index(Engine.DMA)
LONGEST_NS = 2.0**32  # beyond, float64 would begin to round the sums


def _table(ns, at) -> np.dtype:
    """Return the dtype of a small table: fields of times, and of numbers of rows or queues."""
    return np.dtype([(name, np.float64) for name in ns] + [(name, np.int64) for name in at])


_PIECES = "lead", "hold", "result", "chain", "quick", "fixed", "quick_fixed"
_KIND = _table(_PIECES, ("first_queue", "wide", "descriptors"))
#: the next row of an engine's stream, until when it and its ports are held, and by which row
_STREAM = _table(("free", "sbuf_free", "psum_free"), ("head", "row", "sbuf_row", "psum_row"))
_QUEUE = _table(("debt", "free"), ("row",))  # debt: until when at the sustained pace


@checked
def schedule(program: Program, placement: Placement, spec: Record | None = None, *,
             parameters=None, order=None, without: str | Iterable[str] = (),
             hazards: Hazards | None = None) -> CoreTimeline:  # fmt: skip
    """Give every instruction its time.

    Parameters
    ----------
    program : Program
    placement : Placement
        From :func:`~trainium_edu.neuroncore.timing.placement.place` of the same program.
    spec : Record, optional
        The chip; default the placement's.
    parameters : dict of str to float, optional
        Other values than the nominal ones: ``{"dma_bytes_per_s": 136e9}``; their names are
        those of ``timing.parameters(spec)``.
    order : int64[rows], optional
        Freeze arbitration: start instructions in exactly this order (``timeline.order``).
    without : collection of str
        Causes to take away: "dma", "ports", "fixed" ("buffers" is a matter of ``place``).
    hazards : Hazards, optional
        The placement's, where they are known already (``timeline.hazards``).

    Returns
    -------
    CoreTimeline
        Times in ns as float64, exact multiples of 2**-20.

    Raises
    ------
    ValueError
        If the placement belongs to another program, the order is impossible, or the program would
        run for more than four seconds.
    """
    if placement.program is not program:
        raise ValueError("this placement belongs to another program; place(...) this one first")
    spec = placement.spec if spec is None else spec
    without = frozenset(check_causes(without))
    values = settle(spec, parameters)
    run, n, queues = placement.run, placement.run.rows, int(spec.dma.queues)
    pieces = durations(run, spec, values, without)
    hazards = find_hazards(placement) if hazards is None else hazards
    given = np.zeros(0, np.int64) if order is None else _check_order(order, n)
    transfers = run.engine == _DMA
    # times of rows: ready, start, release, done
    rows_ns = np.zeros((4, n))
    # numbers: kind, transfer, next of its engine, how many it waits for; the row that its operands
    # came from, the one that held it back last, the order, the queue that was last
    rows_at = np.full((8, n), -1)
    rows_at[:4] = run.kind, np.cumsum(transfers) - 1, hazards.next_row, np.diff(hazards.start)
    # engine, ports, how it waited for its operands, and how at last
    rows_is = np.zeros((4, n), np.int8)
    rows_is[0] = run.engine
    rows_is[1] = 0 if "ports" in without else run.ports
    streams = np.zeros(_DMA, _STREAM)
    streams["head"], streams["row"] = hazards.head, -1
    queue = np.array([(-np.inf, 0.0, -1)] * queues, _QUEUE)
    heap = np.zeros(np.count_nonzero(transfers) + 1, np.int64)
    shares_ns = np.full((2, heap.size - 1, queues), -1.0)  # start and end, by transfer and queue
    share_pred = np.full(shares_ns.shape[1:], -1)
    progress = np.zeros(4, np.int64)
    if order is None:  # all at time 0 in program order: a heap as it stands
        ready = np.flatnonzero(transfers & (rows_at[3] == 0))
        heap[: ready.size] = ready
        progress[1] = ready.size
    while progress[0] < n:
        launch(_loops.simulate, _PIECE, pieces.tolerance, given, _kinds(pieces), rows_ns, rows_at,
               rows_is, hazards.follower_start, hazards.followers, streams, queue, shares_ns,
               share_pred, heap, progress)  # fmt: skip
        if progress[3]:
            row = int(given[progress[3] - 1])
            raise ValueError(
                f"this order is impossible: {program.instructions[run.instruction[row]]} would "
                "start before something that it waits for; take the order of a timeline of the "
                "same program with no more buffers"
            )
    _, start, release, done = rows_ns
    if n and done.max() > LONGEST_NS:
        raise ValueError(
            f"{program.name} would run for {done.max() / 1e9:.3g} s, and times are exact up to "
            f"{LONGEST_NS / 1e9:.1f} s; time a part of it"
        )
    _, transfer, _, _, ready_pred, pred, sequence, critical = rows_at
    _, _, ready_wait, wait = rows_is
    share_start, share_end = shares_ns
    return CoreTimeline(
        program, placement, hazards, spec, values, without, pieces, start, release, done, pred,
        wait, sequence, share_start, share_end, share_pred, critical[transfers], ready_pred,
        ready_wait, transfer,
    )  # fmt: skip


def _kinds(pieces: Durations) -> np.ndarray:
    kinds = np.zeros(pieces.work.size, _KIND)
    for name in (*_PIECES, "descriptors"):
        kinds[name] = getattr(pieces, name)
    kinds["first_queue"], kinds["wide"] = pieces.lanes.T
    return kinds


def reschedule(timeline: CoreTimeline, placement: Placement | None = None, *,
               hazards: Hazards | None = None, parameters=None, order=None,
               without: Iterable[str] | None = None) -> CoreTimeline:  # fmt: skip
    """Time a program once more; what is not given stays as it was, but for the order.

    Parameters
    ----------
    timeline : CoreTimeline
    placement : Placement, optional
        Another one, perhaps of the program compiled otherwise.
    hazards, parameters, order, without
        As for :func:`schedule`.
    """
    if placement is None:
        placement, hazards = timeline.placement, hazards or timeline.hazards
    return schedule(
        placement.program, placement, timeline.spec, order=order, hazards=hazards,
        parameters=timeline.parameters if parameters is None else parameters,
        without=timeline.without if without is None else without,
    )  # fmt: skip


def check_causes(without) -> tuple[str, ...]:
    """Return the names of causes; raise for one that does not exist."""
    causes = (without,) if isinstance(without, str) else tuple(without)
    for cause in causes:
        if cause not in CAUSES:
            raise ValueError(f"no cause {cause!r}; choose one of {', '.join(CAUSES)}")
    return causes


def _check_order(order, n):
    try:
        order = np.asarray(order)
    except ValueError:
        order = np.empty(0)
    if order.shape != (n,) or order.dtype.kind not in "iu":
        raise ValueError(f"order must list the {n} rows of the run once each, as whole numbers")
    order = order.astype(np.int64)
    if n and not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order must list the {n} rows of the run once each")
    return order
