"""Checks of the fabric's arguments: what fails raises a FabricError of one sentence."""

import contextlib

import numpy as np

from trainium_edu.specs import arguments
from trainium_edu.specs.arguments import short as shown

__all__ = [
    "FabricError", "are_several", "choice", "flag", "made", "names_of", "real_number",
    "real_numbers", "same_length", "shown", "whole_number", "whole_numbers",
]  # fmt: skip

_MOST_VERTICES = 1_000_000


class FabricError(ValueError):
    """Something that this fabric cannot be or do: what, why, and what to try."""


def _checked(check, value, name, *bounds, **range_):
    """Return what a check of `specs.arguments` returns, or raise its sentence as a FabricError."""
    if isinstance(value, np.ndarray):
        raise FabricError(f"{name} is {shown(value)}; it must be one value, not an array")
    try:
        return check(value, name, *bounds, **range_)
    except (TypeError, ValueError) as error:
        raise FabricError(str(error)) from None


def made(value, kind: type, hint: str):
    """Return ``value`` if it is of this kind; raise how one is made otherwise."""
    if isinstance(value, kind):
        return value
    raise FabricError(f"{shown(value)} is not a {kind.__name__.lower()}; {hint}")


def whole_number(value, name: str, least: int = 1, most: int = _MOST_VERTICES) -> int:
    """Return ``value`` as an int; raise unless it is an integer in range."""
    return _checked(arguments.whole, value, name, least, most)


def real_number(value, name: str, *, least: float = 0.0, most: float = 1e18, above=False) -> float:
    """Return ``value`` as a float; raise unless it is in range (``above`` excludes ``least``)."""
    bounds = {"above": least} if above else {"low": least}
    return _checked(arguments.number, value, name, high=most, **bounds)


def flag(value, name: str) -> bool:
    """Return ``value`` as a bool; raise unless it is True or False."""
    return _checked(arguments.flag, value, name)


def choice(value, names, what: str):
    """Return the one of ``names`` (an enum of strings, or strings) that ``value`` names."""
    if isinstance(value, str):
        for name in names:
            if name == value:
                return name
    raise FabricError(f"{shown(value)} is not a known {what}; choose one of {', '.join(names)}")


def names_of(values, name: str = "algorithms") -> tuple[str, ...]:
    """Return a list of names as a tuple; raise if it is something else."""
    good = isinstance(values, list | tuple) and all(isinstance(v, str) for v in values)
    if not good or not values:
        raise FabricError(f"{name} is {shown(values)}; give a list of names")
    return tuple(values)


def are_several(values) -> bool:
    """Return whether this is a list or an array of values, and not one value."""
    return isinstance(values, list | tuple | range) or (
        isinstance(values, np.ndarray) and values.ndim > 0
    )


def _listed(values, name):
    """Return ``values`` as an array of numbers, flat or not; raise if they are something else."""
    array = np.empty(0, object)
    masked = isinstance(values, np.ma.MaskedArray)
    entries = () if isinstance(values, np.ndarray) else values  # an array's dtype says it
    if are_several(values) and not masked and not any(isinstance(v, bool) for v in entries):
        with contextlib.suppress(ValueError, OverflowError):  # rows of different lengths
            array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise FabricError(f"{name} is {shown(values)}; give a list or an array of numbers")
    return array if array.size else array.astype(np.int64)


def whole_numbers(values, name: str, least: int = 0, most: int = 2**53) -> np.ndarray:
    """Return a list as an int64 array if all its entries are integers in range."""
    array = _listed(values, name)
    if array.dtype.kind == "f" or array.ndim != 1:
        raise FabricError(f"{name} is {shown(values)}; give one list of integers")
    if array.size and not least <= array.min() <= array.max() <= most:
        wrong = array[(array < least) | (array > most)][0]
        raise FabricError(f"{name} names {wrong}; integers from {least} to {most} are possible")
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
