"""Races between the processors of one call: what two of them touch, and one of them writes.

Processors do not wait for each other, so whatever depends on who comes first is a race: two that
write one element, or one that reads what another writes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Race", "find_race", "holes"]


class Race(NamedTuple):
    """One element, and the processors that meet there."""

    slot: int  #: argument's number, or that of the result
    element: int  #: of the tensor as if it were flat
    writers: tuple[int, ...]
    readers: tuple[int, ...]  #: other than a single writer
    elements: int  #: how many elements of this tensor are raced for


def find_race(touched: Sequence) -> Race | None:
    """Return the first element for which processors race, or None.

    Parameters
    ----------
    touched : sequence of (slot, readers, writers)
        uint8 arrays with a bit for each processor.
    """
    for slot, readers, writers in touched:
        others = np.where(writers & (writers - 1), 0, readers & ~writers)
        bad = ((writers & (writers - 1)) != 0) | ((writers != 0) & (others != 0))
        if bad.any():
            at = int(bad.argmax())
            wrote = _bits(int(writers[at]))
            read = _bits(int(readers[at])) if len(wrote) == 1 else ()
            return Race(slot, at, wrote, tuple(set(read) - set(wrote)), int(bad.sum()))
    return None


def holes(touched: Sequence, slot: int) -> np.ndarray:
    """Return the elements of a tensor that no processor wrote."""
    return np.flatnonzero(next(w for s, _, w in touched if s == slot) == 0)


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(8) if mask >> i & 1)
