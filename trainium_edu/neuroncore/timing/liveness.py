"""When each tile of a recorded program is alive, and how many bytes are alive at once."""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.program import Program

__all__ = ["Lives", "alive_bytes"]

_NEVER = np.iinfo(np.int64).max


def alive_bytes(rows: int, first, last, size) -> np.ndarray:
    """Return int64[rows]: the bytes of what lives from ``first`` to ``last``, both included."""
    change = np.zeros(rows + 1, np.int64)
    np.add.at(change, first, size)
    np.subtract.at(change, last + 1, size)
    return np.cumsum(change[:-1])


@dataclass(frozen=True, slots=True)
class Lives:
    """A program without recorded loops as arrays: who touches which tile, and when.

    Attributes
    ----------
    rows : int
        How many instructions there are.
    at, tile, is_write : arrays[accesses]
        Instruction, allocation, and whether it is written.
    sbuf_bytes : int64[allocations]
        Bytes of each partition of SBUF (or of the memory asked for) that a tile takes; 0 for tiles
        elsewhere.
    """

    rows: int
    at: np.ndarray
    tile: np.ndarray
    is_write: np.ndarray
    sbuf_bytes: np.ndarray

    @classmethod
    def of(cls, program: Program, memory: Memory = Memory.SBUF) -> "Lives":
        """Return the arrays of a program."""
        rows = len(program)
        each = [i.accesses for i in program.instructions]
        at = np.repeat(np.arange(rows), np.fromiter(map(len, each), np.intp, rows))
        tile = np.fromiter((a[0] for a in chain.from_iterable(each)), np.intp, at.size)
        is_write = np.fromiter((a[5] for a in chain.from_iterable(each)), np.bool_, at.size)
        sizes = [a.row_bytes * (a.memory is memory) for a in program.allocations]
        return cls(rows, at, tile, is_write, np.array(sizes, np.int64))

    def ends(self, which=None, tile=None) -> tuple[np.ndarray, np.ndarray]:
        """Return each allocation's first and last instruction; -1 as the last if there is none.

        Parameters
        ----------
        which : bool[accesses], optional
            The accesses that count; default all.
        tile : int64[accesses], optional
            Other tiles than those that were recorded.
        """
        at, tile = self.at, self.tile if tile is None else tile
        if which is not None:
            at, tile = at[which], tile[which]
        first = np.full(self.sbuf_bytes.size, _NEVER)
        last = np.full(self.sbuf_bytes.size, -1)
        first[tile[::-1]] = at[::-1]
        last[tile] = at
        return first, last

    def most_alive(self, first, last) -> int:
        """Return the most bytes of each partition that are alive at one instruction."""
        held = (last >= 0) & (self.sbuf_bytes > 0)
        alive = alive_bytes(self.rows, first[held], last[held], self.sbuf_bytes[held])
        return int(alive.max(initial=0))

    def alive_of(self, tiles) -> int:
        """Return the most bytes of each partition that some tiles take at once."""
        first, last = self.ends()
        mine = np.full(last.size, -1)
        mine[tiles] = last[tiles]
        return self.most_alive(first, mine)
