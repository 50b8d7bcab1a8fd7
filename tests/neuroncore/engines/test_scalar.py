"""activation and activation_reduce against NumPy; the accumulator registers by hand."""

import ml_dtypes
import numpy as np
import pytest

from trainium_edu.specs.errors import NkiValidationError


@pytest.mark.parametrize("shape", [(1, 1), (128, 5), (7, 2, 3)])
def test_function_of_scale_x_plus_bias(bench, rng, shape):
    x = rng.standard_normal(shape).astype(np.float32)
    scale = rng.standard_normal((shape[0], 1)).astype(np.float32)
    bias = rng.standard_normal((shape[0], 1)).astype(ml_dtypes.bfloat16)
    found = bench.issue(
        "activation", dst=bench.empty(*shape), data=bench.tile(x), op="tanh",
        scale=bench.tile(scale), bias=bench.tile(bias, "bfloat16"),
    )  # fmt: skip
    column = (-1, *(1,) * (len(shape) - 1))
    inner = x * scale.reshape(column) + bias.astype(np.float32).reshape(column)
    np.testing.assert_allclose(found, np.tanh(inner.astype(np.float64)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3", "int8", "uint8"])
def test_casts_are_free_on_both_sides(bench, dtype):
    x = np.array([[0, 1, 2, 3]])
    found = bench.issue(
        "activation", dst=bench.empty(1, 4, dtype=dtype), data=bench.tile(x, dtype),
        op="square", scale=2.0,
    )  # fmt: skip
    assert found.astype(float).tolist() == [[0, 4, 16, 36]]


def test_registers_go_on_from_one_instruction_to_the_next(bench, rng):
    parts = rng.standard_normal((3, 4, 10)).astype(np.float32)
    total = bench.empty(4, 1)
    for i, part in enumerate(parts):
        bench.core.activation(
            dst=bench.empty(4, 10), data=bench.tile(part), op="exp", reduce_op="add",
            reduce_cmd="reset_reduce" if i == 0 else "reduce",
            reduce_res=total if i == 2 else None,
        )  # fmt: skip
    wanted = np.exp(parts.astype(np.float64)).sum(axis=(0, 2))
    np.testing.assert_allclose(bench.core.value(total)[:, 0], wanted, rtol=1e-6)


def test_idle_leaves_the_registers_and_reset_empties_them(bench):
    x, y, out = bench.tile([[1.0, 2.0]]), bench.empty(1, 2), bench.empty(1, 1)
    run = bench.core.activation
    run(dst=y, data=x, op="copy", reduce_op="add", reduce_cmd="reset_reduce")
    run(dst=y, data=x, op="copy", reduce_res=out)
    assert bench.core.value(out) == 3
    run(dst=y, data=x, op="copy", reduce_cmd="reset", reduce_res=out)
    assert bench.core.value(out) == 0


def test_registers_belong_to_lanes(bench):
    x = bench.core.sbuf((64, 2), start_partition=64)
    x.write_bits(np.ones((64, 2), np.float32))
    low = bench.tile(np.full((64, 2), 5.0))
    for data in (x, low):
        bench.core.activation(
            dst=data, data=data, op="copy", reduce_op="add", reduce_cmd="reset_reduce"
        )
    held = bench.core.state["scalar_accumulators"]
    assert set(held[:64]) == {10}
    assert set(held[64:]) == {2}


def test_activation_reduce_sums_before_rounding(bench):
    x = np.full((1, 100), 1.001, np.float32)
    total = bench.empty(1, 1)
    out = bench.issue(
        "activation_reduce", dst=bench.empty(1, 100, dtype="bfloat16"), data=bench.tile(x),
        op="copy", reduce_op="add", reduce_res=total,
    )  # fmt: skip
    assert out.astype(float).max() == 1.0
    assert bench.core.value(total)[0, 0] == pytest.approx(100.1, rel=1e-6)


def test_result_may_lie_on_the_output(bench):
    # the release notes: a reduce_res that aliases dst holds the reduction
    x = bench.tile([[1.0, 2.0, 3.0]])
    dst = bench.empty(1, 3)
    bench.core.activation(
        dst=dst, data=x, op="copy", reduce_op="add", reduce_cmd="reset_reduce",
        reduce_res=dst.sliced(slice(0, 1), slice(0, 1)),
    )  # fmt: skip
    assert bench.core.value(dst).tolist() == [[6, 2, 3]]


def test_inputs_outside_the_stated_range_are_noted(bench):
    bench.issue("activation", dst=bench.empty(1, 2), data=bench.tile([[0.5, 9.0]]), op="sin")
    bench.issue("activation", dst=bench.empty(1, 2), data=bench.tile([[0.5, 2.0]]), op="log")
    notes = [n for n in bench.core.notes if n[0] == "activation_range"]
    assert len(notes) == 1
    assert "sin of 0.5 to 9" in notes[0][2]
    ends = bench.tile([[-np.pi, np.pi]])  # as FP32, which lies above pi: the stated end itself
    bench.issue("activation", dst=bench.empty(1, 2), data=ends, op="sin")
    assert len([n for n in bench.core.notes if n[0] == "activation_range"]) == 1


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"bias": 1.0}, NkiValidationError, "NeuronCore-v3"),
        ({"bias": "b"}, TypeError, "number or a tile"),
        ({"scale": None}, TypeError, "number or a tile"),
        ({"op": "cos"}, NkiValidationError, "not a function"),
        ({"reduce_op": "maximum"}, NkiValidationError, "only add"),
        ({"reduce_cmd": "reduce"}, NkiValidationError, "only add"),
        ({"reduce_cmd": "load_reduce"}, NkiValidationError, "reduce_cmd is 'load_reduce'"),
        ({"engine": "vector"}, NkiValidationError, "not on the Vector Engine"),
    ],
)
def test_activation_refuses(bench, wrong, error, match):
    operands = {"dst": bench.empty(2, 3), "data": bench.tile(np.ones((2, 3))), "op": "exp"} | wrong
    with pytest.raises(error, match=match):
        bench.issue("activation", **operands)


def test_columns_have_their_shape_and_dtype(bench):
    x, y = bench.tile(np.ones((2, 3))), bench.empty(2, 3)
    for wrong, match in (
        ({"scale": bench.tile(np.ones((2, 1)), "bfloat16")}, "float32"),
        ({"bias": bench.tile(np.ones((2, 3)))}, r"\[2, 1\]"),
        ({"bias": bench.tile(np.ones((2, 1)), "tfloat32")}, "bias is tfloat32"),
        ({"reduce_res": bench.empty(2, 2)}, r"\[2, 1\]"),
        ({"op": "reciprocal", "bias": bench.tile(np.ones((2, 1)))}, "no bias"),
        ({"dst": bench.empty(2, 4)}, "same number"),
    ):
        with pytest.raises(NkiValidationError, match=match):
            bench.issue("activation", **({"dst": y, "data": x, "op": "exp"} | wrong))


def test_a_bias_of_zero_is_no_bias(bench):
    found = bench.issue(
        "activation", dst=bench.empty(1, 1), data=bench.tile([[2.0]]), op="copy", bias=0.0
    )
    assert found == 2
