"""Judges: the format's own full list of values, NumPy's nextafter, ml_dtypes' casts."""

import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows, raises
from trainium_edu.numerics import FORMATS, all_values, configure, from_bits, get_format
from trainium_edu.numerics.grid import Outcome, land, number_text, step_code, stretches

SMALL = [f for f in FORMATS if FORMATS[f].bits <= 16]


def _listed(found):
    parts = [run.first + np.arange(run.count) * run.spacing for run in found]
    return np.concatenate(parts) if parts else np.empty(0)


@for_each("name", SMALL)
@for_each("window", [(-300.0, 300.0), (0.013, 0.4), (-3.0, -1.0), (0.0, 5e-6)])
def test_runs_list_exactly_the_numbers_of_the_window(name, window):
    values = all_values(name)
    expected = values[(values >= window[0]) & (values <= window[1])]
    np.testing.assert_array_equal(_listed(stretches(name, *window)), expected)


def test_runs_of_a_format_without_a_sign_start_at_zero():
    fmt = configure(4, 4, sign_bits=0, infinities=False)
    values = all_values(fmt)
    np.testing.assert_array_equal(_listed(stretches(fmt, -1, fmt.max)), values)


def test_runs_of_fixed_point_are_one_run():
    fmt = configure(0, 7, bias=0, infinities=False, nan=False)
    expected = all_values(fmt)
    np.testing.assert_array_equal(_listed(stretches(fmt, fmt.min, fmt.max)), expected)


def test_narrow_binades_are_joined_and_the_rest_stays_exact():
    found = stretches("fp32", -8.0, 8.0, narrowest=0.05)
    joined = [run for run in found if run.spacing is None]
    assert [(run.first, run.last) for run in joined] == [(-0.03125, 0.0), (0.0, 0.03125)]
    assert sum(run.count for run in found if run.spacing) == 2 * (8 * 2**23 + 1)


@for_rows("window", (1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0))
def test_an_empty_window_is_refused(window):
    raises(ValueError, r"low < high|it must be a number", stretches, "bf16", *window)


@for_rows("name", "fp16", "bf16", "fp8_e5m2", "fp8_e4m3", "fp8_e3m4")
def test_step_code_walks_as_nextafter_does(name):
    fmt = get_format(name)
    dtype = fmt.dtype.type
    codes = np.arange(1 << fmt.bits, dtype=np.uint32)[:: 1 if fmt.bits == 8 else 97]
    for code in codes[np.isfinite(from_bits(codes, fmt))].tolist():
        value = np.array(code, fmt.bits_dtype).view(fmt.dtype)[()]
        for way in (1, -1):
            judge = float(np.nextafter(value, dtype(way * np.inf)))
            assert float(from_bits(step_code(code, fmt, way), fmt)) == judge


def test_step_code_stops_at_the_ends():
    assert from_bits(step_code(0x7F80, "bf16", 1), "bf16") == np.inf
    assert (step_code(127, "int8", 1), step_code(128, "int8", -5)) == (127, 128)
    assert (step_code(255, "int8", 1), step_code(0, "uint8", -1)) == (0, 0)
    assert from_bits(step_code(0x7E, "fp8_e4m3fn", 1), "fp8_e4m3fn") == 448.0


def test_nan_has_no_neighbours():
    raises(ValueError, "no neighbours", step_code, 0x7FFF, "bf16", 1)


def test_landing_agrees_with_ml_dtypes():
    rng = np.random.default_rng(3)
    for x in (rng.normal(size=200) * 10.0 ** rng.integers(-6, 6, 200)).astype(np.float32):
        for name in ("bf16", "fp16", "fp8_e4m3", "fp8_e5m2"):
            with np.errstate(over="ignore"):
                judge = float(x.astype(get_format(name).dtype))
            assert land(float(x), name).value == judge


@for_rows(
    "x, name, outcome", (257.0, "bf16", Outcome.ROUNDED), (256.0, "bf16", Outcome.EXACT),
    (70_000.0, "fp16", Outcome.OVERFLOWED), (449.0, "fp8_e4m3fn", Outcome.ROUNDED),
    (500.0, "fp8_e4m3fn", Outcome.OVERFLOWED), (300.0, "int8", Outcome.SATURATED),
    (1e-9, "fp16", Outcome.VANISHED), (-0.25, "uint8", Outcome.VANISHED),
    (0.0, "fp16", Outcome.EXACT),
)  # fmt: skip
def test_outcomes_have_names(x, name, outcome):
    landing = land(x, name)
    if (x, name) == (449.0, "fp8_e4m3fn"):  # beyond the largest, and still nearest to it
        assert landing.value == float(np.float32(x).astype(ml_dtypes.float8_e4m3fn)) == 448.0
        outcome = Outcome.SATURATED
    assert landing.outcome is outcome


@for_rows("x", float("nan"), float("inf"), "one", None, 1e400)
def test_what_is_no_finite_number_has_no_landing(x):
    raises((TypeError, ValueError), "x is", land, x, "bf16")


def test_number_text_singles_a_number_out():
    values = all_values("bf16")
    some = values[(values > 1e-3) & (values < 1e3)]
    texts = [number_text(v, "bf16").replace("−", "-") for v in some]
    back = np.array([float(t) for t in texts], np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(back.astype(float), some)
