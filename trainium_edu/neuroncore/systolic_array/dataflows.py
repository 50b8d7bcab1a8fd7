"""Which operand stays: weight-, input- and output-stationary, in cycles, traffic and motion.

Trainium is weight-stationary (it keeps what its guide calls the stationary operand).  The other
two are here for contrast, as textbooks count them: tiles one after the other, nothing hidden.

======================  ==========  ===========  ==========================================
stays in the PEs        rows hold   columns      cycles of one tile (R rows, S = ceil(. / s))
======================  ==========  ===========  ==========================================
stationary (weight)     K           M            S(M) + N + R + M - 2
moving (input)          K           N            S(N) + M + R + N - 2
dst (output)            N           M            K + R + N + M - 3
======================  ==========  ===========  ==========================================

In the output-stationary array both operands march, the moving one from the left and the stationary
from the top, and each PE keeps its own sum; then the sums leave down the columns, upper rows first.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from trainium_edu.neuroncore.systolic_array.array import TRN1_ARRAY, SystolicArray, whole
from trainium_edu.neuroncore.systolic_array.cycles import load_cycles
from trainium_edu.neuroncore.systolic_array.frames import Frames, frames_of_run
from trainium_edu.neuroncore.systolic_array.march import run
from trainium_edu.neuroncore.systolic_array.operands import check_operands
from trainium_edu.neuroncore.systolic_array.plan import Pass
from trainium_edu.specs.signatures import checked

__all__ = ["Dataflow", "DataflowTraffic", "dataflow_cycles", "dataflow_traffic", "run_dataflow"]

_ANIMATED_MAX = 32


class Dataflow(StrEnum):
    """The operand of ``dst = stationary.T @ moving`` that stays in the PEs."""

    WEIGHT = "weight-stationary"
    INPUT = "input-stationary"
    OUTPUT = "output-stationary"


@dataclass(frozen=True, slots=True)
class DataflowTraffic:
    """Elements that cross the array's edge."""

    stationary_reads: int
    moving_reads: int
    sum_reads: int  #: unfinished sums that come back to be added to
    sum_writes: int

    @property
    def total(self) -> int:
        """All elements in and out."""
        return self.stationary_reads + self.moving_reads + self.sum_reads + self.sum_writes


@checked
def dataflow_cycles(
    dataflow: Dataflow, k: int, m: int, n: int, array: SystolicArray = TRN1_ARRAY
) -> int:
    """Return the cycles of a product of any size, tile after tile, nothing overlapped.

    Parameters
    ----------
    dataflow : Dataflow or str
    k, m, n : int
    array : SystolicArray

    Examples
    --------
    >>> square = SystolicArray(8, 8, load_speed=1)
    >>> [dataflow_cycles(flow, 8, 8, 20, square) for flow in Dataflow]
    [42, 82, 83]
    """
    k, m, n = whole(k, "K"), whole(m, "M"), whole(n, "N")
    flow = Dataflow(dataflow)
    if flow is Dataflow.OUTPUT:
        return sum(
            count_m * count_n * (k + array.rows + high + wide - 3)
            for high, count_m in _tiles(n, array.rows)
            for wide, count_n in _tiles(m, array.columns)
        )
    stays, streams = (m, n) if flow is Dataflow.WEIGHT else (n, m)
    folds = -(-k // array.rows)
    return folds * sum(
        count * (load_cycles(wide, array) + streams + array.rows + wide - 2)
        for wide, count in _tiles(stays, array.columns)
    )


@checked
def dataflow_traffic(
    dataflow: Dataflow, k: int, m: int, n: int, array: SystolicArray = TRN1_ARRAY
) -> DataflowTraffic:
    """Count the elements that each operand moves across the array's edge.

    Examples
    --------
    >>> dataflow_traffic("output-stationary", 256, 256, 512).total
    655360
    """
    k, m, n = whole(k, "K"), whole(m, "M"), whole(n, "N")
    folds = -(-k // array.rows)
    match Dataflow(dataflow):
        case Dataflow.WEIGHT:
            return DataflowTraffic(
                k * m, k * n * -(-m // array.columns), m * n * (folds - 1), m * n * folds
            )
        case Dataflow.INPUT:
            return DataflowTraffic(
                k * m * -(-n // array.columns), k * n, m * n * (folds - 1), m * n * folds
            )
        case _:
            return DataflowTraffic(
                k * m * -(-n // array.rows), k * n * -(-m // array.columns), 0, m * n
            )


@checked
def run_dataflow(
    dataflow: Dataflow, stationary, moving, *, array: SystolicArray, fmt=None
) -> tuple[np.ndarray, Frames]:
    """Run one small tile in a dataflow and return its result and its motion.

    Parameters
    ----------
    dataflow : Dataflow or str
    stationary : array [K, M]
    moving : array [K, N]
        One tile: it has to fit the array.
    array : SystolicArray
        At most 32 x 32.
    fmt : Format or str, optional

    Returns
    -------
    dst : float32[M, N]
    frames : Frames

    Raises
    ------
    ValueError, NkiValidationError
        If the tile or the array is too large.
    """
    flow = Dataflow(dataflow)
    if max(array.rows, array.columns) > _ANIMATED_MAX:
        raise ValueError(
            f"an animated array of {array.rows} x {array.columns}: dataflows are compared on "
            f"{_ANIMATED_MAX} x {_ANIMATED_MAX} or less, where numbers can be read"
        )
    operands = check_operands(stationary, moving, fmt)
    k, m, n = operands.shape
    if flow is Dataflow.OUTPUT:
        return _run_output_stationary(operands.stationary, operands.moving, array)
    resident, passing = operands.stationary, operands.moving
    if flow is Dataflow.INPUT:
        resident, passing, m, n = passing, resident, n, m
    kinds = [f.name for f in operands.formats]
    whole_tile = (Pass(0, k, 0, m, 0, n),)
    if kinds[0] == "fp32":
        raise ValueError("dataflows are compared in one pass: pass fmt='tf32' or 'bf16'")
    recorded = run(resident, passing, array=array, fmt=kinds[0], plan=whole_tile, record=True)
    dst = recorded.result if flow is Dataflow.WEIGHT else np.ascontiguousarray(recorded.result.T)
    return dst, frames_of_run(recorded, dataflow=flow, swapped=flow is Dataflow.INPUT)


def _run_output_stationary(w, x, array) -> tuple[np.ndarray, Frames]:
    """Step both marching operands and the sums that stay, one cycle at a time."""
    (k, m), n = w.shape, x.shape[1]
    rows, columns = array.rows, array.columns
    if n > rows or m > columns:
        raise ValueError(
            f"dst is [{m}, {n}]: output-stationary keeps N on the rows and M on the columns, and "
            f"there are {rows} x {columns} PEs. Cut it in tiles"
        )
    cycles = k + rows + n + m - 3
    shape = (cycles, rows, columns)
    stays, across, down, leaving = (np.zeros(shape, np.float32) for _ in range(4))
    has_sum, has_across, has_down, has_leaving = (np.zeros(shape, bool) for _ in range(4))
    for t in range(cycles):
        if t:  # pass on to the right, downwards, and finished sums downwards
            across[t, :, 1:] = across[t - 1, :, :-1]
            has_across[t, :, 1:] = has_across[t - 1, :, :-1]
            down[t, 1:], has_down[t, 1:] = down[t - 1, :-1], has_down[t - 1, :-1]
            leaving[t, 1:], has_leaving[t, 1:] = leaving[t - 1, :-1], has_leaving[t - 1, :-1]
            stays[t], has_sum[t] = stays[t - 1], has_sum[t - 1]
        for row in range(n):
            if 0 <= t - row < k:
                across[t, row, 0], has_across[t, row, 0] = x[t - row, row], True
        for column in range(m):
            if 0 <= t - column < k:
                down[t, 0, column], has_down[t, 0, column] = w[t - column, column], True
        works = has_across[t] & has_down[t]
        with np.errstate(all="ignore"):
            stays[t] = np.where(works, stays[t] + across[t] * down[t], stays[t])
        has_sum[t] |= works
        for row in range(n):  # a finished sum joins the chain when those above have passed
            column = t - (k - 1) - 2 * row
            if 0 <= column < m:
                leaving[t, row, column], has_leaving[t, row, column] = stays[t, row, column], True
                has_sum[t, row, column] = False
    dst, results = np.zeros((m, n), np.float32), []
    for t, column in zip(*np.nonzero(has_leaving[:, -1]), strict=True):
        row = int(t) - (k - 1) - int(column) - (rows - 1)
        dst[column, row] = leaving[t, -1, column]
        results.append((int(t), int(column), int(column), row, leaving[t, -1, column]))
    working = has_across & has_down
    rows_in = ((j, row) for j in range(k) for row in range(n))
    columns_in = ((j, column) for j in range(k) for column in range(m))
    return dst, Frames(
        dataflow=str(Dataflow.OUTPUT), rows=rows, columns=columns, cycles=cycles, shape=(k, m, n),
        stays=stays, stays_valid=has_sum, across=across, across_valid=has_across, down=down,
        down_valid=has_down, leaving=leaving, leaving_valid=has_leaving, working=working,
        left_queue=tuple((j + row, row, x[j, row]) for j, row in rows_in),
        top_queue=tuple((j + column, column, w[j, column]) for j, column in columns_in),
        results=tuple(results), loads=(),
    )  # fmt: skip


def _tiles(size: int, limit: int) -> list[tuple[int, int]]:
    """Return (width, how many) of the tiles that a side is cut into."""
    full, rest = divmod(size, limit)
    return [(limit, full)] * (full > 0) + [(rest, 1)] * (rest > 0)
