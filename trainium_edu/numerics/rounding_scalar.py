"""Rounding one number, step by step: the readable twin of the loops in ``_loops.py``.

All arithmetic is on integers.  An FP64 word without its sign, ``exponent field | mantissa``,
grows by one from each number to the next, across binades too.  So "round up" is "add one after
the low bits have gone" and a carry into the exponent needs no thought.  (FP64 holds every number
of every format; most loops do the same to FP32 words: 23 for 52, 127 for 1023.)
"""

import struct
from math import isnan

from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.random_bits import check_n_random_bits
from trainium_edu.specs.arguments import choice, short, whole

__all__ = ["ROUNDINGS", "overflow_codes", "round_to_code"]

ROUNDINGS = ("nearest", "stochastic", "toward_zero")
OVERFLOWS = ("infinity", "saturate")


def round_to_code(
    x, fmt, rounding="nearest", *, random_bits=0, n_random_bits=16, overflow="infinity"
) -> int:
    """Round one number and return its code in `fmt`.

    Parameters
    ----------
    x : float
        Rounded once, from all its bits; NaN stays NaN.
    fmt : Format or str
    rounding : {"nearest", "stochastic", "toward_zero"}
    random_bits : int
        For ``"stochastic"``: from 0 to ``2**n_random_bits - 1``.
    n_random_bits : int
        How many of the dropped bits take part in the comparison with them, 1 to 31.
    overflow : {"infinity", "saturate"}

    Returns
    -------
    int
        The code: the bits of the result, read as an unsigned number.

    Raises
    ------
    TypeError, ValueError
        If float64 cannot hold `x`, or `x` is NaN and the format has none; if `random_bits` has
        more than `n_random_bits` bits; for other words than those listed.

    Examples
    --------
    >>> hex(round_to_code(1.0, "bf16")), round_to_code(-2.5, "int8")
    ('0x3f80', 254)
    """
    fmt = get_format(fmt)
    choice(rounding, "rounding", ROUNDINGS)
    choice(overflow, "overflow", OVERFLOWS)
    n_random_bits = check_n_random_bits(n_random_bits)
    why = f", with n_random_bits={n_random_bits}"
    random_bits = whole(random_bits, "random_bits", 0, 2**n_random_bits - 1, why)
    x = _one_float(x, fmt)
    (word,) = struct.unpack("<Q", struct.pack("<d", x))
    negative, magnitude = word >> 63, word & 0x7FFFFFFFFFFFFFFF
    if negative and not (fmt.sign_bits or isnan(x)):
        magnitude = 0
    significand, drop, below = _align(magnitude, 52 - fmt.mantissa_bits, fmt.min_exponent + 1023)
    match rounding:
        case "nearest":  # add just under a half; a tie needs the one that only odd codes bring
            half = (1 << drop) >> 1
            odd = (significand >> drop) & 1
            rounded = (significand + half - 1 + odd) >> drop
        case "toward_zero":
            rounded = significand >> drop
        case "stochastic":  # up if (dropped bits, cut to n_random_bits) + random_bits carries
            weighed = min(drop, n_random_bits)
            unseen = drop - weighed
            added = random_bits >> (n_random_bits - weighed)
            rounded = ((significand >> unseen) + added) >> weighed
    return _finish(rounded, below, magnitude, negative, fmt, rounding, overflow)


def _one_float(x, fmt) -> float:
    """Return `x` as a Python float of the same value; raise if there is none."""
    try:
        if isinstance(x, str | bytes) or hasattr(x, "mask") or getattr(x, "shape", ()) != ():
            raise TypeError
        value = float(x)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"x is {short(x)}; it must be one number") from None
    if value != x and not isnan(value):
        raise ValueError(f"x is {short(x)}, which no float64 holds; the nearest is {value!r}")
    if isnan(value) and not fmt.has_nan:
        raise ValueError(f"x is NaN, and {fmt.name} has no code for NaN")
    return value


def _align(magnitude, mantissa_drop, min_field):
    """Return (significand, how many of its low bits fall off, binades below the normal ones)."""
    field = magnitude >> 52
    below = max(min_field, field, 1) - max(field, 1)
    hidden = 1 << 52 if field > 0 else 0
    subnormal = (magnitude & ((1 << 52) - 1)) | hidden
    significand = magnitude if below == 0 else subnormal
    return significand, mantissa_drop + below, below


def _finish(code, below, magnitude, negative, fmt, rounding, overflow):
    """Rebias a rounded significand, then put in overflow, infinity, NaN and sign."""
    code -= (1023 - fmt.bias) << fmt.mantissa_bits if below == 0 else 0
    if fmt.is_integer:  # infinity is larger than all of them, and NaN did not come this far
        signed = min(max(-code if negative else code, int(fmt.min)), int(fmt.max))
        return signed % (1 << fmt.bits)
    overflow_code, infinity_code = overflow_codes(fmt, rounding, overflow)
    infinity = 0x7FF << 52
    code = overflow_code if code > fmt.max_code else code
    code = infinity_code if magnitude == infinity else code
    payload = (magnitude >> (52 - fmt.mantissa_bits)) & ((1 << fmt.mantissa_bits) - 1)
    code = fmt.nan_code | payload if magnitude > infinity else code
    return code | (fmt.sign_mask if negative else 0)


def overflow_codes(fmt: Format, rounding, overflow) -> tuple[int, int]:
    """Return the codes that a number beyond the largest, and an infinity, become."""
    beyond = fmt.max_code
    if overflow == "infinity":
        beyond = (
            fmt.infinity_code if fmt.has_infinities else fmt.nan_code if fmt.has_nan else beyond
        )
    return (fmt.max_code if rounding == "toward_zero" else beyond), beyond
