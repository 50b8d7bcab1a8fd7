"""What a script calls between two cuts, as a path through a trie.

A step that repeats an earlier one walks the same path, with one look-up per call.  The places on it
keep the shapes of results, the source lines and the compiled graph.
"""

import itertools
from dataclasses import dataclass
from typing import Any
from weakref import ref

__all__ = ["Cell", "Fed", "Place", "Slot", "Storage", "Tape"]

_serial = itertools.count(1)
_made, _gone, _reads = itertools.count(), itertools.count(), itertools.count()
_MOST_PLACES = 1_000_000  #: in the trie, which is emptied beyond
_MANY = 32  #: tensors of one storage, before those let go are looked for


@dataclass(frozen=True, slots=True)
class Slot:
    """Stands for a tensor in a recorded call."""

    position: int  #: among the tape's results and leaves


@dataclass(frozen=True, slots=True)
class Fed:
    """Stands for a Python number that may change from step to step."""

    position: int  #: in ``Tape.fed``


class Cell:
    """One tensor on the device: its value, and its place on the tape.

    Attributes
    ----------
    value : torch.Tensor on the CPU, or None
        None if values are off.
    tape, slot : int
        The number of the tape that knows it, and its number there.
    leaf : int
        The slot with which it came onto the tape, if it was written since; else -1.
    meta : (shape, strides, dtype)
    storage : Storage or None
        What it shares with other tensors, if there are or were any.
    way : tuple of (Place, int)
        The views that lead from the storage's first tensor to here: call and number of its result.
    name : str
    """

    __slots__ = ("__weakref__", "leaf", "meta", "name", "slot", "storage", "tape", "value", "way")

    def __init__(self, value=None, tape=0, slot=-1, meta=None):
        self.value, self.tape, self.slot, self.meta = value, tape, slot, meta
        self.leaf, self.storage, self.way, self.name = -1, None, (), ""
        next(_made)

    __del__ = _gone.__next__  # counts without a frame of Python

    @staticmethod
    def counted() -> dict[str, int]:
        """Return how many there were and are no more, by the names that metrics have for them."""
        reads = next(_reads)  # each of which has taken one from both
        return {"CreateXlaTensor": next(_made) - reads, "DestroyXlaTensor": next(_gone) - reads}


class Storage:
    """The data that tensors share which are views of one.

    Attributes
    ----------
    meta : (shape, strides, dtype)
        Of the first of them.
    tape, slot, leaf : int
        As of a cell: where the data as a whole are on the tape.
    name : str
    """

    __slots__ = ("__weakref__", "_cells", "leaf", "meta", "name", "slot", "tape")

    def __init__(self, first: Cell):
        self._cells = [ref(first)]
        self.meta, self.name = first.meta, first.name
        self.tape, self.slot, self.leaf = first.tape, first.slot, first.leaf

    def add(self, cell: Cell) -> None:
        """Take in one more tensor."""
        if len(self._cells) > _MANY:
            self._cells = [weak for weak in self._cells if weak() is not None]
        self._cells.append(ref(cell))

    def cells(self) -> list[Cell]:
        """Return the tensors that are still held, in the order in which they were made."""
        return [cell for weak in self._cells if (cell := weak()) is not None]


class Place:
    """One call after all those that lead here.

    Attributes
    ----------
    next : dict
        Key of a call → the place after it.
    call : calls.Call or None
        None for a leaf: data that come in here.
    args, kwargs
        With ``Slot`` for tensors and ``Fed`` for changing numbers.
    metas : list of (shape, strides, dtype) or None
        One per result.
    first : int
        Slot of the first result.
    line : SourceLine or None
    cuts : dict
        What lived at a cut here → what was compiled for it.
    """

    __slots__ = ("args", "call", "cuts", "first", "kwargs", "line", "metas", "next", "scope")

    def __init__(self, call, args, kwargs, first, line, scope="", metas=None):
        self.call, self.args, self.kwargs, self.first = call, args, kwargs, first
        self.line, self.scope = line, scope
        self.next: dict[tuple, Place] = {}
        self.metas: Any = metas
        self.cuts: dict = {}


class Trie:
    """All paths that tapes have taken."""

    def __init__(self):
        self.clear()

    def clear(self) -> None:
        """Forget all paths."""
        self.start, self.places = Place(None, (), {}, 0, None), 0

    def begin(self) -> "Tape":
        """Return an empty tape."""
        if self.places > _MOST_PLACES:
            self.clear()
        return Tape(self)


class Tape:
    """The calls since the last cut.

    Attributes
    ----------
    here : Place
    path : list of Place
    made : list of weak references to Cell
        Those of results, in the order of their slots; None for a leaf.
    fed : list of float
        The changing numbers, in order.
    writes : dict of Storage to int
        How often data that tensors share were written.
    """

    __slots__ = (
        "asked", "fed", "here", "leaves", "made", "number", "path", "slots", "trie", "writes",
    )  # fmt: skip

    def __init__(self, trie: Trie):
        self.trie, self.here, self.number = trie, trie.start, next(_serial)
        self.path: list[Place] = []
        self.made: list = []
        self.fed: list[float] = []
        self.leaves: dict[int, Any] = {}  #: slot -> weak cell of data that came in
        self.writes: dict[Storage, int] = {}
        self.asked: dict[int, int] = {}  #: slot of shared data that ran early -> writes till then
        self.slots = 0

    def step(self, key: tuple) -> Place | None:
        """Advance to the place of a call, if it is known."""
        place = self.here.next.get(key)
        if place is not None:
            self.here = place
            self.path.append(place)
        return place

    def grow(self, key: tuple, place: Place) -> None:
        """Advance to a new place."""
        self.here.next[key] = place
        self.here = place
        self.path.append(place)
        self.trie.places += 1

    def give(self, cell: Cell) -> None:
        """Make a cell the next result."""
        cell.tape, cell.slot = self.number, self.slots
        self.slots += 1
        self.made.append(ref(cell))

    def live(self) -> tuple[tuple[int, int], ...]:
        """Return (slot, slot of the data it takes the place of or -1) of results still held."""
        number, results = self.number, []
        for slot, weak in enumerate(self.made):
            cell = weak() if weak is not None else None
            if cell is not None and cell.slot == slot and cell.tape == number:
                results.append((slot, cell.leaf))
        for storage in self.writes:  # their holders see what was written through a view
            if not all(self.is_result(cell) for cell in storage.cells()):
                results.append((storage.slot, storage.leaf))
        return tuple(results)

    def is_result(self, cell: Cell) -> bool:
        """Return whether a cell is computed on this tape."""
        return cell.tape == self.number and self.made[cell.slot] is not None

    def is_pending(self, cell: Cell) -> bool:
        """Return whether the chip has still to compute a cell."""
        if cell.storage is None:
            return self.is_result(cell)
        writes = self.writes.get(cell.storage, 0)
        if cell.tape != self.number or self.asked.get(cell.slot) == writes:
            return False
        return writes > 0 or self.made[cell.slot] is not None

    def ran(self, cell: Cell) -> None:
        """Take note that a pending cell was computed: it is data from here on."""
        if cell.storage is None:
            cell.tape, cell.leaf = 0, -1
        else:
            self.asked[cell.slot] = self.writes.get(cell.storage, 0)

    def leave(self, cell: Cell) -> None:
        """Turn a cell, and all that share its storage, into data from here on."""
        storage = cell.storage
        for one in [cell] if storage is None else storage.cells():
            one.tape, one.leaf = 0, -1
        if storage is not None:
            storage.tape = 0
            self.writes.pop(storage, None)
