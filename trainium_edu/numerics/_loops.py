"""Compiled loops of the `numerics` floor: arrays in, ``out`` filled, nothing checked.

Read ``rounding_scalar.py`` first: it holds the same steps, under the same names, for one number.
Numba widens ``uint32 + uint32`` to 64 bits; the ``U32(...)`` around every step brings it back, so
that the compiler can put sixteen numbers into one vector register.
"""

import numba
import numpy as np
from numba import njit

numba.config.THREADING_LAYER = "workqueue"  # the omp layer slows a following matmul

U32 = np.uint32
U64 = np.uint64


# --- Philox4x32-10: the tosses ------------------------------------------------------------------


@njit(cache=True)
def philox_words(first_block, seed, step, out):
    """Fill ``out`` (uint64[2 n]) with n blocks, two words in each entry, low word first."""
    key_low, key_high = U64(seed & U64(0xFFFFFFFF)), U64(seed >> U64(32))
    step_low, step_high = U64(step & U64(0xFFFFFFFF)), U64(step >> U64(32))
    for i in range(out.size // 2):
        block = U64(first_block) + U64(i)
        w0, w1 = block & U64(0xFFFFFFFF), block >> U64(32)
        w2, w3 = step_low, step_high
        k0, k1 = key_low, key_high
        for _ in range(10):
            p0 = U64(0xD2511F53) * (w0 & U64(0xFFFFFFFF))
            p1 = U64(0xCD9E8D57) * (w2 & U64(0xFFFFFFFF))
            w0, w1 = (p1 >> U64(32)) ^ w1 ^ k0, p1 & U64(0xFFFFFFFF)
            w2, w3 = (p0 >> U64(32)) ^ w3 ^ k1, p0 & U64(0xFFFFFFFF)
            k0 = (k0 + U64(0x9E3779B9)) & U64(0xFFFFFFFF)
            k1 = (k1 + U64(0xBB67AE85)) & U64(0xFFFFFFFF)
        out[2 * i] = w0 | (w1 << U64(32))
        out[2 * i + 1] = w2 | (w3 << U64(32))


# --- Formats with FP32's exponent field (BF16, TF32): the code is the upper part of the word ------


@njit(cache=True)
def nearest_upper(words, drop, out):
    """Round FP32 words to nearest-even by keeping all but the lowest ``drop`` bits."""
    drop = U32(drop) & U32(31)
    half = U32((U32(1) << drop) >> U32(1))
    quiet = U32(0x7FC00000)
    for i in range(words.size):
        word = U32(words[i])
        odd = U32(U32(word >> drop) & U32(1))
        rounded = U32(U32(word + U32(half - U32(1))) + odd)
        is_nan = U32(word & U32(0x7FFFFFFF)) > U32(0x7F800000)
        rounded = U32(U32(word & U32(0x80000000)) | quiet) if is_nan else rounded
        out[i] = U32(rounded >> drop)


@njit(cache=True)
def stochastic_upper(words, tosses, shift_left, shift_right, drop, out):
    """Add a toss to the bits that will be dropped, then drop them."""
    drop = U32(drop) & U32(31)
    quiet = U32(0x7FC00000)
    for i in range(words.size):
        word = U32(words[i])
        toss = U32(U32(U32(tosses[i]) >> U32(shift_right)) << U32(shift_left))
        rounded = U32(word + toss)
        is_nan = U32(word & U32(0x7FFFFFFF)) > U32(0x7F800000)
        rounded = U32(U32(word & U32(0x80000000)) | quiet) if is_nan else rounded
        out[i] = U32(rounded >> drop)


# --- Any format: align, round, rebias, then the special codes --------------------------------------


@njit(cache=True)
def _align(magnitude, mantissa_drop, min_field):
    """Return (significand, how many of its low bits fall off, whether it stays subnormal)."""
    field = U32(magnitude >> U32(23))
    seen = max(field, U32(1))
    below = U32(max(min_field, seen) - seen)
    hidden = U32(0x800000) if field > U32(0) else U32(0)
    subnormal = U32(U32(magnitude & U32(0x7FFFFF)) | hidden)
    significand = magnitude if below == U32(0) else subnormal
    return significand, U32(mantissa_drop + below), below


@njit(cache=True)
def _finish(code, below, magnitude, sign, layout):
    """Rebias a rounded significand, then put in overflow, infinity, NaN and sign."""
    rebias, max_code, overflow_code, infinity_code, nan_code, sign_drop, sign_mask = layout
    code = U32(code - (rebias if below == U32(0) else U32(0)))
    code = overflow_code if code > max_code else code
    code = infinity_code if magnitude == U32(0x7F800000) else code
    code = nan_code if magnitude > U32(0x7F800000) else code
    return U32(code | U32(U32(sign >> sign_drop) & sign_mask))


@njit(cache=True)
def nearest_any(words, layout, out):
    """Round FP32 words to the nearest code, ties to even."""
    mantissa_drop, min_field = layout[0], layout[1]
    rest = (layout[2], layout[3], layout[4], layout[5], layout[6], layout[7], layout[8])
    for i in range(words.size):
        word = U32(words[i])
        sign, magnitude = U32(word & U32(0x80000000)), U32(word & U32(0x7FFFFFFF))
        significand, drop, below = _align(magnitude, mantissa_drop, min_field)
        drop = U32(min(drop, U32(26)))
        half = U32(U32(U32(1) << U32(drop & U32(31))) >> U32(1))
        even = U32(max(half, U32(1)) - U32(1))
        odd = U32(U32(significand >> U32(drop & U32(31))) & min(half, U32(1)))
        rounded = U32(U32(U32(significand + even) + odd) >> U32(drop & U32(31)))
        out[i] = _finish(rounded, below, magnitude, sign, rest)


@njit(cache=True)
def toward_zero_any(words, layout, out):
    """Round FP32 words to the code next to them on the side of zero."""
    mantissa_drop, min_field = layout[0], layout[1]
    rest = (layout[2], layout[3], layout[4], layout[5], layout[6], layout[7], layout[8])
    for i in range(words.size):
        word = U32(words[i])
        sign, magnitude = U32(word & U32(0x80000000)), U32(word & U32(0x7FFFFFFF))
        significand, drop, below = _align(magnitude, mantissa_drop, min_field)
        rounded = U32(significand >> U32(min(drop, U32(26)) & U32(31)))
        out[i] = _finish(rounded, below, magnitude, sign, rest)


@njit(cache=True)
def stochastic_any(words, tosses, toss_drop, toss_bits, layout, out):
    """Round FP32 words up or down by a toss of ``toss_bits`` bits."""
    mantissa_drop, min_field = layout[0], layout[1]
    rest = (layout[2], layout[3], layout[4], layout[5], layout[6], layout[7], layout[8])
    bits = U32(toss_bits)
    for i in range(words.size):
        word = U32(words[i])
        sign, magnitude = U32(word & U32(0x80000000)), U32(word & U32(0x7FFFFFFF))
        significand, drop, below = _align(magnitude, mantissa_drop, min_field)
        weighed = min(drop, bits)
        unseen = min(U32(drop - weighed), U32(31))
        toss = U32(U32(tosses[i]) >> U32(toss_drop))
        toss = U32(toss >> U32(U32(bits - weighed) & U32(31)))
        rounded = U32(U32(significand >> U32(unseen & U32(31))) + toss)
        rounded = U32(rounded >> U32(weighed & U32(31)))
        out[i] = _finish(rounded, below, magnitude, sign, rest)


# --- Whole numbers ---------------------------------------------------------------------------------


@njit(cache=True)
def round_to_integer(words, mode, tosses, toss_drop, toss_bits, lowest, highest, out):
    """Round FP32 words to whole numbers; mode 0 nearest, 1 toward zero, 2 by toss; saturate."""
    for i in range(words.size):
        word = U32(words[i])
        negative = U32(word >> U32(31)) == U32(1)
        magnitude = U32(word & U32(0x7FFFFFFF))
        field = np.int64(magnitude >> U32(23))
        significand = np.int64(U32(magnitude & U32(0x7FFFFF)))
        significand |= np.int64(0x800000) if field > 0 else np.int64(0)
        drop = np.int64(150) - max(field, np.int64(1))
        up = min(max(-drop, np.int64(0)), np.int64(9))
        drop = min(max(drop, np.int64(0)), np.int64(60))
        rounded = (significand << up) >> drop
        if mode == 0:
            half = (np.int64(1) << drop) >> 1
            odd = rounded & min(half, np.int64(1))
            rounded = ((significand << up) + max(half, np.int64(1)) - 1 + odd) >> drop
        elif mode == 2:
            weighed = min(drop, np.int64(toss_bits))
            toss = (np.int64(tosses[i]) >> toss_drop) >> (toss_bits - weighed)
            rounded = (((significand << up) >> (drop - weighed)) + toss) >> weighed
        signed = -rounded if negative else rounded
        out[i] = min(max(signed, lowest), highest)


# --- The benchmark's ruler ---------------------------------------------------------------------------


@njit(cache=True)
def truncating_copy(words, out):
    """Copy the upper half of FP32 words: as fast as any cast to 16 bits can be."""
    for i in range(words.size):
        out[i] = U32(words[i]) >> U32(16)
