"""activation and activation_reduce against NumPy; the accumulator registers by hand."""

import ml_dtypes
import numpy as np
import pytest

from trainium_edu.neuroncore.recording.dtypes import DTYPES


@pytest.mark.parametrize("shape", [(1, 1), (128, 5), (7, 2, 3)])
def test_function_of_scale_x_plus_bias(bench, rng, shape):
    x = rng.standard_normal(shape).astype(np.float32)
    scale = rng.standard_normal((shape[0], 1)).astype(np.float32)
    bias = rng.standard_normal((shape[0], 1)).astype(ml_dtypes.bfloat16)
    found = bench.issue("activation", dst=shape, data=x, op="tanh", scale=scale, bias=bias)
    column = (-1, *(1,) * (len(shape) - 1))
    inner = x * scale.reshape(column) + bias.astype(np.float32).reshape(column)
    np.testing.assert_allclose(found, np.tanh(inner.astype(np.float64)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3", "int8", "uint8"])
def test_casts_are_free_on_both_sides(bench, dtype):
    x = np.array([[0, 1, 2, 3]]).astype(DTYPES[dtype].storage)
    found = bench.issue("activation", dst=(1, 4, dtype), data=x, op="square", scale=2.0)
    assert found.astype(float).tolist() == [[0, 4, 16, 36]]


def test_registers_go_on_from_one_instruction_to_the_next(bench, rng):
    parts = rng.standard_normal((3, 4, 10)).astype(np.float32)
    total = bench.empty(4, 1)
    for i, part in enumerate(parts):
        command, kept = "reduce" if i else "reset_reduce", total if i == 2 else None
        options = {"reduce_op": "add", "reduce_cmd": command, "reduce_res": kept}
        bench.issue("activation", dst=(4, 10), data=part, op="exp", **options)
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
    kept = {"reduce_op": "add", "reduce_cmd": "reset_reduce"}
    for data in (x, bench.tile(np.full((64, 2), 5.0))):
        bench.core.activation(dst=data, data=data, op="copy", **kept)
    held = bench.core.state["scalar_accumulators"]
    assert (set(held[:64]), set(held[64:])) == ({10}, {2})


def test_activation_reduce_sums_before_rounding(bench):
    x = np.full((1, 100), 1.001, np.float32)
    total = bench.empty(1, 1)
    operands = {"data": x, "op": "copy", "reduce_op": "add", "reduce_res": total}
    out = bench.issue("activation_reduce", dst=(1, 100, "bfloat16"), **operands)
    assert out.astype(float).max() == 1.0
    assert bench.core.value(total)[0, 0] == pytest.approx(100.1, rel=1e-6)


def test_result_may_lie_on_the_output(bench):
    # the release notes: a reduce_res that aliases dst holds the reduction
    x = bench.tile([[1.0, 2.0, 3.0]])
    dst = bench.empty(1, 3)
    first = dst.sliced(slice(0, 1), slice(0, 1))
    kept = {"reduce_op": "add", "reduce_cmd": "reset_reduce", "reduce_res": first}
    assert bench.issue("activation", dst=dst, data=x, op="copy", **kept).tolist() == [[6, 2, 3]]


def test_inputs_outside_the_stated_range_are_noted(bench):
    bench.issue("activation", dst=(1, 2), data=np.float32([[0.5, 9.0]]), op="sin")
    bench.issue("activation", dst=(1, 2), data=np.float32([[0.5, 2.0]]), op="log")
    notes = [n for n in bench.core.notes if n[0] == "activation_range"]
    assert len(notes) == 1
    assert "sin of 0.5 to 9" in notes[0][2]
    ends = bench.tile([[-np.pi, np.pi]])  # as FP32, which lies above pi: the stated end itself
    bench.issue("activation", dst=(1, 2), data=ends, op="sin")
    assert len([n for n in bench.core.notes if n[0] == "activation_range"]) == 1


def test_a_bias_of_zero_is_no_bias(bench):
    assert bench.issue("activation", dst=(1, 1), data=np.float32([[2.0]]), op="copy", bias=0.0) == 2
