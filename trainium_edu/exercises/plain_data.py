"""Plain data as text, and back: what crosses the wall between a submission and its grader.

JSON, with a tag in front of whatever JSON does not have: ``["tuple", [1, 2]]``, an array as dtype,
shape and bytes.  Nothing in it names a class but the few records that :data:`RECORDS` lists; these
are made by their constructors, and their fields are checked first.  So reading runs nothing of the
sender's, and changes nothing but what it returns.
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
    "Blank": "trainium_edu.exercises.request", "Request": "trainium_edu.exercises.request",
    "LoopRequest": "trainium_edu.exercises.loops", "Transformer": "trainium_edu.cluster.models",
    "Pass": "trainium_edu.neuroncore.systolic_array.plan",
}  # fmt: skip
MOST_BYTES, MOST_ITEMS, MOST_DEPTH = 96 << 20, 4_000_000, 50
_NARROW = {str(np.dtype(t)): np.dtype(t) for t in vars(ml_dtypes).values()
           if isinstance(t, type) and issubclass(t, np.generic)}  # fmt: skip
_USUAL = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16)")
_CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


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


def _written(value, depth):
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if not depth:
        raise NotPlain(f"data nested more than {MOST_DEPTH} deep")
    if kind in _CONTAINERS.values():
        return [kind.__name__, [_written(item, depth - 1) for item in value]]
    if kind is dict:
        return ["dict", [[_written(k, depth - 1), _written(v, depth - 1)]
                         for k, v in value.items()]]  # fmt: skip
    if kind is bytes:
        return ["bytes", base64.b64encode(value).decode()]
    if kind is complex:
        return ["complex", value.real, value.imag]
    if kind is Fraction:
        return ["fraction", value.numerator, value.denominator]
    if kind is range:
        return ["range", value.start, value.stop, value.step]
    if isinstance(value, np.ndarray | np.generic):
        name = value.dtype.str if value.dtype.isbuiltin == 1 else str(value.dtype)
        _dtype(name)
        data = base64.b64encode(value.tobytes()).decode()
        return ["array" if kind is np.ndarray else "scalar", name, list(value.shape), data]
    if RECORDS.get(kind.__name__) == kind.__module__:
        fields = (canonical(getattr(value, field.name)) for field in dataclasses.fields(value))
        return [kind.__name__, [_written(field, depth - 1) for field in fields]]
    raise NotPlain(f"a {kind.__name__}")


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
    try:
        return _Reader().read(json.loads(text), MOST_DEPTH)
    except NotPlain:
        raise
    except Exception as error:  # of a constructor or a buffer: whatever the sender made up
        raise NotPlain(f"damaged data ({type(error).__name__})") from None


class _Reader:
    """Reads one text, and counts its items."""

    def __init__(self):
        self._left = MOST_ITEMS

    def read(self, value, depth):
        if not isinstance(value, list | dict):
            return value
        if isinstance(value, dict) or not value or not isinstance(value[0], str):
            raise NotPlain("damaged data (no tag)")
        if not depth:
            raise NotPlain(f"data nested more than {MOST_DEPTH} deep")
        tag, *parts = value
        if tag in _CONTAINERS:
            return _CONTAINERS[tag](self._items(*parts, depth))
        if tag == "dict":
            pairs = [self._items(pair, depth) for pair in _list(*parts)]
            return {key: item for key, item in pairs}  # noqa: C416  (each has to be a pair)
        if tag == "bytes":
            return base64.b64decode(*parts, validate=True)
        if tag == "complex":
            return complex(*map(float, parts))
        if tag == "fraction":
            return Fraction(*map(_whole, parts))
        if tag == "range":
            return range(*map(_whole, parts))
        if tag in ("array", "scalar"):
            return _array(*parts) if tag == "array" else _array(*parts)[()]
        if tag in RECORDS:
            return _record(tag, self._items(*parts, depth))
        raise NotPlain(f"a {tag:.40}")

    def _items(self, items, depth) -> list:
        self._left -= len(_list(items))
        if self._left < 0:
            raise NotPlain(f"more than {MOST_ITEMS:,} items")
        return [self.read(item, depth - 1) for item in items]


def _list(value) -> list:
    if not isinstance(value, list):
        raise NotPlain("damaged data (no list)")
    return value


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


def _array(name, shape, data) -> np.ndarray:
    dtype, shape = _dtype(name), tuple(map(_whole, _list(shape)))
    numbers = np.frombuffer(bytearray(base64.b64decode(data, validate=True)), dtype)
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
