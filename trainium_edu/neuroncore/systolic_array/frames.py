"""A run as pictures see it: for every cycle, what stays in each PE and what it passes on.

Plain arrays and tuples; `viz` and `widgets` read nothing else, so that every frame comes from the
cycle-level model.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.systolic_array.march import ArrayRun
from trainium_edu.specs.signatures import checked

__all__ = ["Frames", "frames_of_run"]

_PLANES = {
    "stays": "weight", "stays_valid": "weight_valid", "across": "moving",
    "across_valid": "moving_valid", "down": "partial_sum", "down_valid": "sum_valid",
    "working": "multiplied", "waiting": "waiting", "waiting_valid": "waiting_valid",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Frames:
    """The values to draw.  Arrays are [cycles, rows, columns]."""

    dataflow: str
    rows: int
    columns: int
    cycles: int
    shape: tuple[int, int, int]  #: K, M, N of the product
    stays: np.ndarray  #: the weight in use, or the sum that stays
    stays_valid: np.ndarray
    across: np.ndarray  #: handed to the right
    across_valid: np.ndarray
    down: np.ndarray  #: handed down: partial sums, or the second marching operand
    down_valid: np.ndarray
    working: np.ndarray  #: whether the PE multiplied and added in this cycle
    left_queue: tuple  #: (cycle of entry, row, value)
    top_queue: tuple  #: (cycle of entry, column, value)
    results: tuple  #: (cycle, column, m, n, value), as they leave the bottom row
    loads: tuple  #: (first cycle, cycles) of each load of the stationary, at the corner
    leaving: np.ndarray | None = None  #: finished sums on their way out, where sums stay
    leaving_valid: np.ndarray | None = None
    waiting: np.ndarray | None = None  #: the weight that came in and is not in use yet
    waiting_valid: np.ndarray | None = None  #: whether there is one
    load_queue: tuple = ()  #: (cycle of entry, row, column it stays in, value) of each weight

    def __repr__(self):
        k, m, n = self.shape
        return (
            f"Frames({self.dataflow}, {self.rows} x {self.columns}, K={k} M={m} N={n}, "
            f"{self.cycles} cycles)"
        )

    @property
    def utilisation(self) -> np.ndarray:
        """Share of PEs that multiply, per cycle: float64[cycles]."""
        return self.working.mean(axis=(1, 2))


@checked
def frames_of_run(
    run: ArrayRun, *, dataflow: str = "weight-stationary", swapped: bool = False
) -> Frames:
    """Collect the frames of a recorded run.

    Parameters
    ----------
    run : ArrayRun
        Made with ``record=True``.
    dataflow : str
        How to call it.
    swapped : bool
        Whether the run had its operands swapped, as input-stationary is run: its results are
        then ``dst`` transposed.

    Raises
    ------
    ValueError
        If the run was not recorded.
    """
    planes = {}
    for t in range(run.cycles):
        state = run.state(t)
        for name in _PLANES:
            values = getattr(state, _PLANES[name])
            plane = planes.setdefault(name, np.empty((run.cycles, *values.shape), values.dtype))
            plane[t] = values
    array = run.array
    queue, results, loads, load_queue = [], [], [], []
    k_all, m_all, n_all = run.operands.shape
    delays = run.skew or tuple(range(array.rows))
    plan = zip(run.schedule.passes, run.schedule.load_start, run.schedule.feed_start, strict=True)
    for p, load_start, feed_start in plan:
        k, m, n = p.shape
        if p.load:
            loads.append((load_start, -(-m // array.load_speed)))
            weights = run.pieces[0][p.stationary_piece, p.k0 : p.k1, p.m0 : p.m1]
            load_queue += [
                (load_start + column // array.load_speed + delays[row], row, column, value)
                for (row, column), value in np.ndenumerate(weights)
            ]
        values = run.pieces[1][p.moving_piece, p.k0 : p.k1, p.n0 : p.n1]
        queue += [
            (feed_start + j + delays[row], row, values[row, j])
            for j in range(n)
            for row in range(k)
        ]
        for column in range(m):
            for j in range(n):
                t = feed_start + j + array.rows - 1 + column
                value = planes["down"][t, -1, column]
                element = (p.m0 + column, p.n0 + j)
                results.append((t, column, *(element[::-1] if swapped else element), value))

    return Frames(
        dataflow=str(dataflow),
        rows=array.rows,
        columns=array.columns,
        cycles=run.cycles,
        shape=(k_all, n_all, m_all) if swapped else run.operands.shape,
        left_queue=tuple(queue),
        top_queue=(),
        results=tuple(sorted(results)),
        loads=tuple(loads),
        load_queue=tuple(load_queue),
        **planes,
    )
