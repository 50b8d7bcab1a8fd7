"""Three dataflows: judged by SCALE-Sim v3's counts, by NumPy, and by running them."""

import csv
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import trainium_edu.neuroncore.systolic_array as sa
from tests.for_each import for_each, for_rows, raises

_GOLDEN = Path(__file__).parents[2] / "golden" / "scale_sim.csv"
with _GOLDEN.open() as lines:
    assert next(lines).startswith("# python")  # the command that made it
    ROWS = list(csv.DictReader(lines))


def test_there_are_at_least_30_shapes_per_dataflow():
    for flow in sa.Dataflow:
        assert len({tuple(r.values())[1:6] for r in ROWS if r["dataflow"] == flow}) >= 30


def scale_sim_cycles(dataflow, k, m, n, array):
    """Return what SCALE-Sim v3 reports without stalls, from our own count.

    Notes
    -----
    One formula for all three: ``tiles * (ours + d) - 1``, where *ours* is one tile's cycles in
    ``dataflow_cycles`` with ``load_speed=1``, the tile padded to the full R x C array (as
    SCALE-Sim pads it), and

    * ``d = R - C`` where an operand stays: its weights fall in from the top (R cycles), ours march
      in from the left (C cycles);
    * ``d = 1 - R`` where the output stays: it lets sums appear at the bottom edge without passing
      the R - 1 rows on the way.

    It reports the index of the last cycle, hence - 1.
    """
    flow = sa.Dataflow(dataflow)
    rows, columns = array.rows, array.columns
    slow = sa.SystolicArray(rows, columns, load_speed=1)
    if flow is sa.Dataflow.OUTPUT:
        tiles = -(-m // columns) * -(-n // rows)
        ours, d = sa.dataflow_cycles(flow, k, columns, rows, slow), 1 - rows
    else:
        stays, streams = (m, n) if flow is sa.Dataflow.WEIGHT else (n, m)
        tiles = -(-k // rows) * -(-stays // columns)
        ours = sa.dataflow_cycles(sa.Dataflow.WEIGHT, rows, columns, streams, slow)
        d = rows - columns
    return tiles * (ours + d) - 1


@for_each("row", ROWS, ids=lambda r: "-".join(list(r.values())[:6]))
def test_scale_sim_counts_the_same_by_one_formula(row):
    flow = row["dataflow"]
    rows, columns, k, m, n, cycles, stalls, moving, stationary = map(int, list(row.values())[1:])
    array = sa.SystolicArray(rows, columns)
    assert (stalls, scale_sim_cycles(flow, k, m, n, array)) == (0, cycles)
    reads = sa.dataflow_traffic(flow, k, m, n, array)
    assert (reads.moving_reads, reads.stationary_reads) == (moving, stationary)


sizes = st.integers(1, 8)


@given(st.sampled_from(sa.Dataflow), sizes, sizes, st.integers(1, 4), *[st.integers(1, 9)] * 3)
def test_closed_form_equals_the_run(flow, rows, columns, speed, k, m, n):
    array = sa.SystolicArray(rows, columns, load_speed=speed)
    if flow is sa.Dataflow.OUTPUT:
        n, m = min(n, rows), min(m, columns)
    else:
        k = min(k, rows)
        m, n = (min(m, columns), n) if flow is sa.Dataflow.WEIGHT else (m, min(n, columns))
    draw = np.random.default_rng(k * 100 + m * 10 + n)
    w, x = draw.integers(-3, 4, (k, m)).astype(float), draw.integers(-3, 4, (k, n)).astype(float)
    dst, frames = sa.run_dataflow(flow, w, x, array=array, fmt="bf16")
    np.testing.assert_array_equal(dst, w.T @ x)
    assert frames.cycles == sa.dataflow_cycles(flow, k, m, n, array)
    assert max(r[0] for r in frames.results) == frames.cycles - 1
    assert frames.working.sum() == k * m * n
    assert sorted((r[2], r[3]) for r in frames.results) == list(np.ndindex(m, n))
    for _, _, i, j, value in frames.results:
        assert value == dst[i, j]
    reads = sa.dataflow_traffic(flow, k, m, n, array)
    queued = len(frames.left_queue) + len(frames.top_queue)
    kept = k * m if flow is sa.Dataflow.WEIGHT else k * n if flow is sa.Dataflow.INPUT else 0
    assert queued + kept == reads.stationary_reads + reads.moving_reads


@given(*[st.integers(1, 60)] * 3)
def test_weight_stationary_is_the_sum_of_unoverlapped_tiles(k, m, n):
    array = sa.SystolicArray(16, 8, load_speed=2)
    tiles = sa.plan_gemm(k, m, n, array=array)  # N <= 512: whole
    total = sum(sa.schedule((p,), array).cycles for p in tiles)
    assert sa.dataflow_cycles("weight-stationary", k, m, n, array) == total


def test_output_stationary_never_reads_a_sum_back():
    assert sa.dataflow_traffic("output-stationary", 1000, 300, 300).sum_reads == 0
    assert sa.dataflow_traffic("weight-stationary", 1000, 300, 300).sum_reads == 300 * 300 * 7


@for_rows(
    "array, w, x, fmt, says",
    (sa.SystolicArray(64, 8), (4, 4), (4, 4), "bf16", "32 x 32"),
    (sa.SystolicArray(4, 4), (3, 5), (3, 4), "bf16", "Cut it"),
    (sa.SystolicArray(4, 4), (3, 4), (3, 5), "bf16", "Cut it"),
)
def test_too_large_for_an_animation(array, w, x, fmt, says):
    given = "output-stationary", np.ones(w), np.ones(x)
    raises(ValueError, says, sa.run_dataflow, *given, array=array, fmt=fmt)


def test_an_unknown_dataflow_is_refused():
    raises(ValueError, "row-stationary", sa.dataflow_cycles, "row-stationary", 1, 1, 1)
