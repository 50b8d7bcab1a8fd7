"""Judges: the known-answer vectors of Random123; the definition, element by element."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tests.for_each import for_each, for_rows
from tests.texts import rows_beside
from trainium_edu.numerics import random_bits
from trainium_edu.numerics.random_bits import draw_bits, philox4x32

ROWS = rows_beside(__file__, "random_bits.toml")

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"

# kat_vectors of Random123 1.14, lines "philox4x32 10" and "philox4x32 7": counter, key, answer
KNOWN_ANSWERS = ROWS["known"]


def words(text):
    return [int(w, 16) for w in text.split()]


@for_each("rounds, counter, key, answer", KNOWN_ANSWERS)
def test_known_answers_of_random123(rounds, counter, key, answer):
    assert philox4x32(words(counter), words(key), rounds=rounds).tolist() == words(answer)


@for_each("rounds, counter, key, answer", KNOWN_ANSWERS[:3])
def test_the_compiled_generator_knows_the_answers_too(rounds, counter, key, answer):
    """Counter = (block, step), key = seed; draws of 31 bits show the words of a block."""
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
        draw_bits(1, seed=seed, step=step, offset=64 * (block // 16) + 16 * w + block % 16,
               n_random_bits=31)[0]
        for w in range(4)
    ]  # fmt: skip
    assert [int(t) for t in shown] == [w >> 1 for w in words(answer)]


def defined_bits(element, seed, step, n_random_bits):
    """Return the random bits of one element, by the words of the module's docstring."""
    if n_random_bits <= 16:
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
        return drawn >> (32 - n_random_bits)
    return (drawn >> (16 * half) & 0xFFFF) >> (16 - n_random_bits)


@for_each("n_random_bits", [1, 5, 16, 17, 24, 31])
@for_each("offset", [0, 77, 2**35 - 100, 2**63])
def test_the_bits_are_what_the_docstring_says(n_random_bits, offset):
    seed, step, n = 0x0123456789ABCDEF, 2**40 + 3, 300
    drawn = draw_bits(n, seed=seed, step=step, offset=offset, n_random_bits=n_random_bits)
    for i in range(0, n, 7):
        assert drawn[i] == defined_bits(offset + i, seed, step, n_random_bits)


@for_rows("n_random_bits", 16, 31)
def test_any_chunking_order_and_threads_give_the_same_bits(n_random_bits):
    n = 2_000 if INTERPRETED else 100_000
    whole = draw_bits(n, seed=5, step=6, offset=1_000_003, n_random_bits=n_random_bits)
    cuts = np.sort(np.random.default_rng(0).choice(n, 40, replace=False)).tolist()
    pieces = list(zip([0, *cuts], [*cuts, n], strict=True))

    def draw(piece):
        a, b = piece
        place = {"seed": 5, "step": 6, "offset": 1_000_003 + a}
        return a, draw_bits(b - a, n_random_bits=n_random_bits, **place)

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(draw, reversed(pieces)))
    np.testing.assert_array_equal(np.concatenate([p for _, p in sorted(parts)]), whole)


def test_fewer_bits_are_the_upper_bits_of_more():
    full = draw_bits(500, seed=9)
    for n_random_bits in (1, 4, 15):
        found = draw_bits(500, seed=9, n_random_bits=n_random_bits)
        np.testing.assert_array_equal(found, full >> (16 - n_random_bits))


def test_seed_step_and_element_all_matter():
    base = draw_bits(256, seed=1, step=1)
    for other in (draw_bits(256, seed=2, step=1), draw_bits(256, seed=1, step=2),
                  draw_bits(256, seed=1 + 2**32, step=1), draw_bits(256, seed=1, step=1 + 2**32),
                  draw_bits(256, seed=1, step=1, offset=256)):  # fmt: skip
        assert (base == other).mean() < 0.05


def test_sixteen_bit_words_are_spread_evenly():
    """Closed form: counts in 256 cells are binomial; chi-square within five sigma of its mean."""
    n = 1 << (12 if INTERPRETED else 20)
    counts = np.bincount(draw_bits(n, seed=123) >> 8, minlength=256)
    chi_square = ((counts - n / 256) ** 2 / (n / 256)).sum()
    assert abs(chi_square - 255) < 5 * np.sqrt(2 * 255)


def test_no_elements_is_an_empty_array():
    assert (draw_bits(0).shape, draw_bits(0).dtype) == ((0,), np.uint16)
    assert draw_bits(3, n_random_bits=17).dtype == np.uint32


def test_bits_drawn_in_several_calls_are_those_of_one(monkeypatch):
    """A long draw comes back to Python now and then; judge: the draw in one call."""
    whole = draw_bits(100_000, seed=3, step=5, offset=11)
    monkeypatch.setattr(random_bits, "ROWS_PER_CALL", 7)
    np.testing.assert_array_equal(draw_bits(100_000, seed=3, step=5, offset=11), whole)
