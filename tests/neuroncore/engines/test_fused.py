"""reciprocal, scalar_tensor_tensor and tensor_scalar_reduce against NumPy."""

import numpy as np
import pytest


@pytest.mark.parametrize("shape", [(1, 1), (128, 3), (2, 3, 4)])
def test_reciprocal_is_one_division(bench, rng, shape):
    x = rng.uniform(0.1, 9, shape).astype(np.float32)
    assert np.array_equal(bench.issue("reciprocal", dst=(*shape,), data=x), np.float32(1) / x)


def test_reciprocal_of_zero_is_infinity(bench):
    found = bench.issue("reciprocal", dst=(1, 2), data=np.float32([[0.0, -0.0]]))
    assert found.tolist() == [[np.inf, -np.inf]]


@pytest.mark.parametrize("reverse", [(False, False), (True, False), (False, True), (True, True)])
def test_scalar_tensor_tensor_is_two_operations(bench, rng, reverse):
    x, y = (rng.standard_normal((6, 8)).astype(np.float32) for _ in range(2))
    v = rng.standard_normal((6, 1)).astype(np.float32)
    first = {"op0": "subtract", "operand0": v, "reverse0": reverse[0]}
    then = {"op1": "divide", "operand1": y, "reverse1": reverse[1]}
    found = bench.issue("scalar_tensor_tensor", dst=(6, 8), data=x, **first, **then)
    step = v - x if reverse[0] else x - v
    assert np.array_equal(found, y / step if reverse[1] else step / y)


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_tensor_scalar_reduce_reduces_over_all_free_axes(bench, rng, op):
    x = rng.uniform(0.8, 1.2, (5, 3, 4)).astype(np.float32)
    total = bench.empty(5, 1)
    operands = {"op0": "add", "operand0": 0.5, "reduce_op": op, "reduce_res": total}
    found = bench.issue("tensor_scalar_reduce", dst=(5, 3, 4), data=x, **operands)
    assert np.array_equal(found, x + np.float32(0.5))
    wanted = getattr(np, op).reduce((x.astype(np.float64) + 0.5).reshape(5, -1), axis=1)
    np.testing.assert_allclose(bench.core.value(total)[:, 0], wanted, rtol=1e-6)


def test_tensor_scalar_reduce_goes_on_loads_and_negates(bench):
    x, total = bench.tile([[1.0, 2.0]]), bench.empty(1, 1)

    def run(**more):
        operands = {"dst": bench.empty(1, 2), "data": x, "op0": "multiply", "operand0": 1.0,
                    "reduce_op": "add", "reduce_res": total} | more  # fmt: skip
        bench.core.tensor_scalar_reduce(**operands)
        return bench.core.value(total).item()

    assert (run(), run(reduce_cmd="reduce")) == (3, 6)
    assert run(reduce_cmd="load_reduce", reduce_init=10.0, reduce_res_negate=True) == -13
    assert run(reduce_cmd="reduce") == 16  # negation left the registers alone
    assert run(reduce_op="maximum") == 2


def test_vector_registers_are_shared_between_instructions(bench):
    x, total = bench.tile([[1.0, 2.0]]), bench.empty(1, 1)
    bench.issue("tensor_scalar_cumulative", dst=(1, 2), src=x, op0="add", op1="add", imm0=0.0)
    kept = {"reduce_op": "add", "reduce_cmd": "reduce", "reduce_res": total}
    bench.issue("tensor_scalar_reduce", dst=(1, 2), data=x, op0="add", operand0=0.0, **kept)
    assert bench.core.value(total) == 6
