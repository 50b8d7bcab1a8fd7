"""Rows rounded together.  Judges: one call per row; `cast`, which ml_dtypes judges elsewhere."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from trainium_edu.numerics import _loops, cast, rounding
from trainium_edu.numerics.rounding import round_floats

KINDS = ["nearest", "stochastic"]


def noisy(*shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32)
    special = np.float32([np.nan, np.inf, -np.inf, -0.0, 1e-40, 3.4e38])
    x.reshape(-1)[: min(x.size, 6)] = special[: x.size]
    return x


def same(a, b):
    a, b = (np.ascontiguousarray(one, np.float32) for one in (a, b))
    np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))


@for_each("fmt", ["bf16", "fp16", "fp8_e4m3"])
@for_each("kind", KINDS)
@for_each("shape", [(1, 7), (3, 255), (4, 256), (5, 2, 300), (32, 40, 60), (2, 0)])
def test_rows_together_are_rows_alone(fmt, kind, shape):
    x = noisy(*shape)
    together = round_floats(x, fmt, kind, seed=5, step=9, rows=len(x))
    assert together.shape == x.shape
    for row, alone in zip(together, x, strict=True):
        same(row, round_floats(alone, fmt, kind, seed=5, step=9))
        same(row, cast(alone, fmt, kind, seed=5, step=9).astype(np.float32))


@for_each("kind", KINDS)
@for_rows("rows", 1, 5)
def test_in_place_gives_the_same_bits_in_the_same_memory(kind, rows):
    x = noisy(5, 60_001)
    wanted = round_floats(x, "bf16", kind, seed=1, rows=rows)
    assert round_floats(x, "bf16", kind, seed=1, rows=rows, out=x) is x
    same(x, wanted)


def test_room_of_any_layout_is_filled():
    for x in (noisy(6, 300).T, np.broadcast_to(np.float32(1.005), (4, 5))):
        before = x.copy()
        room = np.empty(x.shape[::-1], np.float32).T
        assert round_floats(x, "bf16", out=room) is room
        same(x, before)
        same(room, cast(x, "bf16").astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_tiles_and_calls_do_not_show(kind, monkeypatch):
    x = noisy(3, 100_000)
    whole = round_floats(x, "bf16", kind, rows=3)
    monkeypatch.setattr(rounding, "MOST_PER_CALL", 3 * 256 * 7)
    same(round_floats(x, "bf16", kind, rows=3), whole)


@for_rows("copies", True, False)
def test_loops_are_their_python_source(copies):
    x = noisy(2, 600).view(np.uint32)
    results = []
    source = getattr(_loops.bf16_rows, "py_func", _loops.bf16_rows)
    for loop in (source, _loops.bf16_rows, _loops.bf16_rows_parallel):
        words = x.copy()
        out = np.zeros_like(words) if copies else words
        with np.errstate(over="ignore"):
            loop(words, 0, 3, 1, True, np.uint64(1), np.uint64(2), copies, out)
        results.append(out)
    assert all(np.array_equal(one, results[0]) for one in results)
