"""NKI's dtypes by name.  A dtype is a ``str``: ``nl.float32 == "float32"``, and NumPy takes it."""

import numpy as np

from trainium_edu.names import near
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.refusals import refusal
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["DTYPE_NAMES", "FLOATS", "LATER_DTYPES", "LOW_PRECISION", "DType", "fitted",
           "nki_dtype", "promoted", "stored_as"]  # fmt: skip


class DType(str):
    """The name of a dtype."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name itself."""
        return str(self)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _BYTES[self]

    def __repr__(self):
        return str(self)


_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "float16": 2, "bfloat16": 2, "float32": 4, "tfloat32": 4, "float8_e4m3": 1, "float8_e5m2": 1,
    "float8_e4m3fn": 1, "float8_e8m0fnu": 1, "float8_e5m2_x4": 4, "float8_e4m3fn_x4": 4,
    "float4_e2m1fn_x4": 2,
}  # fmt: skip
DTYPE_NAMES = {name: DType(name) for name in _BYTES}
for _name, _dtype in DTYPE_NAMES.items():
    setattr(DType, _name, _dtype)  # `import nki.dtype as nt; nt.float8_e4m3`
#: What NeuronCore-v2 has no format for, and the first generation that does.
LATER_DTYPES = {
    "float8_e4m3fn": "NeuronCore-v4 (Trainium3)", "float8_e8m0fnu": "NeuronCore-v4 (Trainium3)",
    "float8_e5m2_x4": "NeuronCore-v4 (Trainium3)", "float8_e4m3fn_x4": "NeuronCore-v4 (Trainium3)",
    "float4_e2m1fn_x4": "NeuronCore-v4 (Trainium3)",
}  # fmt: skip
_SHORT = {"float": "float32", "int": "int32", "half": "float16", "bf16": "bfloat16",
          "fp32": "float32", "fp16": "float16", "fp8": "float8_e4m3"}  # fmt: skip
LOW_PRECISION = frozenset({"bfloat16", "float16", "float8_e4m3", "float8_e5m2"})
_TABLE = {**DTYPE_NAMES, "bool_": DTYPE_NAMES["bool"], "int64": DTYPE_NAMES["int32"],
          "uint64": DTYPE_NAMES["uint32"], "float64": DTYPE_NAMES["float32"]}  # fmt: skip


def nki_dtype(dtype) -> DType:
    """Return NKI's dtype for a name, a NumPy or ml_dtypes dtype, or a torch dtype.

    Raises
    ------
    TypeError
        For something that is not a dtype.
    NkiValidationError
        For a dtype that a later chip brought.
    """
    kind = _TABLE.get(dtype) if isinstance(dtype, str) else None
    if kind is None:
        name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
        kind = _TABLE.get(name.removeprefix("torch."))
    if kind is None:
        known = sorted(DTYPE_NAMES.keys() - LATER_DTYPES.keys())
        alike = _SHORT.get(name)
        hint = f"; is nl.{alike} meant?" if alike else near(name, known, "nl.")
        raise TypeError(
            f"{describe(dtype)} is not a dtype of NKI; choose one of nl.{', nl.'.join(known)}{hint}"
        )
    if kind in LATER_DTYPES:
        raise refusal("tensor.later_dtype", found=kind, chip=LATER_DTYPES[kind])
    return kind


#: The wider later.
FLOATS = ("float8_e4m3", "float8_e5m2", "float16", "bfloat16", "tfloat32", "float32")
#: What two floats become of which neither holds the other.
_HOLDS_BOTH = {("float16", "bfloat16"): "float32", ("float8_e4m3", "float8_e5m2"): "bfloat16"}


def promoted(*dtypes: DType) -> DType:
    """Return the dtype that holds all: floats before integers, the wider, or a wider new one.

    As the public reference of NKI (SDK 2.26, "NKI Type Promotion") tabulates it.

    Examples
    --------
    >>> names = DTYPE_NAMES
    >>> promoted(names["float16"], names["bfloat16"]), promoted(names["int32"], names["float16"])
    (float32, float16)
    """
    common = dtypes[0]
    for other in dtypes[1:]:
        if other != common:
            common = DTYPE_NAMES[_holds_both(common, other)]
    return common


def _holds_both(a, b):
    floats = sorted((d for d in (a, b) if d in FLOATS), key=FLOATS.index)
    if floats:
        return _HOLDS_BOTH.get(tuple(floats), floats[-1])
    if "bool" in (a, b):
        return b if a == "bool" else a
    common = np.promote_types(str(a), str(b)).name
    return "float32" if common == "int64" else common  # the chip has no 64-bit integers


def stored_as(dtype: DType, *, precise: bool) -> DType:
    """Return what numbers of a dtype are kept in: FP32 for low precision with NKI_PRECISE_FP=0."""
    return dtype if precise or dtype not in LOW_PRECISION else DTYPE_NAMES["float32"]


def fitted(array: np.ndarray, storage, name: str) -> np.ndarray:
    """Return an array cast to what a dtype is stored as; `name` is whose it is.

    Raises
    ------
    NkiValidationError
        For integers that do not fit.
    """
    if array.dtype == storage:
        return array
    if array.dtype.kind in "iu" and np.dtype(storage).kind in "iu" and array.size:
        limits = np.iinfo(storage)
        if array.min() < limits.min or array.max() > limits.max:
            raise NkiValidationError(
                f"{name} is {array.dtype} and holds {array.min()} … {array.max()}; 64-bit "
                f"integers become {storage}, which ends at {limits.max}"
            )
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(storage)
