"""Judges: ml_dtypes and NumPy (views, nextafter, spacing), gfloat (decode) for unstored splits."""

from math import inf, isnan

import gfloat
import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from trainium_edu.numerics import codes as numbers
from trainium_edu.numerics.codes import all_values, bit_string, from_bits, neighbours, range_of, ulp
from trainium_edu.numerics.formats import FORMATS, configure

STORED = [n for n, f in FORMATS.items() if f.is_stored_narrow and f.bits <= 16]
FLOATS = [n for n in STORED if not FORMATS[n].is_integer]


@for_each("name", STORED)
def test_every_code_stands_for_what_the_dtype_says(name):
    fmt = FORMATS[name]
    codes = np.arange(1 << fmt.bits, dtype=np.uint32).astype(fmt.bits_dtype)
    with np.errstate(invalid="ignore"):
        judge = codes.view(fmt.dtype).astype(np.float64)
    np.testing.assert_array_equal(from_bits(codes, fmt), judge)
    np.testing.assert_array_equal(np.signbit(from_bits(codes, fmt)), np.signbit(judge))


@for_rows("name", "fp32", "int32", "uint32")
def test_sampled_codes_of_wide_formats_match_numpy(name):
    codes = np.random.default_rng(0).integers(0, 1 << 32, 10_000, dtype=np.uint32)
    with np.errstate(invalid="ignore"):
        judge = codes.view(name.replace("fp", "float")).astype(np.float64)
    np.testing.assert_array_equal(from_bits(codes, name), judge)


def test_sampled_codes_match_gfloat(unstored, as_gfloat):
    rng, top = np.random.default_rng(1), (1 << unstored.bits) - 1
    edges = [0, 1, unstored.max_code, unstored.max_code + 1, unstored.sign_mask, top - 1, top]
    for code in [*edges, *rng.integers(0, top, 200).tolist()]:
        ours, judge = from_bits(code, unstored), gfloat.decode_float(as_gfloat(unstored), code).fval
        assert ours == judge or (isnan(ours) and isnan(judge)), hex(code)


@for_each("name", FLOATS)
def test_ulp_is_numpys_spacing(name):
    fmt = FORMATS[name]
    for x in all_values(fmt)[:: 1 if fmt.bits == 8 else 97]:
        if x > 0:
            up = float(np.nextafter(fmt.dtype.type(x), fmt.dtype.type(inf)))
            if np.isfinite(up):
                assert (ulp(x, fmt), ulp(-x, fmt)) == (up - x, up - x)


def test_ulp_beyond_both_ends_is_the_one_at_the_end():
    assert ulp(0, "fp16") == ulp(1e-30, "fp16") == 2.0**-24
    assert ulp(1e30, "fp16") == 32.0
    assert ulp(-7, "int8") == ulp(1e9, "int8") == 1.0
    assert ulp(0.3, configure(0, 7, infinities=False)) == 2.0**-6


@for_rows("name", *FLOATS, "int8", "uint8")
def test_neighbours_enclose_as_a_sorted_list_of_all_values_does(name):
    fmt = FORMATS[name]
    values = all_values(fmt)
    rng = np.random.default_rng(2)
    inside = rng.choice(values, 300) * (1 + rng.integers(-3, 4, 300) * 2.0**-12)
    for x in np.clip(inside, values[0], values[-1]):
        below, above = neighbours(x, fmt)
        assert below == values[np.searchsorted(values, x, side="right") - 1]
        assert above == values[np.searchsorted(values, x, side="left")]


def test_neighbours_at_the_ends():
    assert neighbours(1e6, "fp16") == (65504.0, inf)
    assert neighbours(-1e6, "fp16") == (-inf, -65504.0)
    assert neighbours(1e6, "fp8_e4m3fn") == (448.0, 448.0)
    assert neighbours(-200, "int8") == (-128.0, -128.0)
    assert (neighbours(-1, "uint8"), neighbours(1.0, "bf16")) == ((0.0, 0.0), (1.0, 1.0))
    assert neighbours(-1e-30, "fp16") == (-(2.0**-24), 0.0)


def test_all_values_are_finite_sorted_and_counted():
    """Counts from the definition: 2^bits minus specials minus one of the two zeros."""
    assert all_values("fp8_e4m3").size == 256 - 16 - 1
    assert all_values("fp8_e4m3fn").size == 256 - 2 - 1
    assert all_values("bf16").size == 2**16 - 2 * 2**7 - 1
    assert all_values("int8").tolist() == list(range(-128, 128))
    assert (np.diff(all_values("fp16")) > 0).all()


@for_each("name", [n for n in FORMATS if FORMATS[n].bits <= 16])
def test_the_range_table_counts_and_measures_the_values(name):
    row, values = range_of(name), all_values(name)
    assert (row.finite_values, row.min, row.max) == (values.size, values[0], values[-1])
    assert row.smallest_subnormal == values[values > 0].min()
    assert 2.0**row.binades == pytest.approx(values[-1] / values[values > 0].min())


def test_the_range_table_has_a_row_for_every_format():
    assert [row.name for row in numbers.range_table()] == list(FORMATS)
    assert [row.split for row in numbers.range_table(["tf32", "bf16"])] == ["1-8-10", "1-8-7"]


def test_bit_strings_show_the_fields():
    assert bit_string(0x3F80, "bf16") == "0 01111111 0000000"
    assert bit_string(0x7E, "fp8_e4m3fn") == "0 1111 110"
    assert bit_string(0x80, "int8") == "1 0000000"
    assert bit_string(5, configure(4, 3, sign_bits=0, infinities=False)) == "0000 101"
    assert numbers.bit_fields(0x1FC00, "tf32") == ("0", "01111111", "0000000000")
