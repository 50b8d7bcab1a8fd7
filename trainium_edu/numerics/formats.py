"""Number formats as records: how the bits are split, and which codes mean something special.

A :class:`Format` defines in ten fields what a code (the bit pattern, read as an unsigned number)
stands for.  From the left: sign, exponent field, mantissa field.  With the bias ``b``, ``m``
mantissa bits, exponent field ``e`` and mantissa field ``f`` the value is::

    e > 0   (normal)      (-1)^s · 2^(e - b)     · (1 + f / 2^m)
    e = 0   (subnormal)   (-1)^s · 2^(1 - b - m) ·      f

An integer is the same thing with no exponent field, unit spacing, and negative numbers in two's
complement.  What each code stands for is in ``codes.py``; how a value finds its code is in
``rounding.py``.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType

import ml_dtypes
import numpy as np

from trainium_edu.specs.arguments import flag, short, text, whole

__all__ = [
    "BF16", "FORMATS", "FP8_E3M4", "FP8_E4M3", "FP8_E4M3FN", "FP8_E5M2", "FP16", "FP32", "INT8",
    "INT16", "INT32", "TF32", "UINT8", "UINT16", "UINT32", "Format", "Specials", "configure",
    "get_format",
]  # fmt: skip


class Specials(StrEnum):
    """The codes that do not stand for a finite number."""

    IEEE = "ieee"  #: exponent field all ones: mantissa zero is infinity, the rest NaN
    NAN_ONLY = "nan_only"  #: only the code with every bit one is NaN; no infinity ("fn")
    NONE = "none"  #: every code is a finite number


@dataclass(frozen=True, slots=True)
class Format:
    """The split of one number's bits; everything else follows from these fields.

    Use the named records (``BF16``, ...) or :func:`configure`, which checks that a split is
    possible.
    """

    name: str  #: how :func:`get_format` and error messages call it
    sign_bits: int  #: 1, or 0 for numbers that are never negative
    exponent_bits: int  #: width of the exponent field; 0 means evenly spaced numbers
    mantissa_bits: int  #: width of the mantissa field, without the hidden one
    bias: int  #: what is subtracted from the exponent field
    specials: Specials  #: which codes are infinity or NaN
    storage: str  #: dtype of an array of such numbers (float32 where no narrower one exists)
    twos_complement: bool = False  #: True for integers
    source: str = "ieee-754"  #: a key of ``specs.SOURCES``
    note: str = ""  #: one sentence a lesson may print

    @property
    def bits(self) -> int:
        """Width of one number in bits."""
        return self.sign_bits + self.exponent_bits + self.mantissa_bits

    @property
    def is_integer(self) -> bool:
        """Whether the format holds integers in two's complement."""
        return self.twos_complement

    @property
    def dtype(self) -> np.dtype:
        """The dtype in which :func:`~trainium_edu.numerics.cast` returns such numbers."""
        return _dtype_called(self.storage)

    @property
    def bits_dtype(self) -> np.dtype:
        """The smallest unsigned dtype that holds a code."""
        return _UINT8 if self.bits <= 8 else _UINT16 if self.bits <= 16 else _UINT32

    @property
    def is_stored_narrow(self) -> bool:
        """Whether an array holds the codes themselves (and not float32 values on their grid)."""
        return self.dtype.itemsize * 8 == self.bits

    @property
    def has_infinities(self) -> bool:
        """Whether there is a code for infinity."""
        return self.specials is Specials.IEEE

    @property
    def has_nan(self) -> bool:
        """Whether there is a code for "not a number"."""
        reserved = self.specials is Specials.IEEE and self.mantissa_bits > 0
        return reserved or self.specials is Specials.NAN_ONLY

    @property
    def min_exponent(self) -> int:
        """Power of two of the smallest normal number (and of the subnormal binade)."""
        return 1 - self.bias

    @property
    def max_code(self) -> int:
        """Code of the largest finite number."""
        everything = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        match self.specials:
            case Specials.IEEE:
                return self.infinity_code - 1
            case Specials.NAN_ONLY:
                return everything - 1
            case Specials.NONE:
                return everything

    @property
    def infinity_code(self) -> int:
        """Code with the exponent field all ones; infinity if ``has_infinities``."""
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def nan_code(self) -> int:
        """Code of the one NaN that rounding produces (quiet, positive, no payload)."""
        if self.specials is Specials.IEEE:
            return self.infinity_code | (1 << self.mantissa_bits >> 1)
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @property
    def sign_mask(self) -> int:
        """The sign bit inside a code, or 0 in an unsigned format."""
        return self.sign_bits << (self.exponent_bits + self.mantissa_bits)

    @property
    def max(self) -> float:
        """Largest finite number."""
        return self._magnitude(self.max_code)

    @property
    def min(self) -> float:
        """Most negative finite number."""
        if not self.sign_bits:
            return 0.0
        return -self.max - self.twos_complement

    @property
    def smallest_normal(self) -> float:
        """Smallest positive number with the hidden one (NaN in a format without such numbers)."""
        first = 1 << self.mantissa_bits
        return self._magnitude(first) if first <= self.max_code else float("nan")

    @property
    def smallest_subnormal(self) -> float:
        """Smallest positive number at all."""
        return self._magnitude(1)

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next number above, ``2^-m`` (1 for integers)."""
        return 1.0 if self.is_integer else 2.0**-self.mantissa_bits

    def __str__(self):
        return self.name

    def _magnitude(self, code: int) -> float:
        """Return the value of a finite positive code (exact: a float64 holds all of them)."""
        field, fraction = code >> self.mantissa_bits, code & ((1 << self.mantissa_bits) - 1)
        significand = fraction + (1 << self.mantissa_bits if field else 0)
        return significand * 2.0 ** (max(field, 1) - self.bias - self.mantissa_bits)


_UINT8, _UINT16, _UINT32 = (np.dtype(f"uint{n}") for n in (8, 16, 32))


@cache
def _dtype_called(name: str) -> np.dtype:
    """Return ml_dtypes' or NumPy's dtype of this name."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


FP32 = Format("fp32", 1, 8, 23, 127, Specials.IEEE, "float32",
              note="the width in which the engines compute")  # fmt: skip
TF32 = Format("tf32", 1, 8, 10, 127, Specials.IEEE, "float32", source="nki-trn1-arch",
              note="the range of FP32 with the precision of FP16; 19 bits, kept in 32")  # fmt: skip
BF16 = Format("bf16", 1, 8, 7, 127, Specials.IEEE, "bfloat16", source="nki-trn1-arch",
              note="the upper half of an FP32: same range, 8 bits of precision")  # fmt: skip
FP16 = Format("fp16", 1, 5, 10, 15, Specials.IEEE, "float16",
              note="more precision than BF16 and far less range")  # fmt: skip
FP8_E5M2 = Format("fp8_e5m2", 1, 5, 2, 15, Specials.IEEE, "float8_e5m2", source="nki-dtypes",
                  note="the range of FP16 in eight bits")  # fmt: skip
FP8_E4M3 = Format("fp8_e4m3", 1, 4, 3, 7, Specials.IEEE, "float8_e4m3", source="nki-dtypes",
                  note="IEEE-like: has infinities, ends at 240")  # fmt: skip
FP8_E4M3FN = Format("fp8_e4m3fn", 1, 4, 3, 7, Specials.NAN_ONLY, "float8_e4m3fn",
                    source="nki-dtypes",
                    note="finite with NaN: infinity's codes became numbers, up to 448")  # fmt: skip
FP8_E3M4 = Format("fp8_e3m4", 1, 3, 4, 3, Specials.IEEE, "float8_e3m4", source="nki-dtypes",
                  note="most precision and least range of the eight-bit formats")  # fmt: skip


def _integer(name: str, bits: int, *, signed: bool) -> Format:
    value_bits = bits - signed
    return Format(name, int(signed), 0, value_bits, 1 - value_bits, Specials.NONE, name,
                  twos_complement=True, source="nki-dtypes")  # fmt: skip


INT8, UINT8 = _integer("int8", 8, signed=True), _integer("uint8", 8, signed=False)
INT16, UINT16 = _integer("int16", 16, signed=True), _integer("uint16", 16, signed=False)
INT32, UINT32 = _integer("int32", 32, signed=True), _integer("uint32", 32, signed=False)

#: Every named format, widest float first, then the integers.
FORMATS = MappingProxyType({f.name: f for f in list(globals().values()) if type(f) is Format})

# TF32 is kept in float32 arrays, so that dtype alone means FP32.
_BY_STORAGE = {f.storage: f for f in FORMATS.values() if f is not TF32}


def get_format(fmt) -> Format:
    """Return the format with this name (or dtype); a `Format` comes back unchanged.

    Parameters
    ----------
    fmt : Format, str or dtype
        ``"bf16"``, the longer names of NumPy and NKI (``"bfloat16"``, ``"float8_e4m3"``), or a
        dtype such as ``ml_dtypes.bfloat16``.

    Raises
    ------
    ValueError
        If no format has this name.
    TypeError
        If `fmt` is neither a name, a dtype nor a `Format`.

    Examples
    --------
    >>> get_format("bf16").max_code
    32639
    >>> get_format("float8_e4m3").max
    240.0
    """
    if isinstance(fmt, Format):
        return fmt
    if isinstance(fmt, str):
        known_format = FORMATS.get(fmt.lower()) or _BY_STORAGE.get(fmt.lower())
        if known_format is None:
            bits = re.search(r"e(\d+)m(\d+)", fmt.lower())
            own = ", ".join(bits.groups()) if bits else "exponent_bits, mantissa_bits"
            raise ValueError(
                f"no number format is called {short(fmt)}; there are {', '.join(FORMATS)}, and "
                f"numerics.configure({own}) makes one of your own"
            )
        return known_format
    if isinstance(fmt, (type, np.dtype)):
        try:
            known_format = _BY_STORAGE.get(np.dtype(fmt).name)
        except TypeError:
            known_format = None
        if known_format is not None:
            return known_format
    raise TypeError(
        f"a number format is a Format or its name such as 'bf16', and this is {short(fmt)}"
    )


def configure(
    exponent_bits: int, mantissa_bits: int, *, sign_bits: int = 1, bias: int | None = None,
    infinities: bool = True, nan: bool = True, name: str | None = None,
) -> Format:  # fmt: skip
    """Split the bits of a number your own way, as Trainium's configurable FP8 does.

    Parameters
    ----------
    exponent_bits : int
        0 to 8; 0 gives evenly spaced numbers (fixed point).
    mantissa_bits : int
        0 to 23, without the hidden one.
    sign_bits : int, optional
        1, or 0 for numbers that are never negative.
    bias : int, optional
        What is subtracted from the exponent field; ``2^(exponent_bits - 1) - 1`` as in IEEE 754
        if not given.
    infinities : bool, optional
        Reserve the top exponent field for infinity and NaN, as IEEE 754 does.
    nan : bool, optional
        Without infinities: keep the code with every bit one for NaN.
    name : str, optional

    Returns
    -------
    Format
        Arrays of it are float32 arrays whose values lie on its grid.

    Raises
    ------
    ValueError
        If the split is impossible, or its numbers do not fit into FP32, in which all engines
        compute.

    Examples
    --------
    >>> fmt = configure(4, 3, bias=11, infinities=False)
    >>> fmt.name, fmt.bits, fmt.max
    ('cfp8_e4m3_bias11_fn', 8, 28.0)

    References
    ----------
    `nki-trn1-arch` in :data:`trainium_edu.specs.SOURCES`.
    """
    for value, what, top in (
        (sign_bits, "sign_bits", 1),
        (exponent_bits, "exponent_bits", 8),
        (mantissa_bits, "mantissa_bits", 23),
    ):
        whole(value, what, 0, top, why=", because every value has to fit into FP32 (1 sign, 8 "
              "exponent and 23 mantissa bits), in which the engines compute")  # fmt: skip
    flag(infinities, "infinities")
    flag(nan, "nan")
    if name is not None:
        text(name, "name", "mine")
    if infinities and not nan and mantissa_bits:
        raise ValueError(
            "infinities=True reserves the top exponent field, and all but one of its codes are "
            "NaN; for a format without NaN pass infinities=False, nan=False"
        )
    if bias is None:
        bias = max((1 << exponent_bits >> 1) - 1, 0)
    bias = whole(bias, "bias")
    specials = Specials.IEEE if infinities else Specials.NAN_ONLY if nan else Specials.NONE
    bits = sign_bits + exponent_bits + mantissa_bits
    if name is None:
        name = f"{'u' * (1 - sign_bits)}cfp{bits}_e{exponent_bits}m{mantissa_bits}_bias{bias}"
        name += {Specials.IEEE: "", Specials.NAN_ONLY: "_fn", Specials.NONE: "_finite"}[specials]
    fmt = Format(
        name, int(sign_bits), int(exponent_bits), int(mantissa_bits), bias, specials, "float32",
        source="nki-trn1-arch", note="configured by hand",
    )  # fmt: skip
    if exponent_bits == 0 and infinities:
        raise ValueError(
            "infinity is written with an exponent field of ones, and exponent_bits=0 leaves no "
            "field; pass infinities=False"
        )
    if fmt.max_code < 1:
        raise ValueError(
            f"{bits} bits split 1-{exponent_bits}-{mantissa_bits} leave no finite number but zero; "
            "give the mantissa or the exponent another bit"
            if sign_bits
            else f"{bits} bits split {exponent_bits}-{mantissa_bits} leave no finite number but "
            "zero; give the mantissa or the exponent another bit"
        )
    _check_fits_fp32(fmt)
    return fmt


def _check_fits_fp32(fmt: Format):
    """Refuse a bias that moves numbers out of FP32's range."""
    low, high = fmt.min_exponent, 1 - fmt.bias + max((fmt.max_code >> fmt.mantissa_bits) - 1, 0)
    if low < FP32.min_exponent:
        raise ValueError(
            f"bias {short(fmt.bias)} puts the smallest normal number at 2^{short(low)}, below "
            f"FP32's 2^{FP32.min_exponent}; the largest bias is {FP32.bias}"
        )
    if high > FP32.bias:
        lowest_bias = fmt.bias + high - FP32.bias
        if lowest_bias > FP32.bias:
            raise ValueError(
                f"{fmt.exponent_bits} exponent bits without infinities span more binades than FP32 "
                "has, and no bias fits them into FP32's; give it 7"
            )
        raise ValueError(
            f"bias {short(fmt.bias)} puts the largest number at 2^{short(high)}, above FP32's "
            f"2^{FP32.bias}; the smallest bias for this split is {lowest_bias}"
        )
