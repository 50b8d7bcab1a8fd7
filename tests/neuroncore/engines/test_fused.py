"""reciprocal, scalar_tensor_tensor and tensor_scalar_reduce against NumPy."""

import numpy as np
import pytest

from trainium_edu.specs.errors import NkiValidationError


@pytest.mark.parametrize("shape", [(1, 1), (128, 3), (2, 3, 4)])
def test_reciprocal_is_one_division(bench, rng, shape):
    x = rng.uniform(0.1, 9, shape).astype(np.float32)
    found = bench.issue("reciprocal", dst=bench.empty(*shape), data=bench.tile(x))
    assert np.array_equal(found, np.float32(1) / x)


def test_reciprocal_of_zero_is_infinity(bench):
    found = bench.issue("reciprocal", dst=bench.empty(1, 2), data=bench.tile([[0.0, -0.0]]))
    assert found.tolist() == [[np.inf, -np.inf]]


@pytest.mark.parametrize("reverse", [(False, False), (True, False), (False, True), (True, True)])
def test_scalar_tensor_tensor_is_two_operations(bench, rng, reverse):
    x, y = (rng.standard_normal((6, 8)).astype(np.float32) for _ in range(2))
    v = rng.standard_normal((6, 1)).astype(np.float32)
    found = bench.issue(
        "scalar_tensor_tensor", dst=bench.empty(6, 8), data=bench.tile(x), op0="subtract",
        operand0=bench.tile(v), op1="divide", operand1=bench.tile(y), reverse0=reverse[0],
        reverse1=reverse[1],
    )  # fmt: skip
    step = v - x if reverse[0] else x - v
    assert np.array_equal(found, y / step if reverse[1] else step / y)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"op0": "bitwise_and"}, "works on bits"),
        ({"op1": "left_shift"}, "works on bits"),
        ({"op1": "abs"}, "takes one input"),
    ],
)
def test_scalar_tensor_tensor_refuses(bench, wrong, match):
    x = bench.tile(np.ones((2, 3)))
    operands = {"dst": bench.empty(2, 3), "data": x, "op0": "add", "operand0": 1.0, "op1": "add",
                "operand1": x} | wrong  # fmt: skip
    with pytest.raises(NkiValidationError, match=match):
        bench.issue("scalar_tensor_tensor", **operands)


def test_scalar_tensor_tensor_refuses_two_tiles_in_psum(bench):
    x = bench.tile(np.ones((2, 3)), memory="psum")
    with pytest.raises(NkiValidationError, match="both in PSUM"):
        bench.issue("scalar_tensor_tensor", dst=bench.empty(2, 3), data=x, op0="add",
                    operand0=1.0, op1="add", operand1=x)  # fmt: skip


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_tensor_scalar_reduce_reduces_over_all_free_axes(bench, rng, op):
    x = rng.uniform(0.8, 1.2, (5, 3, 4)).astype(np.float32)
    total = bench.empty(5, 1)
    found = bench.issue(
        "tensor_scalar_reduce", dst=bench.empty(5, 3, 4), data=bench.tile(x), op0="add",
        operand0=0.5, reduce_op=op, reduce_res=total,
    )  # fmt: skip
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

    assert run() == 3
    assert run(reduce_cmd="reduce") == 6
    assert run(reduce_cmd="load_reduce", reduce_init=10.0, reduce_res_negate=True) == -13
    assert run(reduce_cmd="reduce") == 16  # negation left the registers alone
    assert run(reduce_op="maximum") == 2


def test_vector_registers_are_shared_between_instructions(bench):
    x, total = bench.tile([[1.0, 2.0]]), bench.empty(1, 1)
    bench.core.tensor_scalar_cumulative(
        dst=bench.empty(1, 2), src=x, op0="add", op1="add", imm0=0.0
    )
    bench.core.tensor_scalar_reduce(
        dst=bench.empty(1, 2), data=x, op0="add", operand0=0.0, reduce_op="add",
        reduce_cmd="reduce", reduce_res=total,
    )  # fmt: skip
    assert bench.core.value(total) == 6


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"reduce_op": "subtract"}, NkiValidationError, "reduce_op is subtract"),
        ({"reduce_cmd": "idle"}, NkiValidationError, "reduce_cmd is 'idle'"),
        ({"reduce_cmd": "load_reduce"}, TypeError, "reduce_init"),
        ({"reduce_init": 1.0}, NkiValidationError, "goes with load_reduce"),
        ({"op0": "invert"}, NkiValidationError, "works on bits"),
        ({"reduce_res_negate": 0}, TypeError, "True or False"),
        ({"op0": "subtract", "reverse0": True}, NkiValidationError, "reverse0 is not supported"),
    ],
)
def test_tensor_scalar_reduce_refuses(bench, wrong, error, match):
    operands = {"dst": bench.empty(2, 3), "data": bench.tile(np.ones((2, 3))), "op0": "add",
                "operand0": 0.0, "reduce_op": "add"} | wrong  # fmt: skip
    with pytest.raises(error, match=match):
        bench.issue("tensor_scalar_reduce", **operands)
