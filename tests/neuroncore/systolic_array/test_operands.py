"""Operands: judged by ml_dtypes' casts, and by Python's fractions for the halves of FP32."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each, for_rows, raises
from trainium_edu.neuroncore.systolic_array import as_operand
from trainium_edu.neuroncore.systolic_array.operands import (
    FOUR_PASSES,
    HIGH,
    LOW,
    check_operands,
    pieces_of,
)
from trainium_edu.numerics import FP32, configure
from trainium_edu.specs import NkiValidationError

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
    assert pieces.tolist() == [0.0, 0.0, np.inf]
    assert len(FOUR_PASSES) == 4


def test_configured_8_bit_floats_are_taken():
    values, _ = as_operand([[0.3]], configure(4, 3, bias=9))
    assert values.shape == (1, 1)


@for_rows(
    "x, fmt, error, says",
    (np.ones((2, 2)), None, NkiValidationError, "float64"),
    (np.ones((2, 2), np.int8), None, NkiValidationError, "int8"),
    (np.ones((2, 2), bool), None, NkiValidationError, "bool"),
    (np.ones((2, 2)), "int8", NkiValidationError, "int8"),
    (np.ones((2, 2)), "fp8_e4m3fn", NkiValidationError, "takes"),
    (np.ones((2, 2)), "fp99", ValueError, "fp99"),
    (np.ones((2, 2), complex), None, TypeError, "an array of numbers"),
    ([["a"]], None, TypeError, "an array of numbers"),
    (np.ones(3), "bf16", ValueError, "dimension"),
    (np.ones((0, 3)), "bf16", ValueError, "nothing to multiply"),
    (np.ones((3, 0)), "bf16", ValueError, "nothing to multiply"),
)
def test_what_the_engine_does_not_take_is_refused(x, fmt, error, says):
    raises(error, says, as_operand, x, fmt)


def test_mismatched_contractions_are_refused():
    with pytest.raises(ValueError, match="contraction K first, and 3 is not 4"):
        check_operands(np.ones((3, 2)), np.ones((4, 2)), "bf16")


def test_fp32_meets_only_fp32():
    with pytest.raises(NkiValidationError, match="meets only FP32"):
        check_operands(np.ones((2, 2), np.float32), np.ones((2, 2), np.float16))


def test_short_formats_may_meet_each_other():
    operands = check_operands(np.ones((2, 2), ml_dtypes.bfloat16), np.ones((2, 2), np.float16))
    assert [f.name for f in operands.formats] == ["bf16", "fp16"]
