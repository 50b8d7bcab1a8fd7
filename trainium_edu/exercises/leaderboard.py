"""A class's fastest kernels, as far as the model can tell them apart.

**Places.**  A row is *surely faster* than another if its whole band lies below the other's.  A
row's place is one more than the number of rows that are surely faster.  So

- rows that share a place have bands that overlap, each with each;
- a row that is surely slower than another never has the same place, nor a better one;
- two rows whose bands overlap share a place, unless a third is surely faster than one of them only.
  Overlapping is not transitive: of 1 to 3, 2 to 5 and 4 to 6 µs the last overlaps the second, but
  the first is surely faster than it; the places are 1, 1 and 2.

Within a place rows stand in the order of their names, since nothing else tells them apart.  Two
programs compare more sharply than two bands do (``neuroncore.compare``), but a board has rows only.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainium_edu.files import csv_text, tables
from trainium_edu.specs.signatures import checked
from trainium_edu.tools.schema import checked as checked_by
from trainium_edu.viz.units import aligned

__all__ = ["FIGURES", "HEAD", "Entry", "as_csv", "as_text", "boards", "cells", "places"]

_SCHEMA = tables(__file__)
#: Fields of a row that say how fast its kernel is.
FIGURES = ("latency_us", "low_us", "high_us", "hbm_bytes", "mfu")
#: Columns of a board.
HEAD = ("place", "name", "latency µs", "band µs", "HBM bytes", "MFU")


@dataclass(frozen=True, slots=True)
class Entry:
    """A right kernel's row."""

    assignment: str
    case: str  #: what it was timed on
    name: str  #: its author's, or a pseudonym
    latency_us: float
    low_us: float
    high_us: float
    hbm_bytes: int
    mfu: float

    @classmethod
    def of(cls, found: Mapping) -> "Entry":
        """Return the entry that a file holds.

        Raises
        ------
        ValueError
            If it is not one: a field is missing, or is no number, or the band does not hold the
            latency.
        """
        found = checked_by(found, _SCHEMA, {"printable": str.isprintable})
        if not found["low_us"] <= found["latency_us"] <= found["high_us"]:
            raise ValueError("the latency of a row lies outside its band")
        return cls(**found)

    def under(self, salt: str) -> "Entry":
        """Return it under a pseudonym that only who knows the salt can work out."""
        digest = hashlib.sha256(f"{salt}|{self.assignment}|{self.name}".encode()).hexdigest()
        return dataclasses.replace(self, name=f"kernel {digest[:8]}")


@checked
def places(entries: Iterable[Entry]) -> list[tuple[int, Entry]]:
    """Return entries with their places, the first place first.

    Parameters
    ----------
    entries : iterable of Entry

    Returns
    -------
    list of (int, Entry)

    Examples
    --------
    >>> row = lambda name, low, high: Entry("a", "c", name, (low + high) / 2, low, high, 0, 0.0)
    >>> rows = [row("zoe", 1.0, 3.0), row("ben", 2.0, 5.0), row("ada", 4.0, 6.0)]
    >>> [(place, entry.name) for place, entry in places(rows)]
    [(1, 'ben'), (1, 'zoe'), (2, 'ada')]
    """
    entries = list(entries)
    placed = [(1 + sum(other.high_us < one.low_us for other in entries), one) for one in entries]
    return sorted(placed, key=lambda pair: (pair[0], pair[1].name.casefold(), pair[1].latency_us))


@checked
def boards(entries: Iterable[Entry]) -> dict[tuple[str, str], list[tuple[int, Entry]]]:
    """Return a board for each (assignment, case), by name."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.assignment, entry.case), []).append(entry)
    return {key: places(found[key]) for key in sorted(found)}


def cells(place: int, entry: Entry) -> tuple[str, ...]:
    """Return what a board's row shows, in the columns of ``HEAD``."""
    band = f"{entry.low_us:.2f} to {entry.high_us:.2f}"
    figures = f"{entry.latency_us:.2f}", band, f"{entry.hbm_bytes:,}", f"{entry.mfu:.1%}"
    return str(place), entry.name, *figures


def as_text(placed: Iterable[tuple[int, Entry]]) -> str:
    """Return a board as a table."""
    return "\n".join(aligned([HEAD, *(cells(*row) for row in placed)], "><>>>>"))


def as_csv(entries: Iterable[Entry]) -> str:
    """Return all boards as one table, numbers in full."""
    head = ["place", *(field.name for field in dataclasses.fields(Entry))]
    placed = [row for board in boards(entries).values() for row in board]
    return csv_text([head, *([place, *dataclasses.astuple(entry)] for place, entry in placed)])
