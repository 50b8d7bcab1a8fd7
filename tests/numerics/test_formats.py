"""Judges: ml_dtypes and NumPy (finfo, iinfo), gfloat (FormatInfo) for configured splits."""

import dataclasses

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_each, raises
from trainium_edu.numerics.formats import BF16, FORMATS, FP8_E4M3, FP32, TF32, configure, get_format

NARROW = ["bf16", "fp16", "fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4", "fp32"]


@for_each("name", NARROW)
def test_limits_match_ml_dtypes_and_numpy(name):
    fmt, info = FORMATS[name], ml_dtypes.finfo(FORMATS[name].dtype)
    assert (fmt.max, fmt.min) == (float(info.max), float(info.min))
    assert fmt.smallest_normal == float(info.smallest_normal)
    assert fmt.smallest_subnormal == float(info.smallest_subnormal)
    assert fmt.epsilon == float(info.eps)
    assert fmt.bits == info.bits == fmt.dtype.itemsize * 8
    assert fmt.mantissa_bits == info.nmant


@for_each("name", [n for n, f in FORMATS.items() if f.is_integer])
def test_integer_limits_match_numpy(name):
    fmt, info = FORMATS[name], np.iinfo(name)
    assert (fmt.min, fmt.max, fmt.bits, fmt.dtype) == (info.min, info.max, info.bits, info.dtype)
    assert fmt.smallest_subnormal == 1.0


def test_limits_match_gfloat(unstored, as_gfloat):
    fmt, judge = unstored, as_gfloat(unstored)
    assert (fmt.max, fmt.min) == (judge.max, judge.min)
    assert (fmt.smallest_subnormal, fmt.bits) == (judge.smallest, judge.k)
    if fmt.mantissa_bits:
        assert fmt.smallest_normal == judge.smallest_normal


def test_named_formats_are_what_trainium_documents():
    """Splits as in the NKI architecture guide: TF32 1-8-10, BF16 1-8-7, FP16 1-5-10, three FP8s."""
    splits = {n: (f.sign_bits, f.exponent_bits, f.mantissa_bits) for n, f in FORMATS.items()}
    assert (splits["tf32"], splits["bf16"]) == ((1, 8, 10), (1, 8, 7))
    assert splits["fp16"] == (1, 5, 10)
    assert (splits["fp8_e5m2"], splits["fp8_e4m3"], splits["fp8_e3m4"]) == (
        (1, 5, 2), (1, 4, 3), (1, 3, 4),
    )  # fmt: skip


def test_e4m3fn_has_no_infinity_and_its_nan_is_all_ones():
    """Stated so by NKI's page of the type."""
    fmt = FORMATS["fp8_e4m3fn"]
    assert not fmt.has_infinities
    assert (fmt.nan_code, fmt.max) == (0b1111111, 448.0)


def test_formats_are_found_by_name_alias_and_dtype():
    assert get_format("bf16") is get_format("bfloat16") is get_format(ml_dtypes.bfloat16) is BF16
    assert get_format("float8_e4m3") is get_format(np.dtype(ml_dtypes.float8_e4m3)) is FP8_E4M3
    assert get_format(np.float32) is FP32
    assert get_format("TF32") is TF32
    mine = configure(4, 3, name="mine")
    assert get_format(mine) is mine


def test_a_format_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BF16.bias = 3
    with pytest.raises(TypeError):
        FORMATS["bf16"] = FP32


def test_a_refused_bias_names_one_that_works():
    """The sentence's advice is taken."""
    raises(ValueError, "the smallest bias for this split is -113", configure, 4, 3, bias=-120)
    assert configure(4, 3, bias=-113).max < 2.0**128
    raises(ValueError, "is -113", configure, 4, 3, bias=-114)
