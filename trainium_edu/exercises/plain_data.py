"""Plain data as text, and back: what crosses the wall between a submission and its grader.

JSON, in which a list is a value that JSON does not have, and begins with a tag that says of which
kind: ``["tuple", 1, 2]``, an array by its dtype, shape and bytes.  Nothing in it names a class but
the few records that :data:`RECORDS` lists; these are made by their constructors, and their fields
are checked first.  So reading runs nothing of the sender's, and changes nothing but its result.
"""

import base64
import dataclasses
import importlib
import json
import math
import re
import typing
from fractions import Fraction

import ml_dtypes
import numpy as np

from trainium_edu.exercises.answers import canonical

__all__ = ["RECORDS", "NotPlain", "dumps", "loads"]

#: Records that may cross, by the module that has them.
RECORDS = {
    "Blank": "trainium_edu.exercises.request",
    "Request": "trainium_edu.exercises.request",
    "LoopRequest": "trainium_edu.exercises.loops",
    "Transformer": "trainium_edu.cluster.models",
    "Pass": "trainium_edu.neuroncore.systolic_array.plan",
    "Job": "trainium_edu.exercises.cpp",
    "Outcome": "trainium_edu.exercises.cpp",
}
MOST_BYTES, MOST_ITEMS, MOST_DEPTH = 96 << 20, 4_000_000, 50
_TYPES = (kind for kind in vars(ml_dtypes).values() if isinstance(kind, type))
_NARROW = {str(np.dtype(t)): np.dtype(t) for t in _TYPES if issubclass(t, np.generic)}
_USUAL = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16)")


class NotPlain(ValueError):
    """The data hold something else than numbers, text, containers, arrays and listed records."""


def dumps(value) -> str:
    """Return plain data as text.

    Parameters
    ----------
    value : object
        Numbers, text, bytes, containers, arrays of numbers, and records of :data:`RECORDS`.

    Raises
    ------
    NotPlain
        For anything else, and for more than the limits allow.
    """
    try:
        text = json.dumps(_written(value, MOST_DEPTH), separators=(",", ":"))
    except NotPlain:
        raise
    except (ValueError, RecursionError) as error:
        raise NotPlain(f"a value that cannot be written ({error})") from None
    if len(text) > MOST_BYTES:
        raise NotPlain(f"{len(text) >> 20} MiB of data; at most {MOST_BYTES >> 20} can be sent")
    return text


def loads(text: str):
    """Return the plain data that a text holds.

    Parameters
    ----------
    text : str
        By whomever it was written.

    Returns
    -------
    value : object

    Raises
    ------
    NotPlain
        If it is not what :func:`dumps` writes, or more than the limits allow.

    Examples
    --------
    >>> loads(dumps({"a": (1, 2.5)}))
    {'a': (1, 2.5)}
    """
    if not isinstance(text, str) or len(text) > MOST_BYTES:
        raise NotPlain(f"more than {MOST_BYTES >> 20} MiB of data")
    if text.count(",") > MOST_ITEMS:
        raise NotPlain(f"more than {MOST_ITEMS:,} items")
    try:
        return _read(json.loads(text), MOST_DEPTH)
    except NotPlain:
        raise
    except Exception as error:  # of a constructor or a buffer: whatever the sender made up
        raise NotPlain(f"damaged data ({type(error).__name__})") from None


def _written(value, depth):
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if not depth:
        raise NotPlain(f"data nested more than {MOST_DEPTH} deep")
    if kind in _PARTS:
        tag, parts = kind.__name__, _PARTS[kind](value)
    elif isinstance(value, np.generic):
        tag, parts = "scalar", [np.asarray(value)]
    elif RECORDS.get(kind.__name__) == kind.__module__:
        fields = dataclasses.fields(value)
        tag, parts = kind.__name__, [canonical(getattr(value, field.name)) for field in fields]
    else:
        raise NotPlain(f"a {kind.__name__}")
    return [tag, *(_written(part, depth - 1) for part in parts)]


def _read(value, depth):
    if not isinstance(value, list | dict):
        return value
    if isinstance(value, dict) or not value or not isinstance(value[0], str):
        raise NotPlain("damaged data (no tag)")
    if not depth:
        raise NotPlain(f"data nested more than {MOST_DEPTH} deep")
    tag, parts = value[0], [_read(part, depth - 1) for part in value[1:]]
    if tag in RECORDS:
        return _record(tag, parts)
    if tag not in _MAKES:
        raise NotPlain(f"a {tag:.40}")
    return _MAKES[tag](*parts)


def _whole(value) -> int:
    if type(value) is not int:
        raise NotPlain("damaged data (no whole number)")
    return value


def _dtype(name) -> np.dtype:
    """Return a dtype of numbers by its name; refuse objects, texts, dates and records."""
    if name in _NARROW:
        return _NARROW[name]
    if not isinstance(name, str) or not _USUAL.fullmatch(name):
        raise NotPlain(f"an array of {name!s:.40}")
    return np.dtype(name)


def _array_parts(array):
    name = array.dtype.str if array.dtype.isbuiltin == 1 else str(array.dtype)
    _dtype(name)
    return name, array.shape, array.tobytes()


def _array(name, shape, data) -> np.ndarray:
    dtype, shape = _dtype(name), tuple(map(_whole, shape))
    if not isinstance(data, bytes):
        raise NotPlain("damaged data (an array without bytes)")
    numbers = np.frombuffer(bytearray(data), dtype)
    if min(shape, default=0) < 0 or math.prod(shape) != numbers.size:
        raise NotPlain("damaged data (an array of another shape)")
    if dtype.kind == "b":  # a byte of 2 would be neither True nor False
        numbers = numbers.view(np.uint8) != 0
    return numbers.reshape(shape)


def _record(name, values):
    """Return a record, made by its constructor of fields of the types that it states."""
    kind = getattr(importlib.import_module(RECORDS[name]), name)
    for field, value in zip(dataclasses.fields(kind), values, strict=True):
        stated = typing.get_origin(field.type) or field.type
        if stated is typing.Literal:
            stated = str
        if (type(value) is bool) != (stated is bool) or not isinstance(value, stated):
            raise NotPlain(f"a {name} whose {field.name} is a {type(value).__name__}")
    return kind(*values)


_CONTAINERS = (list, tuple, set, frozenset)
#: Kind of a value -> what gives its parts; and its tag -> what makes it of them.
_PARTS: dict[type, typing.Callable] = dict.fromkeys(_CONTAINERS, iter) | {
    dict: lambda value: value.items(),
    bytes: lambda value: [base64.b64encode(value).decode()],
    complex: lambda value: (value.real, value.imag),
    Fraction: lambda value: (value.numerator, value.denominator),
    range: lambda value: (value.start, value.stop, value.step),
    np.ndarray: _array_parts,
}
_MAKES: dict[str, typing.Callable] = {
    **{kind.__name__: lambda *parts, kind=kind: kind(parts) for kind in _CONTAINERS},
    "dict": lambda *pairs: {key: value for key, value in pairs},  # noqa: C416 (each must be a pair)
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "complex": lambda *parts: complex(*map(float, parts)),
    "Fraction": lambda *parts: Fraction(*map(_whole, parts)),
    "range": lambda *parts: range(*map(_whole, parts)),
    "ndarray": _array,
    "scalar": lambda array: array[()],
}
