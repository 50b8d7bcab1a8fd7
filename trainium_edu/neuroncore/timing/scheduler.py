"""When every instruction runs: five in-order streams, 16 DMA queues, and what each must wait for.

An instruction starts when its engine is free, its operands are written, the place that it writes is
free again, and the shared ports allow it.  Among the streams' next instructions the one that can
start first goes first, ties in program order; a transfer goes as soon as what it needs is there.
"""

from collections.abc import Iterable

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing import _loops
from trainium_edu.neuroncore.timing.durations import durations, settle
from trainium_edu.neuroncore.timing.expansion import ENGINES, MEMORIES
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.neuroncore.timing.waits import CAUSES
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["check_causes", "find_hazards", "schedule"]

_PIECE = 100_000  # rows per call of a loop
_DMA = ENGINES.index(Engine.DMA)
LONGEST_NS = 2.0**32  # beyond, float64 would begin to round the sums


def find_hazards(placement: Placement):
    """Return (edge_start[rows + 1], predecessor row, kind) of a placed program.

    Kinds: 1 it reads what the predecessor wrote; 2 both write; 3 it writes what the predecessor
    reads; 4 it was told to wait.  What the order of one engine's stream implies is left out.
    """
    run, program = placement.run, placement.program
    domain, domains = _domains(placement)
    domain = domain[run.access_instance]
    tracked = np.zeros(domains, np.bool_)
    tracked[domain[run.is_write]] = True
    allocations = program.allocations
    start_partition = np.array([a.start_partition for a in allocations], np.int64)
    shift_rows = start_partition[run.allocation][run.access_instance]
    shift_bytes = placement.address[run.access_instance]
    r0, r1 = run.rectangle[0] + shift_rows, run.rectangle[1] + shift_rows
    b0, b1 = run.rectangle[2] + shift_bytes, run.rectangle[3] + shift_bytes
    capacity = max(64, 3 * domain.size)
    while True:
        state = [np.full(domains, -1, np.int64), np.full(domains, -1, np.int64),
                 np.zeros(domain.size, np.int64), np.zeros(domain.size, np.int64),
                 np.full(run.rows, -1, np.int64)]  # fmt: skip
        edge_start = np.zeros(run.rows + 1, np.int64)
        pred, kind = np.zeros(capacity, np.int32), np.zeros(capacity, np.int8)
        progress = np.zeros(2, np.int64)
        while progress[0] < run.rows:
            launch(_loops.hazards, _PIECE, run.row_access, run.engine, domain, r0, r1, b0, b1,
                   run.is_write, tracked, *state, edge_start, pred, kind, progress)  # fmt: skip
        if progress[1] <= capacity:
            break
        capacity = int(progress[1])
    edges = edge_start, pred[: progress[1]], kind[: progress[1]]
    return _with_stated(run, *edges) if any(i.after for i in program.instructions) else edges


def _with_stated(run, edge_start, pred, kind):
    """Add what instructions wait for besides their data (``Instruction.after``)."""
    instructions = run.program.instructions
    newest = {}
    rows, preds, kinds = [], [], []
    for row, index in enumerate(run.instruction.tolist()):
        have = None
        for other in instructions[index].after:
            by = newest.get(other, -1)
            if by < 0:
                continue
            if have is None:
                have = set(pred[edge_start[row] : edge_start[row + 1]].tolist())
            if by not in have:
                have.add(by)
                rows.append(row)
                preds.append(by)
                kinds.append(_loops.STATED)
        newest[index] = row
    all_rows = np.concatenate((np.repeat(np.arange(run.rows), np.diff(edge_start)), rows))
    order = np.argsort(all_rows, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(all_rows.astype(int), minlength=run.rows))))
    return (
        start,
        np.concatenate((pred, np.array(preds, np.int32)))[order],
        np.concatenate((kind, np.array(kinds, np.int8)))[order],
    )


def _domains(placement):
    """Return sets of instances whose bytes may overlap: (set of each instance, count)."""
    run = placement.run
    n = run.allocation.size
    if placement.endless:
        stated = np.array([a.address is not None for a in placement.program.allocations], bool)
        stated = stated[run.allocation] if n else stated
    else:
        stated = np.ones(n, bool)
    domain = np.arange(n)
    row_bytes = np.array([a.row_bytes for a in placement.program.allocations], np.int64)
    for memory in (Memory.SBUF, Memory.PSUM):
        mine = np.flatnonzero(
            (run.memory == MEMORIES.index(memory)) & (placement.address >= 0) & stated
        )
        if not mine.size:
            continue
        low = placement.address[mine]
        order = np.argsort(low, kind="stable")
        low = low[order]
        reach = np.maximum.accumulate(low + row_bytes[run.allocation[mine[order]]])
        fresh = np.concatenate(([True], low[1:] >= reach[:-1]))
        domain[mine[order]] = mine[order][np.flatnonzero(fresh)[np.cumsum(fresh) - 1]]
    return domain, n


def _followers(placement):
    """Return the edges by predecessor and the number of predecessors per row (kept)."""
    cache = placement.__dict__.get("_followers")
    if cache is None:
        edge_start, pred, kind = placement.hazards
        rows = placement.run.rows
        start = np.zeros(rows + 1, np.int64)
        row_of, kind_of = np.zeros(pred.size, np.int32), np.zeros(pred.size, np.int8)
        launch(_loops.successors, edge_start, pred, kind, start, row_of, kind_of,
               np.zeros(rows, np.int64))  # fmt: skip
        next_row = np.full(rows, -1, np.int64)
        heads = np.full(_DMA, -1, np.int64)
        for e in range(_DMA):
            stream = np.flatnonzero(placement.run.engine == e)
            if stream.size:
                heads[e] = stream[0]
                next_row[stream[:-1]] = stream[1:]
        missing = np.diff(edge_start)
        transfer = np.cumsum(placement.run.engine == _DMA) - 1
        cache = (start, row_of, kind_of, missing, next_row, heads, transfer)
        object.__setattr__(placement, "_followers", cache)
    return cache


@checked
def schedule(program: Program, placement: Placement, spec: Record | None = None, *,
             parameters=None, order=None,
             without: str | Iterable[str] = ()) -> CoreTimeline:  # fmt: skip
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
        raise ValueError("this placement is of another program; place(...) this one first")
    spec = placement.spec if spec is None else spec
    without = frozenset(check_causes(without))
    run = placement.run
    values = settle(spec, parameters)
    pieces = durations(run, spec, values, without)
    start_of, row_of, kind_of, missing, next_row, heads, transfer = _followers(placement)
    n, queues = run.rows, int(spec.dma.queues)
    dmas = int(transfer[-1]) + 1 if n else 0
    given = np.zeros(0, np.int64) if order is None else _check_order(order, n)
    ready_pred = np.full(n, -1, np.int64)
    kind = np.zeros(n, np.int8)
    ready_kind = np.zeros(n, np.int8)
    missing = missing.copy()
    start, release, done = np.zeros(n), np.zeros(n), np.zeros(n)
    pred, sequence = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    queue_start, queue_end = np.full((dmas, queues), -1.0), np.full((dmas, queues), -1.0)
    queue_pred = np.full((dmas, queues), -1, np.int64)
    critical = np.full(dmas, -1, np.int64)
    progress = np.zeros(4, np.int64)
    heap_time, heap_row = np.zeros(dmas + 1), np.zeros(dmas + 1, np.int64)
    free_to_go = np.flatnonzero((missing == 0) & (run.engine == _DMA))
    if order is None:  # all at time 0 in program order: a heap as it stands
        heap_row[: free_to_go.size] = free_to_go
        progress[1] = free_to_go.size
    ports = np.zeros(n, np.uint8) if "ports" in without else run.ports
    of = run.kind
    arguments = (
        given, order is not None, run.engine, pieces.lead[of], pieces.hold[of], pieces.result[of],
        pieces.chain[of], ports, pieces.quick[of], pieces.fixed[of], pieces.quick_fixed[of],
        pieces.tolerance, *pieces.lanes.T[:, of], pieces.descriptors[of],
        np.full(queues, -np.inf), transfer, next_row, start_of, row_of,
        kind_of, missing, np.zeros(n), ready_pred, ready_kind, heads.copy(), np.zeros(_DMA),
        np.full(_DMA, -1, np.int64), np.zeros(4), np.full(4, -1, np.int64), np.zeros(queues),
        np.full(queues, -1, np.int64), heap_time, heap_row, start, release, done, pred, kind,
        sequence, queue_start, queue_end, queue_pred, critical, progress,
    )  # fmt: skip
    while progress[0] < n:
        launch(_loops.simulate, _PIECE, *arguments)
        if progress[3]:
            row = int(given[progress[3] - 1])
            raise ValueError(
                f"this order is impossible: {program.instructions[run.instruction[row]]} would "
                "start before something that it waits for; take the order of a timeline of the "
                "same program with no more buffers"
            )
    if n and done.max() > LONGEST_NS:
        raise ValueError(
            f"{program.name} would run for {done.max() / 1e9:.3g} s, and times are exact up to "
            f"{LONGEST_NS / 1e9:.1f} s; time a part of it"
        )
    return CoreTimeline(
        program, placement, spec, values, without, pieces, start, release, done, pred, kind,
        sequence, queue_start, queue_end, queue_pred, critical, ready_pred, ready_kind, transfer,
    )  # fmt: skip


def check_causes(without) -> tuple[str, ...]:
    """Return the names of causes, or say which there are."""
    causes = (without,) if isinstance(without, str) else tuple(without)
    for cause in causes:
        if cause not in CAUSES:
            raise ValueError(f"no cause {cause!r}; there are {', '.join(CAUSES)}")
    return causes


def _check_order(order, n):
    try:
        order = np.asarray(order)
    except ValueError:
        order = np.empty(0)
    if order.shape != (n,) or order.dtype.kind not in "iu":
        raise ValueError(f"order lists the {n} rows of the run once each, as whole numbers")
    order = order.astype(np.int64)
    if n and not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order lists the {n} rows of the run once each")
    return order
