"""What the array takes: formats, limits, and the pieces in which FP32 goes through.

A PE multiplies two short significands (at most 12 bits here), whose product FP32 holds exactly.
An FP32 number has 24 bits and is cut in two halves of 12; their four products are the documented
"four times slower".  That four passes *are* these four products is a textbook's guess.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.numerics import Format, cast, get_format
from trainium_edu.specs import NkiValidationError
from trainium_edu.specs.signatures import Numbers, checked

__all__ = ["ENGINE_FORMATS", "Operands", "as_operand", "check_operands", "pieces_of"]

#: Formats the Tensor Engine takes at full speed, and FP32 at a quarter of it.
ENGINE_FORMATS = ("bf16", "fp16", "tf32", "fp8_e5m2", "fp8_e4m3", "fp8_e3m4", "fp32")

_FEW = 1024  # a small picture opens without loading compiled loops
_LOW_HALF = np.uint32(0x0FFF)  # the last 12 of the 24 significand bits
LOW, HIGH_FINITE, HIGH = 0, 1, 2  # the pieces of an FP32 operand
#: (stationary piece, moving piece) of each pass; the small products first.
ONE_PASS = ((0, 0),)
FOUR_PASSES = ((LOW, LOW), (LOW, HIGH_FINITE), (HIGH_FINITE, LOW), (HIGH, HIGH))


@dataclass(frozen=True, slots=True)
class Operands:
    """Two checked operands, as FP32 numbers that lie on their formats' grids."""

    stationary: np.ndarray  #: float32[K, M]
    moving: np.ndarray  #: float32[K, N]
    formats: tuple[Format, Format]

    @property
    def shape(self) -> tuple[int, int, int]:
        """K, M and N."""
        return self.stationary.shape[0], self.stationary.shape[1], self.moving.shape[1]

    @property
    def passes(self) -> tuple[tuple[int, int], ...]:
        """The pieces that meet in each pass."""
        return FOUR_PASSES if self.formats[0].name == "fp32" else ONE_PASS


@checked
def as_operand(x: Numbers, fmt=None, name: str = "operand") -> tuple[np.ndarray, Format]:
    """Return an operand as FP32 numbers on its format's grid, with the format.

    Parameters
    ----------
    x : array [K, free]
        Numbers in a dtype the engine takes, or any real numbers together with `fmt`.
    fmt : Format or str, optional
        Round to this format first (to nearest-even, as the engines do).
    name : str
        How errors call it.

    Returns
    -------
    values : float32[K, free], C-contiguous
    fmt : Format

    Raises
    ------
    NkiValidationError
        If the format is none of ``ENGINE_FORMATS`` and no configured 8-bit format.
    ValueError
        If the array is not two-dimensional, or empty.

    Examples
    --------
    >>> values, fmt = as_operand([[1.0, 1.00390625]], "bf16")
    >>> values.tolist(), fmt.name
    ([[1.0, 1.0]], 'bf16')
    """
    x = np.asarray(x)
    if x.ndim != 2:
        raise ValueError(
            f"{name} has {x.ndim} dimension{'' if x.ndim == 1 else 's'}; the array takes [K, free]:"
            " the contraction on the partitions, then one free axis. Reshape it"
        )
    if 0 in x.shape:
        raise ValueError(f"{name} has shape {list(x.shape)}: nothing to multiply; every side >= 1")
    target = _format_of(x.dtype, name) if fmt is None else get_format(fmt)
    is_cfp8 = target.bits == 8 and not target.is_integer and target.name not in ("fp8_e4m3fn",)
    if target.name not in ENGINE_FORMATS and not is_cfp8:
        raise NkiValidationError(
            f"{name} is {target.name}; the Tensor Engine takes {', '.join(ENGINE_FORMATS)} and "
            "configured 8-bit floats. Cast it, or pass fmt='bf16' to round on the way in"
        )
    if fmt is not None:
        x = _on_grid(x, target)
    return np.ascontiguousarray(x, dtype=np.float32), target


def check_operands(stationary, moving, fmt=None) -> Operands:
    """Check two operands against each other and return them ready to run.

    Raises
    ------
    ValueError
        If the contraction axes differ.
    NkiValidationError
        If one is FP32 and the other is not: the engine takes FP32 with FP32 only.
    """
    weights, weights_format = as_operand(stationary, fmt, "stationary")
    vectors, vectors_format = as_operand(moving, fmt, "moving")
    if weights.shape[0] != vectors.shape[0]:
        raise ValueError(
            f"stationary is {list(weights.shape)} and moving {list(vectors.shape)}: both have the "
            f"contraction K first, and {weights.shape[0]} is not {vectors.shape[0]}. Transpose one?"
        )
    if (weights_format.name == "fp32") != (vectors_format.name == "fp32"):
        raise NkiValidationError(
            f"stationary is {weights_format.name}, moving {vectors_format.name}: FP32 goes through "
            "the array in four passes and meets only FP32. Cast one of them"
        )
    return Operands(weights, vectors, (weights_format, vectors_format))


def pieces_of(values: np.ndarray, fmt: Format) -> np.ndarray:
    """Return the pieces [P, K, free] of an operand: itself, or the halves of FP32.

    The halves add up to the number exactly.  Infinities and NaN travel in ``HIGH`` only, so that
    infinity times a number whose low half is zero does not become NaN on the way.
    """
    if fmt.name != "fp32":
        return values[None]
    high = (values.view(np.uint32) & ~_LOW_HALF).view(np.float32)
    tiny = (high == 0) & (values != 0)  # a subnormal that fits the low 12 bits: keep it whole
    finite = np.isfinite(values)
    high = np.where(tiny | ~finite, values, high)
    with np.errstate(invalid="ignore"):
        low = np.where(finite, values - high, np.float32(0))
    return np.ascontiguousarray(np.stack([low, np.where(finite, high, np.float32(0)), high]))


def _on_grid(x, fmt):
    """Round to a format; few numbers that lie on its grid already pass as they are."""
    if x.size <= _FEW and x.dtype.kind in "iuf" and fmt.is_stored_narrow:
        with np.errstate(all="ignore"):
            same = x.astype(fmt.dtype)
        if np.array_equal(same.astype(np.float64), x):
            return same
    return cast(x, fmt)


def _format_of(dtype: np.dtype, name: str) -> Format:
    """Return the format that a dtype stands for."""
    if dtype == np.float64 or dtype.kind in "iub":
        raise NkiValidationError(
            f"{name} is {dtype}; the Tensor Engine takes {', '.join(ENGINE_FORMATS)}. Pass "
            "fmt='bf16' (or another) to round on the way in, or cast it"
        )
    try:
        return get_format(dtype)
    except TypeError:
        raise TypeError(f"{name} holds {dtype}; the array takes real numbers") from None
