"""What each code stands for: values, neighbours, spacing, range tables, bits as text."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log10

import numpy as np

from trainium_edu.numerics.formats import FORMATS, Format, get_format
from trainium_edu.specs.arguments import number, short, whole
from trainium_edu.specs.signatures import checked

__all__ = [
    "Range", "all_values", "bit_fields", "bit_string", "from_bits", "neighbours", "range_of",
    "range_table", "ulp",
]  # fmt: skip

_TABLE_BITS = 16  # up to here decoding is a look-up


@dataclass(frozen=True, slots=True)
class Range:
    """One row of a range table; numbers are exact."""

    name: str
    split: str  #: sign-exponent-mantissa
    max: float
    min: float
    smallest_normal: float  #: NaN where every number is subnormal
    smallest_subnormal: float
    epsilon: float  #: the gap from 1 to the next number
    decimal_digits: float  #: log10 of 2^precision
    binades: float  #: log2 of largest over smallest positive
    finite_values: int  #: zero counted once


def from_bits(bits, fmt):
    """Return what codes stand for.

    Parameters
    ----------
    bits : integer array or int
        Codes below ``2**fmt.bits``.
    fmt : Format or str

    Returns
    -------
    float64 array of the same shape
        Exact: float64 holds every number of every format.

    Raises
    ------
    TypeError, ValueError
        If `bits` are not integers, or a code has more bits than the format.

    Examples
    --------
    >>> from_bits([0x3F80, 0x7F80, 0x0001], "bf16").tolist()
    [1.0, inf, 9.183549615799121e-41]
    """
    fmt = get_format(fmt)
    if isinstance(bits, np.ma.MaskedArray):
        raise TypeError("bits are a masked array; codes are integers; fill the array first")
    try:
        bits = np.asarray(bits)
    except (ValueError, TypeError, OverflowError):
        raise TypeError(f"bits are {short(bits)}; codes are integers") from None
    if bits.size == 0 and bits.dtype.kind == "f":
        bits = bits.astype(np.uint32)
    if bits.dtype.kind not in "iu":
        raise TypeError(f"bits have dtype {bits.dtype}; codes are integers")
    if bits.size and (int(bits.min()) < 0 or int(bits.max()) >> fmt.bits):
        wrong = int(bits.min()) if bits.min() < 0 else int(bits.max())
        raise ValueError(f"{wrong} is not a code of {fmt.name}, which has {fmt.bits} bits")
    if fmt.bits <= _TABLE_BITS:
        return _table(fmt)[bits]
    return _decode(bits.astype(np.uint32), fmt)


def all_values(fmt):
    """Return every finite number of a format of at most 16 bits, in order, zero once.

    Examples
    --------
    >>> all_values("fp8_e4m3").size
    239
    """
    fmt = get_format(fmt)
    if fmt.bits > _TABLE_BITS:
        raise ValueError(f"{fmt.name} has 2**{fmt.bits} codes; a full list stops at 16 bits")
    values = _table(fmt)
    return np.unique(values[np.isfinite(values)] + 0.0)


def ulp(x, fmt) -> float:
    """Return the spacing of the numbers of a format around `x`.

    Between two powers of two the spacing is constant; at a power of two it is the spacing above.
    Beyond the largest number it is the spacing there.

    Parameters
    ----------
    x : float
        A finite number.
    fmt : Format or str

    Examples
    --------
    >>> ulp(1024, "fp16"), ulp(1e-9, "fp16")
    (1.0, 5.960464477539063e-08)
    """
    fmt = get_format(fmt)
    x = min(abs(number(x, "x")), fmt.max)
    exponent = np.frexp(x)[1] - 1 if x else fmt.min_exponent
    normal = fmt.exponent_bits > 0
    exponent = max(exponent, fmt.min_exponent) if normal else fmt.min_exponent
    return 2.0 ** (int(exponent) - fmt.mantissa_bits)


def neighbours(x, fmt) -> tuple[float, float]:
    """Return the largest number of a format not above `x` and the smallest not below it.

    Both are `x` if the format holds it.  Beyond the largest number the upper neighbour is infinity
    where the format has one, else the largest number; both neighbours of a negative number are
    zero in a format without a sign.

    Parameters
    ----------
    x : float
        A finite number.
    fmt : Format or str

    Examples
    --------
    >>> neighbours(3.14159, "fp8_e4m3")
    (3.0, 3.25)
    """
    fmt, x = get_format(fmt), number(x, "x")
    if x < 0 and not fmt.sign_bits:
        return 0.0, 0.0
    step = ulp(x, fmt)
    size = min(abs(x), fmt.max if x > 0 else -fmt.min)
    inner = np.floor(size / step) * step  # a power of two divides without error
    outer = inner if inner == abs(x) else inner + step
    limit = fmt.max if x > 0 else -fmt.min
    if outer > limit:
        outer = inf if fmt.has_infinities else limit
    below, above = (inner, outer) if x >= 0 else (-outer, -inner)
    return float(below), float(above) + 0.0


def range_of(fmt) -> Range:
    """Return what a format can hold.

    Examples
    --------
    >>> range_of("fp16").max
    65504.0
    """
    fmt = get_format(fmt)
    precision = fmt.mantissa_bits + (fmt.exponent_bits > 0)
    return Range(
        name=fmt.name,
        split=f"{fmt.sign_bits}-{fmt.exponent_bits}-{fmt.mantissa_bits}",
        max=fmt.max,
        min=fmt.min,
        smallest_normal=fmt.smallest_normal,
        smallest_subnormal=fmt.smallest_subnormal,
        epsilon=fmt.epsilon,
        decimal_digits=precision * log10(2),
        binades=float(np.log2(fmt.max / fmt.smallest_subnormal)),
        finite_values=fmt.max_code + 1 + (fmt.max_code + fmt.twos_complement) * fmt.sign_bits,
    )


@checked
def range_table(formats: Iterable | None = None) -> list[Range]:
    """Return one :class:`Range` per format (all named ones if none are given)."""
    return [range_of(f) for f in (FORMATS.values() if formats is None else formats)]


def bit_fields(code, fmt) -> tuple[str, str, str]:
    """Return the sign, exponent and mantissa field of a code as text of 0 and 1.

    Examples
    --------
    >>> bit_fields(0xBF80, "bf16")
    ('1', '01111111', '0000000')
    """
    fmt = get_format(fmt)
    code = check_code(code, fmt)
    text = format(code, f"0{fmt.bits}b")
    s, e = fmt.sign_bits, fmt.sign_bits + fmt.exponent_bits
    return text[:s], text[s:e], text[e:]


def bit_string(code, fmt) -> str:
    """Return a code as text, fields apart.

    Examples
    --------
    >>> bit_string(0x3F80, "bf16")
    '0 01111111 0000000'
    """
    return " ".join(field for field in bit_fields(code, fmt) if field)


@lru_cache(maxsize=256)
def _table(fmt: Format) -> np.ndarray:
    """Return the values of all codes of a format of at most 16 bits."""
    values = _decode(np.arange(1 << fmt.bits, dtype=np.uint32), fmt)
    values.flags.writeable = False
    return values


def _decode(codes: np.ndarray, fmt: Format) -> np.ndarray:
    """Compute what codes stand for, field by field."""
    magnitude = (codes & np.uint32((1 << (fmt.exponent_bits + fmt.mantissa_bits)) - 1)).astype(int)
    negative = (codes & np.uint32(fmt.sign_mask)) != 0
    if fmt.twos_complement:
        return magnitude - negative * 2.0**fmt.mantissa_bits
    field, fraction = magnitude >> fmt.mantissa_bits, magnitude & ((1 << fmt.mantissa_bits) - 1)
    significand = fraction + np.where(field > 0, 1 << fmt.mantissa_bits, 0)
    exponent = np.maximum(field, 1) - fmt.bias - fmt.mantissa_bits
    values = np.ldexp(significand.astype(np.float64), exponent.astype(np.int32))
    if fmt.has_nan:
        values = np.where(magnitude > fmt.max_code, np.nan, values)
    if fmt.has_infinities:
        values = np.where(magnitude == fmt.infinity_code, inf, values)
    return np.where(negative, -values, values)


def check_code(code, fmt: Format) -> int:
    """Return one code of a format, or raise why it is not one."""
    code = whole(code, "code")
    if not 0 <= code < 1 << fmt.bits:
        raise ValueError(f"{short(code)} is not a code of {fmt.name}, which has {fmt.bits} bits")
    return code
