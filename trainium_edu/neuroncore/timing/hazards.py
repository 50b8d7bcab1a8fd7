"""Which earlier rows each row of a placed program must wait for, and who waits for each."""

from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.timing import _loops
from trainium_edu.neuroncore.timing.expansion import ENGINES, MEMORIES, Expanded
from trainium_edu.neuroncore.timing.overlaps import EDGE, find_overlaps
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.numerics.launch import launch

__all__ = ["Hazards", "find_hazards"]

_DMA = ENGINES.index(Engine.DMA)
_PLACES = _loops.WAW, _loops.WAR


@dataclass(frozen=True, slots=True, eq=False)
class Hazards:
    """Edges from each row to those that it waits for, and back; made by :func:`find_hazards`.

    Kinds: 1 it reads what the predecessor wrote; 2 both write; 3 it writes what the predecessor
    reads; 4 it was told to wait.  What the order of one engine's stream implies is left out.

    Attributes
    ----------
    start : int64[rows + 1]
        Where each row's edges begin.
    edges : [edges]
        The ``row`` that each waits for, and the ``kind`` of its wait.
    follower_start : int64[rows + 1]
        Where the edges to each row's followers begin.
    followers : [edges]
        Their ``row`` and ``kind``.
    next_row : int64[rows]
        The next row of the same engine's stream, -1 at its end and for transfers.
    head : int64[streams]
        The first row of each engine, -1 for none.
    """

    start: np.ndarray
    edges: np.ndarray
    follower_start: np.ndarray
    followers: np.ndarray
    next_row: np.ndarray
    head: np.ndarray

    @classmethod
    def of(cls, run: Expanded, start, edges) -> "Hazards":
        """Turn the edges round, and thread the streams."""
        back = np.zeros(run.rows + 1, np.int64), np.empty_like(edges)
        launch(_loops.successors, start, edges, *back, np.zeros(run.rows, np.int64))
        next_row, head = np.full(run.rows, -1, np.int64), np.full(_DMA, -1, np.int64)
        for e in range(_DMA):
            stream = np.flatnonzero(run.engine == e)
            head[e] = stream[0] if stream.size else -1
            next_row[stream[:-1]] = stream[1:]
        return cls(start, edges, *back, next_row, head)

    @property
    def row(self) -> np.ndarray:
        """int64[edges]: the row that waits."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def without_places(self, run: Expanded, rows: np.ndarray) -> "Hazards":
        """Return the hazards if these rows (bool[rows]) wrote to bytes of their own."""
        row = self.row
        stay = ~(rows[row] & np.isin(self.edges["kind"], _PLACES))
        return Hazards.of(run, _starts(row[stay], run.rows), self.edges[stay])


def find_hazards(placement: Placement) -> Hazards:
    """Find what the rows of a placed program wait for, by overlap of the bytes they touch."""
    run, allocations = placement.run, placement.program.allocations
    start_partition = np.array([a.start_partition for a in allocations], np.int64)
    shift_rows = start_partition[run.allocation][run.access_instance]
    shift_bytes = placement.address[run.access_instance]
    edges = find_overlaps(
        run.row_access, run.engine, _domains(placement)[run.access_instance],
        run.rectangle + np.stack((shift_rows, shift_rows, shift_bytes, shift_bytes)), run.is_write,
    )  # fmt: skip
    if any(i.after for i in placement.program.instructions):
        edges = _with_stated(run, *edges)
    return Hazards.of(run, *edges)


def _with_stated(run, start, edges):
    """Add what instructions wait for besides their data (``Instruction.after``)."""
    instructions, newest, waiting, stated = run.program.instructions, {}, [], []
    for row, index in enumerate(run.instruction.tolist()):
        after = instructions[index].after
        if after:
            have = {-1, *edges["row"][start[row] : start[row + 1]].tolist()}
            mine = dict.fromkeys(newest.get(other, -1) for other in after)
            waiting += [row for one in mine if one not in have]
            stated += [(one, _loops.STATED) for one in mine if one not in have]
        newest[index] = row
    rows = np.concatenate((np.repeat(np.arange(run.rows), np.diff(start)), waiting))
    rows = rows.astype(np.intp)  # also where none waits
    order = np.argsort(rows, kind="stable")
    return _starts(rows, run.rows), np.concatenate((edges, np.array(stated, EDGE)))[order]


def _starts(row, rows):
    return np.concatenate(([0], np.cumsum(np.bincount(row, minlength=rows))))


def _domains(placement):
    """Return for each instance the number of those whose bytes may overlap with its own."""
    run, allocations = placement.run, placement.program.allocations
    n = run.allocation.size
    stated = np.ones(n, bool)
    if placement.endless and n:
        stated = np.array([a.address is not None for a in allocations], bool)[run.allocation]
    domain = np.arange(n)
    row_bytes = np.array([a.row_bytes for a in allocations], np.int64)
    for memory in (Memory.SBUF, Memory.PSUM):
        instances = np.flatnonzero(
            (run.memory == MEMORIES.index(memory)) & (placement.address >= 0) & stated
        )
        if not instances.size:
            continue
        low = placement.address[instances]
        order = np.argsort(low, kind="stable")
        low = low[order]
        reach = np.maximum.accumulate(low + row_bytes[run.allocation[instances[order]]])
        fresh = np.concatenate(([True], low[1:] >= reach[:-1]))
        domain[instances[order]] = instances[order][np.flatnonzero(fresh)[np.cumsum(fresh) - 1]]
    return domain
