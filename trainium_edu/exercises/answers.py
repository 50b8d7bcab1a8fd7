"""An answer in one spelling, so that the check and the grader judge the same value.

A learner's function may return a generator, a NumPy number or a named tuple.  The grader runs it
in another process, and only plain data come back from there; so the public check brings an answer
into plain data as well, with this one function, before it looks at it.
"""

import io
import itertools
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

import numpy as np

__all__ = ["Printed", "PrintedTooMuch", "canonical", "line_of", "said_of"]

_MOST_ITEMS = 1_000_000
_PLAIN = (type(None), bool, int, float, complex, str, bytes, Fraction)


def canonical(value):
    """Return a value as plain data: numbers, text, lists, tuples, sets, dicts and arrays.

    Parameters
    ----------
    value : object
        What is iterable (a generator, a range) becomes a list; a number of NumPy's, or an array
        without axes, becomes Python's; subclasses of the plain types become these, and arrays of
        texts become lists.  Records of this package stay as they are.

    Returns
    -------
    object

    Raises
    ------
    TypeError
        If the value is no such data.
    ValueError
        If a generator gives more than a million items.

    Examples
    --------
    >>> canonical((np.int64(k) for k in range(3)))
    [0, 1, 2]
    """
    if value is Ellipsis:
        return None
    is_ours = type(value).__module__.startswith("trainium_edu.")
    if type(value) in _PLAIN or (is_ours and is_dataclass(value)):
        return value
    if isinstance(value, np.generic | np.ndarray) or hasattr(value, "__array__"):
        return _from_array(np.asarray(value))
    for plain in (str, bytes, float, complex):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, Integral | Decimal):
        return float(value) if isinstance(value, Decimal) else int(value)
    if isinstance(value, Mapping):
        return {canonical(key): canonical(item) for key, item in value.items()}
    for plain in (tuple, set, frozenset):
        if isinstance(value, plain):
            return plain(canonical(item) for item in value)
    if isinstance(value, Iterable):
        items = [canonical(item) for item in itertools.islice(value, _MOST_ITEMS + 1)]
        if len(items) > _MOST_ITEMS:
            raise ValueError(f"more than {_MOST_ITEMS:,} items; does your generator end?")
        return items
    raise TypeError(f"it is a {type(value).__name__}; plain data is asked for")


def _from_array(array):
    """Return an array, or the number in one without axes."""
    if array.dtype.kind in "OUS":
        return canonical(array.tolist())
    if array.ndim:
        return array
    number = array.item()
    return number if type(number) in _PLAIN else float(number)


class PrintedTooMuch(BaseException):
    """Raised inside a learner's print; no `except Exception` of theirs swallows it."""


class Printed(io.TextIOBase):
    """Pass prints on until there are too many."""

    def __init__(self, stream, limit):
        self._stream, self._left = stream, limit

    def write(self, text):
        """Pass a text on."""
        self._left -= len(text)
        if self._left < 0:
            raise PrintedTooMuch
        return self._stream.write(text)

    def flush(self):
        """Pass it on."""
        self._stream.flush()


def line_of(error: BaseException) -> str:
    """Return the line of a notebook's cell in which an error arose; empty if none did."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "ipykernel" in f.filename or f.filename.startswith("<")]
    return (own[-1].line or "") if own else ""


def said_of(problem: BaseException, path: str, most: int = 400) -> str:
    """Return an exception on one line, with the line of a file, or a folder's, where it arose."""
    said = problem.msg if isinstance(problem, SyntaxError) else problem  # without its line
    text = " ".join(f"{type(problem).__name__}: {said}".split())[:most]
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename.startswith(path)]
    line = lines[-1] if lines else getattr(problem, "lineno", None)
    return f"line {line}: {text}" if line else text
