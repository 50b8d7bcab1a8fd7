"""Instructions of the GpSimd Engine.  Judges: the loops that the reference prints as pseudo-code,
written out in plain Python; NumPy sorts and sums; the printed cost formulas."""

import itertools

import numpy as np
import pytest

from tests.for_each import for_each
from tests.neuroncore.engines.bench import Bench, printed
from tests.texts import table_beside
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.engine import Engine


def issued(name, cost, bench=None, **operands):
    """Return what GpSimd leaves in dst, in the time that the reference prints."""
    bench = bench or Bench()
    found = bench.issue(name, **operands)
    assert bench.last.engine is Engine.GPSIMD
    assert bench.cycles == pytest.approx(cost)
    return found


def drawn(seed, low, high, shape, dtype):
    return np.random.default_rng(seed).integers(low, high, shape).astype(DTYPES[dtype].storage)


# -- iota and affine_select -------------------------------------------------------------------

PATTERNS = table_beside(__file__, "tables.toml")["patterns"]


def affine_by_loops(partitions, pattern, offset, channel_multiplier):
    rows = []
    for channel in range(partitions):
        row = []
        for place in itertools.product(*(range(num) for _, num in pattern)):
            steps = sum(i * step for i, (step, _) in zip(place, pattern, strict=True))
            row.append(offset + channel * channel_multiplier + steps)
        rows.append(row)
    return np.array(rows)


@for_each(("pattern", "offset", "multiplier"), PATTERNS)
@for_each("dtype", ["int32", "float32", "bfloat16", "int16"])
def test_iota_is_the_printed_loop(pattern, offset, multiplier, dtype):
    options = {"pattern": pattern, "offset": offset, "channel_multiplier": multiplier}
    found = issued("iota", printed("iota", N=6), dst=(9, 6, dtype), **options)
    expected = affine_by_loops(9, pattern, offset, multiplier)
    np.testing.assert_array_equal(found, expected.astype(DTYPES[dtype].storage))


def test_iota_takes_any_free_shape_saturates_narrow_integers_and_wraps_at_32_bits():
    found = Bench().issue("iota", dst=(2, 2, 3, "uint8"), pattern=[[100, 6]], offset=-100)
    np.testing.assert_array_equal(found[0], [[0, 0, 100], [200, 255, 255]])
    options = {"pattern": [[1, 1]], "offset": 2**31 - 1, "channel_multiplier": 1}
    found = Bench().issue("iota", dst=(2, 1, "int32"), **options)
    assert found.reshape(-1).tolist() == [2**31 - 1, -(2**31)]


@for_each(("pattern", "offset", "multiplier"), PATTERNS)
@for_each("compare", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_affine_select_is_the_printed_loop(pattern, offset, multiplier, compare):
    values = np.random.default_rng(0).standard_normal((9, 6)).astype(np.float32)
    options = {"pattern": pattern, "offset": offset, "channel_multiplier": multiplier}
    choice = {"on_true_tile": values, "on_false_value": -9.5, "cmp_op": compare}
    cost = printed("affine_select", N=6)
    found = issued("affine_select", cost, dst=(9, 6), **options, **choice)
    formula = affine_by_loops(9, pattern, offset, multiplier)
    expected = np.where(getattr(np, compare)(formula, 0), values, np.float32(-9.5))
    np.testing.assert_array_equal(found, expected)


def causal(values, dst, on_false_value):
    """Let row p keep columns 0 to p."""
    bench = Bench()
    values = bench.tile(*values)
    options = {"pattern": [[-1, dst[1]]], "channel_multiplier": 1, "cmp_op": "greater_equal"}
    choice = {"on_true_tile": values, "on_false_value": on_false_value}
    return bench.issue("affine_select", dst=dst, **options, **choice)


@for_each("dtype", DTYPES)
def test_affine_select_masks_every_dtype(dtype):
    values = drawn(0, 1, 8, (8, 8), dtype)
    found = causal((values, dtype), (8, 8, dtype), 0.0)
    np.testing.assert_array_equal(found.astype(float), np.tril(values.astype(float)))


def test_affine_select_casts_and_takes_infinity():
    found = causal((np.full((4, 4), 1 + 2.0**-9),), (4, 4, "bfloat16"), -np.inf)
    wanted = np.where(np.tri(4), np.float32(1), -np.float32(np.inf))
    np.testing.assert_array_equal(found.astype(np.float32), wanted)


# -- gathers ----------------------------------------------------------------------------------


@for_each("dtype", DTYPES)
def test_nc_n_gather_picks_inside_each_partition(dtype):
    data, index = drawn(1, 0, 8, (5, 4, 6), dtype), drawn(2, 0, 24, (5, 2, 7), "uint32")
    bench, cost = Bench(), printed("nc_n_gather", N=14)
    operands = {"data": bench.tile(data, dtype), "indices": index}
    found = issued("nc_n_gather", cost, bench, dst=(5, 14, dtype), **operands)
    flat = data.reshape(5, 24).astype(int)
    expected = np.take_along_axis(flat, index.reshape(5, 14).astype(int), axis=1)
    np.testing.assert_array_equal(found.astype(int), expected)


@for_each("dtype", ["float32", "bfloat16", "uint8"])
@for_each(
    ("partitions", "each", "columns", "valid"),
    [(128, 1, 4, None), (128, 4, 4, 64), (16, 2, 3, 41), (32, 32, 1, 1)],
)
def test_local_gather_shares_indices_among_sixteen(dtype, partitions, each, columns, valid):
    src = drawn(2, 0, 15, (partitions, 16, 32), dtype)
    index = drawn(3, 0, 16 * 32 - each, (partitions, columns), "uint16")
    count = 16 * columns if valid is None else valid
    size = DTYPES[dtype].itemsize
    cost = printed("local_gather", valid_indices=count, per_index=each, dtype_bytes=size)
    sizes = {"num_elem_per_idx": each, "num_valid_indices": valid}
    dst = (partitions, count, each, dtype)
    found = issued("local_gather", cost, dst=dst, src_buffer=src, index=index, **sizes)
    flat = src.reshape(partitions, -1)
    expected = np.empty((partitions, count, each))
    for p in range(partitions):
        group = index[p // 16 * 16 : p // 16 * 16 + 16]
        for i in range(count):
            start = group[i % 16, i // 16]  # indices run down the partitions first
            expected[p, i] = flat[p, start : start + each]
    np.testing.assert_array_equal(found.astype(float), expected)


# -- across partitions ------------------------------------------------------------------------


@for_each(
    ("op", "dtype", "judge"),
    [
        ("add", "float32", np.sum), ("add", "bfloat16", np.sum), ("average", "float32", np.mean),
        ("max", "float32", np.max), ("maximum", "int32", np.max), ("max", "float8_e4m3", np.max),
        ("bitwise_or", "uint8", np.bitwise_or.reduce),
        ("bitwise_and", "int32", np.bitwise_and.reduce),
        (np.add, "float32", np.sum), (np.max, "float32", np.max), (np.mean, "float32", np.mean),
    ],
)  # fmt: skip
@for_each("partitions", [1, 7, 128])
def test_partition_reduce(op, dtype, judge, partitions):
    """Small whole numbers, so that every order of additions gives the same."""
    values = drawn(3, 0, 2, (partitions, 4, 8), dtype)
    cost = printed("tensor_partition_reduce", N=32)
    found = issued("tensor_partition_reduce", cost, dst=(1, 4, 8, dtype), op=op, data=values)
    expected = judge(values.astype(int), axis=0)[None]
    np.testing.assert_allclose(found.astype(float), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize(("op", "judge"), [("add", np.sum), ("max", np.max)])
def test_partition_reduce_is_exact_on_32_bit_integers(bench, dtype, op, judge):
    """GpSimd computes on them natively; sums wrap as NumPy's do."""
    ends = np.iinfo(dtype)
    values = drawn(3, ends.min, ends.max, (100, 6), dtype)
    found = bench.issue("tensor_partition_reduce", dst=(1, 6, dtype), op=op, data=values)
    np.testing.assert_array_equal(found[0], judge(values, axis=0).astype(dtype))


def test_topk_of_the_snake_in_ascending_order(bench):
    draw, n, k = np.random.default_rng(4), 42, 8
    flat = draw.permutation(96)[: 2 * 48].reshape(2, 48)  # distinct, exact in BF16
    src = flat.reshape(2, 3, 16).transpose(0, 2, 1).reshape(32, 3)
    values, places = bench.empty(32, k, dtype="bfloat16"), bench.empty(32, k, dtype="uint32")
    bench.issue("topk", val_dst=values, idx_dst=places, src=bench.tile(src, "bfloat16"), n=n)
    for p in range(32):
        snake = flat[p // 16, :n]
        np.testing.assert_array_equal(bench.core.value(values)[p].astype(int), np.sort(snake)[-k:])
        np.testing.assert_array_equal(snake[bench.core.value(places)[p]], np.sort(snake)[-k:])
    assert bench.cycles == printed("topk", n=n, K=k)


def bounds_by_walking(ids):
    """Say where each element's run starts and ends, by looking left and right."""
    n, rows = len(ids), ([], [])
    for i, segment in enumerate(ids):
        first, last = i, i + 1
        while first > 0 and ids[first - 1] == segment:
            first -= 1
        while last < n and ids[last] == segment:
            last += 1
        rows[0].append(n if segment == 0 else first)
        rows[1].append(-1 if segment == 0 else last)
    return rows


@for_each("dtype", ["float32", "int32"])
@for_each("ids", [[0, 1, 1, 2, 2, 2, 0, 3, 3], [5], [0], [1, 1, 1], [0, 0, 7], [2, 1, 2, 0]])
def test_sequence_bounds(ids, dtype):
    dst, cost = (1, 2, len(ids), dtype), printed("sequence_bounds", N=len(ids))
    found = issued("sequence_bounds", cost, dst=dst, segment_ids=np.array([ids], dtype))
    np.testing.assert_array_equal(found[0], bounds_by_walking(ids))
