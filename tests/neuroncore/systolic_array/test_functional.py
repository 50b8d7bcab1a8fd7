"""What any model of the Tensor Engine has to get right: one contract, three models.

Judges: NumPy in float64 (exact on small whole numbers), IEEE 754 for infinities and NaN.
"""

import numpy as np
import pytest

from tests.for_each import for_each
from tests.neuroncore.systolic_array.elements import simulate_elements
from trainium_edu.neuroncore import systolic_array as sa
from trainium_edu.neuroncore.systolic_array import SystolicArray, matmul, plan_gemm, run
from trainium_edu.neuroncore.systolic_array.operands import check_operands

ARRAY = SystolicArray(5, 4, load_speed=3)
FORMATS = ("bf16", "fp16", "tf32", "fp8_e5m2", "fp8_e4m3", "fp8_e3m4", "fp32")


def whole_numbers(k, m, n, seed=0):
    draw = np.random.default_rng(seed)
    return draw.integers(-3, 4, (k, m)).astype(float), draw.integers(-3, 4, (k, n)).astype(float)


class MatmulContract:  # not collected: no Test prefix
    @staticmethod
    def matmul(stationary, moving, fmt):
        raise NotImplementedError

    @pytest.mark.parametrize("fmt", FORMATS)
    @pytest.mark.parametrize("shape", [(1, 1, 1), (5, 4, 9), (3, 2, 6), (12, 9, 7)])
    def test_contracts_over_partitions(self, shape, fmt):
        w, x = whole_numbers(*shape)
        got = self.matmul(w, x, fmt)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, w.T @ x)

    def test_accumulates_in_fp32(self):
        """1 + 128 times 2^-7 is 2 in FP32; in BF16 each addition to 1 would be lost."""
        w, x = np.ones((129, 1)), np.full((129, 1), 2.0**-9)
        x[0] = 1
        assert self.matmul(w, x, "bf16")[0, 0] == 1.25

    def test_rounds_inputs_not_results(self):
        """1 + 2^-9 is 1 in BF16; the result 257 needs 9 bits and stays."""
        assert self.matmul([[1 + 2.0**-9], [1.0]], [[1.0], [256.0]], "bf16")[0, 0] == 257.0

    @pytest.mark.parametrize("fmt", ["bf16", "fp32", "fp16"])
    def test_infinity_and_nan_flow_through_their_row_and_column_only(self, fmt):
        w, x = np.ones((4, 4)), np.ones((4, 5))
        w[1, 2], x[2, 3] = np.inf, np.nan
        got = self.matmul(w, x, fmt)
        assert np.isnan(got[:, 3]).all()
        assert np.isposinf(np.delete(got[2], 3)).all()
        assert (np.delete(np.delete(got, 2, axis=0), 3, axis=1) == 4).all()

    def test_infinity_times_zero_is_nan(self):
        assert np.isnan(self.matmul([[np.inf]], [[0.0]], "bf16")[0, 0])

    def test_sums_overflow_to_infinity(self):
        assert np.isposinf(self.matmul([[1e38]] * 5, [[1.0]] * 5, "bf16")[0, 0])


class TestFunctional(MatmulContract):
    @staticmethod
    def matmul(stationary, moving, fmt):
        return matmul(stationary, moving, fmt=fmt)


class TestCycleLevel(MatmulContract):
    @staticmethod
    def matmul(stationary, moving, fmt):
        return run(stationary, moving, fmt=fmt, array=ARRAY).result


class TestRecorded(MatmulContract):
    @staticmethod
    def matmul(stationary, moving, fmt):
        return run(stationary, moving, fmt=fmt, array=ARRAY, record=True).result


class TestRegisters(MatmulContract):
    @staticmethod
    def matmul(stationary, moving, fmt):
        operands = check_operands(stationary, moving, fmt)
        plan = plan_gemm(*operands.shape, array=ARRAY, passes=operands.passes)
        return simulate_elements(stationary, moving, plan, array=ARRAY, fmt=fmt)[0]


@for_each("fmt", FORMATS)
def test_the_bound_holds_against_float64_and_means_something(fmt):
    """Exact products summed in float64 lie within the bound; a wrong element would not."""
    draw = np.random.default_rng(3)
    w, x = draw.standard_normal((200, 6)), draw.standard_normal((200, 7))
    operands = check_operands(w, x, fmt)
    exact = operands.stationary.T.astype(np.float64) @ operands.moving.astype(np.float64)
    bound = sa.reordering_bound(w, x, fmt=fmt)
    for result in (matmul(w, x, fmt=fmt), run(w, x, fmt=fmt, array=ARRAY).result):
        assert (np.abs(result - exact) <= bound).all()
    assert bound.max() < 0.02
