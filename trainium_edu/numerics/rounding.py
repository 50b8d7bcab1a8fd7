"""The public way to round: :func:`cast`, from FP32 to any format, bit for bit.

This file checks, allocates and explains; the loops it calls are in ``_loops.py``, and
``rounding_scalar.py`` shows the same steps for one number.

=====================  ============================================================================
question               answer
=====================  ============================================================================
subnormals             kept, never flushed to zero
signed zero            the sign stays (dropped by formats without a sign, and by integers)
NaN                    stays NaN: quiet, with its sign and as many upper payload bits as fit.
                       A format without NaN (all integers) raises, because any number would be a lie
infinity               infinity; NaN in a format with NaN only; else the largest number
too large              what infinity becomes, or the largest number with ``overflow="saturate"``;
                       toward zero always stops at the largest number
too large, integer     always the largest or smallest number
negative, unsigned     zero
float64 in             rounded once, from all 53 bits, whatever the rounding
=====================  ============================================================================
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trainium_edu.numerics import _loops
from trainium_edu.numerics.codes import from_bits
from trainium_edu.numerics.formats import BF16, FP32, TF32, Format, get_format
from trainium_edu.numerics.launch import launch, launch_parallel
from trainium_edu.numerics.random_bits import check_count, check_n_random_bits, raw_bits
from trainium_edu.numerics.rounding_scalar import OVERFLOWS, ROUNDINGS, overflow_codes
from trainium_edu.numerics.widen import as_numbers, exact_floats
from trainium_edu.specs.arguments import choice

__all__ = ["ROUNDINGS", "cast", "cast_to_bits", "round_floats", "round_to"]

_FEW = 1 << 18  # numbers that one core rounds before two have begun and met again
_TILES_AT_A_TIME = 16
MOST_PER_CALL = 1 << 27  # such numbers between two returns to Python
_CHUNK = 1 << 22  # numbers between two returns to Python: about ten milliseconds
_DRAWN_AHEAD = 1 << 16  # words drawn ahead: they stay in the second cache


def cast(
    x, fmt, rounding="nearest", *, seed=0, step=0, random_bits=None, n_random_bits=16, offset=0,
    overflow="infinity",
):  # fmt: skip
    """Round numbers to a narrower format.

    Parameters
    ----------
    x : array of real numbers, any shape and memory layout
        Float64 and large integers are rounded once, from all their bits.
    fmt : Format or str
        ``"bf16"``, ``"fp16"``, ``"tf32"``, ``"fp8_e4m3"``, ``"int8"``, ... or a configured one.
    rounding : {"nearest", "stochastic", "toward_zero"}
        Nearest with ties to even; up or down at random, the nearer the likelier; or cut off.
    seed, step, offset : int
        With them the bits are drawn by Philox4x32-10: element ``i`` (counted in C order) gets
        those of (`seed`, `step`, ``offset + i``), however the array is cut into pieces.
    random_bits : unsigned integer array of the shape of `x`, optional
        The bits themselves, one number for each element, below ``2**n_random_bits``.
    n_random_bits : int
        Number of random bits for each element, 1 to 31.  Where they cover the dropped
        bits (16 for BF16), the mean over all of their values equals the number exactly.  Where they
        do not, it is closer to zero by less than ``2**-n_random_bits`` of a spacing.
    overflow : {"infinity", "saturate"}
        What becomes of numbers beyond the largest, and of infinities; see the table above.

    Returns
    -------
    numpy.ndarray
        Same shape, C order, dtype ``fmt.dtype``: ml_dtypes' or NumPy's narrow dtype; float32 with
        rounded values for TF32 and configured formats (:func:`cast_to_bits` gives their codes).

    Raises
    ------
    TypeError, ValueError
        For another kind of argument or one out of range; for NaN into a format without NaN; for
        `random_bits` of another shape or range.
    MemoryError
        If the result would not fit.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.float32([1.0, 1.00390625, 1.005])
    >>> cast(x, "bf16").astype(float).tolist()
    [1.0, 1.0, 1.0078125]
    >>> up = cast(np.full(10_000, 1.005, np.float32), "bf16", "stochastic", seed=1)
    >>> round(float(up.astype(float).mean()), 3)
    1.005

    Notes
    -----
    Stochastic rounding adds the random bits to the dropped bits and keeps the carry:
    ``up  <=>  floor(dropped * 2**n_random_bits) + random_bits >= 2**n_random_bits``,
    with ``dropped`` the part below the last place kept, as a fraction of it.

    References
    ----------
    `aws-rounding-modes`, `gupta-2015` in :data:`trainium_edu.specs.SOURCES`.
    """
    fmt = get_format(fmt)
    codes, shape = _codes(
        x, fmt, rounding, seed, step, random_bits, n_random_bits, offset, overflow, as_words=True
    )
    if fmt.is_stored_narrow:
        return codes.view(fmt.dtype).reshape(shape)
    if fmt is TF32:
        return codes.view(np.float32).reshape(shape)
    return from_bits(codes, fmt).astype(np.float32, copy=False).reshape(shape)


def cast_to_bits(
    x, fmt, rounding="nearest", *, seed=0, step=0, random_bits=None, n_random_bits=16, offset=0,
    overflow="infinity",
):  # fmt: skip
    """Round numbers as :func:`cast` does, and return their codes.

    Returns
    -------
    unsigned integer array, ``fmt.bits_dtype``
        The ``fmt.bits`` bits of each number, read as an unsigned number.

    Examples
    --------
    >>> [hex(int(c)) for c in cast_to_bits([1.0, -2.0], "tf32")]
    ['0x1fc00', '0x60000']
    """
    fmt = get_format(fmt)
    codes, shape = _codes(
        x, fmt, rounding, seed, step, random_bits, n_random_bits, offset, overflow, as_words=False
    )
    return codes.reshape(shape)


def round_to(x, fmt, rounding="nearest", **options):
    """Round numbers as :func:`cast` does, and return them as float32.

    For arithmetic that goes on in FP32, and for plots.

    Parameters
    ----------
    x, fmt, rounding, **options
        As in :func:`cast`.

    Returns
    -------
    float32 array

    Examples
    --------
    >>> round_to(3.14159, "fp8_e4m3").item()
    3.25
    """
    return cast(x, fmt, rounding, **options).astype(np.float32, copy=False)


def round_floats(
    x: np.ndarray, fmt, rounding="nearest", *, seed=0, step=0, rows: int = 1,
    out: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Round a float32 array as :func:`round_to` does, faster for BF16: written as FP32 at once.

    For executors, which round thousands of arrays; numbers are not looked at twice.

    Parameters
    ----------
    x : float32 array
    fmt, rounding, seed, step
        As in :func:`cast`.
    rows : int
        Parts of equal length that draw the same random bits.
    out : float32 array, optional
        Takes the result, in the shape of `x`; may be `x` itself.

    Returns
    -------
    float32 array

    Examples
    --------
    >>> round_floats(np.float32([1.005]), "bf16").tolist()
    [1.0078125]
    """
    fits = out is None or out.flags.c_contiguous
    if fits and get_format(fmt) is BF16 and rounding in ("nearest", "stochastic"):
        return _rounded_rows(x, rounding == "stochastic", seed, step, rows, out)
    if rows == 1 or rounding != "stochastic":
        done = round_to(x, fmt, rounding, seed=seed, step=step)
    else:
        parts = np.ascontiguousarray(x).reshape(rows, -1)
        done = np.stack([round_to(row, fmt, rounding, seed=seed, step=step) for row in parts])
    if out is None:
        return done.reshape(x.shape)
    out[...] = done.reshape(out.shape)
    return out


def _rounded_rows(x, tosses, seed, step, rows, out):
    """Round rows to BF16, on both cores where there is enough to do."""
    words = _writable(np.ascontiguousarray(x).reshape(rows, -1)).view(np.uint32)
    out = np.empty(x.shape, np.float32) if out is None else out
    codes = out.reshape(rows, -1).view(np.uint32)
    copies = codes.ctypes.data != words.ctypes.data
    setup = _TILES_AT_A_TIME, tosses, np.uint64(seed), np.uint64(step), copies
    setup += (codes if copies else words,)
    tiles, some = -(-words.shape[1] // _loops.DRAW), max(1, MOST_PER_CALL // (_loops.DRAW * rows))
    for first in range(0, tiles, some):
        last = min(first + some, tiles)
        if words.size < _FEW:
            launch(_loops.bf16_rows, words, first, last, *setup)
        else:
            launch_parallel(_loops.bf16_rows_parallel, _loops.bf16_rows, words, first, last, *setup)
    return out


def _codes(x, fmt, rounding, seed, step, random_bits, n_random_bits, offset, overflow, *, as_words):
    """Check everything, then return (flat codes, shape); `as_words` keeps TF32 in FP32's place."""
    choice(rounding, "rounding", ROUNDINGS)
    choice(overflow, "overflow", OVERFLOWS)
    seed, step = check_count(seed, "seed"), check_count(step, "step")
    offset, n_random_bits = check_count(offset, "offset"), check_n_random_bits(n_random_bits)
    x = as_numbers(x)
    if offset + x.size > 2**64:
        raise ValueError(f"offset {offset} and {x.size} elements pass 2**64, where counting ends")
    all_bits = None
    if random_bits is not None:
        if rounding != "stochastic":
            raise ValueError(f"random_bits serve stochastic rounding only, not {rounding}")
        all_bits = _check_random_bits(random_bits, x.shape, n_random_bits)
    _check_memory(x, fmt)
    if fmt.is_integer and x.dtype.kind in "iu":
        return np.clip(x, int(fmt.min), int(fmt.max)).astype(fmt.dtype, order="C").view(
            fmt.bits_dtype
        ).reshape(-1), x.shape
    values = exact_floats(x)
    if fmt is FP32 and values.dtype == np.float32:
        values = values.copy() if np.may_share_memory(values, x) else values
        if overflow == "saturate":
            np.clip(values, FP32.min, FP32.max, out=values)
        return values.view(np.uint32).reshape(-1), x.shape
    if not fmt.has_nan and values.size and np.isnan(values.max()):
        raise ValueError(
            f"{int(np.isnan(values).sum())} of {values.size} numbers are NaN, and {fmt.name} has "
            "no code for NaN; replace them first, for example with np.nan_to_num"
        )
    if not fmt.sign_bits and not fmt.is_integer:
        values = np.where(values < 0, values.dtype.type(0), values)
    words = values.view(np.uint32 if values.dtype == np.float32 else np.int64).reshape(-1)
    out = np.empty(words.size, fmt.bits_dtype)
    place = 13 if as_words and fmt is TF32 else 0
    n_random_bits = n_random_bits if rounding == "stochastic" else 0
    rule = _Rule(fmt, rounding, overflow, seed, step, n_random_bits, place)
    for start in range(0, words.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        random_bits = None if all_bits is None else _writable(all_bits[part])
        _round(_writable(words[part]), out[part], rule, offset + start, random_bits)
    return out, x.shape


def _writable(chunk):
    """Return a chunk that may be written to, because a read-only one compiles a loop again."""
    return chunk if chunk.flags.writeable else chunk.copy()


@dataclass(frozen=True, slots=True)
class _Rule:
    """The settings that every chunk of an array shares."""

    fmt: Format
    rounding: str
    overflow: str
    seed: int
    step: int
    n_random_bits: int
    place: int  #: how many bits codes are moved up: TF32's into the place of FP32's


def _round(words, out, rule, first_element, random_bits):
    """Choose the loop for this format and rounding, and run it on one chunk."""
    fmt, wide = rule.fmt, words.dtype == np.int64
    upper = fmt in (BF16, TF32) and rule.overflow == "infinity" and not wide
    if rule.rounding == "nearest" and upper:
        drop = np.uint32(23 - fmt.mantissa_bits)
        launch(_loops.nearest_upper, words, drop, np.uint32(rule.place), out)
        return
    if fmt.is_integer and not wide:
        words, wide = words.view(np.float32).astype(np.float64).view(np.int64), True
    if rule.rounding != "nearest":
        _round_by_bits(words, out, rule, first_element, random_bits)
    elif wide:
        _round_float64(words, out, rule, np.empty(0, np.uint32), 0)
    else:
        launch(_loops.nearest_any, words, loop_layout(fmt, "nearest", rule.overflow), out)
    if rule.place:
        out <<= rule.place


def _round_by_bits(words, out, rule, first_element, random_bits):
    """Round one chunk by given random bits, by bits drawn for its elements, or by none."""
    wide, fmt, n_random_bits = words.dtype == np.int64, rule.fmt, rule.n_random_bits
    first_tile, ahead = divmod(first_element, _loops.TILE)
    tiled = words.size // _loops.DRAW * _loops.DRAW
    draws = random_bits is None and n_random_bits
    as_bf16 = fmt is BF16 and rule.overflow == "infinity" and not wide
    if draws == 16 and as_bf16 and tiled and not ahead:  # full tiles are drawn and used on the spot
        drawn, stream = np.empty(_loops.DRAW // 2, np.uint32), np.uint64([rule.seed, rule.step])
        launch(_loops.stochastic_bf16, words[:tiled], np.uint64(first_tile), *stream, drawn,
               drawn.view(np.uint16), np.uint32(0), out[:tiled])  # fmt: skip
        words, out, first_element = words[tiled:], out[tiled:], first_element + tiled
    for start in range(0, words.size, _DRAWN_AHEAD):
        part = slice(start, start + _DRAWN_AHEAD)
        n = min(_DRAWN_AHEAD, words.size - start)
        if draws:
            some = raw_bits(n, rule.seed, rule.step, first_element + start, n_random_bits)
            lift = 32 - some.itemsize * 8
        elif n_random_bits:
            some, lift = random_bits[part], 32 - n_random_bits
        else:
            some, lift = np.zeros(n, np.uint32), 0
        if wide:
            _round_float64(words[part], out[part], rule, some, lift)
        else:
            layout = loop_layout(fmt, rule.rounding, rule.overflow)
            launch(_loops.stochastic_any, words[part], some, np.uint32(lift),
                   np.uint32(n_random_bits), layout, out[part])  # fmt: skip


def _round_float64(words, out, rule, random_bits, lift):
    """Round one chunk of FP64 words."""
    layout = _layout(rule.fmt, rule.rounding, rule.overflow, 52, 1023, np.int64)
    codes = np.empty(words.size, np.uint32)  # one compiled version of the loop serves all formats
    random_bits, to_nearest = random_bits.astype(np.uint32), rule.rounding == "nearest"
    launch(_loops.round_float64, words, to_nearest, random_bits, lift, rule.n_random_bits, layout,
           rule.fmt.is_integer, codes)  # fmt: skip
    out[...] = codes


def loop_layout(fmt: Format, rounding: str, overflow: str) -> np.ndarray:
    """Return a format as the ten numbers (uint32) that the loops over FP32 words read."""
    return _layout(fmt, rounding, overflow, 23, 127, np.uint32)


@lru_cache(maxsize=512)
def _layout(fmt, rounding, overflow, mantissa_bits, bias, dtype):
    """Return a format seen from words with these fields: FP32's (uint32) or FP64's (int64)."""
    beyond, infinity = overflow_codes(fmt, rounding, overflow)
    layout = [
        mantissa_bits - fmt.mantissa_bits,
        fmt.min_exponent + bias,
        (bias - fmt.bias) << fmt.mantissa_bits,
        fmt.max_code,
        int(fmt.min) if fmt.is_integer else beyond,
        infinity,
        fmt.nan_code,
        (1 << fmt.mantissa_bits) - 1,
    ]
    if dtype is np.uint32:
        layout += [32 - fmt.bits, fmt.sign_mask]
    else:
        layout += [fmt.sign_mask, (1 << fmt.bits) - 1]
    layout = np.array(layout, dtype)
    layout.setflags(write=False)  # shared by every call
    return layout


def _check_random_bits(random_bits, shape, n_random_bits):
    """Return given random bits as a flat unsigned array; raise what is wrong with them."""
    if isinstance(random_bits, np.ma.MaskedArray):
        raise TypeError("random_bits are unsigned integers, got a masked array; fill it first")
    bits = np.asarray(random_bits)
    if bits.dtype.kind not in "iu":
        raise TypeError(f"random_bits are unsigned integers, got dtype {bits.dtype}")
    if bits.shape != shape:
        raise ValueError(f"random_bits have the shape of x, {shape}, got {bits.shape}")
    if bits.size and (int(bits.min()) < 0 or int(bits.max()) >= 2**n_random_bits):
        wrong = int(bits.min()) if bits.min() < 0 else int(bits.max())
        raise ValueError(
            f"random_bits are from 0 to {2**n_random_bits - 1} with n_random_bits={n_random_bits}, "
            f"got {wrong}"
        )
    return np.ascontiguousarray(bits, np.uint32).reshape(-1)


def _check_memory(x, fmt):
    """Refuse a result that this machine's free memory cannot hold."""
    plain = x.dtype in (np.float32, np.float64) and x.flags.c_contiguous
    exactly = 4 if x.dtype == np.float32 or x.dtype.itemsize <= 2 else 8  # see `exact_floats`
    needed_bytes = x.size * (fmt.dtype.itemsize + (0 if plain else exactly))
    if needed_bytes < 2**28:
        return
    import psutil

    free_bytes = psutil.virtual_memory().available
    if needed_bytes > free_bytes:
        raise MemoryError(
            f"casting {x.size} numbers to {fmt.name} takes {needed_bytes / 2**30:.1f} GiB and "
            f"{free_bytes / 2**30:.1f} GiB are free; cast it in pieces, with offset="
        )
