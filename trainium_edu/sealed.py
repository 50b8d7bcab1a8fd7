"""The format of everything that is kept: a safetensors file, sealed by a SHA-256 sum of all of it.

Checkpoints, what ``xm.save`` writes and executables share it.  Other programs read the arrays, BF16
ones at two bytes per number; the plain data around them are JSON in the file's metadata, under the
name of the kind of file.

The format is described in the README of github.com/huggingface/safetensors.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

__all__ = ["BROKEN", "Damaged", "OtherVersion", "sealed", "split", "unsealed"]

_DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "I64": np.int64, "I32": np.int32, "U64": np.uint64, "U32": np.uint32, "I16": np.int16,
    "U16": np.uint16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
_ARRAY = "__array__"  #: in plain data, the key of an array's name
_NO_SUM = b"0" * 64  # in place of the sum while it is computed
#: Errors that reading a foreign file raises, or one whose header is wrong.
BROKEN = (SafetensorError, LookupError, ValueError, TypeError, AttributeError, RecursionError)


class Damaged(Exception):
    """Why a file is not what was written, as the end of a sentence that names it."""


class OtherVersion(Exception):
    """Another version wrote the file; the end of a sentence that names it."""


def split(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    """Put the arrays of nested mappings and lists into `arrays` by their paths; return the rest."""
    if isinstance(value, np.ndarray):
        if value.dtype not in _DTYPES.values():
            raise ValueError(f"{path} is {value.dtype}; use one of {', '.join(_DTYPES)}")
        if path in arrays:
            raise ValueError(f"two arrays are called {path}; rename one")
        arrays[path] = np.asarray(value, order="C")
        return {_ARRAY: path}
    inner = f"{path}/" if path else ""
    if isinstance(value, Mapping):
        if odd := [key for key in value if not isinstance(key, str) or key == _ARRAY]:
            raise ValueError(f"{inner}{odd[0]!r} names no part of a state; use other text")
        return {key: split(part, inner + key, arrays) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [split(part, f"{inner}{i}", arrays) for i, part in enumerate(value)]
    try:
        plain = value.item() if isinstance(value, np.generic) else value
        return json.loads(json.dumps(plain, allow_nan=False))
    except (TypeError, ValueError):
        raise ValueError(f"{path} is {value!r}; a file holds arrays, text, finite numbers, "
                         "True, False and None") from None  # fmt: skip


def sealed(kind: str, version: int, plain: Any, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return a file's bytes, with their sum in them.

    Parameters
    ----------
    kind : str
        What the file is, such as "trainium_edu checkpoint".
    version : int
        Of the kind.
    plain, arrays
        What :func:`split` gives.

    Examples
    --------
    >>> arrays = {}
    >>> data = sealed("a note", 1, split({"n": 2, "w": np.ones(3)}, "", arrays), arrays)
    >>> unsealed(data, "a note", 1)
    {'n': 2, 'w': array([1., 1., 1.])}
    """
    about = json.dumps({"sum": _NO_SUM.decode(), "version": version, "state": plain})
    raw = save(dict(arrays), {kind: about})
    return raw.replace(_NO_SUM, _sum(raw), 1)


def unsealed(data: bytes, kind: str, version: int) -> Any:
    """Check every byte of a file, and return what was split, joined again.

    Raises
    ------
    Damaged
        If the bytes are another kind of file, cut, or changed.
    OtherVersion
        If they are whole, and of another version.
    """
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        about = json.loads(header["__metadata__"][kind])
        seal = about["sum"].encode()
        is_whole = _sum(data.replace(seal, _NO_SUM, 1)) == seal
    except BROKEN:
        raise Damaged(f"is cut, or not a {kind}") from None
    if not is_whole:
        raise Damaged("is cut or damaged: its checksum differs")
    if about["version"] != version:
        raise OtherVersion(f"has version {about['version']} of the format, and this trainium_edu "
                           f"reads {version}")  # fmt: skip
    try:
        arrays = {
            name: np.frombuffer(one["data"], _DTYPES[one["dtype"]]).reshape(one["shape"])
            for name, one in deserialize(data)
        }
        return _joined(about["state"], arrays)
    except BROKEN as problem:
        raise Damaged(f"does not hold what its header says ({problem})") from None


def _joined(plain, arrays):
    """Put arrays back where they were."""
    if isinstance(plain, dict):
        if _ARRAY in plain:
            return arrays[plain[_ARRAY]]
        return {key: _joined(part, arrays) for key, part in plain.items()}
    return [_joined(part, arrays) for part in plain] if isinstance(plain, list) else plain


def _sum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
