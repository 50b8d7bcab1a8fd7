"""Judges: the step-by-step executor, bit for bit; the loop's own Python source."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainium_edu import fabric
from trainium_edu.fabric import _loops, bulk, touches


def noisy(ranks, elements, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((ranks, elements)) * 10.0 ** rng.integers(-6, 7, (ranks, elements))
    return data.clip(-1e9, 1e9).astype(dtype)


@given(st.integers(2, 40), st.integers(0, 130), st.sampled_from(["f4", "f8", "i4", "i8"]))
def test_equals_the_step_by_step_executor_bit_for_bit(ranks, elements, dtype):
    data = noisy(ranks, elements, dtype)
    schedule = fabric.plan(fabric.ring(ranks), "all_reduce", "ring", cycles=1)
    wanted = fabric.execute(schedule, data)
    ours = fabric.ring_all_reduce(data.copy())
    assert all(row.tobytes() == w.tobytes() for row, w in zip(ours, wanted, strict=True))


@pytest.mark.parametrize(("block_bytes", "call_bytes"), [(16, 64), (64, 4096), (4096, 2**28)])
def test_blocks_and_calls_do_not_show(monkeypatch, block_bytes, call_bytes):
    data = noisy(33, 1000)
    whole = fabric.ring_all_reduce(data.copy())
    monkeypatch.setattr(bulk, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(bulk, "MOST_BYTES_PER_CALL", call_bytes)
    assert fabric.ring_all_reduce(data.copy()).tobytes() == whole.tobytes()


def test_loop_is_its_python_source():
    data = noisy(9, 50)
    starts = np.arange(10, dtype=np.int64) * 50 // 9
    plain = data.copy()
    source = getattr(_loops._ring_block, "py_func", _loops._ring_block)
    for left in range(0, 50, 7):
        source(plain, starts, left, min(left + 7, 50), np.empty(50, np.float32))
    for loop in (_loops.ring_all_reduce, _loops.ring_all_reduce_parallel):
        fast = data.copy()
        loop(fast, starts, 0, 50, 7, np.empty(50, np.float32))
        assert plain.tobytes() == fast.tobytes()


def test_touches_loop_is_its_python_source():
    schedule = fabric.plan(fabric.torus(2, 2, ranks_per_chip=2), "all_reduce", "kangaring")
    results = []
    for loop in (touches.count_touches, _loops.count_touches):
        counts = [np.zeros(len(schedule), np.int64) for _ in range(3)]
        held = np.zeros((8, schedule.places), np.int32), np.full((8, schedule.places), -1, np.int32)
        loop(
            schedule.step, schedule.src, schedule.dst, schedule.item, schedule.into, schedule.op,
            schedule.fused, *held, *counts,
        )  # fmt: skip
        results.append(np.stack(counts))
    assert np.array_equal(*results)


def test_negative_zero_survives():
    data = np.full((3, 4), -0.0, np.float32)
    assert np.signbit(fabric.ring_all_reduce(data)).all()


def test_threads_may_call_it_at_once():
    inputs = [noisy(50, 400, seed=s) for s in range(4)]
    wanted = [fabric.ring_all_reduce(x.copy()) for x in inputs]
    threads = [threading.Thread(target=fabric.ring_all_reduce, args=(x,)) for x in inputs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(a.tobytes() == b.tobytes() for a, b in zip(inputs, wanted, strict=True))
