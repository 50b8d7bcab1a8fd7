"""Judges: Shannon's bound, an exhaustive search for better words, zlib's own Huffman code, counts.

zlib with ``Z_HUFFMAN_ONLY`` builds a Huffman code of bytes and nothing else, so it needs as many
bits for the exponents as this coder, but for headers; ``bz2`` is the peer for whole arrays.
"""

import bz2
import itertools
import zlib

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_rows, raises
from trainium_edu.numerics import cast_to_bits, compression, draw_bits
from trainium_edu.specs import INF2, TRN1

RNG = np.random.default_rng(5)
HEAD, ROW = 6, 3  # bytes of a stream's head, and of each row of its table


def normal(n, sd=0.1):
    return cast_to_bits(RNG.normal(0, sd, n), "bf16")


ARRAYS = {
    "like weights": normal(5000),
    "half zeros": np.where(RNG.random(5000) < 0.5, normal(5000) & 0x7FFF, 0).astype(np.uint16),
    "every code": RNG.permutation(2**16).astype(np.uint16),
    "random bits": draw_bits(5000, seed=1, step=0).astype(np.uint16),
    "one value": np.full(999, 0x3F80, np.uint16),
    "one number": np.array([0xBF80], np.uint16),
    "zeros": np.zeros(77, np.uint16),
    "zeros of both signs": np.array([0, 0x8000] * 40, np.uint16),
    "NaN and infinity": np.array([0x7FC0, 0x7F81, 0xFFFF, 0x7F80, 0xFF80, 1], np.uint16),
}
ALL = pytest.mark.parametrize("codes", ARRAYS.values(), ids=ARRAYS)


@ALL
def test_what_comes_out_is_what_went_in(codes):
    """Judge: the array itself, bit for bit."""
    out = compression.expand(compression.compress(codes))
    assert out.dtype == np.uint16
    np.testing.assert_array_equal(out, codes)


@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=200))
def test_any_codes_come_back(numbers):
    codes = np.array(numbers, np.uint16)
    np.testing.assert_array_equal(compression.expand(compression.compress(codes)), codes)


def test_rows_and_columns_are_read_in_order():
    codes = normal(60).reshape(6, 10)
    np.testing.assert_array_equal(compression.expand(compression.compress(codes)), codes.ravel())


@for_rows(
    "text, bits", ("aabb", 1.0), ("aaaa", 0.0), ("abcd", 2.0), ("aaab", 0.811278), ("aabc", 1.5)
)
def test_entropy_is_the_textbook_s(text, bits):
    """Judge: -Σ p log2 p by hand."""
    found = compression.entropy(np.frombuffer(text.encode(), np.uint8))
    assert found == pytest.approx(bits, abs=1e-6)


def exponents(codes):
    """Return symbols as the module's docstring has them: exponents, and 256 for +0."""
    as_numbers = codes.view(ml_dtypes.bfloat16).astype(np.float32).view(np.uint32)
    return np.where(as_numbers == 0, 256, as_numbers >> 23 & 255)


@ALL
def test_the_code_is_within_a_bit_of_the_entropy(codes):
    """Judge: Shannon (1948), H <= L < H + 1; and the words have no prefix in common (Kraft)."""
    symbols = exponents(codes)
    lengths = compression.code_lengths(symbols)
    mean = np.mean([lengths[s] for s in symbols.tolist()])
    bound = compression.entropy(symbols)
    assert bound - 1e-9 <= mean < bound + 1
    if len(lengths) > 1:
        assert sum(2.0**-n for n in lengths.values()) == 1


@ALL
def test_the_bytes_are_those_that_the_layout_says(codes):
    """Judge: head, table, words and the rest, counted one by one."""
    symbols = exponents(codes)
    lengths = compression.code_lengths(symbols)
    words = sum(lengths[s] for s in symbols.tolist())
    kept = int((symbols != 256).sum())
    assert len(compression.compress(codes)) == HEAD + ROW * len(lengths) + -(-words // 8) + kept


@for_rows(
    "counts", (1, 1), (5, 1, 1), (8, 4, 2, 1), (3, 3, 2, 2, 1), (1, 1, 1, 1, 1), (13, 8, 5, 3, 2)
)
def test_no_other_lengths_make_it_shorter(counts):
    """Judge: an exhaustive search over all lengths that a prefix code can have (Kraft)."""
    symbols = np.repeat(np.arange(len(counts)), counts)
    lengths = compression.code_lengths(symbols)
    mine = sum(n * lengths[s] for s, n in enumerate(counts))
    best = min(
        sum(n * bits for n, bits in zip(counts, tried, strict=True))
        for tried in itertools.product(range(1, len(counts) + 1), repeat=len(counts))
        if sum(2.0**-bits for bits in tried) <= 1
    )
    assert mine == best


def test_frequent_symbols_never_have_longer_words():
    symbols = RNG.geometric(0.3, 3000)
    lengths = compression.code_lengths(symbols)
    times = dict(zip(*np.unique(symbols, return_counts=True), strict=True))
    by_times = sorted(times, key=times.get, reverse=True)
    longer = [lengths[s] for s in by_times]
    assert all(a <= b for (a, s), (b, t) in itertools.pairwise(zip(longer, by_times, strict=True))
               if times[s] > times[t])  # fmt: skip


@for_rows("sd", 1e-3, 0.1, 30.0)
def test_exponents_take_the_bits_that_zlib_s_own_huffman_code_needs(sd):
    """Judge: zlib with ``Z_HUFFMAN_ONLY``, which knows no other trick; headers are within 1 %."""
    codes = normal(100_000, sd)
    symbols = exponents(codes)
    lengths = compression.code_lengths(symbols)
    ours = sum(lengths[s] for s in symbols.tolist()) / 8
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_HUFFMAN_ONLY)
    theirs = len(packer.compress(symbols.astype(np.uint8).tobytes()) + packer.flush())
    assert ours == pytest.approx(theirs, rel=0.01)


def test_it_beats_a_general_coder_where_only_exponents_repeat_and_not_elsewhere():
    """Judge: Python's ``bz2``: worse on dice with few exponents, better on what repeats whole."""
    found = compression.measure(normal(50_000))
    assert found.bits < found.bzip2_bits - 0.5
    again = compression.measure(np.tile(normal(50), 1000))
    assert again.bzip2_bits < again.bits / 10
    raw = bz2.compress(np.tile(np.array([7], "<u2"), 100).tobytes())
    assert compression.measure(np.full(100, 7, np.uint16)).bzip2_bits == 8 * len(raw) / 100


def test_random_bits_get_longer():
    """Judge: 16 random bits have an entropy of 16: no code gains, and the table comes on top."""
    codes = draw_bits(2**16, seed=3, step=0).astype(np.uint16)
    found = compression.measure(codes)
    assert found.fields.total == pytest.approx(16, abs=0.02)
    assert found.bits > 16
    assert compression.effective_bytes_per_s(found.bits) < TRN1.dma.bytes_per_s.value


def test_fields_of_normal_numbers_are_those_of_their_law():
    """Judge: the chance of each binade under the normal law, from ``math.erf``."""
    from math import erf, log2, sqrt

    codes = cast_to_bits(RNG.normal(0, 1, 400_000), "bf16")
    found = compression.field_entropy(codes)
    edges = [2.0**k for k in range(-30, 4)]
    shares = [erf(b / sqrt(2)) - erf(a / sqrt(2)) for a, b in itertools.pairwise(edges)]
    assert found.exponent == pytest.approx(-sum(p * log2(p) for p in shares if p > 0), abs=0.01)
    assert found.sign == pytest.approx(1, abs=1e-3)
    assert 6.9 < found.mantissa < 7


def test_zeros_have_neither_sign_nor_mantissa():
    """Judge: a quarter of the numbers is not zero, and each of these has one bit of each field."""
    codes = cast_to_bits(
        np.tile([0, 0, 0, 1.0, 0, 0, 0, -1.5, 0, 0, 0, -1.0, 0, 0, 0, 1.5], 9), "bf16"
    )
    found = compression.field_entropy(codes)
    assert (found.sign, found.mantissa) == (0.25, 0.25)
    assert found.exponent == pytest.approx(0.811278, abs=1e-6)
    assert found.total == found.sign + found.mantissa + found.exponent


def test_the_rate_is_the_documented_one_over_the_share_that_is_sent():
    """Judge: 272 GB/s times 16 over the bits; the fact behind it is marked as assumed."""
    assert compression.effective_bytes_per_s(16) == TRN1.dma.bytes_per_s.value
    assert compression.effective_bytes_per_s(10) == pytest.approx(272e9 * 1.6)
    for chip in (TRN1, INF2):
        assert chip.dma_compression.kind == "documented"
        assert chip.dma_compression_keeps_up.kind == "assumed"


@for_rows("data",
    b"", b"\1", compression.compress(normal(99))[:-1], compression.compress(normal(99))[:40],
                                  compression.compress(normal(99)) + b"x", bytes(30),
)  # fmt: skip
def test_a_damaged_stream_is_refused(data):
    raises(ValueError, "keep and pass all of its bytes", compression.expand, data)


@for_rows("codes", np.array([], np.uint16), np.float32([1.0]), np.array([1]))
def test_what_is_no_bf16_code_is_refused_with_what_to_do(codes):
    for function in (compression.compress, compression.field_entropy, compression.measure):
        raises(ValueError, "cast_to_bits", function, codes)


@for_rows("symbols", np.array([], int), np.array([1.5]))
def test_symbols_are_integers(symbols):
    for function in (compression.entropy, compression.code_lengths):
        raises(ValueError, "is counted for one integer or more", function, symbols)
