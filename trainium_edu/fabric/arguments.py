"""What the functions of the fabric ask of their arguments: one sentence when they do not get it."""

import contextlib

import numpy as np

__all__ = [
    "FabricError", "are_several", "choice", "flag", "made", "names_of", "real_number",
    "real_numbers", "same_length", "shown", "whole_number", "whole_numbers",
]  # fmt: skip

_MOST_VERTICES = 1_000_000


class FabricError(ValueError):
    """Something that this fabric cannot be or do; the message says what, why, and what to try."""


def shown(value) -> str:
    """Return a value as an error message shows it: one short line."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def made(value, kind: type, hint: str):
    """Return ``value`` if it is of this kind, else say how one is made."""
    if isinstance(value, kind):
        return value
    raise FabricError(f"{shown(value)} is no {kind.__name__.lower()}; {hint}")


def _is_whole(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole_number(value, name: str, least: int = 1, most: int = _MOST_VERTICES) -> int:
    """Return ``value`` as an int if it is a whole number in range, else say what it should be."""
    if not _is_whole(value) or not least <= value <= most:
        raise FabricError(
            f"{name} is {shown(value)}; it must be an integer from {least} to {most}"
        )
    return int(value)


def real_number(value, name: str, *, least: float = 0.0, most: float = 1e18, above=False) -> float:
    """Return ``value`` as a float if it is a number in range (``above`` excludes ``least``)."""
    good = _is_whole(value) or isinstance(value, float | np.floating)
    if not good or not least <= value <= most or (above and value == least):
        low = f"above {least:g}" if above else f"from {least:g}"
        raise FabricError(f"{name} is {shown(value)}; it must be a finite number {low} to {most:g}")
    return float(value)


def flag(value, name: str) -> bool:
    """Return ``value`` as a bool if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise FabricError(f"{name} is {shown(value)}; it must be True or False")
    return bool(value)


def choice(value, names, what: str):
    """Return the one of ``names`` (an enum of strings, or strings) that ``value`` names."""
    if isinstance(value, str):
        for name in names:
            if name == value:
                return name
    raise FabricError(f"{shown(value)} is no {what}; choose one of {', '.join(names)}")


def names_of(values, name: str = "algorithms") -> tuple[str, ...]:
    """Return a list of names as a tuple, or say that it is none."""
    good = isinstance(values, list | tuple) and all(isinstance(v, str) for v in values)
    if not good or not values:
        raise FabricError(f"{name} is {shown(values)}; give a list of names")
    return tuple(values)


def are_several(values) -> bool:
    """Say whether this is a list or an array of values, and not one value."""
    return isinstance(values, list | tuple | range) or (
        isinstance(values, np.ndarray) and values.ndim > 0
    )


def _listed(values, name):
    """Return ``values`` as an array of numbers, flat or not, or say that they are none."""
    array = np.empty(0, object)
    masked = isinstance(values, np.ma.MaskedArray)
    if are_several(values) and not masked and not any(isinstance(v, bool) for v in values):
        with contextlib.suppress(ValueError, OverflowError):  # rows of different lengths
            array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise FabricError(f"{name} is {shown(values)}; give a list or an array of numbers")
    return array if array.size else array.astype(np.int64)


def whole_numbers(values, name: str, least: int = 0, most: int = 2**53) -> np.ndarray:
    """Return a list as an int64 array if all its entries are whole numbers in range."""
    array = _listed(values, name)
    if array.dtype.kind == "f" or array.ndim != 1:
        raise FabricError(f"{name} is {shown(values)}; give one list of whole numbers")
    if array.size and not least <= array.min() <= array.max() <= most:
        wrong = array[(array < least) | (array > most)][0]
        raise FabricError(
            f"{name} names {wrong}; whole numbers from {least} to {most} are possible"
        )
    return array.astype(np.int64)


def real_numbers(values, name: str, *, least: float = 0.0, most: float = 1e18) -> np.ndarray:
    """Return a list or array as float64 if all its entries are numbers in range."""
    array = _listed(values, name).astype(np.float64)
    if array.size and not (least <= array.min() and array.max() <= most):
        wrong = array[~((array >= least) & (array <= most))].flat[0]
        raise FabricError(
            f"{name} holds {wrong}; they must be finite numbers from {least:g} to {most:g}"
        )
    return array


def same_length(first, second, names: str) -> None:
    """Refuse two lists of different lengths."""
    if len(first) != len(second):
        raise FabricError(f"{names} have {len(first)} and {len(second)} entries; give equally many")
