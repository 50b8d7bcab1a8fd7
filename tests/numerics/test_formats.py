"""Judges: ml_dtypes and NumPy (finfo, iinfo), gfloat (FormatInfo) for configured splits."""

import dataclasses

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu.numerics.formats import (
    BF16,
    FORMATS,
    FP8_E4M3,
    FP32,
    TF32,
    configure,
    get_format,
)

NARROW = ["bf16", "fp16", "fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4", "fp32"]


@for_each("name", NARROW)
def test_limits_match_ml_dtypes_and_numpy(name):
    fmt, info = FORMATS[name], ml_dtypes.finfo(FORMATS[name].dtype)
    assert fmt.max == float(info.max)
    assert fmt.min == float(info.min)
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
    assert fmt.max == judge.max
    assert fmt.min == judge.min
    assert fmt.smallest_subnormal == judge.smallest
    assert fmt.bits == judge.k
    if fmt.mantissa_bits:
        assert fmt.smallest_normal == judge.smallest_normal


def test_named_formats_are_what_trainium_documents():
    """Splits as in the NKI architecture guide: TF32 1-8-10, BF16 1-8-7, FP16 1-5-10, three FP8s."""
    splits = {n: (f.sign_bits, f.exponent_bits, f.mantissa_bits) for n, f in FORMATS.items()}
    assert splits["tf32"] == (1, 8, 10)
    assert splits["bf16"] == (1, 8, 7)
    assert splits["fp16"] == (1, 5, 10)
    assert (splits["fp8_e5m2"], splits["fp8_e4m3"], splits["fp8_e3m4"]) == (
        (1, 5, 2), (1, 4, 3), (1, 3, 4),
    )  # fmt: skip


def test_e4m3fn_has_no_infinity_and_its_nan_is_all_ones():
    """Stated so by NKI's page of the type."""
    fmt = FORMATS["fp8_e4m3fn"]
    assert not fmt.has_infinities
    assert fmt.nan_code == 0b1111111
    assert fmt.max == 448.0


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


@for_rows(
    "fmt, error, sentence",
    ("bf17", ValueError, "no number format is called 'bf17'; there are fp32, tf32, bf16,"),
    ("e3m2", ValueError, r"numerics.configure\(3, 2\) makes one of your own"),
    ("fp6", ValueError, r"configure\(exponent_bits, mantissa_bits\) makes one"),
    ("", ValueError, "no number format is called ''"),
    (16, TypeError, "a number format is a Format or its name such as 'bf16', and this is 16"),
    (None, TypeError, "and this is None"),
    (np.complex64, TypeError, "and this is <class 'numpy.complex64'>"),
    (["bf16"], TypeError, r"and this is \['bf16'\]"),
    ("x" * 10_000, ValueError, "no number format is called"),
)
def test_unknown_formats_are_refused_in_one_sentence(fmt, error, sentence):
    caught = raises(error, sentence, get_format, fmt)
    assert len(str(caught)) < 300


@for_rows(
    "arguments, options, error, sentence",
    ((9, 3), {}, ValueError, "exponent_bits is 9; it must be an integer from 0 to 8"),
    ((-1, 3), {}, ValueError, "exponent_bits is -1"),
    ((5, 24), {}, ValueError, "mantissa_bits is 24; it must be an integer from 0 to 23"),
    ((4, 3), {"sign_bits": 2}, ValueError, "sign_bits is 2; it must be an integer from 0 to 1"),
    ((4.0, 3), {}, TypeError, "exponent_bits is 4.0; it must be an integer"),
    ((4, True), {}, TypeError, "mantissa_bits is True; it must be an integer"),
    (("4", 3), {}, TypeError, "exponent_bits is '4'; it must be an integer"),
    ((4, 3), {"bias": float("nan")}, TypeError, "bias is nan; it must be an integer"),
    ((4, 3), {"bias": 128}, ValueError, "smallest normal number at 2\\^-127, below FP32's"),
    ((4, 3), {"bias": -120}, ValueError, "puts the largest number at 2\\^134, above FP32's"),
    ((4, 3), {"bias": 10**30}, ValueError, "the largest bias is 127"),
    ((8, 3), {"infinities": False}, ValueError, "no bias fits them into FP32's"),
    ((0, 3), {}, ValueError, "exponent_bits=0 leaves no field; pass infinities=False"),
    ((1, 0), {}, ValueError, "2 bits split 1-1-0 leave no finite number but zero"),
    ((0, 0), {"infinities": False}, ValueError, "leave no finite number but zero"),
    ((4, 3), {"nan": False}, ValueError, "for a format without NaN pass infinities=False"),
    ((4, 3), {"infinities": 1}, TypeError, "infinities is 1; it must be True or False"),
    ((4, 3), {"name": 7}, TypeError, "name is 7; it must be a string"),
)  # fmt: skip
def test_impossible_splits_are_refused_in_one_sentence(arguments, options, error, sentence):
    raises(error, sentence, configure, *arguments, **options)


def test_a_refused_bias_names_one_that_works():
    """The sentence's advice is taken."""
    raises(ValueError, "the smallest bias for this split is -113", configure, 4, 3, bias=-120)
    assert configure(4, 3, bias=-113).max < 2.0**128
    raises(ValueError, "is -113", configure, 4, 3, bias=-114)
