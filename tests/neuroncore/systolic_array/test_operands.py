"""Operands: judged by ml_dtypes' casts, and by Python's fractions for the halves of FP32."""

from fractions import Fraction

import ml_dtypes
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trainium_edu.neuroncore.systolic_array import as_operand
from trainium_edu.neuroncore.systolic_array import operands as checks
from trainium_edu.neuroncore.systolic_array.operands import FOUR_PASSES, HIGH, LOW, pieces_of
from trainium_edu.numerics import FP32, configure

NARROW = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp8_e5m2": ml_dtypes.float8_e5m2,
          "fp8_e4m3": ml_dtypes.float8_e4m3, "fp8_e3m4": ml_dtypes.float8_e3m4}  # fmt: skip


@for_each("name", NARROW)
def test_a_format_asked_for_rounds_as_ml_dtypes_does(name):
    x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    values, fmt = as_operand(x, name)
    assert fmt.name == name
    np.testing.assert_array_equal(values, x.astype(NARROW[name]).astype(np.float32))


@for_each("name", NARROW)
def test_a_dtype_names_its_format(name):
    values, fmt = as_operand(np.ones((2, 2), NARROW[name]))
    assert (values.dtype, fmt.name) == (np.float32, name)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_halves_of_fp32_add_up_exactly_and_hold_12_bits(value):
    pieces = pieces_of(np.full((1, 1), value, np.float32), FP32)[:, 0, 0]
    assert Fraction(float(pieces[LOW])) + Fraction(float(pieces[HIGH])) == Fraction(value)
    for piece in pieces:
        mantissa, _ = np.frexp(float(piece))
        assert float(mantissa) * 2**12 == int(float(mantissa) * 2**12)


def test_infinity_in_fp32_stays_infinity():
    pieces = pieces_of(np.array([[np.inf]], np.float32), FP32)[:, 0, 0]
    assert (pieces.tolist(), len(FOUR_PASSES)) == ([0.0, 0.0, np.inf], 4)


def test_configured_8_bit_floats_are_taken():
    values, _ = as_operand([[0.3]], configure(4, 3, bias=9))
    assert values.shape == (1, 1)


def test_short_formats_may_meet_each_other():
    operands = checks.check_operands(
        np.ones((2, 2), ml_dtypes.bfloat16), np.ones((2, 2), np.float16)
    )
    assert [f.name for f in operands.formats] == ["bf16", "fp16"]
