"""Bring any array of numbers to FP32, in which the engines compute, before it is rounded.

Narrower floats and small integers arrive exactly.  Where FP32 cannot hold a number (float64, large
integers) it is rounded *to odd*: cut off, with the lowest bit set as a sign that something went
missing.  Rounding that a second time, to at most 22 bits, gives what rounding the original once
would have given; two nearest-even roundings in a row would not (a near-tie can become a tie).
"""

import ml_dtypes
import numpy as np

__all__ = ["as_numbers", "to_fp32"]

_NARROW_FLOATS = frozenset(
    np.dtype(t)
    for name, t in vars(ml_dtypes).items()
    if name.startswith(("bfloat", "float")) and isinstance(t, type)
)


def as_numbers(x) -> np.ndarray:
    """Return `x` as an array of real numbers, or say what it is instead.

    Raises
    ------
    TypeError
        For objects, text, complex numbers, dates, long doubles and ragged lists.
    ValueError
        For integers that do not fit into 32 bits.
    """
    try:
        x = np.asarray(x)
    except (ValueError, TypeError, OverflowError) as error:
        raise TypeError(f"x is no array of numbers: {error}") from None
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    kind = x.dtype.kind
    if x.dtype in _NARROW_FLOATS or x.dtype in (np.float16, np.float32, np.float64):
        return x
    if kind == "b":
        return x.astype(np.uint8)
    if kind in "iu":
        if x.dtype.itemsize == 8 and x.size and not (x.min() >= -(2**31) and x.max() < 2**32):
            worst = max(int(x.max()), int(x.min()), key=abs)
            raise ValueError(
                f"x holds the integer {worst}, and the chip's integers end at 32 bits (-2**31 to "
                "2**32 - 1); scale it down or pass floats"
            )
        return x
    if kind == "O" and any(isinstance(item, int) for item in x.flat):
        raise ValueError("x holds an integer of more than 64 bits; scale it down or pass floats")
    what = {"c": "complex numbers", "O": "Python objects", "U": "text", "S": "bytes"}.get(
        kind, f"dtype {x.dtype}"
    )
    raise TypeError(
        f"x holds {what}; cast takes floats of at most 64 bits, integers and booleans"
        + ("; cast the real and imaginary parts one by one" if kind == "c" else "")
    )


def to_fp32(x: np.ndarray) -> np.ndarray:
    """Return FP32 numbers that round to narrower formats as `x` itself would.

    Parameters
    ----------
    x : array of real numbers, as :func:`as_numbers` returns it

    Returns
    -------
    float32 array, C-contiguous, of the same shape
        `x` itself where it is one already.
    """
    if x.dtype == np.float32:
        return np.ascontiguousarray(x).reshape(x.shape)
    if x.dtype == np.float64 or (x.dtype.kind in "iu" and x.dtype.itemsize > 2):
        return _round_to_odd(x.astype(np.float64, order="C"))
    return x.astype(np.float32, order="C")


def toward_zero_to_fp32(x: np.ndarray) -> np.ndarray:
    """Return `x` cut to FP32 toward zero."""
    if x.dtype.kind in "iu" or x.dtype == np.float64:
        return _cut(x.astype(np.float64, order="C"))[0]
    return to_fp32(x).copy()


def _round_to_odd(x: np.ndarray) -> np.ndarray:
    """Cut float64 to FP32 and set the lowest bit of whatever lost something."""
    near, inexact = _cut(x)
    near.view(np.uint32)[...] |= inexact
    return near


def _cut(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (float64 cut to FP32 toward zero, where something was lost)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near = np.array(x, np.float32)
        inexact = (near != x) & ~np.isnan(x)
        near.view(np.uint32)[...] -= np.abs(near) > np.abs(x)
    return near, inexact
