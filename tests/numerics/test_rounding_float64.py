"""float64 and large integers are rounded once.  Judges: fractions, NumPy, ml_dtypes, gfloat.

The judge `exactly` is the definition in whole fractions: it knows the list of a format's numbers
around a value only through the format's fields, and uses no floating-point step of ours.
"""

import os
from fractions import Fraction
from math import frexp, inf, nan

import gfloat
import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows, raises
from trainium_edu import numerics
from trainium_edu.numerics import FORMATS, ROUNDINGS, cast, cast_to_bits, configure, from_bits
from trainium_edu.numerics.quantisation import quantise

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
WIDE = [
    configure(7, 22), configure(7, 23), configure(8, 23), configure(5, 22, infinities=False),
    configure(0, 23, infinities=False, nan=False), configure(4, 23, sign_bits=0, infinities=False),
    configure(8, 0), configure(3, 23, infinities=False, nan=False),
]  # fmt: skip
ALL = [*FORMATS.values(), *WIDE]
N = 60 if INTERPRETED else 400


def exactly(x, fmt, rounding, random_bits=0, n_random_bits=16):
    """Return the value of x in a format, as a fraction, or None beyond the largest number."""
    exact = Fraction(x)
    size = abs(exact)
    if exact < 0 and not fmt.sign_bits:
        return Fraction(0)
    exponent = fmt.min_exponent
    if not fmt.is_integer and fmt.exponent_bits:
        exponent = max(exponent, frexp(size)[1] - 1)  # float64 holds x, and so its size
    step = Fraction(1) if fmt.is_integer else Fraction(2) ** (exponent - fmt.mantissa_bits)
    below, dropped = divmod(size / step, 1)
    match rounding:
        case "nearest":
            up = dropped > Fraction(1, 2) or (
                dropped == Fraction(1, 2) and is_odd(below, step, fmt)
            )
        case "toward_zero":
            up = False
        case "stochastic":  # the formula in `cast`'s Notes
            up = (dropped * 2**n_random_bits).__floor__() + random_bits >= 2**n_random_bits
    found = (below + up) * step * (1 if exact >= 0 else -1)
    if fmt.is_integer:
        return min(max(found, Fraction(int(fmt.min))), Fraction(int(fmt.max)))
    return found if abs(found) <= Fraction(fmt.max) else None


def is_odd(below, step, fmt):
    """Whether a code is odd: its last mantissa bit, or its exponent where there is no mantissa."""
    if fmt.mantissa_bits or not fmt.exponent_bits:
        return below % 2
    if below == 0:
        return False
    return (round(np.log2(float(below * step))) + fmt.bias) % 2


def hard_numbers(fmt, rng):
    """Float64 numbers near the format's numbers and midpoints, off by less than FP32 can see."""
    codes = rng.integers(0, fmt.max_code, N, dtype=np.int64)
    codes[:40] = np.arange(40) % (fmt.max_code + 1)
    codes[40:50] = fmt.max_code - np.arange(10) % (fmt.max_code + 1)
    low = from_bits(codes, fmt)
    high = from_bits(np.minimum(codes + 1, fmt.max_code), fmt)
    place = rng.choice([0, 0.25, 0.5, 0.5, 0.5, 0.75, 1 - 2.0**-20], N)
    nudge = rng.choice([0, 2.0**-25, -(2.0**-25), 2.0**-45, -(2.0**-45), 2.0**-52], N)
    x = (low + (high - low) * place) * (1 + nudge) * rng.choice([-1, 1], N)
    return np.concatenate([x, [0.0, -0.0, 5e-324, -1e-310, 1e-45, 16777217.0, 8388608.25]])


@for_each("rounding", ROUNDINGS)
@for_each("fmt", ALL, ids=str)
def test_float64_is_rounded_once_to_every_format(fmt, rounding):
    """Judge: `exactly`, in fractions; the scalar twin has to give the same code."""
    rng = np.random.default_rng(11)
    for n_random_bits in (1, 9, 16, 31) if rounding == "stochastic" else (16,):
        x = hard_numbers(fmt, rng)
        bits = rng.integers(0, 1 << n_random_bits, x.shape, np.uint32)
        given = bits if rounding == "stochastic" else None
        codes = cast_to_bits(x, fmt, rounding, random_bits=given, n_random_bits=n_random_bits)
        values = from_bits(codes, fmt)
        for i in range(x.size):
            judge = exactly(x[i], fmt, rounding, int(bits[i]), n_random_bits)
            if judge is None:
                size = abs(values[i])
                assert size == fmt.max if rounding == "toward_zero" else not size < fmt.max
            else:
                assert Fraction(float(values[i])) == judge, (x[i].hex(), int(bits[i]))
            given_bits = {"random_bits": int(bits[i])} if given is not None else {}
            assert codes[i] == numerics.round_to_code(
                float(x[i]), fmt, rounding, n_random_bits=n_random_bits, **given_bits
            )


def test_the_reported_cases():
    assert cast(np.float64(16777217), "int32") == 16777217
    assert cast(np.float64(4294967295), "uint32") == 4294967295
    assert cast(8388608.25, "int32", "toward_zero") == 8388608
    assert float(cast(1 + 2**-25, configure(7, 23), "toward_zero")) == 1.0
    assert cast(2147483646.5, "int32") == 2147483646
    assert quantise([16777217.0], "int32").values.tolist() == [16777217.0]
    up = np.uint32([2**31 - 1])
    assert cast([1 + 2.0**-24], "fp32", "stochastic", random_bits=up, n_random_bits=31) > 1
    assert cast([1 + 2.0**-24], "fp32", "stochastic", random_bits=0 * up, n_random_bits=31) == 1


@for_rows("name", "int8", "uint8", "int16", "uint16", "int32", "uint32")
def test_float64_to_integers_is_numpys_rint_clip_and_trunc(name):
    info = np.iinfo(name)
    x = np.random.default_rng(12).uniform(-(2.0**33), 2.0**33, N) * np.exp2(
        -np.random.default_rng(13).integers(0, 34, N)
    )
    x = np.concatenate([x, np.round(x) + 0.5, np.round(x), [inf, -inf, 1e300, -1e300, -0.4]])
    want = np.clip(np.rint(x), info.min, info.max)
    np.testing.assert_array_equal(cast(x, name).astype(np.float64), want)
    cut = np.clip(np.trunc(x), info.min, info.max)
    np.testing.assert_array_equal(cast(x, name, "toward_zero").astype(np.float64), cut)


@for_each("overflow", ["infinity", "saturate"])
@for_each("rounding", ROUNDINGS)
@for_each("fmt", ALL, ids=str)
def test_what_float32_holds_gives_the_same_code_from_float64(fmt, rounding, overflow, stratified):
    """The loops over FP32 words, which gfloat and ml_dtypes judge, judge the loop over FP64's."""
    x = stratified[:: 5 if INTERPRETED else 11]
    x = x[~np.isnan(x)] if not fmt.has_nan else x[x.view(np.uint32) & 0x400000 != 0]
    bits = np.random.default_rng(1).integers(0, 1 << 16, x.shape, np.uint32)
    given = {"random_bits": bits} if rounding == "stochastic" else {}
    narrow = cast_to_bits(x, fmt, rounding, overflow=overflow, **given)
    wide = cast_to_bits(x.astype(np.float64), fmt, rounding, overflow=overflow, **given)
    np.testing.assert_array_equal(narrow, wide)


@for_rows("name", "bf16", "fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4", "fp16")
def test_every_code_point_comes_back_from_float64(name):
    """Judge: ml_dtypes' and NumPy's reading of all codes."""
    fmt = FORMATS[name]
    codes = np.arange(1 << fmt.bits).astype(fmt.bits_dtype)[:: 97 if INTERPRETED else 1]
    with np.errstate(invalid="ignore"):
        values = codes.view(fmt.dtype).astype(np.float64)
    numbers = ~np.isnan(values)
    for rounding in ROUNDINGS:
        back = cast_to_bits(values, fmt, rounding, seed=5)
        np.testing.assert_array_equal(back[numbers], codes[numbers])
        assert np.isnan(from_bits(back[~numbers], fmt)).all()


def test_fp32_from_float64_is_numpys():
    x = np.random.default_rng(14).standard_normal(N) * np.exp2(
        np.random.default_rng(15).integers(-160, 130, N)
    )
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(cast(x, "fp32"), x.astype(np.float32))
    assert cast([1e39, -inf, inf], "fp32", "toward_zero").tolist() == [FORMATS["fp32"].max, -inf,
                                                                       inf]  # fmt: skip


@for_rows("name", "fp32", "bf16", "int16", "fp8_e4m3")
def test_stochastic_float64_has_the_mean_of_the_formula(name):
    """Statistical interval: 2^18 draws of 31 bits, five standard deviations."""
    n = 1 << (9 if INTERPRETED else 18)
    fmt = FORMATS[name]
    step = 1.0 if fmt.is_integer else 2.0**-fmt.mantissa_bits
    for share in (2.0**-12, 0.3, 1 - 2.0**-10):
        x = (1 + share * step) if not fmt.is_integer else 1 + share
        got = cast(np.full(n, x), fmt, "stochastic", seed=3, n_random_bits=31).astype(np.float64)
        ups = (got > 1).sum()
        assert abs(ups - n * share) <= 5 * np.sqrt(n * share * (1 - share)) + 1


@for_rows("n_random_bits", 4, 8)
def test_over_all_random_bits_float64_is_off_by_less_than_the_last_toward_zero(n_random_bits):
    words = np.arange(1 << n_random_bits, dtype=np.uint32)
    for x in np.random.default_rng(16).uniform(-4, 4, 5 if INTERPRETED else 50):
        for name in ("bf16", "fp32", "int8"):
            got = cast(np.full(words.size, x), name, "stochastic", random_bits=words,
                       n_random_bits=n_random_bits)  # fmt: skip
            mean = sum(map(Fraction, got.astype(np.float64).tolist())) / words.size
            step = 1 if name == "int8" else Fraction(np.ldexp(1.0, int(np.frexp(x)[1])))
            missing = abs(Fraction(x)) - abs(mean)
            assert 0 <= missing < Fraction(step) / 2**n_random_bits


def test_large_integers_are_rounded_once():
    x = np.int64([16777217, -16777217, 2**31 - 1, 2**32 - 1, -(2**31), 2**24 + 3])
    for dtype in (np.int64, ">i8"):
        for rounding in ROUNDINGS:
            got = cast(x.astype(dtype), "fp32", rounding, seed=2, n_random_bits=31)
            bits = numerics.draw_bits(x.size, seed=2, n_random_bits=31)
            judge = [
                exactly(int(n), FORMATS["fp32"], rounding, int(t), 31)
                for n, t in zip(x, bits, strict=True)
            ]
            assert list(map(Fraction, got.astype(float).tolist())) == judge
    assert cast(x, "int32").tolist() == [16777217, -16777217, 2**31 - 1, 2**31 - 1, -(2**31),
                                         2**24 + 3]  # fmt: skip
    assert cast(np.uint64([2**32 - 1]), "uint32").tolist() == [2**32 - 1]


@for_rows("name", "fp32", "int32", "bf16")
def test_chunks_and_drawn_bits_of_float64_agree(name):
    n = 300 if INTERPRETED else 70_001
    x = np.random.default_rng(6).standard_normal(n) * 100
    whole = cast_to_bits(x, name, "stochastic", seed=8, step=2, n_random_bits=20)
    bits = numerics.draw_bits(n, seed=8, step=2, n_random_bits=20)
    given = cast_to_bits(x, name, "stochastic", random_bits=bits, n_random_bits=20)
    np.testing.assert_array_equal(whole, given)
    cut = n // 3
    parts = [
        cast_to_bits(x[a:b], name, "stochastic", seed=8, step=2, n_random_bits=20, offset=a)
        for a, b in ((0, cut), (cut, n))
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_gfloat_agrees_on_23_bits_toward_zero_and_nearest(as_gfloat):
    fmt = configure(7, 23)
    x = np.random.default_rng(17).standard_normal(N) * np.exp2(
        np.random.default_rng(18).integers(-80, 63, N)
    )
    for rounding, mode in (("nearest", gfloat.RoundMode.TiesToEven),
                           ("toward_zero", gfloat.RoundMode.TowardZero)):  # fmt: skip
        judge = gfloat.round_ndarray(as_gfloat(fmt), x, mode)
        np.testing.assert_array_equal(cast(x, fmt, rounding).astype(np.float64), judge)


def test_special_values_of_float64():
    for name in ("fp32", "bf16", "fp16", "fp8_e4m3fn"):
        fmt = FORMATS[name]
        code = fmt.infinity_code if fmt.has_infinities else fmt.nan_code
        assert cast_to_bits([inf, -inf, 0.0, -0.0], fmt).tolist() == [
            code, code | fmt.sign_mask, 0, fmt.sign_mask]  # fmt: skip
        nans = np.uint64([0x7FF0000000000001, 0xFFF4000000000000]).view(np.float64)
        assert np.isnan(from_bits(cast_to_bits(nans, fmt), fmt)).all()
    raises(ValueError, "1 of 2 numbers are NaN", cast, [1.5, nan], "int32")


def test_ml_dtypes_casts_of_float64_agree_where_they_round_once():
    """ml_dtypes rounds float64 to the eight-bit formats in one step."""
    x = np.random.default_rng(19).standard_normal(N)
    for name in ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3fn", "fp8_e3m4"):
        judge = x.astype(getattr(ml_dtypes, FORMATS[name].storage))
        np.testing.assert_array_equal(cast(x, name).astype(float), judge.astype(float))
