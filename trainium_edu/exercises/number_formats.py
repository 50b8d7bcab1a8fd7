"""Exercises of lesson 01: the first hole, what survives, nearest-even, a format, short words."""

import functools
import math

import numpy as np

from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import compare, compare_each, has_form, reject, reject_if

_WHOLE = "not a whole number", lambda value: type(value) in (int, float) and value % 1 == 0

# --- the first hole -----------------------------------------------------------------------------


@exercise(
    "01/counts-to", numbers=lambda draw: {"mantissa_bits": draw.shuffled("bits", range(1, 24))[:5]}
)
def counts_to(answer, numbers):
    """Return the largest n such that the format holds 0, 1, 2, ... n without a gap."""
    beliefs = {
        "forgets the hidden one": lambda m: 2**m,
        "stops one short": lambda m: 2 ** (m + 1) - 1,
        "the first that is missing": lambda m: 2 ** (m + 1) + 1,
        "counts the sign": lambda m: 2 ** (m + 2),
    }
    cases = [(bits,) for bits in numbers.mantissa_bits]
    compare(answer, cases, lambda m: 2 ** (m + 1), beliefs, _WHOLE, what="formats")


# --- what survives ------------------------------------------------------------------------------

_KINDS = (
    *("plain", "too fine", "hidden", "subnormal", "below", "above"),
    *("negative", "smallest", "top", "power"),
)


def _formats(draw):
    """Draw a format and numbers of every kind around it."""
    bits = draw.integer("mantissa_bits", 3, 9)
    lowest, highest = -draw.integer("lowest", 5, 14), draw.integer("highest", 4, 15)
    values = [_value(draw, kind, bits, lowest, highest) for kind in _KINDS]
    candidates = draw.shuffled("order", values)
    return {"mantissa_bits": bits, "lowest": lowest, "highest": highest, "candidates": candidates}


def _value(draw, kind, bits, lowest, highest) -> float:
    """Return one number that this kind of mistake would judge wrongly."""
    power = draw.integer(f"{kind} power", lowest + 2, highest - 2)
    count = draw.integer(kind, 1, 2**bits - 1)
    whole = 2**bits + count  # bits + 1 significant ones at most
    return {
        "plain": whole * 2.0 ** (power - bits),
        # needs one bit more than there are
        "too fine": (2 * whole + 1) * 2.0 ** (power - bits - 1),
        "hidden": (whole | 1) * 2.0 ** (power - bits),  # needs the hidden one too
        "negative": -(whole | 1) * 2.0 ** (power - bits),
        "subnormal": count * 2.0 ** (lowest - bits),  # below the normal numbers, on the grid
        # a few bits only, and finer than the grid
        "below": (2 * draw.integer(kind, 1, 3) + 1) * 2.0 ** (lowest - bits - 1),
        "smallest": 2.0 ** (lowest - bits),
        "above": whole * 2.0 ** (highest + 1 - bits),
        "top": (2 ** (bits + 1) - 1) * 2.0 ** (highest - bits),
        "power": 2.0 ** (highest + 1),  # one significant bit, and too large
    }[kind]


@exercise("01/survives", numbers=_formats)
def survives(answer, numbers):
    """Say of each number whether the format holds it exactly."""
    form = numbers.mantissa_bits, numbers.lowest, numbers.highest
    beliefs = {
        "range is enough": lambda x, m, low, high: abs(x) < 2.0 ** (high + 1),
        "precision is enough": lambda x, m, low, high: on_grid(x, m, low, 2000),
        "forgets the hidden one": lambda x, m, *ends: on_grid(x, m - 1, *ends),
        "no subnormal numbers": lambda x, m, *ends: (
            abs(x) >= 2.0 ** ends[0] and on_grid(x, m, *ends)
        ),
        "subnormals at full precision": lambda x, m, low, high: on_grid(x, m, -2000, high),
        "negative numbers": lambda x, *form: x > 0 and on_grid(x, *form),
        "whole numbers": lambda x, *form: x == int(x),
    }
    cases = [(x, *form) for x in numbers.candidates]
    compare(answer, cases, on_grid, beliefs, what="numbers")


def on_grid(x, mantissa_bits, lowest, highest) -> bool:
    """Say whether a number is one of the format's."""
    power = math.frexp(abs(x))[1] - 1
    steps = abs(x) * 2.0 ** (mantissa_bits - max(power, lowest))
    return power <= highest and steps == int(steps)


# --- nearest-even on bits -----------------------------------------------------------------------


def _words(draw):
    """Draw FP32 words of every kind: ties of both parities, carries, the top, zeros."""
    rng = np.random.default_rng(draw.seed("words"))
    words = rng.integers(0, 2**32, 300, dtype=np.uint32)
    kept = rng.integers(0, 0x7F00, 60, dtype=np.uint32) << 16
    special = np.array(
        [0, 0x80000000, 0x7F7FFFFF, 0xFF7F8000, 0x3F7FFFFF, 0x3FFF8000, 0x007FFFFF, 1, 0x8000],
        np.uint32,
    )
    near = [kept | np.uint32(low) for low in (0x8000, 0x8001, 0x7FFF, 0xFFFF, 0)]
    words = np.concatenate([words, special, *near, near[0] | np.uint32(0x80000000)])
    words = words[(words & 0x7FFFFFFF) <= 0x7F800000]
    return {"words": rng.permutation(words)}


@exercise("01/nearest-even", numbers=_words)
def nearest_even(answer, numbers):
    """Return the BF16 codes of FP32 words, rounded to nearest, ties to even; no NaN among them."""
    words = numbers.words
    got = np.asarray(answer(words))
    reject_if(got.shape != words.shape, "another shape", size=words.size, shape=got.shape)
    reject_if(got.dtype.kind not in "iu", "no codes", dtype=got.dtype)
    got = got.astype(np.int64)
    wide = words.astype(np.int64)
    odd = (wide >> 16) & 1
    right = (wide + 0x7FFF + odd) >> 16
    kept = wide & 0x7F0000
    beliefs = {
        "cuts off": wide >> 16,
        "ties up": (wide + 0x8000) >> 16,
        "ties down": (wide + 0x7FFF) >> 16,
        "ties to odd": (wide + 0x8000 - odd) >> 16,
        "keeps 32 bits": right << 16,
        "keeps 32 bits, cut off": wide & 0xFFFF0000,
        "carry lost": (wide >> 23 << 7) | (((kept + (wide & 0xFFFF) + 0x7FFF + odd) >> 16) & 0x7F),
    }
    compare_each(got, right, beliefs, word=words)


# --- a format to measure ------------------------------------------------------------------------


@exercise("01/best-format")
def best_format(answer, numbers):
    """Return (exponent bits, bias) of the eight-bit float that keeps an array best."""
    x = _array(numbers.data, numbers.power)
    value = answer(x)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not has_form(value, float, float) or any(v != int(v) for v in value):
        reject("no pair", returned=value)
    exponent, bias = (int(v) for v in value)
    reject_if(not 1 <= exponent <= 6, "impossible split", exponent=exponent)
    best = ratios_kept(numbers.data, numbers.power)
    try:
        ratio = ratio_kept(numbers.data, numbers.power, exponent, bias)
    except ValueError:
        reject("impossible bias", returned=bias, exponent=exponent)
    top = max(best.values())
    if ratio >= top - 0.02:
        return
    said = {"ratio": ratio, "top": top}
    biased = ((e, 2 ** (e - 1) - 1) for e in range(1, 7))
    standard = max(ratio_kept(numbers.data, numbers.power, *split) for split in biased)
    reject_if(bias == 2 ** (exponent - 1) - 1 and ratio == standard, "the standard bias", **said)
    if ratio >= max(v for (e, _), v in best.items() if e == exponent):
        more = "fewer" if exponent > max(best, key=lambda split: best[split])[0] else "more"
        reject("one split", exponent=exponent, more=more, **said)
    reject("not the best", **said)


def _array(data, power):
    """Return a real array times a power of two, float32."""
    from trainium_edu.training.samples import sample

    return np.ldexp(sample(data), power).astype(np.float32)


@functools.lru_cache(maxsize=4096)
def ratio_kept(data, power, exponent, bias) -> float:
    """Return the signal-to-noise ratio that one format keeps."""
    from trainium_edu.numerics import configure
    from trainium_edu.numerics.quantisation import quantise

    fmt = configure(exponent, 7 - exponent, bias=bias, infinities=False)
    return quantise(_array(data, power), fmt).snr_db


@functools.lru_cache(maxsize=64)
def ratios_kept(data, power) -> dict:
    """Return the ratio of every split, with the biases around the one that just fits.

    A bias further down wastes numbers above the data, one further up cuts the large ones off; a
    test searches wider and finds nothing better.
    """
    largest = float(np.abs(_array(data, power)).max())
    found: dict[tuple[int, int], float] = {}
    for e in range(1, 7):
        top = math.log2((2 - 2.0 ** (e - 7)) * 2.0 ** (2**e - 1))  # about the largest at bias 0
        fits = math.floor(top - math.log2(largest))
        found |= {(e, bias): ratio_kept(data, power, e, bias) for bias in range(fits - 2, fits + 6)}
    return found


# --- short words --------------------------------------------------------------------------------


def _counts(draw):
    """Draw how often exponents occur: halves, alike, two, one alone, skewed ones, real ones."""
    from trainium_edu.numerics import cast_to_bits
    from trainium_edu.training.samples import sample

    rng = np.random.default_rng(draw.seed("counts"))
    skewed = [(1 + 200 * rng.random(n) ** 5).astype(int).tolist() for n in (4, 5, 6, 7, 9)]
    codes = cast_to_bits(sample(draw.choice("data", ["weights", "gradients"])), "bf16")
    real = np.unique(codes >> 7 & 255, return_counts=True)[1].tolist()
    times = draw.integer("times", 2, 9)
    plain = [[8 * times, times, 4 * times, times, 2 * times], [times] * 5, [3 * times, times]]
    return {"counts": draw.shuffled("order", [*plain, [times], *skewed, real])}


@exercise("01/mean-bits", numbers=_counts)
def mean_bits(answer, numbers):
    """Return the average length of a Huffman code's words for exponents that occur so often."""
    beliefs = {
        "all alike": lambda c: (len(c) - 1).bit_length(),
        "the entropy": lambda c: sum(n * -math.log2(n / sum(c)) for n in c) / sum(c),
        "each rounded up": lambda c: sum(n * math.ceil(-math.log2(n / sum(c))) for n in c) / sum(c),
        "one after the other": _one_by_one,
        "words, not numbers": lambda c: sum(lengths_of(c)) / len(c),
        "all numbers together": lambda c: words_mean(c) * sum(c),
    }
    cases = [(counts,) for counts in numbers.counts]
    same = functools.partial(math.isclose, rel_tol=0, abs_tol=1e-9)
    compare(answer, cases, words_mean, beliefs, ("no number", float), same=same, what="lists")


def lengths_of(counts) -> list[int]:
    """Return the length of each word of Huffman's code."""
    from trainium_edu.numerics.compression import code_lengths

    return list(code_lengths(np.repeat(np.arange(len(counts)), counts)).values())


def words_mean(counts) -> float:
    """Return the average length of what is sent."""
    lengths = lengths_of(counts)
    return sum(n * bits for n, bits in zip(counts, lengths, strict=True)) / sum(counts)


def _one_by_one(counts):
    """Return the average if words have 1, 2, 3, ... bits, the last two alike."""
    last = len(counts) - 1
    ranked = enumerate(sorted(counts, reverse=True), 1)
    return sum(n * min(place, last) for place, n in ranked) / sum(counts)
