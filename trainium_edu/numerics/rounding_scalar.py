"""Rounding one number, step by step: the readable twin of the loops in ``_loops.py``.

Everything happens on whole numbers.  An FP32 word without its sign, ``exponent field | mantissa``,
grows by one from each number to the next, across binades too, so that "round up" is "add one after
the low bits have gone" and a carry into the exponent needs no thought.
"""

import struct

from trainium_edu.numerics.formats import get_format

__all__ = ["fp32_word", "round_to_code"]


def fp32_word(x) -> int:
    """Return the 32 bits of a float that FP32 can hold."""
    return struct.unpack("<I", struct.pack("<f", x))[0]


def round_to_code(x, fmt, rounding="nearest", *, toss=0, toss_bits=16, overflow="infinity") -> int:
    """Round one FP32 number and return its code in `fmt`.

    Parameters
    ----------
    x : float
        A number that FP32 can hold.
    fmt : Format or str
        A floating-point format (for integers see :func:`round_to_whole`).
    rounding : {"nearest", "stochastic", "toward_zero"}
    toss : int
        The random bits for ``"stochastic"``: ``0 <= toss < 2**toss_bits``.
    toss_bits : int
        How many of the dropped bits take part in the comparison with the toss.
    overflow : {"infinity", "saturate"}

    Returns
    -------
    int
        The code: the bits of the result, read as an unsigned number.

    Examples
    --------
    >>> hex(round_to_code(1.0, "bf16"))
    '0x3f80'
    """
    fmt = get_format(fmt)
    word = fp32_word(x)
    sign, magnitude = word & 0x80000000, word & 0x7FFFFFFF
    significand, drop, below = _align(magnitude, 23 - fmt.mantissa_bits, fmt.min_exponent + 127)
    match rounding:
        case "nearest":  # add just under a half; a tie needs the one that only odd codes bring
            half = (1 << drop) >> 1
            odd = (significand >> drop) & min(half, 1)
            rounded = (significand + max(half, 1) - 1 + odd) >> drop
        case "toward_zero":
            rounded = significand >> drop
        case "stochastic":  # up if (dropped bits, cut to toss_bits) + toss carries over
            weighed = min(drop, toss_bits)
            unseen = drop - weighed
            toss = toss >> (toss_bits - weighed)
            rounded = ((significand >> unseen) + toss) >> weighed
    return _finish(rounded, below, magnitude, sign, fmt, rounding, overflow)


def _align(magnitude, mantissa_drop, min_field):
    """Return (significand, how many of its low bits fall off, binades below the normal ones)."""
    field = magnitude >> 23
    below = max(min_field, field, 1) - max(field, 1)
    hidden = 0x800000 if field > 0 else 0
    subnormal = (magnitude & 0x7FFFFF) | hidden
    significand = magnitude if below == 0 else subnormal
    return significand, mantissa_drop + below, below


def _finish(code, below, magnitude, sign, fmt, rounding, overflow):
    """Rebias a rounded significand, then put in overflow, infinity, NaN and sign."""
    code -= (127 - fmt.bias) << fmt.mantissa_bits if below == 0 else 0
    overflow_code, infinity_code = overflow_codes(fmt, rounding, overflow)
    code = overflow_code if code > fmt.max_code else code
    code = infinity_code if magnitude == 0x7F800000 else code
    payload = (magnitude >> (23 - fmt.mantissa_bits)) & ((1 << fmt.mantissa_bits) - 1)
    code = fmt.nan_code | payload if magnitude > 0x7F800000 else code
    return code | (fmt.sign_mask if sign else 0)


def overflow_codes(fmt, rounding, overflow) -> tuple[int, int]:
    """Return the codes that a number beyond the largest, and an infinity, become."""
    beyond = fmt.max_code
    if overflow == "infinity":
        beyond = (
            fmt.infinity_code if fmt.has_infinities else fmt.nan_code if fmt.has_nan else beyond
        )
    return (fmt.max_code if rounding == "toward_zero" else beyond), beyond
