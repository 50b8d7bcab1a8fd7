"""Take one code apart: its fields, what each is worth, and what the whole stands for."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import isfinite, isnan

from trainium_edu.numerics.codes import bit_fields, from_bits, ulp
from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.grid import step_code

__all__ = ["Anatomy", "Kind", "decimal_text", "dissect", "landmarks"]


class Kind(StrEnum):
    """The sort of number that a code stands for."""

    ZERO = "zero"
    SUBNORMAL = "subnormal"
    NORMAL = "normal"
    INTEGER = "integer"
    INFINITY = "infinity"
    NAN = "NaN"


@dataclass(frozen=True, slots=True)
class Anatomy:
    """One code of one format, taken apart."""

    fmt: Format
    code: int
    value: float
    kind: Kind
    sign: str  #: the field's bits as text, as are the next two
    exponent: str
    mantissa: str
    below: float | None  #: the next smaller number of the format; None for NaN and at the end
    above: float | None
    spacing: float | None  #: distance to the next number away from zero

    @property
    def hex(self) -> str:
        """The code in hexadecimal, all digits."""
        return f"0x{self.code:0{-(-self.fmt.bits // 4)}X}"

    @property
    def decimal(self) -> str:
        """The value in decimal, every digit."""
        return decimal_text(self.value)

    @property
    def exponent_field(self) -> int:
        """The exponent field as an integer, 0 if there is none."""
        return int(self.exponent or "0", 2)

    @property
    def power(self) -> int:
        """The power of two that the exponent field stands for."""
        return max(self.exponent_field, 1) - self.fmt.bias

    @property
    def significand(self) -> float:
        """The factor of the power of two: ``1 + f / 2^m``, or ``f / 2^m`` if subnormal."""
        fraction = int(self.mantissa or "0", 2) / 2.0**self.fmt.mantissa_bits
        return fraction + (self.exponent_field > 0)


def dissect(code: int, fmt) -> Anatomy:
    """Take one code apart.

    Parameters
    ----------
    code : int
        Below ``2**fmt.bits``.
    fmt : Format or str

    Returns
    -------
    Anatomy

    Raises
    ------
    TypeError, ValueError
        If `code` is not a code of the format.

    Examples
    --------
    >>> one = dissect(0x4150, "bf16")
    >>> one.value, str(one.kind), one.power, one.significand, one.decimal
    (13.0, 'normal', 3, 1.625, '13')
    """
    fmt = get_format(fmt)
    sign, exponent, mantissa = bit_fields(code, fmt)
    value = float(from_bits(int(code), fmt))
    below = above = spacing = None
    if not isnan(value):
        down, up = (float(from_bits(step_code(code, fmt, way), fmt)) for way in (-1, 1))
        below, above = (down if down < value else None), (up if up > value else None)
        spacing = ulp(value, fmt) if isfinite(value) else None
    kind = _kind(value, exponent, fmt)
    return Anatomy(fmt, int(code), value, kind, sign, exponent, mantissa, below, above, spacing)


def landmarks(fmt) -> dict[str, int]:
    """Return the codes worth a visit, by name; those a format lacks are left out.

    Examples
    --------
    >>> landmarks("fp8_e4m3")["largest"]
    119
    """
    fmt = get_format(fmt)
    code_of_one = fmt.bias << fmt.mantissa_bits if fmt.exponent_bits else 1
    codes = {"zero": 0, "smallest": 1}
    if fmt.exponent_bits:
        codes["largest subnormal"] = (1 << fmt.mantissa_bits) - 1
        codes["smallest normal"] = 1 << fmt.mantissa_bits
        if 0 < fmt.bias < 1 << fmt.exponent_bits:
            codes["one"] = code_of_one
    else:
        codes["one"] = code_of_one
    codes["largest"] = fmt.max_code
    if fmt.sign_bits:
        codes["most negative"] = fmt.sign_mask | (0 if fmt.twos_complement else fmt.max_code)
    if fmt.sign_bits and not fmt.twos_complement:
        codes["minus zero"] = fmt.sign_mask
    if fmt.has_infinities:
        codes["infinity"] = fmt.infinity_code
    if fmt.has_nan:
        codes["NaN"] = fmt.nan_code
    return {name: code for name, code in codes.items() if code <= fmt.max_code | fmt.sign_mask
            or name in ("infinity", "NaN")}  # fmt: skip


def decimal_text(value: float) -> str:
    """Return a float64 in decimal with every digit it has.

    Examples
    --------
    >>> decimal_text(0.1)
    '0.1000000000000000055511151231257827021181583404541015625'
    """
    if not isfinite(value):
        return "NaN" if isnan(value) else "infinity" if value > 0 else "−infinity"
    exact = Decimal(value)
    if value and not -8 <= exact.adjusted() <= 20:
        digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
        point = f".{digits[1:]}" if digits[1:] else ""
        text = f"{'-' * (value < 0)}{digits[0]}{point}e{exact.adjusted()}"
    else:
        text = f"{exact:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def _kind(value, exponent, fmt) -> Kind:
    """Name the sort of number that a code stands for."""
    if isnan(value):
        return Kind.NAN
    if not isfinite(value):
        return Kind.INFINITY
    if fmt.is_integer:
        return Kind.INTEGER
    if value == 0:
        return Kind.ZERO
    return Kind.NORMAL if "1" in exponent else Kind.SUBNORMAL
