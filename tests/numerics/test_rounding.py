"""Judges: ml_dtypes and NumPy (nearest), gfloat (all roundings), fractions (ties, means)."""

import os
from fractions import Fraction
from math import inf, nan

import gfloat
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each, for_rows
from trainium_edu import numerics
from trainium_edu.numerics import FORMATS, ROUNDINGS, cast, cast_to_bits, from_bits, round_to

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
JUDGED = ["bf16", "fp16", "fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4"]
NARROW = ["tf32", *JUDGED]
INTEGERS = [n for n, f in FORMATS.items() if f.is_integer]


def same_numbers(a, b):
    """Equal bit for bit, NaN payloads aside."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())


@pytest.mark.parametrize("name", JUDGED)
def test_nearest_equals_the_judges_cast(name, stratified):
    """Stratified sample here; all 2^32 words in test_rounding_exhaustive.py."""
    fmt = FORMATS[name]
    with np.errstate(over="ignore", invalid="ignore"):
        judge = stratified.astype(fmt.dtype)
    ours = cast(stratified, name)
    assert ours.dtype == fmt.dtype
    differ = ours.view(fmt.bits_dtype) != judge.view(fmt.bits_dtype)
    assert np.isnan(stratified[differ]).all()
    with np.errstate(invalid="ignore"):
        assert np.isnan(ours[np.isnan(stratified)].astype(np.float32)).all()


@pytest.mark.parametrize("overflow", ["infinity", "saturate"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_format_equals_gfloat(judged, as_gfloat, stratified, rounding, overflow):
    fmt, x = judged, stratified[:: 1 if INTERPRETED else 37]
    if not fmt.sign_bits:
        x = np.abs(x)
    if not fmt.has_nan:
        x = x[~np.isnan(x)]
    can_overflow = fmt.has_nan or fmt.has_infinities
    mode = {
        "nearest": gfloat.RoundMode.TiesToEven,
        "toward_zero": gfloat.RoundMode.TowardZero,
        "stochastic": gfloat.RoundMode.StochasticFastest,  # what adding random bits does
    }[rounding]
    for n_random_bits in (1, 7, 16, 24) if rounding == "stochastic" else (16,):
        bits = np.random.default_rng(n_random_bits).integers(
            0, 1 << n_random_bits, x.shape, np.uint32
        )
        stochastic = rounding == "stochastic"
        with np.errstate(all="ignore"):
            judge = gfloat.round_ndarray(
                as_gfloat(fmt), x.astype(np.float64), mode,
                sat=overflow == "saturate" or not can_overflow,
                srbits=bits.astype(np.int64), srnumbits=n_random_bits,
            )  # fmt: skip
        ours = round_to(
            x, fmt, rounding, overflow=overflow, n_random_bits=n_random_bits,
            random_bits=bits if stochastic else None,
        )  # fmt: skip
        assert same_numbers(ours, judge)


@pytest.mark.parametrize("overflow", ["infinity", "saturate"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_loops_equal_the_scalar_twin_bit_for_bit(judged, stratified, rounding, overflow):
    fmt, x = judged, stratified[:: 7 if INTERPRETED else 499]
    if not fmt.has_nan:
        x = x[~np.isnan(x)]
    for n_random_bits in (1, 16, 31):
        bits = np.random.default_rng(1).integers(0, 1 << n_random_bits, x.shape, np.uint32)
        stochastic = rounding == "stochastic"
        ours = cast_to_bits(
            x, fmt, rounding, overflow=overflow, n_random_bits=n_random_bits,
            random_bits=bits if stochastic else None,
        )  # fmt: skip
        for i in range(x.size):
            word = int(x[i : i + 1].view(np.uint32)[0])
            value = x[i] if fmt.sign_bits or not x[i] < 0 else np.float32(0)
            if np.isnan(value):
                continue  # Python floats may quieten a NaN on the way; payloads have their test
            twin = numerics.round_to_code(
                float(value), fmt, rounding, random_bits=int(bits[i]), n_random_bits=n_random_bits,
                overflow=overflow,
            )  # fmt: skip
            assert ours[i] == twin, hex(word)


@for_each("name", NARROW)
def test_ties_go_to_the_even_code(name):
    """Exact midpoints by fractions, in normal, subnormal and topmost binades."""
    fmt = FORMATS[name]
    rng = np.random.default_rng(3)
    codes = np.unique(np.concatenate([rng.integers(0, fmt.max_code, 200), np.arange(9),
                                      fmt.max_code - np.arange(1, 9)]))  # fmt: skip
    for code in codes.tolist():
        low, high = (float(from_bits(c, fmt)) for c in (code, code + 1))
        middle = (Fraction(low) + Fraction(high)) / 2
        assert Fraction(float(middle)) == middle
        if np.float32(float(middle)) != middle:
            continue  # TF32 and BF16 subnormals near FP32's end
        even = code + (code & 1)
        assert cast_to_bits(float(middle), fmt) == even
        assert cast_to_bits(-float(middle), fmt) == even | fmt.sign_mask
        for side, wanted in ((-inf, code), (inf, code + 1)):
            assert cast_to_bits(np.nextafter(np.float32(middle), np.float32(side)), fmt) == wanted


# --- Stochastic rounding: proved, not sampled ---


@for_each("n_random_bits", [1, 4, 8] if INTERPRETED else [1, 4, 8, 12, 16])  # 65,536 words
@for_each("name", [*NARROW, "fixed point", "int8"])
def test_the_mean_over_all_random_bits_is_exact_or_off_by_less_than_the_last_bit(
    name, n_random_bits
):
    """All 2^k words: the input itself where k covers the dropped bits, else short by < d / 2^k."""
    fmt = numerics.configure(0, 7, infinities=False) if name == "fixed point" else FORMATS[name]
    rng = np.random.default_rng(4)
    exponents = rng.uniform(np.log2(fmt.smallest_subnormal) - 3, np.log2(fmt.max) - 1, 60)
    numbers = (2.0**exponents * rng.choice([-1, 1], 60)).astype(np.float32)
    words = np.arange(1 << n_random_bits, dtype=np.uint32)
    covered = 0
    for x in numbers[numbers != 0]:
        wide = np.broadcast_to(x, words.shape)
        got = cast(wide, fmt, "stochastic", random_bits=words, n_random_bits=n_random_bits)
        low, high = (Fraction(n) for n in numerics.neighbours(float(x), fmt))
        got = got.astype(np.float64)
        ups = int((got == float(high)).sum()) if high != low else 0
        assert ups + int((got == float(low)).sum()) == words.size
        mean = low + Fraction(ups, words.size) * (high - low)
        missing = abs(Fraction(float(x))) - abs(mean)
        if high != low and (missing_bits(x, low, high) <= n_random_bits):
            covered += 1
            assert missing == 0
        else:
            assert 0 <= missing < max(high - low, Fraction(1)) / 2**n_random_bits
    if name in ("bf16", "tf32", "fp16") and n_random_bits == 16:
        assert covered > 20


def missing_bits(x, low, high):
    """How many bits of x lie below the last place of the format."""
    position = (Fraction(float(x)) - low) / (high - low)
    return position.denominator.bit_length() - 1


def test_sixteen_bits_cover_everything_bf16_drops():
    """Every normal BF16 rounding drops 16 bits of FP32, so the mean is always exact."""
    x = np.float32(1.0) + np.arange(0, 2**16, 997).astype(np.float32) * np.float32(2.0**-23)
    for value in x[:3] if INTERPRETED else x:
        wide = np.broadcast_to(value, (1 << 16,))
        got = cast(wide, "bf16", "stochastic", random_bits=np.arange(1 << 16, dtype=np.uint16))
        assert Fraction(float(got.astype(np.float64).sum())) == 2**16 * Fraction(float(value))


def test_numbers_on_the_grid_never_move():
    """Idempotent under all random bits: nothing is dropped, so nothing carries."""
    for name in JUDGED:
        grid = from_bits(np.arange(FORMATS[name].max_code + 1), name).astype(np.float32)[::3]
        for word in (0, 1, 2**16 - 1):
            bits = np.full(grid.shape, word, np.uint16)
            assert same_numbers(round_to(grid, name, "stochastic", random_bits=bits), grid)


def every_kind_of_number():
    """All exponents with mantissas of all kinds, both signs, NaN and infinity among them."""
    rng = np.random.default_rng(7)
    fields = np.repeat(np.arange(256, dtype=np.uint32), 64)
    mantissas = rng.integers(0, 1 << 23, fields.size, dtype=np.uint32)
    mantissas[::4] &= np.uint32(0x7FE000)  # on or near the grids
    mantissas[1::8] = 0
    signs = rng.integers(0, 2, fields.size, dtype=np.uint32)
    return (signs << np.uint32(31) | fields << np.uint32(23) | mantissas).view(np.float32)


@for_rows("overflow", "infinity", "saturate")
@for_rows("n_random_bits, offset", (3, 2**35 - 500), (16, 2**35 - 500), (16, 256), (20, 256))
@for_each("name", [*NARROW, "int8"])
def test_drawn_bits_are_those_given_as_random_bits(name, n_random_bits, offset, overflow):
    """The two doors of `cast` agree: drawing inside, in a loop of its own, and drawing first."""
    x = every_kind_of_number()
    x = x[~np.isnan(x)] if name == "int8" else x
    place = {"seed": 3, "step": 4, "offset": offset, "n_random_bits": n_random_bits}
    options = {"overflow": overflow, "n_random_bits": n_random_bits}
    given_bits = cast_to_bits(
        x, name, "stochastic", random_bits=numerics.draw_bits(x.size, **place), **options
    )
    inside = cast_to_bits(x, name, "stochastic", overflow=overflow, **place)
    np.testing.assert_array_equal(inside, given_bits)


@for_rows("name", "bf16", "fp8_e4m3")
def test_any_chunking_gives_the_same_bits(name):
    n = 1500 if INTERPRETED else 70_001
    x = np.random.default_rng(6).standard_normal(n).astype(np.float32)
    whole = cast_to_bits(x, name, "stochastic", seed=8, step=2)
    for size in (1, 100, 128, 1024, 33_333) if not INTERPRETED else (100, 128):
        ends = range(0, n if size > 1 else 300, size)
        parts = [
            cast_to_bits(x[i : i + size], name, "stochastic", seed=8, step=2, offset=i)
            for i in ends
        ]
        joined = np.concatenate(parts)
        np.testing.assert_array_equal(joined, whole[: joined.size])


# --- Laws ---

floats = st.floats(width=32, allow_nan=False)
formats = st.sampled_from(NARROW)
roundings = st.sampled_from(ROUNDINGS)


@given(x=floats, name=formats, rounding=roundings, word=st.integers(0, 65535))
def test_rounding_is_faithful(x, name, rounding, word):
    """The result is one of the two neighbours (beyond the end: the last number or infinity)."""
    bits = np.uint16(word) if rounding == "stochastic" else None
    got = float(round_to(np.float32(x), name, rounding, random_bits=bits))
    fmt = FORMATS[name]
    allowed = set(numerics.neighbours(x, fmt)) if abs(x) != inf else set()
    if abs(x) > fmt.max:
        allowed |= {np.copysign(fmt.max, x), np.copysign(inf, x)}
        if not fmt.has_infinities and np.isnan(got):
            return
    assert got in allowed


@given(x=floats, name=formats, rounding=roundings)
def test_rounding_twice_is_rounding_once(x, name, rounding):
    once = round_to(np.float32(x), name, rounding, seed=1)
    assert same_numbers(round_to(once, name, rounding, seed=2), once)


@given(a=floats, b=floats, name=formats, rounding=roundings, word=st.integers(0, 65535))
def test_rounding_keeps_order(a, b, name, rounding, word):
    """Monotone: with the same random bits, the larger number does not end below the smaller.

    Signed alike, that is: they push away from zero on either side.
    """
    low, high = sorted([a, b])
    bits = np.full(2, word, np.uint16) if rounding == "stochastic" else None
    pair = np.array([low, high], np.float32)
    first, second = round_to(pair, name, rounding, random_bits=bits, overflow="saturate")
    assert first <= second


@given(x=floats, name=formats, rounding=roundings)
def test_rounding_is_symmetric(x, name, rounding):
    bits = np.uint16(12345) if rounding == "stochastic" else None
    plus = round_to(np.float32(x), name, rounding, random_bits=bits)
    assert same_numbers(round_to(np.float32(-x), name, rounding, random_bits=bits), -plus)


# --- Special values ---


@for_each("rounding", ROUNDINGS)
@for_each("name", NARROW)
def test_signed_zero_infinity_and_nan(name, rounding):
    fmt = FORMATS[name]
    zeros = cast_to_bits(np.float32([0.0, -0.0]), name, rounding)
    assert zeros.tolist() == [0, fmt.sign_mask]
    infinite = cast_to_bits(np.float32([inf, -inf]), name, rounding)
    code = fmt.infinity_code if fmt.has_infinities else fmt.nan_code
    assert infinite.tolist() == [code, code | fmt.sign_mask]
    most = cast_to_bits(np.float32([inf, -inf]), name, rounding, overflow="saturate")
    assert most.tolist() == [fmt.max_code, fmt.max_code | fmt.sign_mask]


@for_each("rounding", ROUNDINGS)
@for_each("name", NARROW)
def test_nan_stays_nan_with_its_sign_and_upper_payload(name, rounding):
    """Rule of this package, as IEEE 754 recommends; NumPy's FP16 keeps the same payload bits."""
    fmt = FORMATS[name]
    words = np.uint32([0x7F800001, 0x7FFFFFFF, 0xFF800001, 0x7FA00000, 0xFFC12345])
    got = cast_to_bits(words.view(np.float32), name, rounding)
    payload = (words >> np.uint32(23 - fmt.mantissa_bits)) & np.uint32(2**fmt.mantissa_bits - 1)
    sign = (words >> np.uint32(31)) * np.uint32(fmt.sign_mask)
    np.testing.assert_array_equal(got, fmt.nan_code | payload | sign)
    assert np.isnan(from_bits(got, fmt)).all()


def test_fp16_payloads_of_quiet_nans_are_numpys():
    words = np.uint32([0x7FC00000, 0x7FC02000, 0xFFFFE000, 0x7FD54000])
    with np.errstate(invalid="ignore"):
        judge = words.view(np.float32).astype(np.float16).view(np.uint16)
    assert cast_to_bits(words.view(np.float32), "fp16").tolist() == judge.tolist()


def test_too_large_numbers():
    """Table in the module's docstring; thresholds from the definition (half a step beyond)."""
    assert cast([65519.0, 65520.0], "fp16").tolist() == [65504.0, inf]
    assert cast([1e9], "fp16", "toward_zero").tolist() == [65504.0]
    assert cast([1e9], "fp16", overflow="saturate").tolist() == [65504.0]
    up = np.uint16([65535])
    assert cast([65510.0], "fp16", "stochastic", random_bits=up).tolist() == [inf]
    assert cast([464.0, 465.0], "fp8_e4m3fn").astype(float).tolist()[0] == 448.0
    assert np.isnan(cast([465.0], "fp8_e4m3fn").astype(float)).all()
    assert cast([465.0], "fp8_e4m3fn", overflow="saturate").astype(float).tolist() == [448.0]
    finite = numerics.configure(4, 3, infinities=False, nan=False)
    assert cast([1e9, -inf], finite).tolist() == [finite.max, -finite.max]


def test_unsigned_floats_end_at_zero():
    fmt = numerics.configure(4, 4, sign_bits=0, infinities=False)
    got = cast(np.float32([-3, -0.0, 1.5, nan, -inf]), fmt)
    assert got[:3].tolist() == [0, 0, 1.5]
    assert not np.signbit(got[:2]).any()
    assert np.isnan(got[3])
    assert got[4] == 0


# --- What comes in ---


@pytest.mark.parametrize("name", ["fp16", "bf16", "fp8_e4m3"])
def test_float64_equals_gfloat_in_one_step(name, as_gfloat):
    fmt, rng = FORMATS[name], np.random.default_rng(7)
    grid = from_bits(rng.integers(0, fmt.max_code, 500), fmt)
    middle = (grid + from_bits(cast_to_bits(grid, fmt) + 1, fmt)) / 2
    x = np.concatenate([middle, middle * (1 + 2.0**-45), middle * (1 - 2.0**-45)])
    x = x[np.isfinite(x)]
    judge = gfloat.round_ndarray(as_gfloat(fmt), x)
    assert same_numbers(round_to(x, fmt), judge)


def test_every_input_dtype_arrives_exactly():
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64, np.float16,
                  np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3, bool):  # fmt: skip
        x = np.array([0, 1, 1, 0], dtype)
        assert cast(x, "fp16").tolist() == [0, 1, 1, 0]
    assert cast(np.int64([2**31 - 1, -(2**31)]), "int32").tolist() == [2**31 - 1, -(2**31)]
    assert cast(np.int32([16777217, 16777219]), "fp32").tolist() == [16777216, 16777220]
    assert cast(np.int32([2**24 + 2**16 + 1]), "bf16").astype(float).tolist() == [2**24 + 2**17]
    assert cast([3, -3], "uint8").tolist() == [3, 0]


def unaligned(x):
    return np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)


@for_each(
    "make",
    [
        lambda x: x, np.asfortranarray, lambda x: x[::2, ::3], lambda x: x[::-1], lambda x: x.T,
        lambda x: np.broadcast_to(x[0], (5, x.shape[1])), lambda x: x[3, 5], lambda x: x[:0],
        lambda x: x.reshape(2, 2, -1, 1), lambda x: x.astype(x.dtype.newbyteorder(">")),
        lambda x: x.tolist(), lambda x: float(x[1, 1]), unaligned,
    ],
    ids=["C", "Fortran", "strided", "reversed", "transposed", "broadcast", "0-d", "empty", "4-d",
         "big-endian", "list", "float", "unaligned"],
)  # fmt: skip
@for_each("rounding", ROUNDINGS)
@for_rows("name", "bf16", "tf32", "fp8_e5m2", "int16", "int32", "fp32")
@for_rows("dtype", np.float32, np.float64)
def test_shape_and_layout_do_not_matter(make, rounding, name, dtype):
    """The judge is the same data in a plain array: elements count in C order."""
    original = (np.random.default_rng(8).standard_normal((20, 30)) * 900).astype(dtype)
    before = original.copy()
    x = make(original)
    plain = np.array(np.asarray(x, dtype).tolist(), dtype).reshape(-1)
    got = cast(x, name, rounding, seed=4)
    assert (got.shape, got.dtype) == (np.shape(x), FORMATS[name].dtype)
    assert got.reshape(-1).tolist() == cast(plain, name, rounding, seed=4).tolist()
    np.testing.assert_array_equal(original, before)


@for_rows("fmt", "bf16", "fp32", "int8", "tf32")
def test_the_input_is_left_alone_and_not_shared(fmt):
    x = np.linspace(0, 5, 7, dtype=np.float32)
    before = x.copy()
    got = cast(x, fmt)
    assert not np.shares_memory(got, x)
    got[...] = 0
    np.testing.assert_array_equal(x, before)


def test_fp32_is_the_identity_for_fp32(stratified):
    for rounding in ROUNDINGS:
        got = cast(stratified, "fp32", rounding)
        np.testing.assert_array_equal(got.view(np.uint32), stratified.view(np.uint32))


# --- Integers ---


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_round_to_even_and_saturate(name, stratified):
    """NumPy's rint and clip in float64 are the judge."""
    info = np.iinfo(name)
    x = stratified[~np.isnan(stratified)]
    x = np.concatenate([x, np.arange(-300, 70000, 0.5, dtype=np.float32)])
    with np.errstate(over="ignore"):
        judge = np.clip(np.rint(x.astype(np.float64)), info.min, info.max)
    np.testing.assert_array_equal(cast(x, name).astype(np.float64), judge)
    cut = np.clip(np.trunc(x.astype(np.float64)), info.min, info.max)
    np.testing.assert_array_equal(cast(x, name, "toward_zero").astype(np.float64), cut)


@for_each("name", INTEGERS)
def test_integers_narrow_by_saturation(name):
    info = np.iinfo(name)
    x = np.array([-(2**31), -129, -1, 0, 1, 128, 255, 256, 70_000, 2**31 - 1], np.int64)
    assert cast(x, name).tolist() == np.clip(x, info.min, info.max).tolist()


def test_cast_never_reads_the_environment(monkeypatch):
    """AWS's switches are for the outermost calls; `cast` has arguments."""
    x = np.full(100, 1.001, np.float32)
    before = cast(x, "bf16").tobytes(), cast(x, "bf16", "stochastic").tobytes()
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1")
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "77")
    assert (cast(x, "bf16").tobytes(), cast(x, "bf16", "stochastic").tobytes()) == before
