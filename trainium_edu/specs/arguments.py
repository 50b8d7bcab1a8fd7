"""Checks of arguments, in one place: integers, numbers, choices.

Each check returns the value as its plain Python type, or raises one sentence that names the
argument, what it was and what it must be.  TypeError is for another kind of thing, ValueError for a
value out of range.  Bools, strings and masked numbers do not count as numbers.
"""

import operator
import reprlib
from math import inf, isfinite, isnan

__all__ = ["choice", "flag", "instance", "number", "short", "text", "whole", "wholes"]

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
    """Return an integer from `low` to `high`.

    Parameters
    ----------
    value : object
        An int, or what stands for one: a NumPy integer, a `Fact` with an integer value.
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
        If `value` is not an integer; if it is out of range.

    Examples
    --------
    >>> whole(3, "rounds", 1, 10)
    3
    """
    if type(value) is int:
        exact = value
    else:
        try:
            if _is_no_number(value):
                raise TypeError
            exact = operator.index(value)
        except TypeError:
            raise TypeError(f"{what} is {short(value)}; {_an_integer(low, high)}{why}") from None
    if not low <= exact <= high:
        raise ValueError(f"{what} is {short(exact)}; {_an_integer(low, high)}{why}")
    return exact


def wholes(low=-inf, high=inf, /, **values) -> None:
    """Raise unless all values, by the arguments' names, are integers from `low` to `high`.

    Examples
    --------
    >>> wholes(1, 10, ranks=3, batch=8)
    """
    for name, value in values.items():
        whole(value, name, low, high)


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
        If `value` is not a number; if it is out of range, infinite or NaN.

    Examples
    --------
    >>> number(2, "clock", above=0)
    2.0
    """
    takes = f"it must be a finite number{_range(low, high, above, below)}{why}"
    try:
        if _is_no_number(value):
            raise TypeError
        real = float(value)
    except OverflowError:
        raise ValueError(f"{what} is {short(value)}; {takes}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {short(value)}; {takes}") from None
    is_beyond = (above is not None and real <= above) or (below is not None and real >= below)
    if is_beyond or not (low <= real <= high and isfinite(real)):
        raise ValueError(f"{what} is {short(value)}; {takes}")
    return real


def flag(value, what: str) -> bool:
    """Return True or False; raise if `value` is neither."""
    if type(value).__name__ not in ("bool", "bool_") or getattr(value, "shape", ()) != ():
        raise TypeError(f"{what} is {short(value)}; it must be True or False")
    return bool(value)


def text(value, what: str, example: str = "") -> str:
    """Return a string; raise if `value` is something else."""
    if not isinstance(value, str):
        such = f" such as {example!r}" if example else ""
        raise TypeError(f"{what} is {short(value)}; it must be a string{such}")
    return value


def choice(value, what: str, choices) -> str:
    """Return `value` if it is one of a few words; raise and list them otherwise."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(map(str, choices))
        raise ValueError(f"{what} is {short(value)}; it must be one of {words}")
    return value


def instance(value, what: str, kind, takes: str):
    """Return a value of a class (or of one of several); raise what it must be instead."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {short(value)}; it must be {takes}")
    return value


def _is_no_number(value) -> bool:
    """Return whether a value only looks like a number: a bool, text, array or masked number."""
    if isinstance(value, bool | str | bytes | bytearray) or hasattr(value, "mask"):
        return True
    dtype = getattr(value, "dtype", None)
    return getattr(value, "ndim", 0) != 0 or getattr(dtype, "kind", "f") in "bSUOcMm"


def _an_integer(low, high) -> str:
    return f"it must be an integer{_range(low, high)}"


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
