"""dtypes and memories by name: NumPy's own dtypes, which work outside a kernel too."""

import ml_dtypes
import numpy as np

from trainium_edu.nki.beta1.promotion import TFLOAT32, as_dtype, outside
from trainium_edu.nki.objects.enums import MemoryRegion

__all__ = [
    "bfloat16", "bfp16", "bool_", "finfo", "float8_e4m3", "float8_e5m2", "float16", "float32",
    "fp32", "hbm", "int8", "int16", "int32", "private_hbm", "psum", "sbuf", "shared_hbm",
    "tfloat32", "uint8", "uint16", "uint32",
]  # fmt: skip

int8, int16, int32 = np.int8, np.int16, np.int32
uint8, uint16, uint32 = np.uint8, np.uint16, np.uint32
bool_, float16, float32 = np.bool_, np.float16, np.float32
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float8_e4m3 = np.dtype(ml_dtypes.float8_e4m3)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)
tfloat32 = TFLOAT32

sbuf, psum = MemoryRegion.sbuf, MemoryRegion.psum
hbm = private_hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm


def finfo(dtype):
    """Return the limits of a float dtype: ``.min``, ``.max``, ``.eps``.

    Examples
    --------
    >>> float(finfo(bfloat16).max)
    3.3895313892515355e+38
    """
    numpy_dtype = outside(as_dtype(dtype))
    return ml_dtypes.finfo(np.float32 if numpy_dtype == TFLOAT32 else numpy_dtype)


class fp32:
    """Limits of float32."""

    min = float(np.finfo(np.float32).min)
    max = float(np.finfo(np.float32).max)


class bfp16:
    """Limits of bfloat16."""

    min = float(ml_dtypes.finfo(ml_dtypes.bfloat16).min)
    max = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
