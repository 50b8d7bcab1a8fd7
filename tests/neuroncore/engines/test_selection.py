"""Predicated copies and the eight-at-a-time searches against NumPy and the reference's examples."""

import numpy as np
import pytest

from trainium_edu.specs.errors import NkiValidationError


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("scalar", [False, True])
def test_copy_predicated_is_where(bench, rng, dtype, reverse, scalar):
    old, new = (rng.standard_normal((3, 10)).astype(np.float32) for _ in range(2))
    held = rng.integers(0, 3, (3, 10))
    dst = bench.tile(old)
    found = bench.issue(
        "tensor_copy_predicated", dst=dst, src=-1.5 if scalar else bench.tile(new),
        predicate=bench.tile(held, dtype), reverse_pred=reverse,
    )  # fmt: skip
    mask = (held == 0) if reverse else (held != 0)
    assert np.array_equal(found, np.where(mask, -1.5 if scalar else new, old).astype(np.float32))


def test_copy_predicated_copies_whole_numbers_exactly_and_saturates(bench):
    """Beyond 2**24 FP32 would round."""
    for dtype, number, stored in (
        ("int32", 2**24 + 1, 2**24 + 1), ("uint32", 2**32 - 1, 2**32 - 1), ("int8", 300, 127),
    ):  # fmt: skip
        found = bench.issue(
            "tensor_copy_predicated", dst=bench.tile([[5, 5]], dtype), src=number,
            predicate=bench.tile([[1, 0]], "uint8"),
        )  # fmt: skip
        assert found.tolist() == [[stored, 5]]


def test_copy_predicated_leaves_unwritten_places_unwritten(bench):
    dst, mask = bench.empty(1, 4), bench.tile([[1, 0, 1, 0]], "uint8")
    found = bench.issue("tensor_copy_predicated", dst=dst, src=bench.tile(np.ones((1, 4))),
                        predicate=mask)  # fmt: skip
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
    found = bench.issue(
        "tensor_copy_predicated", dst=bench.tile(np.zeros((4, 2, 3, 4))), src=bench.tile(x),
        predicate=mask,
    )  # fmt: skip
    wanted = np.where(held, x.reshape(4, 2, 3, 4), 0).astype(np.float32)
    assert np.array_equal(found, wanted)
    found = bench.issue(
        "select_reduce", dst=bench.empty(4, 6, 4), predicate=mask, on_true=bench.tile(x),
        on_false=0.0,
    )  # fmt: skip
    assert np.array_equal(found, wanted.reshape(4, 6, 4))


def test_copy_predicated_refuses(bench):
    x, held = bench.tile(np.ones((1, 4))), bench.tile([[1, 0, 1, 0]], "uint8")
    for wrong, error, match in (
        ({"predicate": bench.tile([[1, 0, 1, 0]], "int8")}, NkiValidationError, "predicate is"),
        ({"src": bench.tile(np.ones((1, 4)), "bfloat16")}, NkiValidationError, "same dtype"),
        ({"src": bench.tile(np.ones((1, 3)))}, NkiValidationError, "same number"),
        ({"src": "x"}, TypeError, "number or a tile"),
        ({"reverse_pred": None}, TypeError, "True or False"),
    ):
        operands = {"dst": bench.empty(1, 4), "src": x, "predicate": held} | wrong
        with pytest.raises(error, match=match):
            bench.issue("tensor_copy_predicated", **operands)
    with pytest.raises(NkiValidationError, match="both in PSUM"):
        bench.issue(
            "tensor_copy_predicated", dst=bench.empty(1, 4),
            src=bench.tile(np.ones((1, 4)), memory="psum"),
            predicate=bench.tile([[1, 0, 1, 0]], "uint8", memory="psum"),
        )  # fmt: skip


@pytest.mark.parametrize("vector", [False, True])
def test_select_reduce_selects_and_keeps_the_maximum(bench, rng, vector):
    x = rng.standard_normal((4, 9)).astype(np.float32)
    low = rng.standard_normal((4, 1)).astype(np.float32) if vector else np.float32(-3)
    held = rng.integers(0, 2, (4, 9))
    top = bench.empty(4, 1)
    found = bench.issue(
        "select_reduce", dst=bench.empty(4, 9), predicate=bench.tile(held, "int8"),
        on_true=bench.tile(x), on_false=bench.tile(low) if vector else -3.0, reduce_res=top,
        reduce_cmd="reset_reduce",
    )  # fmt: skip
    wanted = np.where(held != 0, x, low)
    assert np.array_equal(found, wanted)
    assert np.array_equal(bench.core.value(top), wanted.max(axis=1, keepdims=True))


def test_select_reduce_refuses(bench):
    x, held = bench.tile(np.ones((1, 4))), bench.tile([[1, 0, 1, 0]], "uint8")
    for wrong, match in (
        ({"predicate": bench.tile([[1, 0, 1, 0]], "uint32")}, "predicate is"),
        ({"on_true": bench.tile(np.ones((1, 4)), "int32")}, "on_true is int32"),
        ({"reduce_op": "add"}, "must be maximum"),
        ({"reduce_cmd": "load_reduce"}, "reduce_cmd"),
        ({"reduce_res": bench.empty(1, 1, dtype="int32")}, "must be float32"),
    ):
        operands = {"dst": bench.empty(1, 4), "predicate": held, "on_true": x,
                    "on_false": 0.0} | wrong  # fmt: skip
        with pytest.raises(NkiValidationError, match=match):
            bench.issue("select_reduce", **operands)


@pytest.mark.parametrize("shape", [(1, 8), (128, 9), (3, 4, 25)])
def test_max8_is_the_end_of_a_sort(bench, rng, shape):
    x = rng.integers(-50, 50, shape).astype(np.float32)
    found = bench.issue("max8", dst=bench.empty(shape[0], 8), src=bench.tile(x))
    wanted = np.sort(x.reshape(shape[0], -1), axis=1)[:, ::-1][:, :8]
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_find_index8_finds_first_occurrences_in_ascending_order(bench, dtype):
    x = np.float32([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]])
    vals = np.float32([[3, 8, 8, 8, 8, 8, 8, 7]])
    found = bench.issue(
        "nc_find_index8", dst=bench.empty(1, 8, dtype=dtype), data=bench.tile(x),
        vals=bench.tile(vals),
    )  # fmt: skip
    absent = np.iinfo(dtype).max
    assert found.tolist() == [[2, 4, 5, 6, 7, 8, 9, absent]]


def test_match_replace8_is_the_references_example(bench):
    x = np.float32([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]])
    vals = np.float32([[3, 8, 8, 8, 8, 8, 8, 8]])
    where = bench.empty(1, 8, dtype="uint32")
    found = bench.issue(
        "nc_match_replace8", dst=bench.empty(1, 11), data=bench.tile(x), vals=bench.tile(vals),
        imm=-1.0, dst_idx=where,
    )  # fmt: skip
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


def test_eight_at_a_time_limits(bench):
    x, eight = bench.tile(np.ones((1, 8))), bench.empty(1, 8)
    ones = bench.tile(np.ones((1, 8)))
    cases = [
        ("max8", {"dst": eight, "src": bench.tile(np.ones((1, 7)))}, "8 to 16384"),
        ("max8", {"dst": eight, "src": bench.tile(np.ones((1, 16_385)))}, "8 to 16384"),
        ("max8", {"dst": eight, "src": bench.tile(np.ones((1, 2, 2, 2)))}, "up to 3"),
        ("max8", {"dst": bench.empty(1, 9), "src": x}, r"must be \[\d, 8\]"),
        ("nc_find_index8", {"dst": eight, "data": x, "vals": ones}, "uint16 or uint32"),
        ("nc_match_replace8", {"dst": bench.empty(1, 9), "data": x, "vals": ones, "imm": 0.0},
         "same number"),
        ("nc_match_replace8", {"dst": eight, "data": x, "vals": bench.tile(np.ones((1, 7))),
                               "imm": 0.0}, r"must be \[\d, 8\]"),
    ]  # fmt: skip
    for name, operands, match in cases:
        with pytest.raises(NkiValidationError, match=match):
            bench.issue(name, **operands)
    with pytest.raises(TypeError, match="imm is"):
        bench.issue("nc_match_replace8", dst=eight, data=x, vals=ones, imm=None)
