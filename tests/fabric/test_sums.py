"""Fast sums of any schedule.  Judges: the step-by-step executor, bit for bit; NumPy in FP64."""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric import (
    ALGORITHMS,
    FabricError,
    Schedule,
    execute,
    plan,
    sum_in_ring,
    sum_rows,
)
from trainium_edu.numerics import _loops, cast

HELD = {"fp32": np.float32, "bf16": ml_dtypes.bfloat16, "fp16": np.float16,
        "fp8_e5m2": ml_dtypes.float8_e5m2}  # fmt: skip
TOPOLOGIES = [fabric.machine("trn1.2xlarge"), fabric.group(8), fabric.ring(5),
              fabric.trn1_32xlarge(), fabric.ultracluster(32)]  # fmt: skip


def plans(collective):
    """Return all schedules that there are for a sum."""
    found = []
    for topology in TOPOLOGIES:
        for algorithm, able in ALGORITHMS.items():
            try:
                found += [plan(topology, collective, algorithm)] if collective in able else []
            except FabricError:  # not on this topology
                continue
    return found


def noisy(ranks, elements, fmt="fp32", seed=0):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((ranks, elements)) * 4.0 ** rng.integers(-9, 6, (ranks, elements))
    return data.astype(np.float32).astype(HELD[fmt])


def same(ours, wanted):
    return np.ascontiguousarray(ours).tobytes() == np.asarray(wanted, np.float32).tobytes()


@for_each("schedule", plans("all_reduce"), ids=lambda s: f"{s.algorithm}{s.ranks}")
def test_every_algorithm_equals_the_executor_bit_for_bit(schedule):
    for n, fmt, rounding in (
        (1037, "fp32", "nearest"), (0, "fp32", "nearest"), (3, "bf16", "stochastic"),
        (1037, "bf16", "nearest"), (2900, "bf16", "stochastic"), (333, "fp16", "nearest"),
        (700, "fp16", "stochastic"), (64, "fp8_e5m2", "stochastic"),
    ):  # fmt: skip
        held = noisy(schedule.ranks, n, fmt)
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = execute(schedule, held, rounding=rounding, seed=5)
        ours = sum_rows(schedule, held.astype(np.float32), fmt, rounding, seed=5)
        assert same(ours, wanted[0]), (n, fmt, rounding)


@for_each("schedule", plans("reduce_scatter"), ids=lambda s: f"{s.algorithm}{s.ranks}")
@for_each("rounding", ["nearest", "stochastic"])
def test_a_reduce_scatter_has_all_chunks(schedule, rounding):
    held = noisy(schedule.ranks, 1037, "bf16")
    wanted = np.concatenate(execute(schedule, held, rounding=rounding, seed=1))
    assert same(sum_rows(schedule, held.astype(np.float32), "bf16", rounding, seed=1), wanted)


@pytest.mark.parametrize("fmt", ["fp32", "bf16", "fp16"])
def test_long_rows_are_cut_into_blocks_and_calls_that_do_not_show(fmt, monkeypatch):
    schedule, rounding = plan(fabric.group(8), "all_reduce", "kangaring"), "stochastic"
    rounding = "nearest" if fmt == "fp32" else rounding
    held = noisy(8, 70_001, fmt)
    rows, wanted = held.astype(np.float32), execute(schedule, held, rounding=rounding)[0]
    assert same(sum_rows(schedule, rows, fmt, rounding), wanted)
    monkeypatch.setattr("trainium_edu.numerics.ordered.MOST_PER_CALL", 5000)
    assert same(sum_rows(schedule, rows, fmt, rounding), wanted)


def test_padding_changes_where_chunks_begin_and_nothing_else():
    schedule, rows = plan(fabric.group(4), "all_reduce", "ring"), noisy(4, 10)
    padded = np.pad(rows, ((0, 0), (0, 6)))
    assert same(sum_rows(schedule, rows, elements=16), execute(schedule, padded)[0][:10])


@pytest.mark.parametrize("ranks", [2, 7, 40])
@for_rows("fmt, rounding",
    ("fp32", "nearest"), ("bf16", "stochastic"),
                                               ("fp16", "nearest"),
)  # fmt: skip
def test_a_ring_without_a_plan_equals_one_with(ranks, fmt, rounding):
    schedule = plan(fabric.ring(ranks), "all_reduce", "ring", cycles=1)
    rows = noisy(ranks, 101, fmt).astype(np.float32)
    wanted = sum_rows(schedule, rows, fmt, rounding, seed=3)
    assert same(sum_in_ring(rows, fmt, rounding, seed=3), wanted)


def test_a_ring_is_of_any_length_in_fp32():
    rows = np.ones((5000, 2), np.float32)
    assert (sum_in_ring(rows).tolist(), rows.max()) == ([5000.0, 5000.0], 1)
    raises(FabricError, "sum in fp32", sum_in_ring, rows, "bf16")


def test_not_a_number_infinities_and_negative_zero():
    rows = noisy(8, 40, "bf16").astype(np.float32)
    rows[3, 0], rows[2, 1], rows[5, 2], rows[:, 3], rows[1, 4] = np.nan, np.inf, -np.inf, -0.0, 3e38
    rows[2, 2], rows[7, 4] = np.inf, 3e38
    for algorithm in ("ring", "rdh"):
        schedule = plan(fabric.group(8), "all_reduce", algorithm)
        for rounding in ("nearest", "stochastic"):
            ours = sum_rows(schedule, rows, "bf16", rounding)
            with np.errstate(invalid="ignore", over="ignore"):
                wanted = execute(schedule, rows.astype(ml_dtypes.bfloat16), rounding=rounding)[0]
            np.testing.assert_array_equal(ours, wanted.astype(np.float32))
            assert np.signbit(ours[3])


def test_it_is_near_the_sum_in_fp64():
    rows = noisy(32, 500)
    ours = sum_rows(plan(fabric.trn1_32xlarge(), "all_reduce", "mesh"), rows)
    bound = 32 * 2.0**-24 * np.abs(rows).astype(np.float64).sum(0)
    assert (np.abs(ours - rows.astype(np.float64).sum(0)) <= bound).all()


def test_schedules_of_ones_own():
    chain = [(0, 0, 1, 0, "add"), (1, 1, 2, 0, "add"), (2, 2, 0, 0, "copy"), (2, 2, 1, 0, "copy")]
    schedule = Schedule.from_moves("all_reduce", 3, chain, chunks=1)
    rows = noisy(3, 5)
    assert same(sum_rows(schedule, rows), execute(schedule, rows)[0])
    alone = Schedule.from_moves("all_reduce", 1, [], chunks=1)
    assert same(sum_rows(alone, rows[:1]), rows[0])
    crossed = [(0, a, b, 0, "add") for a in range(3) for b in range(3) if a != b]
    with pytest.raises(FabricError, match="in different orders"):
        sum_rows(Schedule.from_moves("all_reduce", 3, crossed, chunks=1), rows)


def test_loops_are_their_python_source(monkeypatch):
    schedule, rows = plan(fabric.group(4), "all_reduce", "rdh"), noisy(4, 170)
    for fmt in ("fp32", "bf16"):
        rows = cast(rows, fmt).astype(np.float32)
        fast = sum_rows(schedule, rows, fmt)
        with monkeypatch.context() as patch:
            for name in ("sum_blocks", "sum_blocks_parallel"):
                loop = getattr(_loops, name)
                patch.setattr(_loops, name, getattr(loop, "py_func", loop))
            assert same(sum_rows(schedule, rows, fmt), fast)


@for_rows(
    "schedule, rows, options, message",
    (plan(fabric.group(4), "all_gather"), noisy(4, 4), {}, "adds nothing"),
    (plan(fabric.group(4), "all_reduce"), noisy(3, 4), {}, "one row per rank"),
    (plan(fabric.group(4), "all_reduce"), np.ones((4, 2)), {}, "float64"),
    (plan(fabric.group(4), "all_reduce"), noisy(4, 4), {"elements": 3}, "cannot be padded to 3"),
)
def test_what_it_cannot_take(schedule, rows, options, message):
    raises(FabricError, message, sum_rows, schedule, rows, **options)
