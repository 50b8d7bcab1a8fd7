"""Judges: ml_dtypes' casts for values, the textbook 6.02 dB a bit for the error, counts by hand."""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu.numerics import FORMATS, configure, from_bits, get_format, quantisation
from trainium_edu.numerics.quantisation import best_power, error_table, fitted_table, quantise


@for_rows("name", "bf16", "fp16", "fp8_e5m2", "fp8_e4m3", "fp8_e3m4")
def test_values_are_those_of_another_library(name):
    x = np.random.default_rng(0).normal(size=(40, 50)).astype(np.float32)
    q = quantise(x, name, power=-3)
    judge = (x / 8).astype(get_format(name).dtype).astype(np.float64) * 8
    np.testing.assert_array_equal(q.values, judge)
    noise = ((judge - x.astype(float)) ** 2).sum()
    assert q.snr_db == pytest.approx(10 * np.log10((x.astype(float) ** 2).sum() / noise))


def test_each_mantissa_bit_is_worth_six_decibels():
    x = np.random.default_rng(1).uniform(1, 2, 20_000)
    ratios = [quantise(x, configure(8, m)).snr_db for m in range(2, 9)]
    np.testing.assert_allclose(np.diff(ratios), 20 * np.log10(2), atol=0.15)


def test_counts_are_those_made_by_hand():
    x = [0.0, 1.0, 1.01, 2.0**-9, 2.0**-10, 2.0**-11, 240.0, 247.9, 249.0, -1e6]
    q = quantise(x, "fp8_e4m3")
    assert (q.vanished, q.saturated, q.exact, q.subnormal, q.count) == (2, 3, 4, 1, 10)
    assert (q.max_relative_error, q.values[-1]) == (1.0, -240.0)


def test_infinity_makes_the_error_infinite_only_when_asked_for():
    x = [1.0, 300.0]
    assert np.isfinite(quantise(x, "fp8_e4m3").snr_db)
    for name in ("fp8_e4m3", "fp8_e4m3fn"):
        q = quantise([1.0, 3000.0], name, overflow="infinity")
        assert (q.snr_db, q.max_relative_error, q.saturated) == (-np.inf, np.inf, 1)


def test_what_fits_exactly_has_no_error():
    q = quantise([1.0, -0.5, 0.0], "fp8_e5m2")
    assert (q.snr_db, q.max_relative_error, q.exact) == (np.inf, 0.0, 3)
    assert "exact" in error_table([q])


def test_a_power_of_two_changes_nothing_but_the_place():
    x = np.random.default_rng(2).uniform(1, 2, 1000).astype(ml_dtypes.bfloat16).astype(float)
    for power in (-7, 0, 3):
        np.testing.assert_array_equal(quantise(x, "bf16", power=power).values, x)


@for_rows("name", "fp16", "fp8_e4m3", "fp8_e3m4", "int8")
@for_rows("largest", 0.7, 1e-5, 240.0, 1.0)
def test_best_power_fits_and_the_next_does_not(name, largest):
    x, fmt = np.array([largest, -largest / 3]), FORMATS[name]
    power = best_power(x, fmt)
    assert largest * 2.0**power <= fmt.max < largest * 2.0 ** (power + 1)


@for_rows("x", [], [1.0, np.nan], [np.inf])
def test_no_error_without_finite_numbers(x):
    raises(ValueError, "x is", quantise, x, "bf16")


@for_rows("power", True, 1.5, 201, "2", None)
def test_bad_powers_are_refused(power):
    raises((TypeError, ValueError), "power is", quantise, [1.0], "bf16", power=power)
    raises(ValueError, "largest size", best_power, [0.0], "bf16")


def test_every_code_of_a_format_survives_it():
    fmt = get_format("fp8_e3m4")
    values = from_bits(np.arange(256, dtype=np.uint8), fmt)
    q = quantise(values[np.isfinite(values)], fmt)
    assert q.exact == q.count


def test_what_is_lost_at_each_power_is_what_another_library_loses():
    x = np.random.default_rng(3).normal(0, 1e-3, 500).astype(np.float32)
    table = quantisation.lost_table(x, ["fp8_e4m3", "fp8_e5m2"], [0, 20]).splitlines()
    for row, judge in zip(table[1:], (ml_dtypes.float8_e4m3, ml_dtypes.float8_e5m2), strict=True):
        cells = []
        for power in (0, 20):
            scaled = np.ldexp(x, power)
            zero = int(((x != 0) & (scaled.astype(judge).astype(float) == 0)).sum())
            beyond = int((np.abs(scaled) > float(ml_dtypes.finfo(judge).max)).sum())
            cells.append(f"{zero} + {beyond}")
        assert [c.strip() for c in row[12:].split("  ") if c.strip()] == cells


def test_a_fitted_format_has_the_ratio_of_another_librarys_cast():
    x = np.random.default_rng(4).normal(0, 0.1, 500).astype(np.float32)
    _, row = fitted_table(x, ["fp8_e3m4"]).splitlines()
    power = int(row.split("^")[1])

    def ratio(power):
        scaled = np.ldexp(x, power).astype(np.float64)
        kept = scaled.astype(ml_dtypes.float8_e3m4).astype(float)
        return 10 * np.log10((scaled**2).sum() / ((scaled - kept) ** 2).sum())

    top = float(ml_dtypes.finfo(ml_dtypes.float8_e3m4).max)
    assert np.ldexp(np.abs(x).max(), power) <= top < np.ldexp(np.abs(x).max(), power + 1)
    assert row.split()[1:3] == [f"{ratio(0):.1f}", f"{ratio(power):.1f}"]
