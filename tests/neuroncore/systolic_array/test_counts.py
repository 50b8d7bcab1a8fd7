"""Traffic and the two other machines: judged by counting in plain nested loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import trainium_edu.neuroncore.systolic_array as sa
from trainium_edu.numerics import BF16, FP32, TF32

side = st.integers(1, 9)


@given(side, side, side, st.integers(1, 4))
def test_machines_do_what_the_nested_loops_do(k, m, n, lanes):
    """Walk the loops, count each access."""
    scalar, simd, _ = sa.count_machines(k, m, n, array=sa.SystolicArray(4, 4), lanes=lanes)
    loads = stores = registers = instructions = 0
    for _ in range(m * n):
        for _ in range(k):
            loads += 2
            registers += 2  # two loaded values are written
            registers += 3 + 1  # multiply-add
            instructions += 3
        stores += 1
        registers += 1
        instructions += 1
    assert (scalar.memory_reads, scalar.memory_writes) == (loads, stores)
    assert (scalar.register_file_accesses, scalar.instructions) == (registers, instructions)
    loads = stores = registers = instructions = 0
    for _ in range(m):
        for first in range(0, n, lanes):
            active = min(lanes, n - first)
            for _ in range(k):
                loads += 1 + active
                registers += 1 + active + 4 * active
                instructions += 3
            stores += active
            registers += active
            instructions += 1
    assert (simd.memory_reads, simd.memory_writes) == (loads, stores)
    assert (simd.register_file_accesses, simd.instructions) == (registers, instructions)


def test_the_array_touches_memory_a_hundred_times_less():
    scalar, simd, systolic = sa.count_machines(128, 128, 512)
    assert scalar.memory_per_mac / systolic.memory_per_mac > 100
    assert simd.memory_per_mac / systolic.memory_per_mac > 50
    assert (systolic.register_file_accesses, systolic.handed_on) == (0, 2 * 128 * 128 * 512)


@given(side, side, side)
def test_handing_on_is_what_the_run_shows(k, m, n):
    """Judge: the recorded registers; each multiply-add hands a value right and a sum down."""
    array = sa.SystolicArray(4, 4)
    recorded = sa.run(np.ones((k, m)), np.ones((k, n)), fmt="bf16", array=array, record=True)
    worked = sum(int(recorded.state(t).multiplied.sum()) for t in range(recorded.cycles))
    assert sa.count_machines(k, m, n, array=array)[2].handed_on == 2 * worked


def test_bytes_of_one_tile_by_hand():
    got = sa.traffic(sa.plan_gemm(128, 128, 512), (BF16, BF16))
    assert got.sbuf_stationary_bytes == 128 * 128 * 2
    assert (got.sbuf_moving_bytes, got.psum_write_bytes) == (128 * 512 * 2, 128 * 512 * 4)
    assert got.psum_read_bytes == 0


def test_bytes_of_accumulation_and_wide_formats():
    plan = sa.plan_gemm(256, 128, 512)
    assert sa.traffic(plan, (TF32, FP32)).psum_read_bytes == 128 * 512 * 4
    assert sa.traffic(plan, (TF32, FP32)).sbuf_moving_bytes == 256 * 512 * 4
