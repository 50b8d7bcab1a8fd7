"""ml_dtypes' names, where it has no wheel: dtypes that hold the bits and know no arithmetic."""

import numpy as np


def _dtype(name, bits):
    return type(name, (), {"dtype": np.dtype([(name, bits)])})


bfloat16 = _dtype("bfloat16", np.uint16)
float8_e3m4, float8_e4m3 = _dtype("float8_e3m4", np.uint8), _dtype("float8_e4m3", np.uint8)
float8_e4m3fn, float8_e5m2 = _dtype("float8_e4m3fn", np.uint8), _dtype("float8_e5m2", np.uint8)
finfo = np.finfo
