"""Sizes and times in the units in which people read them."""

from collections.abc import Sequence

__all__ = ["aligned", "counted", "letters", "raised", "size_text", "time_text", "time_unit"]

_TIMES = {"days": 86_400e9, "h": 3_600e9, "min": 60e9, "s": 1e9, "ms": 1e6, "µs": 1e3}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def letters(text: str) -> str:
    """Return the CSS size of letters of one width at which no line of a text leaves its container.

    Examples
    --------
    >>> letters("a line of thirty-two characters.")
    'clamp(9px,5.16cqw,13px)'
    """
    longest = max(8, *map(len, text.split("\n")))
    return f"clamp(9px,{165 / longest:.2f}cqw,13px)"  # a letter is 0.6 of its height wide


def aligned(rows: Sequence[Sequence[str]], sides: str = "") -> list[str]:
    """Return rows of cells as lines of columns, each filled on its side: ``<`` left, ``>`` right.

    Examples
    --------
    >>> aligned([["a", "1.5", "s"], ["long", "10", "ms"]], "<><")
    ['a     1.5  s', 'long   10  ms']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cell = "{:{}{}}".format
    lines = ("  ".join(map(cell, row, sides or "<" * len(row), widths)) for row in rows)
    return [line.rstrip() for line in lines]


def counted(count: int, noun: str) -> str:
    """Write a count of things.

    Examples
    --------
    >>> counted(1, "step"), counted(3, "step")
    ('1 step', '3 steps')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def size_text(nbytes: float) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size_text(100), size_text(4096), size_text(1_572_864)
    ('100 B', '4 KiB', '1.5 MiB')
    """
    unit, scale = size_unit(nbytes)
    return f"{nbytes / scale:.4g} {unit}" if scale > 1 else f"{nbytes:.0f} B"


def size_unit(nbytes: float) -> tuple[str, int]:
    """Return the unit in which people read a number of bytes, and how many bytes it has."""
    units = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
    return next((unit for unit in units if nbytes >= unit[1]), ("B", 1))


def time_unit(ns: float) -> tuple[str, float]:
    """Return the unit in which people read a time, and how many ns it has; from minutes on, two."""
    least = {unit: scale * (2 if scale > 1e9 else 0.9995) for unit, scale in _TIMES.items()}
    return next(((unit, scale) for unit, scale in _TIMES.items() if ns >= least[unit]), ("ns", 1.0))


def time_text(ns: float) -> str:
    """Write a time.

    Examples
    --------
    >>> time_text(1234.5), time_text(88.0), time_text(2_340_000), time_text(12.34e9)
    ('1.23 µs', '88 ns', '2.34 ms', '12.3 s')
    >>> time_text(300e9), time_text(100_000e9)
    ('5 min', '27.8 h')
    """
    unit, scale = time_unit(ns)
    return f"{float(f'{ns / scale:.3g}'):g} {unit}"


def raised(number: int) -> str:
    """Return a whole number as an exponent.

    Examples
    --------
    >>> raised(-12)
    '⁻¹²'
    """
    return str(int(number)).translate(_RAISED)
