"""What a public function may be given, checked in one place: whole numbers, numbers, choices.

Each check returns the value as its plain Python type, or raises one sentence that names the
argument, what it was and what it takes: TypeError for another kind of thing, ValueError for a value
out of range.  A bool is no number, text is no number, and a masked number is none either.
"""

import operator
import reprlib
from math import inf, isfinite, isnan

__all__ = ["choice", "flag", "instance", "number", "short", "text", "whole"]

_LONGEST = 40  # characters of a value in a message


def short(value) -> str:
    """Return a value for an error message, cut to one line."""
    if type(value) is int and value.bit_length() > 1000:  # Python writes no more than 4300 digits
        return f"an integer of {value.bit_length()} bits"
    is_array = not isinstance(value, type) and hasattr(value, "dtype")
    if is_array and getattr(value, "shape", ()) != ():
        return f"an array of shape {value.shape}"
    try:
        plain = value is None or isinstance(value, str | bytes | int | float | type)
        written = repr(value) if plain else reprlib.repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    written = " ".join(written.split())
    return written if len(written) <= _LONGEST else written[: _LONGEST - 3] + "..."


def whole(value, what: str, low=-inf, high=inf, why: str = "") -> int:
    """Return a whole number from `low` to `high`.

    Parameters
    ----------
    value : object
        An int, or what stands for one: NumPy's integers, a whole-numbered `Fact`.
    what : str
        The argument's name, for the message.
    low, high : int, optional
    why : str, optional
        The end of the sentence: why it has to be so, what to try.

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        For what is no whole number, and for one out of range.

    Examples
    --------
    >>> whole(3, "rounds", 1, 10)
    3
    """
    if type(value) is int:
        found = value
    else:
        try:
            if _is_no_number(value):
                raise TypeError
            found = operator.index(value)
        except TypeError:
            raise TypeError(
                f"{what} is {short(value)}; it must be an integer{_range(low, high)}{why}"
            ) from None
    if not low <= found <= high:
        raise ValueError(
            f"{what} is {short(found)}; it must be an integer{_range(low, high)}{why}"
        )
    return found


def number(value, what: str, low=-inf, high=inf, *, above=None, below=None, why: str = "") -> float:
    """Return a finite number as a float.

    Parameters
    ----------
    value : object
        An int, a float, or what stands for one: NumPy's numbers, a `Fact`.
    what : str
        The argument's name, for the message.
    low, high : float, optional
        Bounds that belong to the range.
    above, below : float, optional
        Bounds that do not belong to it.
    why : str, optional
        The end of the sentence.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        For what is no number, and for one that is out of range, not finite, or NaN.

    Examples
    --------
    >>> number(2, "clock", above=0)
    2.0
    """
    takes = f"it must be a finite number{_range(low, high, above, below)}{why}"
    try:
        if _is_no_number(value):
            raise TypeError
        found = float(value)
    except OverflowError:
        raise ValueError(f"{what} is {short(value)}; {takes}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {short(value)}; {takes}") from None
    inside = low <= found <= high and isfinite(found)
    if (
        not inside
        or (above is not None and found <= above)
        or (below is not None and found >= below)
    ):
        raise ValueError(f"{what} is {short(value)}; {takes}")
    return found


def flag(value, what: str) -> bool:
    """Return True or False, or say that `value` is neither."""
    if type(value).__name__ not in ("bool", "bool_") or getattr(value, "shape", ()) != ():
        raise TypeError(f"{what} is {short(value)}; it must be True or False")
    return bool(value)


def text(value, what: str, example: str = "") -> str:
    """Return a text, or say that `value` is none."""
    if not isinstance(value, str):
        such = f" such as {example!r}" if example else ""
        raise TypeError(f"{what} is {short(value)}; it must be a string{such}")
    return value


def choice(value, what: str, choices) -> str:
    """Return one of a few words, or list them all."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{what} is {short(value)}; it must be one of {', '.join(map(str, choices))}")
    return value


def instance(value, what: str, kind, takes: str):
    """Return a value of a class (or of one of several), or say what is taken instead of it."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {short(value)}; it must be {takes}")
    return value


def _is_no_number(value) -> bool:
    """Return whether Python would count, but nobody should: bools, text, arrays, masked numbers."""
    if isinstance(value, bool | str | bytes | bytearray) or hasattr(value, "mask"):
        return True
    dtype = getattr(value, "dtype", None)
    return getattr(value, "ndim", 0) != 0 or getattr(dtype, "kind", "f") in "bSUOcMm"


def _range(low, high, above=None, below=None) -> str:
    """Return a range in words: " from 1 to 64", " above 0"."""
    words = ""
    if low != -inf:
        words += f" from {_bound(low)}"
    elif above is not None:
        words += f" above {_bound(above)}"
    if high != inf:
        words += f" to {_bound(high)}" if low != -inf else f" up to {_bound(high)}"
    elif below is not None:
        words += f"{' and' if words else ''} below {_bound(below)}"
    return words


def _bound(value) -> str:
    """Write a bound as people read it: 2**64 - 1 instead of its twenty digits."""
    if isinstance(value, int) and value >= 2**20:
        for power, end in ((value, ""), (value + 1, " - 1")):
            if power & (power - 1) == 0:
                return f"2**{power.bit_length() - 1}{end}"
    return f"{value:g}" if isinstance(value, float) and not isnan(value) else str(value)
