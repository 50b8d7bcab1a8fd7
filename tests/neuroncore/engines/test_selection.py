"""Predicated copies and the eight-at-a-time searches against NumPy and the reference's examples."""

import numpy as np
import pytest


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("scalar", [False, True])
def test_copy_predicated_is_where(bench, rng, dtype, reverse, scalar):
    old, new = (rng.standard_normal((3, 10)).astype(np.float32) for _ in range(2))
    held = rng.integers(0, 3, (3, 10)).astype(dtype)
    options = {"src": -1.5 if scalar else new, "reverse_pred": reverse}
    found = bench.issue("tensor_copy_predicated", dst=bench.tile(old), predicate=held, **options)
    mask = (held == 0) if reverse else (held != 0)
    assert np.array_equal(found, np.where(mask, -1.5 if scalar else new, old).astype(np.float32))


def test_copy_predicated_copies_whole_numbers_exactly_and_saturates(bench):
    """Beyond 2**24 FP32 would round."""
    for dtype, number, stored in (
        ("int32", 2**24 + 1, 2**24 + 1), ("uint32", 2**32 - 1, 2**32 - 1), ("int8", 300, 127),
    ):  # fmt: skip
        dst, first = bench.tile([[5, 5]], dtype), np.uint8([[1, 0]])
        found = bench.issue("tensor_copy_predicated", dst=dst, src=number, predicate=first)
        assert found.tolist() == [[stored, 5]]


def test_copy_predicated_leaves_unwritten_places_unwritten(bench):
    dst, mask = bench.empty(1, 4), bench.tile([[1, 0, 1, 0]], "uint8")
    found = bench.issue("tensor_copy_predicated", dst=dst, src=np.ones((1, 4)), predicate=mask)
    assert np.array_equal(found, [[1, np.nan, 1, np.nan]], equal_nan=True)
    assert dst.written().tolist() == [[True, False, True, False]]
    assert not bench.core.notes  # it did not read what it left alone
    bench.issue("tensor_copy_predicated", dst=dst, src=2.0, predicate=mask, reverse_pred=True)
    assert dst.is_written()
    assert bench.core.value(dst).tolist() == [[1, 2, 1, 2]]


def test_ranks_may_differ_where_the_elements_match(bench, rng):
    # the release notes of NKI 0.6: a 2D source with a 4D destination and predicate
    x = rng.standard_normal((4, 24)).astype(np.float32)
    held = rng.integers(0, 2, (4, 2, 3, 4))
    mask = bench.tile(held, "uint8")
    zeros = np.zeros((4, 2, 3, 4))
    found = bench.issue("tensor_copy_predicated", dst=zeros, src=x, predicate=mask)
    wanted = np.where(held, x.reshape(4, 2, 3, 4), 0).astype(np.float32)
    assert np.array_equal(found, wanted)
    found = bench.issue("select_reduce", dst=(4, 6, 4), predicate=mask, on_true=x, on_false=0.0)
    assert np.array_equal(found, wanted.reshape(4, 6, 4))


@pytest.mark.parametrize("vector", [False, True])
def test_select_reduce_selects_and_keeps_the_maximum(bench, rng, vector):
    x = rng.standard_normal((4, 9)).astype(np.float32)
    low = rng.standard_normal((4, 1)).astype(np.float32) if vector else np.float32(-3)
    held = rng.integers(0, 2, (4, 9)).astype(np.int8)
    top = bench.empty(4, 1)
    choice = {"predicate": held, "on_true": x, "on_false": low if vector else -3.0}
    kept = {"reduce_res": top, "reduce_cmd": "reset_reduce"}
    found = bench.issue("select_reduce", dst=(4, 9), **choice, **kept)
    wanted = np.where(held != 0, x, low)
    assert np.array_equal(found, wanted)
    assert np.array_equal(bench.core.value(top), wanted.max(axis=1, keepdims=True))


@pytest.mark.parametrize("shape", [(1, 8), (128, 9), (3, 4, 25)])
def test_max8_is_the_end_of_a_sort(bench, rng, shape):
    x = rng.integers(-50, 50, shape).astype(np.float32)
    found = bench.issue("max8", dst=(shape[0], 8), src=x)
    assert np.array_equal(found, np.sort(x.reshape(shape[0], -1), axis=1)[:, ::-1][:, :8])


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_find_index8_finds_first_occurrences_in_ascending_order(bench, dtype):
    x = np.float32([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]])
    vals = np.float32([[3, 8, 8, 8, 8, 8, 8, 7]])
    found = bench.issue("nc_find_index8", dst=(1, 8, dtype), data=x, vals=vals)
    assert found.tolist() == [[2, 4, 5, 6, 7, 8, 9, np.iinfo(dtype).max]]


def test_match_replace8_is_the_references_example(bench):
    x = np.float32([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]])
    vals = np.float32([[3, 8, 8, 8, 8, 8, 8, 8]])
    where = bench.empty(1, 8, dtype="uint32")
    operands = {"data": x, "vals": vals, "imm": -1.0, "dst_idx": where}
    found = bench.issue("nc_match_replace8", dst=(1, 11), **operands)
    assert bench.core.value(where).tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
    assert found.tolist() == [[1, 2, -1, 4, -1, -1, -1, -1, -1, -1, -1]]


def test_topk_by_rounds_of_eight(bench, rng):
    x = rng.permutation(64).astype(np.float32)[None]
    tile, best = bench.tile(x), []
    for _ in range(3):
        top = bench.empty(1, 8)
        best += bench.issue("max8", dst=top, src=tile)[0].tolist()
        bench.core.nc_match_replace8(dst=tile, data=tile, vals=top, imm=-1e9)
    assert best == sorted(x[0].tolist(), reverse=True)[:24]
