"""Bring what a caller gives to floats that hold it exactly: float32 where that is enough.

The loops round FP32 words, or FP64 words where FP32 cannot hold a number (float64, large integers).
Nothing is rounded on the way: two roundings in a row would not give what one would have given.
"""

import ml_dtypes
import numpy as np

__all__ = ["as_numbers", "exact_floats"]

_NARROW_FLOATS = frozenset(
    np.dtype(t)
    for name, t in vars(ml_dtypes).items()
    if name.startswith(("bfloat", "float")) and isinstance(t, type)
)


def as_numbers(x, what: str = "x") -> np.ndarray:
    """Return `x` as an array of real numbers, or raise what it is instead.

    Raises
    ------
    TypeError
        For objects, text, complex numbers, dates, long doubles, masked arrays and ragged lists.
    ValueError
        For integers that do not fit into 32 bits.
    """
    if _has_mask(x):
        raise TypeError(
            f"{what} is a masked array, and masked entries are not numbers; replace them "
            "first, for example with x.filled(0), or pass x.compressed()"
        )
    try:
        x = np.asarray(x)
    except (ValueError, TypeError, OverflowError) as error:
        raise TypeError(f"{what} is not an array of numbers: {error}") from None
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
                f"{what} holds the integer {worst}, and the chip's integers end at 32 bits (-2**31 "
                "to 2**32 - 1); scale it down or pass floats"
            )
        return x
    if kind == "O" and any(isinstance(item, int) for item in x.flat):
        raise ValueError(
            f"{what} holds an integer of more than 64 bits; scale it down or pass floats"
        )
    holds = {"c": "complex numbers", "O": "Python objects", "U": "text", "S": "bytes"}.get(
        kind, f"dtype {x.dtype}"
    )
    raise TypeError(
        f"{what} holds {holds}; cast takes floats of at most 64 bits, integers and booleans"
        + ("; cast the real and imaginary parts one by one" if kind == "c" else "")
    )


def exact_floats(x: np.ndarray) -> np.ndarray:
    """Return the same numbers as floats, none of them rounded.

    Parameters
    ----------
    x : array of real numbers, as :func:`as_numbers` returns it

    Returns
    -------
    float32 or float64 array, C-contiguous, of the same shape
        float64 for float64 and integers of more than 16 bits; `x` itself where it is one already.
    """
    wide = x.dtype == np.float64 or (x.dtype.kind in "iu" and x.dtype.itemsize > 2)
    return np.ascontiguousarray(x, np.float64 if wide else np.float32).reshape(x.shape)


def _has_mask(x) -> bool:
    """Return whether an array, or one in a list of arrays, is masked."""
    if isinstance(x, list | tuple):
        kinds = set(map(type, x))
        return any(issubclass(kind, list | tuple | np.ma.MaskedArray) for kind in kinds) and any(
            map(_has_mask, x)
        )
    return isinstance(x, np.ma.MaskedArray)
