"""Exercises of lesson 01: the first hole, what survives, nearest-even, a format, short words."""

import functools
import math

import numpy as np

from trainium_edu.exercises.exercise import (
    NUMBER,
    compare,
    exercise,
    has_form,
    recognise,
    reject,
    short,
    truth_values,
)

__all__ = ["best_format", "counts_to", "mean_bits", "nearest_even", "survives"]


# --- the first hole -----------------------------------------------------------------------------


@exercise(
    "01/counts-to",
    title="How far can it count?",
    answer="counts_to",
    points=1,
    tests="the hidden one and the spacing of whole numbers",
    hints=(
        "From which power of two on are the numbers 2 apart?",
        "With m mantissa bits, the numbers from 2**e to 2**(e+1) are 2**(e - m) apart. For which e "
        "is that 1, and where does that stretch end?",
        "Whole numbers up to the end of that stretch are all there, its end included: "
        "check with BF16, which holds 256 and not 257.",
    ),
    numbers=lambda draw: {"mantissa_bits": draw.shuffled("bits", range(1, 24))[:5]},
)
def counts_to(answer, numbers):
    """Return the largest n such that the format holds 0, 1, 2, ... n without a gap."""
    told = [_whole(answer(bits)) for bits in numbers.mantissa_bits]
    beliefs = (
        ("forgets the hidden one", lambda m: 2**m,
         "You count the stored bits only. A normal number has one more significant bit than is "
         "stored: the hidden one."),
        ("stops one short", lambda m: 2 ** (m + 1) - 1,
         "One number too early: the power of two that comes next has a single significant bit, so "
         "the format holds it too."),
        ("the first that is missing", lambda m: 2 ** (m + 1) + 1,
         "That is the first whole number that the format does not hold; the question asks for "
         "the one before."),
        ("counts the sign", lambda m: 2 ** (m + 2),
         "From half of your answer upwards the numbers are 2 apart, so every second one is "
         "missing. The sign bit does not help to count."),
    )  # fmt: skip
    cases = [(bits,) for bits in numbers.mantissa_bits]
    compare(told, cases, lambda m: 2 ** (m + 1), beliefs, "formats")


# --- what survives ------------------------------------------------------------------------------

_KINDS = ("plain", "too fine", "hidden", "subnormal", "below", "above", "negative", "smallest",
          "top", "power")  # fmt: skip


def _formats(draw):
    """Draw a format and numbers of every kind around it."""
    bits = draw.integer("mantissa_bits", 3, 9)
    lowest, highest = -draw.integer("lowest", 5, 14), draw.integer("highest", 4, 15)
    values = [_value(draw, kind, bits, lowest, highest) for kind in _KINDS]
    return {"mantissa_bits": bits, "lowest": lowest, "highest": highest,
            "candidates": draw.shuffled("order", values)}  # fmt: skip


def _value(draw, kind, bits, lowest, highest) -> float:
    """Return one number that this kind of mistake would judge wrongly."""
    power = draw.integer(f"{kind} power", lowest + 2, highest - 2)
    whole = 2**bits + draw.integer(kind, 1, 2**bits - 1)  # bits + 1 significant ones at most
    odd = whole | 1
    match kind:
        case "plain":
            return whole * 2.0 ** (power - bits)
        case "too fine":  # needs one bit more than there are
            return (2 * whole + 1) * 2.0 ** (power - bits - 1)
        case "hidden":  # needs the hidden one too
            return odd * 2.0 ** (power - bits)
        case "negative":
            return -odd * 2.0 ** (power - bits)
        case "subnormal":  # below the normal numbers, on the grid
            return draw.integer(kind, 1, 2**bits - 1) * 2.0 ** (lowest - bits)
        case "below":  # a few bits only, and finer than the grid
            return (2 * draw.integer(kind, 1, 3) + 1) * 2.0 ** (lowest - bits - 1)
        case "smallest":
            return 2.0 ** (lowest - bits)
        case "above":
            return whole * 2.0 ** (highest + 1 - bits)
        case "top":
            return (2 ** (bits + 1) - 1) * 2.0 ** (highest - bits)
        case "power":  # one significant bit, and too large
            return 2.0 ** (highest + 1)
    raise ValueError(kind)


@exercise(
    "01/survives",
    title="Which values survive a cast?",
    answer="survives",
    points=3,
    tests="precision, range and subnormals as one rule",
    hints=(
        "A number survives if it stands on the grid. How far apart are the format's numbers in the "
        "binade of x? math.frexp(abs(x))[1] - 1 is the power of two below x.",
        "In the binade of 2**e they are 2**(e - mantissa_bits) apart; x survives if it is a whole "
        "number of such steps, and not too large.",
        "Below 2**lowest the grid does not get finer any more: the subnormal numbers keep the "
        "spacing of the lowest binade, 2**(lowest - mantissa_bits).",
    ),
    numbers=_formats,
)
def survives(answer, numbers):
    """Say of each number whether the format holds it exactly."""
    form = (numbers.mantissa_bits, numbers.lowest, numbers.highest)
    told = truth_values(answer, [(x, *form) for x in numbers.candidates])
    beliefs = (
        ("range is enough", lambda x: abs(x) < 2.0 ** (form[2] + 1),
         "You look at the range only. Inside the range the numbers have gaps: between two "
         "neighbours nothing survives."),
        ("precision is enough", lambda x: on_grid(x, *form, high=2000),
         "You forget the upper end: powers of two beyond 2**highest have no exponent field."),
        ("forgets the hidden one", lambda x: on_grid(x, form[0] - 1, *form[1:]),
         "You are one significant bit short: with m mantissa bits a normal number has m + 1."),
        ("no subnormal numbers", lambda x: abs(x) >= 2.0 ** form[1] and on_grid(x, *form),
         "You stop at the smallest normal number. Below it are the subnormal ones, evenly spaced "
         "down to zero."),
        ("subnormals at full precision", lambda x: on_grid(x, *form, low=-2000),
         "Below 2**lowest you let the spacing shrink further. There the exponent field is zero and "
         "cannot go lower, so the spacing stays that of the lowest binade."),
        ("negative numbers", lambda x: x > 0 and on_grid(x, *form),
         "You refuse negative numbers. The sign has a bit of its own: −x survives when x does."),
        ("whole numbers", lambda x: x == int(x),
         "Being a whole number is neither needed nor enough: 0.5 is in every format, 257 is not in "
         "BF16."),
    )  # fmt: skip
    cases = [(x,) for x in numbers.candidates]
    compare(told, cases, lambda x: on_grid(x, *form), beliefs, "numbers")


def on_grid(x, mantissa_bits, lowest, highest, *, low=None, high=None) -> bool:
    """Say whether a number is one of the format's; `low` and `high` are beliefs about its ends."""
    power = math.frexp(abs(x))[1] - 1
    steps = abs(x) * 2.0 ** (mantissa_bits - max(power, lowest if low is None else low))
    return power <= (highest if high is None else high) and steps == int(steps)


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


@exercise(
    "01/nearest-even",
    title="Round to BF16 by hand",
    answer="nearest_even",
    points=4,
    tests="rounding as integer arithmetic on bits; ties to even; the carry into the exponent",
    hints=(
        "BF16 is the upper half of the word: `words >> 16` keeps it, and cuts the rest off. What "
        "has to be added before, so that the cut becomes a rounding?",
        "Adding 0x8000, half of what is cut off, rounds to nearest, but always up at a tie. A tie "
        "should go up only when the last kept bit, `(words >> 16) & 1`, is 1.",
        "Add 0x7FFF plus the last kept bit, and then shift. The carry may run into the exponent: "
        "that is right, it is how 1.9999 becomes 2.",
    ),
    numbers=_words,
)
def nearest_even(answer, numbers):
    """Return the BF16 codes of FP32 words, rounded to nearest, ties to even; no NaN among them."""
    words = numbers.words
    got = np.asarray(answer(words))
    if got.shape != words.shape:
        reject("another shape", f"{words.size} words go in and an array of shape {got.shape} comes "
               "out; there should be one code for each word.")  # fmt: skip
    if got.dtype.kind not in "iu":
        reject("no codes", f"It returned {got.dtype} values; a code is the 16 bits read as a whole "
               "number, so stay with whole numbers all the way.")  # fmt: skip
    got = got.astype(np.int64)
    wide = words.astype(np.int64)
    odd = (wide >> 16) & 1
    right = (wide + 0x7FFF + odd) >> 16
    if np.array_equal(got, right):
        return
    kept = wide & 0x7F0000
    beliefs = (
        ("cuts off", wide >> 16,
         "You cut the lower half off, which rounds toward zero: 0x3F80FFFF lies just below the "
         "next BF16 number, 0x3F81, and becomes 0x3F80."),
        ("ties up", (wide + 0x8000) >> 16,
         "Every tie goes up (away from zero). 0x3F808000 lies exactly between 0x3F80 and 0x3F81; "
         "the even code is 0x3F80."),
        ("ties down", (wide + 0x7FFF) >> 16,
         "Every tie goes down (toward zero). 0x3F818000 lies exactly between 0x3F81 and 0x3F82; "
         "the even code is 0x3F82."),
        ("ties to odd", (wide + 0x8000 - odd) >> 16,
         "Ties go to the odd code. It should be the other way round: the last kept bit is added, "
         "so that an odd code is pushed up and an even one stays."),
        ("keeps 32 bits", right << 16,
         "You return a rounded 32-bit word; shift it right by 16 to get the 16 bits of BF16."),
        ("keeps 32 bits, cut off", wide & 0xFFFF0000,
         "You return 32-bit words with the lower half cleared. A BF16 code is the upper half, "
         "shifted right by 16, and clearing bits is not rounding."),
        ("carry lost", (wide >> 23 << 7) | (((kept + (wide & 0xFFFF) + 0x7FFF + odd) >> 16) & 0x7F),
         "The mantissa wraps around and the carry is lost: 0x3FFFFFFF is just below 2 and becomes "
         "1. Add to the whole word, so that the carry reaches the exponent."),
    )  # fmt: skip
    recognise(got, beliefs)
    first = int(np.flatnonzero(got != right)[0])
    reject("other", f"{(got == right).sum()} of {got.size} codes are right; the first that is not "
           f"belongs to the word 0x{int(words[first]):08X}.")  # fmt: skip


# --- a format to measure ------------------------------------------------------------------------


def _tensor(draw):
    """Choose a real array and a scale."""
    return {"data": draw.choice("data", ["weights", "gradients", "activations"]),
            "power": draw.integer("power", -9, 9)}  # fmt: skip


@exercise(
    "01/best-format",
    title="A cFP8 made to measure",
    answer="best_format",
    points=4,
    tests="range against precision on real data",
    hints=(
        "quantise(x, configure(e, 7 - e, bias=b, infinities=False)).snr_db says how well a format "
        "keeps x. Try all of them and keep the best: what has to vary?",
        "The best bias is different for every split, so try the biases inside a loop over the "
        "exponent bits. A bias larger by one halves all numbers of the format.",
        "e from 1 to 6, and biases from about -25 to 60: a few hundred formats, about a second.",
    ),
    numbers=_tensor,
)
def best_format(answer, numbers):
    """Return (exponent bits, bias) of the eight-bit float that keeps an array best."""
    x = _array(numbers.data, numbers.power)
    value = answer(x)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not has_form(value, NUMBER, NUMBER) or any(v != int(v) for v in value):
        reject("no pair", f"It returned {short(value)}; it should be two whole numbers, the "
               "exponent bits and the bias.")  # fmt: skip
    exponent, bias = (int(v) for v in value)
    if not 1 <= exponent <= 6:
        reject("impossible split", f"{exponent} exponent bits: sign, exponent and mantissa share "
               "eight bits, with 1 to 6 for the exponent here.")  # fmt: skip
    best = ratios_kept(numbers.data, numbers.power)
    try:
        ratio = ratio_kept(numbers.data, numbers.power, exponent, bias)
    except ValueError:
        reject("impossible bias", f"Bias {short(bias)} with {exponent} exponent bits puts numbers "
               "out of FP32's range; configure refuses it.")  # fmt: skip
    top = max(best.values())
    if ratio >= top - 0.02:
        return
    loses = f"Your format keeps {ratio:.1f} dB; there is one with {top:.1f} dB. "
    biased = ((e, 2 ** (e - 1) - 1) for e in range(1, 7))
    standard = max(ratio_kept(numbers.data, numbers.power, *split) for split in biased)
    if bias == 2 ** (exponent - 1) - 1 and ratio == standard:
        told = (
            "You compared the splits with IEEE 754's bias only. The bias is free: it moves all "
            "numbers of the format to where the data are."
        )
        reject("the standard bias", loses + told)
    if ratio >= max(v for (e, _), v in best.items() if e == exponent):
        more = "fewer" if exponent > max(best, key=lambda split: best[split])[0] else "more"
        told = (
            f"Your bias is the best for {exponent} exponent bits, but the split is free too; "
            f"{more} of them would do better here."
        )
        reject("one split", loses + told)
    reject("not the best", loses + "Is the ratio compared over all splits and all biases?")


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


@exercise(
    "01/mean-bits",
    title="Short words for frequent exponents",
    answer="mean_bits",
    points=2,
    tests="Huffman's code as repeated joining of the two rarest, and what it costs beyond entropy",
    hints=(
        "Take the two rarest exponents and tell them apart by one bit, at the end of their words. "
        "Then they are a single one, which occurs as often as both together: go on with that.",
        "Whenever two are joined, the words of all exponents in them become one bit longer. So the "
        "bits in all are the sum of how often the joined ones occur, over all joinings.",
        "While more than one is left: sort, take the two smallest away, add their sum to the total "
        "and put it back. In the end divide the total by how many numbers there are.",
    ),
    numbers=_counts,
)
def mean_bits(answer, numbers):
    """Return the average length of a Huffman code's words for exponents that occur so often."""
    told = [_rounded(answer(list(counts))) for counts in numbers.counts]
    beliefs = (
        ("all alike", lambda c: (len(c) - 1).bit_length(),
         "You give all exponents words of one length. Frequent ones can have shorter words, if "
         "rare ones take longer ones."),
        ("the entropy", lambda c: sum(n * -math.log2(n / sum(c)) for n in c) / sum(c),
         "That is the entropy, below which no code goes. Words have whole numbers of bits, so a "
         "code gets there only where every share is a power of one half."),
        ("each rounded up",
         lambda c: sum(n * math.ceil(-math.log2(n / sum(c))) for n in c) / sum(c),
         "You round −log2 of each share up. There is a code with words of these lengths, but some "
         "of them are longer than they need to be."),
        ("one after the other", _one_by_one,
         "You always join the next one to all that were joined before. A pair that was joined "
         "waits with the others: take the two rarest of all."),
        ("words, not numbers", lambda c: sum(lengths_of(c)) / len(c),
         "You average over words. A frequent exponent's word is sent more often: let it count as "
         "often as it is sent."),
        ("all numbers together", lambda c: words_mean(c) * sum(c),
         "Those are the bits of all numbers together; the question asks for the average."),
    )  # fmt: skip
    beliefs = tuple((name, lambda c, f=f: _rounded(f(c)), said) for name, f, said in beliefs)
    cases = [(counts,) for counts in numbers.counts]
    compare(told, cases, lambda c: _rounded(words_mean(c)), beliefs, "lists")


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


def _rounded(value) -> float:
    """Return a number to nine places, or say that it is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in NUMBER or not math.isfinite(value):
        reject("no number", f"It returned {short(value)}; it should be a number of bits.")
    return round(float(value), 9)


def _whole(value) -> int:
    """Return a whole number, or say that it is none."""
    if type(value) not in NUMBER or not math.isfinite(value) or value != int(value):
        reject("not a whole number", f"It returned {short(value)}; it should be a whole number.")
    return int(value)
