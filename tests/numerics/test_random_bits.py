"""Judges: the known-answer vectors of Random123; the definition, element by element."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from trainium_edu.numerics import random_bits
from trainium_edu.numerics.random_bits import philox4x32, tosses

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"

# kat_vectors of Random123 1.14, lines "philox4x32 10" and "philox4x32 7": counter, key, answer
KNOWN_ANSWERS = [
    (10, "00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (10, "ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (10, "243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
    (7, "00000000 00000000 00000000 00000000", "00000000 00000000",
     "5f6fb709 0d893f64 4f121f81 4f730a48"),
]  # fmt: skip


def words(text):
    return [int(w, 16) for w in text.split()]


@pytest.mark.parametrize(("rounds", "counter", "key", "answer"), KNOWN_ANSWERS)
def test_known_answers_of_random123(rounds, counter, key, answer):
    assert philox4x32(words(counter), words(key), rounds=rounds).tolist() == words(answer)


@pytest.mark.parametrize(("rounds", "counter", "key", "answer"), KNOWN_ANSWERS[:3])
def test_the_compiled_generator_knows_the_answers_too(rounds, counter, key, answer):
    """Counter = (block, step), key = seed; four 32-bit tosses show the words of a block."""
    low, high, step_low, step_high = words(counter)
    seed = words(key)[0] | words(key)[1] << 32
    block, step = low | high << 32, step_low | step_high << 32
    if block >= 2**60:  # this block serves elements beyond 2^64, so ask the loop itself
        from trainium_edu.numerics import _loops

        out = np.empty((1, 128), np.uint32)
        with np.errstate(over="ignore"):
            _loops.philox_tiles(np.uint64(block // 16), np.uint64(seed), np.uint64(step), out)
        assert out[0, block % 16 : 64 : 16].tolist() == words(answer)
        return
    shown = [
        tosses(1, seed=seed, step=step, offset=64 * (block // 16) + 16 * w + block % 16,
               toss_bits=31)[0]
        for w in range(4)
    ]  # fmt: skip
    assert [int(t) for t in shown] == [w >> 1 for w in words(answer)]


def defined_toss(element, seed, step, toss_bits):
    """The toss of one element, by the words of the module's docstring."""
    if toss_bits <= 16:
        tile, rest = divmod(element, 128)
        word, rest = divmod(rest, 32)
        block, half = divmod(rest, 2)
    else:
        tile, rest = divmod(element, 64)
        word, block = divmod(rest, 16)
        half = None
    block += 16 * tile
    counter = [block & 0xFFFFFFFF, block >> 32, step & 0xFFFFFFFF, step >> 32]
    drawn = int(philox4x32(counter, [seed & 0xFFFFFFFF, seed >> 32])[word])
    if half is None:
        return drawn >> (32 - toss_bits)
    return (drawn >> (16 * half) & 0xFFFF) >> (16 - toss_bits)


@pytest.mark.parametrize("toss_bits", [1, 5, 16, 17, 24, 31])
@pytest.mark.parametrize("offset", [0, 77, 2**35 - 100, 2**63])
def test_tosses_are_what_the_docstring_says(toss_bits, offset):
    seed, step, n = 0x0123456789ABCDEF, 2**40 + 3, 300
    drawn = tosses(n, seed=seed, step=step, offset=offset, toss_bits=toss_bits)
    for i in range(0, n, 7):
        assert drawn[i] == defined_toss(offset + i, seed, step, toss_bits)


@pytest.mark.parametrize("toss_bits", [16, 31])
def test_any_chunking_order_and_threads_give_the_same_tosses(toss_bits):
    n = 2_000 if INTERPRETED else 100_000
    whole = tosses(n, seed=5, step=6, offset=1_000_003, toss_bits=toss_bits)
    cuts = np.sort(np.random.default_rng(0).choice(n, 40, replace=False)).tolist()
    pieces = list(zip([0, *cuts], [*cuts, n], strict=True))

    def draw(piece):
        a, b = piece
        return a, tosses(b - a, seed=5, step=6, offset=1_000_003 + a, toss_bits=toss_bits)

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(draw, reversed(pieces)))
    np.testing.assert_array_equal(np.concatenate([p for _, p in sorted(parts)]), whole)


def test_fewer_bits_are_the_upper_bits_of_more():
    full = tosses(500, seed=9)
    for toss_bits in (1, 4, 15):
        np.testing.assert_array_equal(
            tosses(500, seed=9, toss_bits=toss_bits), full >> (16 - toss_bits)
        )


def test_seed_step_and_element_all_matter():
    base = tosses(256, seed=1, step=1)
    for other in (tosses(256, seed=2, step=1), tosses(256, seed=1, step=2),
                  tosses(256, seed=1 + 2**32, step=1), tosses(256, seed=1, step=1 + 2**32),
                  tosses(256, seed=1, step=1, offset=256)):  # fmt: skip
        assert (base == other).mean() < 0.05


def test_sixteen_bit_tosses_are_spread_evenly():
    """Closed form: counts in 256 cells are binomial; chi-square within five sigma of its mean."""
    n = 1 << (12 if INTERPRETED else 20)
    counts = np.bincount(tosses(n, seed=123) >> 8, minlength=256)
    chi_square = ((counts - n / 256) ** 2 / (n / 256)).sum()
    assert abs(chi_square - 255) < 5 * np.sqrt(2 * 255)


def test_no_tosses_is_an_empty_array():
    assert tosses(0).shape == (0,)
    assert tosses(0).dtype == np.uint16
    assert tosses(3, toss_bits=17).dtype == np.uint32


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"seed": True}, TypeError, "seed is True; it takes a whole number"),
        ({"seed": 1.0}, TypeError, "seed is 1.0; it takes a whole number"),
        ({"seed": float("nan")}, TypeError, "seed is nan; it takes a whole number"),
        ({"seed": "7"}, TypeError, "seed is '7'; it takes a whole number"),
        ({"seed": None}, TypeError, "seed is None; it takes a whole number"),
        ({"seed": -1}, ValueError, r"seed is -1; it takes a whole number from 0 to 2\*\*64 - 1"),
        ({"seed": 2**64}, ValueError, "seed is 18446744073709551616"),
        ({"step": -1}, ValueError, "step is -1"),
        ({"offset": 0.5}, TypeError, "offset is 0.5"),
        ({"toss_bits": 0}, ValueError, "toss_bits is 0; it takes a whole number from 1 to 31"),
        ({"toss_bits": 32}, ValueError, "toss_bits is 32; it takes a whole number from 1 to 31"),
        ({"toss_bits": True}, TypeError, "toss_bits is True"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options, error, sentence):
    with pytest.raises(error, match=sentence):
        tosses(4, **options)


def test_tosses_drawn_in_several_calls_are_those_of_one(monkeypatch):
    """A long draw comes back to Python now and then; judge: the draw in one call."""
    whole = tosses(100_000, seed=3, step=5, offset=11)
    monkeypatch.setattr(random_bits, "ROWS_PER_CALL", 7)
    np.testing.assert_array_equal(tosses(100_000, seed=3, step=5, offset=11), whole)
