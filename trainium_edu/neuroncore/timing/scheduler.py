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
from trainium_edu.neuroncore.timing.durations import Durations, durations, settle, table
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


_PIECES = "lead", "hold", "result", "chain", "quick", "fixed", "quick_fixed", "making"
_KIND = table(" ".join(_PIECES), "first_queue wide generator descriptors")
#: the next row of an engine's stream, until when it and its ports are held, and by which row
_STREAM = table("free sbuf_free psum_free made", "head row sbuf_row psum_row made_row")
_QUEUE = table("debt free", "row")  # debt: until when at the sustained pace
_SHARE = table("start end", "predecessor")
#: of a row: when it may begin, and what else `_loops.simulate` reads and writes
_RESULTS = ("start", "release", "done", "predecessor", "wait", "order", "critical",
            "ready_predecessor", "ready_wait", "transfer")  # fmt: skip
_ROW = table("ready " + " ".join(_RESULTS[:3]),
             "engine ports kind next_row missing " + " ".join(_RESULTS[3:]))  # fmt: skip


@checked
def schedule(program: Program, placement: Placement, spec: Record | None = None, *,
             parameters=None, order=None, without: str | Iterable[str] = (),
             hazards: Hazards | None = None) -> CoreTimeline:  # fmt: skip
    """Time every instruction.

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
    transfers = run.engine == _DMA
    rows = np.zeros(n, _ROW)
    rows["ready_predecessor"] = rows["predecessor"] = rows["critical"] = -1
    rows["kind"], rows["engine"], rows["next_row"] = run.kind, run.engine, hazards.next_row
    rows["transfer"], rows["missing"] = np.cumsum(transfers) - 1, np.diff(hazards.start)
    rows["ports"] = 0 if "ports" in without else run.ports
    rows["order"] = -1 if order is None else _check_order(order, n)
    streams = np.zeros(_DMA, _STREAM)
    streams["head"], streams["row"] = hazards.head, -1
    queue = np.array([(-np.inf, 0.0, -1)] * queues, _QUEUE)
    heap = np.zeros(np.count_nonzero(transfers) + 1, np.int64)
    shares = np.full((heap.size - 1, queues), np.array((-1, -1, -1), _SHARE))
    progress = np.zeros(4, np.int64)
    if order is None:  # all at time 0 in program order: a heap as it stands
        ready = np.flatnonzero(transfers & (rows["missing"] == 0))
        heap[: ready.size], progress[1] = ready, ready.size
    while progress[0] < n:
        launch(_loops.simulate, _PIECE, pieces.tolerance, _kinds(pieces), rows,
               hazards.follower_start, hazards.followers, streams, queue, shares, heap,
               progress)  # fmt: skip
        if progress[3]:
            row = int(rows["order"][progress[3] - 1])
            raise ValueError(
                f"this order is impossible: {program.instructions[run.instruction[row]]} would "
                "start before something that it waits for; take the order of a timeline of the "
                "same program with no more buffers"
            )
    start, release, done, by, wait, sequence, critical, ready_by, ready_wait, transfer = (
        np.ascontiguousarray(rows[name]) for name in _RESULTS
    )
    if n and done.max() > LONGEST_NS:
        raise ValueError(
            f"{program.name} would run for {done.max() / 1e9:.3g} s, and times are exact up to "
            f"{LONGEST_NS / 1e9:.1f} s; time a part of it"
        )
    return CoreTimeline(
        program, placement, hazards, spec, values, without, pieces, start, release, done, by, wait,
        sequence, shares["start"], shares["end"], shares["predecessor"], critical[transfers],
        ready_by, ready_wait, transfer,
    )  # fmt: skip


def _kinds(pieces: Durations) -> np.ndarray:
    kinds = np.zeros(pieces.work.size, _KIND)
    for name in (*_PIECES, "descriptors"):
        kinds[name] = getattr(pieces, name)
    kinds["first_queue"], kinds["wide"], kinds["generator"] = pieces.lanes.T
    return kinds


def reschedule(timeline: CoreTimeline, placement: Placement | None = None, *,
               hazards: Hazards | None = None, parameters=None, order=None,
               without: Iterable[str] | None = None) -> CoreTimeline:  # fmt: skip
    """Time a program once more; arguments left out stay as they were, but for the order.

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
    is_list = order.shape == (n,) and order.dtype.kind in "iu"
    if not is_list or not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order must list the {n} rows of the run once each, as whole numbers")
    return order.astype(np.int64)
