"""dtypes of the older interface: NumPy's."""

import ml_dtypes
import numpy as np

from trainium_edu.nki.objects.dtypes import DTYPE_NAMES, DType, nki_dtype

__all__ = ["TFLOAT32", "as_dtype", "of_scalar", "outside"]

#: ``nl.tfloat32`` has no NumPy dtype, so it is four opaque bytes.
TFLOAT32 = np.dtype("|V4")
_OUTSIDE = {
    "bool": np.dtype(np.bool_), "tfloat32": TFLOAT32,
    "bfloat16": np.dtype(ml_dtypes.bfloat16), "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    **{n: np.dtype(n) for n in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16",
                                "float32")},
}  # fmt: skip
_INSIDE: dict = {}


def as_dtype(dtype) -> DType:
    """Return NKI's dtype of ``np.float32``, ``nl.bfloat16``, ``"float16"``, ``bool``, ...

    Raises
    ------
    TypeError
        For something that is not a dtype.
    """
    try:
        return _INSIDE[dtype]
    except KeyError:
        pass
    except TypeError:
        return nki_dtype(dtype)
    if isinstance(dtype, np.dtype) and dtype == TFLOAT32:
        found = DTYPE_NAMES["tfloat32"]
    else:
        found = nki_dtype({bool: "bool", float: "float32", int: "int32"}.get(dtype, dtype))
    _INSIDE[dtype] = found
    return found


def outside(dtype: DType) -> np.dtype:
    """Return the NumPy dtype of one of NKI's."""
    return _OUTSIDE[dtype]


def of_scalar(value) -> DType:
    """Return the dtype of a number: NumPy's own, else the widest of its kind."""
    if isinstance(value, np.generic):
        return as_dtype(value.dtype)
    if isinstance(value, bool):
        return DTYPE_NAMES["uint8"]
    return DTYPE_NAMES["int32" if isinstance(value, int) else "float32"]
