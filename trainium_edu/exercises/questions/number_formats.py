"""Questions of lesson 01: how dense numbers stand, a tie, lost gradients, codes, weights, zip."""

from math import floor, isfinite, log2

import numpy as np

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.numerics import cast_to_bits, configure, draw_bits, get_format, range_of
from trainium_edu.numerics.compression import measure
from trainium_edu.numerics.grid import land, number_text, stretches
from trainium_edu.numerics.quantisation import fitted_table, lost_table, quantise
from trainium_edu.specs import TRN1
from trainium_edu.viz.compression import describe_sizes, plot_sizes
from trainium_edu.viz.formats import label_of
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.formats import cfp8_explorer, range_explorer
from trainium_edu.widgets.number_line import number_line_explorer
from trainium_edu.widgets.picture import Picture
from trainium_edu.widgets.quantisation import quantise_explorer


def _run(fmt, low, high):
    """Return a format's numbers from `low` up to `high`, which is not counted."""
    (run,) = stretches(fmt, low, np.nextafter(high, low))
    return run


@question(
    "01/bf16-1024",
    "How many BF16 numbers are there from 1024 up to 2048 (2048 not counted)?",
    unit="numbers",
    whole=True,
    wrong=[
        Misconception("each whole number", lambda fmt, low, high: high - low,
                      "As if each whole number were there. That takes ten mantissa bits (FP16 has"
                      " them); BF16 stores seven."),
        Misconception("one step everywhere", lambda fmt, low, high:
                          round((high - low) / (2 - 1) * _run(fmt, 1, 2).count),
                      "As if numbers stood as close as between 1 and 2. The exponent has grown by"
                      " ten since, and each time the gap doubled."),
        Misconception("the hidden one counted", lambda fmt, low, high:
                          2 * _run(fmt, low, high).count,
                      "That is two to the eighth. The hidden one is always 1: it makes no choice,"
                      " so it makes no numbers."),
        Misconception("both ends", lambda fmt, low, high: _run(fmt, low, high).count + 1,
                      "That counts the upper end as well; it belongs to the next power of two."),
    ],
)  # fmt: skip
def between_powers(fmt, low, high):
    """Return how many numbers a format has from `low` to `high`."""
    run = _run(fmt, low, high)
    rows = []
    for start in (0.25, 1, 128, 256, low):
        there = _run(fmt, start, 2 * start)
        rows.append(f"from {start:g} to {2 * start:g}: {there.count} numbers, "
                    f"{number_text(there.spacing)} apart")  # fmt: skip

    def show(guess):
        wrong = guess is not None and guess != run.count
        apart = [f"your {guess:g} would stand {(high - low) / guess:.3g} apart"] if wrong else []
        return "\n".join([*rows, *apart])

    return Answer(
        run.count,
        "The mantissa has seven bits everywhere, so each power of two gets as many numbers, twice"
        " as far apart as the last. Relative to the number, the gap stays between one part in"
        f" {run.count} and one in {2 * run.count}.",
        show,
    )


@question(
    "01/257-in-bf16",
    "What does 257 become in BF16?",
    options=["256", "257", "258", "infinity"],
    wrong=[
        Misconception("whole numbers are exact", lambda x: f"{land(x, 'fp16').value:g}",
                      "FP16 keeps it. BF16 has three mantissa bits fewer, and from 256 on its gap"
                      " is two: every other whole number is missing."),
        Misconception("ties go up", lambda x: f"{land(x, 'bf16').above:g}",
                      "A half goes up, as at school. Here, half-way between two numbers, the one"
                      " whose last bit is 0 wins, and that is the lower one."),
        Misconception("FP8's range", lambda x: _spelled(land(x, "fp8_e4m3").value),
                      "That happens in FP8 E4M3, which ends at 240. BF16 has eight exponent bits"
                      " and reaches as far as FP32."),
    ],
)  # fmt: skip
def at_a_tie(x):
    """Return what BF16 makes of x."""
    rows = []
    for name in ("bf16", "fp16", "fp8_e4m3"):
        it = land(x, name)
        rows.append(f"{name:9s} {x:g} -> {it.value:g} ({it.outcome}), gap here {it.spacing:g}")
    it = land(x, "bf16")
    return Answer(
        _spelled(it.value),
        f"{x:g} lies exactly between {it.below:g} and {it.above:g}. At such a tie the even last bit"
        " wins (nearest-even), unless Trainium is told otherwise. If ties always went up, sums"
        " would slowly drift up.",
        lambda guess: [
            "\n".join(rows),
            Prose(
                "Drag the needle, and use the buttons on top. Look for four things:",
                "- **0.1** is in none of the formats, not even in FP32: like ⅓ in decimal, it never"
                " ends in binary.",
                "- **70000** in FP16: the last number is 65504. What lies beyond overflows to"
                " infinity.",
                "- **10⁻⁷** in FP16: subnormal numbers, and 19 % off. In E4M3 it vanishes.",
                "- Zoom out from **257** until you see the gaps double at 512.",
            ),
            number_line_explorer(x, ["bf16", "fp16", "fp8_e4m3"]),
        ],
    )


def _spelled(value):
    return f"{value:g}" if isfinite(value) else "infinity"


_HALF_AND_LESS = ("bf16", "fp8_e4m3", "fp16", "fp8_e5m2")  # as first shown


def _from_most(lost) -> tuple:
    """Return the formats' labels, ordered by a function of the format from high to low."""
    return tuple(label_of(f) for f in sorted(_HALF_AND_LESS, key=lost, reverse=True))


def _order_lost(x):
    return _from_most(lambda f: quantise(x, f).vanished)


def _below_normal(x, fmt):
    q = quantise(x, fmt)
    return q.vanished + q.subnormal


@question(
    "01/gradients-lost",
    "In which format do most gradients become zero? Order from most to fewest.",
    options=[label_of(f) for f in _HALF_AND_LESS],
    ordered=True,
    wrong=[
        Misconception("mantissa bits keep small numbers", lambda x: _from_most(
                          lambda f: -get_format(f).mantissa_bits),
                      "That is the order by mantissa bits. They make numbers finer, not smaller;"
                      " how near to zero a format reaches is mostly its exponent bits."),
        Misconception("subnormal numbers forgotten", lambda x: _from_most(
                          lambda f: _below_normal(x, f)),
                      "That would be so if subnormal numbers were zero. FP16 has ten mantissa bits"
                      " to go on below its smallest normal number; E5M2 has two."),
        Misconception("read from fewest to most", lambda x: _order_lost(x)[::-1],
                      "The right order, from the other end: the question is from most to fewest."),
    ],
)  # fmt: skip
def gradients_lost(x):
    """Return the formats by how many numbers of x they turn into zero."""
    return Answer(
        _order_lost(x),
        "Small numbers need range, and range is exponent bits: 4, 5, 5 and 8. FP16 reaches lower"
        " than E5M2, for its longer mantissa makes smaller subnormal numbers. BF16 keeps every"
        " gradient, each roughly, and so it became the format of training.",
        lambda guess: [
            Prose(
                "Read the picture like a map. Each bar is a format: from left to right what it"
                " reaches, and the higher, the more finely it counts. The outlined part on the left"
                " is subnormal: still there, with fewer and fewer bits. The dashed lines enclose"
                " the data; the slider moves them.",
            ),
            range_explorer("gradients"),
            lost_table(x, ("fp16", "fp8_e5m2", "fp8_e4m3"), (6, 12, 18, 24)),
        ],
    )


def _codes(exponent_bits, mantissa_bits):
    return 2 ** (1 + exponent_bits + mantissa_bits)


@question(
    "01/e4m3-finite",
    "Eight bits make 256 codes. How many different finite numbers does FP8 E4M3 have, "
    "with infinities and NaN, zero counted once?",
    unit="numbers",
    whole=True,
    most=256,
    wrong=[
        Misconception("every code a number", _codes,
                      "Not every code is a finite number: some are infinite or NaN, and two are"
                      " zero."),
        Misconception("one NaN", lambda exponent_bits, mantissa_bits:
                          _codes(exponent_bits, mantissa_bits) - 4,
                      "That leaves out two infinities, one NaN and one zero. With an exponent of"
                      " all ones, every code is spent: on infinity if the mantissa is zero, and"
                      " else on NaN."),
        Misconception("both zeros", lambda exponent_bits, mantissa_bits:
                          range_of(configure(exponent_bits, mantissa_bits)).finite_values + 1,
                      "Close: +0 and −0 have two codes, and are equal."),
        Misconception("no infinities", lambda exponent_bits, mantissa_bits: range_of(
                          configure(exponent_bits, mantissa_bits, infinities=False)).finite_values,
                      "The other E4M3, often called e4m3fn, has that many: no infinities, and one"
                      " NaN of each sign. This one spends all codes with the top exponent."),
        Misconception("one sign", lambda exponent_bits, mantissa_bits:
                          range_of(configure(exponent_bits, mantissa_bits)).finite_values // 2,
                      "Those are the positive ones. As many are negative, and there is zero."),
    ],
)  # fmt: skip
def finite_numbers(exponent_bits, mantissa_bits):
    """Return how many finite numbers a float with infinities has."""
    here = range_of(configure(exponent_bits, mantissa_bits)).finite_values
    codes, nan = _codes(exponent_bits, mantissa_bits), 2 * (2**mantissa_bits - 1)
    rows = []
    counts = [range_of(configure(e, 7 - e)).finite_values for e in range(2, 7)]
    for e in range(2, 6):
        r = range_of(configure(e, 7 - e))
        ends = f"largest {r.max:g}, smallest {r.smallest_subnormal:.3g}"
        rows.append(f"1-{e}-{7 - e}: {r.finite_values} numbers, {ends}")
    return Answer(
        here,
        f"{codes} codes, less 2 infinities, {nan} NaN, and one because +0 and −0 are equal.",
        lambda guess: [
            "\n".join(rows),
            Prose(
                "Look at the top picture while you move *exponent bits* from 2 to 6: about as many"
                f" numbers ({min(counts)} to {max(counts)} of them), spread ever wider and ever"
                f" thinner. There are never more than {codes} to be had; you only decide where they"
                " stand. With 4 exponent bits, switch *infinities* off: their codes become numbers,"
                " and the largest goes from 240 to 448; switch *NaN* off too, and it is 480.",
            ),
            cfp8_explorer("weights"),
        ],
    )


_EIGHT_BITS = ("fp8_e5m2", "fp8_e4m3", "fp8_e3m4", "int8")


_DECIBELS = (
    "Drag the white line across the picture: left of it the weights, right of it what is kept.",
    "**Six decibels a bit.** Go down the SNR column. FP16 has three mantissa bits more than BF16"
    " and 18 dB more; E4M3 has one more than E5M2 and 6 dB more. One more bit halves every gap,"
    " half the error is a quarter of its square, and 10 log₁₀ 4 = 6.02. Where a step falls short of"
    " 6 dB, look at the column *subnormal*.",
)


def _best(score):
    """Return the label of the eight-bit format with the highest score."""
    return label_of(max(_EIGHT_BITS, key=score))


def _mostly_normal(x, fmt):
    """Return precision, or -1 where over a tenth of the numbers are not normal."""
    f = get_format(fmt)
    return f.mantissa_bits if _below_normal(x, f) < 0.1 * x.size and f.exponent_bits else -1


@question(
    "01/weights-8-bit",
    "As they are, not scaled: which 8-bit format keeps the weights best?",
    options=[label_of(f) for f in _EIGHT_BITS],
    wrong=[
        Misconception("range is all", lambda x: _best(lambda f: get_format(f).exponent_bits),
                      "It has the widest range of the four. These weights lie within a few powers"
                      " of two, where the bits are better spent on the mantissa."),
        Misconception("subnormal is lost", lambda x: _best(lambda f: _mostly_normal(x, f)),
                      "It holds nearly all weights as normal numbers. But subnormal is not lost:"
                      " its neighbour has most of them there, and resolves the large ones, which"
                      " decide the error, twice as finely."),
        Misconception("equal steps", lambda x: _best(lambda f: -get_format(f).exponent_bits),
                      "It has the most steps, and each is 1 wide: far too wide for weights that are"
                      " all below 1."),
    ],
)  # fmt: skip
def best_for_weights(x):
    """Return the eight-bit format with the highest signal-to-noise ratio."""
    names = {label_of(f): f for f in _EIGHT_BITS}
    best = _best(lambda f: quantise(x, f).snr_db)

    def show(guess):
        explorer = quantise_explorer("weights", names[guess or best])
        return [explorer, Prose(*_DECIBELS), fitted_table(x, _EIGHT_BITS)]

    top = floor(log2(np.abs(x).max())) + 1
    return Answer(
        best,
        f"The weights are of similar size, below {2.0**top:g}: precision counts, range is idle."
        " INT8 sees next to nothing but zeros, because nothing is scaled.",
        show,
    )


_RANDOM = 2**16  #: numbers made of random bits, for comparison


def _sizes(arrays):
    codes = {name: cast_to_bits(x, "bf16") for name, x in arrays.items()}
    dice = draw_bits(_RANDOM, seed=0, step=0, n_random_bits=16).astype(np.uint16)
    return {name: measure(c) for name, c in (codes | {"random bits": dice}).items()}


def _exponents(arrays):
    """Return how many different exponents the weights have."""
    return np.unique(cast_to_bits(arrays["weights"], "bf16") >> 7 & 255).size


def _zeros(x):
    return f"{100 * np.mean(np.asarray(x) == 0):.0f} %"


def _bits(function):
    return lambda arrays: round(function(arrays, _sizes(arrays)["weights"].fields), 1)


@question(
    "01/compressed",
    "Frequent exponents get short words and rare ones long words; sign and mantissa stay as they"
    " are. How many of its 16 bits does a trained weight still need, on average?",
    unit="bits",
    most=32,
    wrong=[
        Misconception("nothing to gain", _bits(lambda arrays, f: 16),
                      "Weights do look like dice, and their signs and mantissas almost are. But a"
                      " fair die would use all 256 exponents equally often."),
        Misconception("exponents for nothing", _bits(lambda arrays, f: 8),
                      "That is sign and mantissa alone: then all weights would need to have one and"
                      " the same exponent."),
        Misconception("all alike", _bits(lambda arrays, f: 8 + log2(_exponents(arrays))),
                      "So it would be if the exponents that occur were equally frequent. A few are"
                      " far more frequent, and these get the short words."),
        Misconception("the exponent alone", _bits(lambda arrays, f: f.exponent),
                      "That is what the exponent needs. Sign and mantissa are there, too."),
    ],
)  # fmt: skip
def compressed(arrays):
    """Return the bits that each weight needs, its share of the code's table included."""
    sizes = _sizes(arrays)
    weights, activations, dice = (sizes[n] for n in ("weights", "activations", "random bits"))
    fields = weights.fields
    zeros = [_zeros(arrays[name]) for name in ("gradients", "activations")]
    rate = f"{float(TRN1.dma.bytes_per_s) / 1e9:.0f} GB/s"
    ahead = "less" if activations.bzip2_bits < activations.bits else "more"
    table = describe_sizes(sizes)
    return Answer(
        round(weights.bits, 1),
        f"{_exponents(arrays)} of 256 exponents occur, and their entropy is {fields.exponent:.1f}"
        f" bits. Mantissas are dice: {fields.mantissa:.1f} of 7. No code that takes field by field"
        f" can do with less than {fields.total:.1f} bits in all; this one, with the list of its"
        f" words, needs {weights.bits:.1f}.",
        lambda guess: [
            table,
            Picture(
                lambda: plot_sizes(sizes),
                "On the left measured bits, on the right rates that"
                " are assumed: " + "; ".join(" ".join(x.split()) for x in table.splitlines()[2:]),
            ),
            Prose(
                f"**Zeros** ({zeros[0]} of the gradients, {zeros[1]} of the activations) have a"
                " word of their own, and need neither sign nor mantissa. Activations are never"
                f" negative, and their code keeps a bit for the sign all the same; bzip2 needs"
                f" {ahead}, for it looks at neighbours, too.",
                f"**Random bits** need {dice.bits:.1f}: no code gains anything on them, and the"
                " list of words comes on top.",
                "**What it would do for DMA is assumed.** Suppose that the chip's compression is as"
                f" good as this code and never slower than the wires. Then {rate} (documented)"
                " would bring numbers at the rates on the right, but for the fixed time of each"
                " transfer, which does not shrink. Nobody publishes what the chip does; no time in"
                " these lessons counts on it.",
            ),
        ],
    )
