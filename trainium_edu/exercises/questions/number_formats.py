"""Questions of lesson 01: how dense numbers stand, a tie, lost gradients, codes, weights, zip."""

from functools import partial
from math import floor, isfinite, log2

import numpy as np

from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import spoken, table
from trainium_edu.numerics import cast_to_bits, configure, draw_bits, get_format, range_of
from trainium_edu.numerics.compression import effective_bytes_per_s, measure
from trainium_edu.numerics.grid import land, number_text, stretches
from trainium_edu.numerics.quantisation import fitted_table, lost_table, quantise
from trainium_edu.specs import TRN1
from trainium_edu.viz.compression import describe_sizes, draw_sizes
from trainium_edu.viz.formats import label_of
from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.formats import cfp8_explorer, range_explorer
from trainium_edu.widgets.number_line import number_line_explorer
from trainium_edu.widgets.picture import Picture
from trainium_edu.widgets.quantisation import quantise_explorer

_SHOWN = words_of(__file__)["shown"]


def _run(fmt, low, high):
    """Return a format's numbers from `low` up to `high`, which is not counted."""
    (run,) = stretches(fmt, low, np.nextafter(high, low))
    return run


@question("01/bf16-1024")
def between_powers(fmt, low, high):
    """Return how many numbers a format has from `low` to `high`."""
    run = _run(fmt, low, high)
    rows = []
    for start in (0.25, 1, 128, 256, low):
        it = _run(fmt, start, 2 * start)
        rows.append((start, 2 * start, it.count, number_text(it.spacing)))

    def show(guess):
        told = table(_SHOWN["between"], rows)
        if guess in (None, run.count):
            return told
        return f"{told}\n{_SHOWN['yours'].format(guess, (high - low) / guess)}"

    return Answer(
        run.count,
        wrong={
            "each whole number": high - low,
            "one step everywhere": round((high - low) / (2 - 1) * _run(fmt, 1, 2).count),
            "the hidden one counted": 2 * run.count,
            "both ends": run.count + 1,
            "the gap": int((high - low) / run.count),
            "the first one left out": run.count - 1,
        },
        terms={"steps": run.count, "double": 2 * run.count},
        show=show,
    )


@question("01/257-in-bf16")
def at_a_tie(x):
    """Return what BF16 makes of x."""
    landed = {name: land(x, name) for name in ("bf16", "fp16", "fp8_e4m3")}
    rows = [(name, x, it) for name, it in landed.items()]
    it, fp16, fp8 = landed.values()
    return Answer(
        _spelled(it.value),
        wrong={
            "whole numbers are exact": f"{fp16.value:g}",
            "ties go up": f"{it.above:g}",
            "FP8's range": _spelled(fp8.value),
        },
        terms={"below": it.below, "above": it.above},
        show=lambda guess: [table(_SHOWN["landed"], rows), number_line_explorer(x, list(landed))],
    )


def _spelled(value):
    return f"{value:g}" if isfinite(value) else "infinity"


_HALF_AND_LESS = ("bf16", "fp8_e4m3", "fp16", "fp8_e5m2")  # as first shown


def _from_most(lost) -> tuple:
    """Return the formats' labels, ordered by a function of the format from high to low."""
    return tuple(label_of(f) for f in sorted(_HALF_AND_LESS, key=lost, reverse=True))


def _below_normal(x, fmt):
    q = quantise(x, fmt)
    return q.vanished + q.subnormal


@question("01/gradients-lost")
def gradients_lost(x):
    """Return the formats by how many numbers of x they turn into zero."""
    answer = _from_most(lambda f: quantise(x, f).vanished)
    most, second, third, least = answer
    return Answer(
        answer,
        wrong={
            "mantissa bits keep small numbers": _from_most(lambda f: -get_format(f).mantissa_bits),
            "subnormal numbers forgotten": _from_most(lambda f: _below_normal(x, f)),
            "read from fewest to most": answer[::-1],
            "fewer mantissa bits lose more": (most, second, least, third),
            "range between equals": (second, most, third, least),
            "FP16 underflows most": (third, most, second, least),
            "as they were shown": (least, most, third, second),
        },
        show=lambda guess: [
            range_explorer("gradients"),
            lost_table(x, ("fp16", "fp8_e5m2", "fp8_e4m3"), (6, 12, 18, 24)),
        ],
    )


@question("01/e4m3-finite")
def finite_numbers(exponent_bits, mantissa_bits):
    """Return how many finite numbers a float with infinities has."""
    here = range_of(configure(exponent_bits, mantissa_bits)).finite_values
    without = configure(exponent_bits, mantissa_bits, infinities=False)
    codes, nan = 2 ** (1 + exponent_bits + mantissa_bits), 2 * (2**mantissa_bits - 1)
    ranges = {e: range_of(configure(e, 7 - e)) for e in range(2, 7)}
    counts = [it.finite_values for it in ranges.values()]
    rows = [(e, 7 - e, it) for e, it in list(ranges.items())[:-1]]
    return Answer(
        here,
        wrong={
            "every code a number": codes,
            "one NaN": codes - 4,
            "both zeros": here + 1,
            "only one zero less": here + 16,
            "only two codes less": here + 15,
            "no infinities": range_of(without).finite_values,
            "one sign": here // 2,
        },
        terms={"codes": codes, "nan": nan, "fewest": min(counts), "most": max(counts)},
        show=lambda guess: [table(_SHOWN["finite"], rows), cfp8_explorer("weights")],
    )


_EIGHT_BITS = ("fp8_e5m2", "fp8_e4m3", "fp8_e3m4", "int8")


def _best(score):
    """Return the label of the eight-bit format with the highest score."""
    return label_of(max(_EIGHT_BITS, key=score))


def _mostly_normal(x, fmt):
    """Return precision, or -1 where over a tenth of the numbers are not normal."""
    f = get_format(fmt)
    return f.mantissa_bits if _below_normal(x, f) < 0.1 * x.size and f.exponent_bits else -1


@question("01/weights-8-bit")
def best_for_weights(x):
    """Return the eight-bit format with the highest signal-to-noise ratio."""
    names = {label_of(f): f for f in _EIGHT_BITS}
    best = _best(lambda f: quantise(x, f).snr_db)

    def show(guess):
        explorer = quantise_explorer("weights", names[guess or best])
        return [explorer, fitted_table(x, _EIGHT_BITS)]

    top = floor(log2(np.abs(x).max())) + 1
    return Answer(
        best,
        wrong={"subnormal is lost": _best(lambda f: _mostly_normal(x, f))},
        terms={"top": 2.0**top},
        show=show,
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


@question("01/compressed")
def compressed(arrays):
    """Return the bits that each weight needs, its share of the code's table included."""
    sizes = _sizes(arrays)
    weights, activations, dice = (sizes[n] for n in ("weights", "activations", "random bits"))
    fields = weights.fields
    text, rates = describe_sizes(sizes), {"as it is": float(TRN1.dma.bytes_per_s) / 1e9}
    alt = f"Above measured bits, below them rates that are assumed: {spoken(text, 2)}"
    rates |= {name: effective_bytes_per_s(row.bits) / 1e9 for name, row in sizes.items()}
    return Answer(
        round(weights.bits, 1),
        wrong={"all alike": 8 + log2(_exponents(arrays)), "the exponent alone": fields.exponent},
        terms={
            "exponents": _exponents(arrays),
            "exponent": fields.exponent,
            "mantissa": fields.mantissa,
            "total": fields.total,
            "bits": weights.bits,
            "zero_gradients": _zeros(arrays["gradients"]),
            "zero_activations": _zeros(arrays["activations"]),
            "ahead": "less" if activations.bzip2_bits < activations.bits else "more",
            "dice_bits": dice.bits,
            "rate": f"{rates['as it is']:.0f} GB/s",
        },
        show=lambda guess: [
            Picture(partial(draw_sizes, sizes), alt),
            Numbers(text, "Assumed: GB/s of a NeuronCore, if compression kept up", rates),
        ],
    )
