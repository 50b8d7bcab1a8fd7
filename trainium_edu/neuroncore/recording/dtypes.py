"""The dtypes of on-chip data: how a tile's bytes become FP32 numbers and how FP32 becomes bytes.

Engines compute in FP32 and round once on the way out.  Reading is exact (INT32 and UINT32 beyond
2**24 excepted, as in hardware); writing goes through :mod:`trainium_edu.numerics`, whose compiled
loops load with the first number that is written: front ends import this module and compile nothing.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from trainium_edu import numerics
from trainium_edu.numerics import formats
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["DTYPES", "DType", "Rounding", "get_dtype", "to_fp32", "write_fp32"]


@dataclass(frozen=True, slots=True)
class DType:
    """One dtype by the name that NKI gives it."""

    name: str
    itemsize: int
    storage: np.dtype  #: how NumPy sees the bytes
    fmt: formats.Format

    @property
    def is_float(self) -> bool:
        """Whether fresh memory of this dtype reads NaN (integers read 4)."""
        return not self.fmt.is_integer

    def __repr__(self):
        return f"DType({self.name})"

    def __str__(self):
        return self.name


@dataclass(slots=True)
class Rounding:
    """The rounding of FP32 results: to nearest, or by tosses of (seed, step, element)."""

    mode: str = "nearest"
    seed: int = 0
    step: int = 0  #: counts the writes, so that every instruction throws fresh dice


def _row(name, storage, fmt):
    storage = np.dtype(storage)
    return DType(name, storage.itemsize, storage, fmt)


DTYPES = {
    row.name: row
    for row in (
        _row("float32", np.float32, formats.FP32),
        _row("tfloat32", np.float32, formats.TF32),
        _row("bfloat16", ml_dtypes.bfloat16, formats.BF16),
        _row("float16", np.float16, formats.FP16),
        _row("float8_e4m3", ml_dtypes.float8_e4m3, formats.FP8_E4M3),
        _row("float8_e5m2", ml_dtypes.float8_e5m2, formats.FP8_E5M2),
        _row("float8_e3m4", ml_dtypes.float8_e3m4, formats.FP8_E3M4),
        _row("int8", np.int8, formats.INT8),
        _row("uint8", np.uint8, formats.UINT8),
        _row("int16", np.int16, formats.INT16),
        _row("uint16", np.uint16, formats.UINT16),
        _row("int32", np.int32, formats.INT32),
        _row("uint32", np.uint32, formats.UINT32),
    )
}
_BY_STORAGE = {d.storage: d for d in DTYPES.values() if d.name != "tfloat32"}
_ALSO = {"bool": "uint8", "bool_": "uint8", "int64": "int32", "uint64": "uint32",
         "float64": "float32"}  # fmt: skip
_TABLES = {}
_FLOAT32 = np.dtype(np.float32)


def get_dtype(dtype) -> DType:
    """Return the dtype of that name, or that NumPy or ml_dtypes dtype.

    64-bit integers become 32-bit as the compiler makes them, float64 becomes float32, and booleans
    are stored as uint8.

    Raises
    ------
    NkiValidationError
        For a dtype that NeuronCore-v2 does not know.

    Examples
    --------
    >>> get_dtype("bfloat16").itemsize
    2
    """
    if isinstance(dtype, DType):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", dtype)
    if isinstance(name, str):
        entry = DTYPES.get(name) or DTYPES.get(_ALSO.get(name, ""))
        if entry:
            return entry
    try:
        storage = None if dtype is None else np.dtype(dtype)
    except TypeError:
        storage = None
    entry = _BY_STORAGE.get(storage) or DTYPES.get(_ALSO.get(getattr(storage, "name", ""), ""))
    if entry is None:
        raise NkiValidationError(
            f"dtype {dtype!r} is not one of NeuronCore-v2's: {', '.join(DTYPES)}; "
            "cast the data to one of these first"
        )
    return entry


def to_fp32(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Return stored numbers as FP32, as the engines see them (float32 itself where possible)."""
    if values.dtype is _FLOAT32 or values.dtype == np.float32:
        return values
    if dtype.itemsize == 1 and dtype.is_float:
        table = _TABLES.get(dtype.name)
        if table is None:
            with np.errstate(invalid="ignore"):
                table = np.arange(256, dtype=np.uint8).view(dtype.storage).astype(np.float32)
            _TABLES[dtype.name] = table
        return table[values.view(np.uint8)]
    return values.astype(np.float32)


def write_fp32(values: np.ndarray, dtype: DType, rounding: Rounding, out: np.ndarray) -> None:
    """Round FP32 `values` once and store them in `out` (a view of a tile's bytes).

    Floats overflow to infinity, integers round to nearest even and saturate, NaN becomes the
    integer 0 (assumed: the hardware's answer is not published).
    """
    if dtype.fmt is formats.FP32:
        out[...] = values
        return
    if dtype.fmt.is_integer:
        top = float(dtype.fmt.max)
        whole = np.rint(np.nan_to_num(values, nan=0.0, posinf=top, neginf=float(dtype.fmt.min)))
        out[...] = np.clip(whole.astype(np.float64), float(dtype.fmt.min), top).astype(
            dtype.storage
        )
        return
    rounding.step += 1
    if rounding.mode == "nearest" and dtype.fmt is formats.BF16:
        words = np.ascontiguousarray(values, np.float32).reshape(-1).view(np.uint32)
        codes = np.empty(words.size, np.uint16)
        upper = numerics._loops.nearest_upper
        numerics.launch.launch(upper, words, np.uint32(16), np.uint32(0), codes)
        out[...] = codes.reshape(values.shape).view(dtype.storage)
    elif rounding.mode == "nearest" and dtype.fmt is formats.FP16:
        with np.errstate(over="ignore", invalid="ignore"):
            out[...] = values  # NumPy's own cast is nearest-even; a test holds it to `cast`
    elif dtype.fmt is formats.TF32:
        how = {"seed": rounding.seed, "step": rounding.step}
        out[...] = numerics.rounding.cast(values, dtype.fmt, rounding.mode, **how)
    else:
        how = {"seed": rounding.seed, "step": rounding.step}
        codes = numerics.rounding.cast_to_bits(values, dtype.fmt, rounding.mode, **how)
        out[...] = codes.view(dtype.storage)
