"""Judges: ml_dtypes.finfo and NumPy's finfo for landmarks, fractions for exact decimals."""

from fractions import Fraction

import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows, raises
from trainium_edu.numerics import FORMATS, configure, from_bits, get_format
from trainium_edu.numerics.anatomy import Kind, decimal_text, dissect, landmarks

FLOATS = ["fp32", "bf16", "fp16", "fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4"]


@for_each("name", [n for n in FORMATS if FORMATS[n].bits <= 8])
def test_the_parts_of_every_code_multiply_to_its_value(name):
    fmt = get_format(name)
    for code in range(256):
        parts = dissect(code, fmt)
        if parts.kind in (Kind.NORMAL, Kind.SUBNORMAL, Kind.ZERO):
            product = Fraction(parts.significand) * Fraction(2) ** parts.power
            assert (-1) ** int(parts.sign or "0") * product == Fraction(parts.value)
        if parts.above is not None and np.isfinite(parts.value):
            assert parts.above > parts.value
        assert int(parts.hex, 16) == code


@for_each("name", FLOATS)
def test_landmarks_are_those_of_finfo(name):
    fmt = get_format(name)
    judge = ml_dtypes.finfo(fmt.dtype)
    values = {k: float(from_bits(c, fmt)) for k, c in landmarks(fmt).items()}
    assert values["largest"] == float(judge.max)
    assert values["most negative"] == float(judge.min)
    assert values["smallest normal"] == float(judge.smallest_normal)
    assert (values["smallest"], values["one"]) == (float(judge.smallest_subnormal), 1.0)
    assert dissect(landmarks(fmt)["NaN"], fmt).kind is Kind.NAN
    assert ("infinity" in values) == (name != "fp8_e4m3fn")
    assert values["largest subnormal"] + values["smallest"] == values["smallest normal"]


def test_landmarks_of_integers_and_odd_splits():
    assert landmarks("int8") == {"zero": 0, "smallest": 1, "one": 1, "largest": 127,
                                 "most negative": 128}  # fmt: skip
    assert landmarks("uint8") == {"zero": 0, "smallest": 1, "one": 1, "largest": 255}
    fmt = configure(4, 3, bias=20, infinities=False)
    assert "one" not in landmarks(fmt)
    for code in landmarks(fmt).values():
        dissect(code, fmt)


def test_special_codes_have_no_neighbours_where_none_are():
    top = dissect(landmarks("fp16")["infinity"], "fp16")
    assert (top.above, top.below, top.kind) == (None, 65504.0, Kind.INFINITY)
    nan = dissect(landmarks("fp16")["NaN"], "fp16")
    assert (nan.above, nan.below, nan.spacing) == (None, None, None)


def test_exact_decimals_are_exact():
    rng = np.random.default_rng(0)
    for code in rng.integers(0, 1 << 16, 300).tolist():
        value = float(from_bits(code, "bf16"))
        if np.isfinite(value):
            assert Fraction(decimal_text(value).replace("−", "-")) == Fraction(value)
    assert decimal_text(1e20) == "100000000000000000000"
    assert decimal_text(-(2.0**-30)).startswith("−9.31322574615478515625e−10")
    assert (decimal_text(0.0), decimal_text(-0.0)) == ("0", "−0")


@for_rows("code", -1, 256, 1.5, True, "7")
def test_no_code_no_anatomy(code):
    raises((TypeError, ValueError), "", dissect, code, "fp8_e4m3")
