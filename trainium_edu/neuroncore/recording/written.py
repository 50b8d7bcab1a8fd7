"""Which bytes of a memory hold data: rectangles where they suffice, a mask where they do not.

Nearly all writes cover a rectangle of rows and bytes without gaps, and neighbours merge, so the
answer to "was this written?" is usually one comparison.  Writes with gaps go to a byte mask, which
is made when it is first needed.
"""

import numpy as np

__all__ = ["Written"]

_MOST_RECTANGLES = 64


class Written:
    """The written bytes of one storage, `rows` x `pitch` bytes."""

    __slots__ = ("mask", "pitch", "rectangles", "rows")

    def __init__(self, rows: int, pitch: int):
        self.rows = rows
        self.pitch = pitch
        #: (first row, row end, first byte, byte end), all of it written
        self.rectangles: list[tuple[int, int, int, int]] = []
        self.mask: np.ndarray | None = None  #: uint8 per byte, once it is needed

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self.mask is None and not self.rectangles

    def covers(self, row: int, end: int, low: int, high: int) -> bool:
        """Whether one known rectangle holds this one (False does not mean "not written")."""
        for r0, r1, b0, b1 in self.rectangles:
            if r0 <= row and end <= r1 and b0 <= low and high <= b1:
                return True
        return False

    def add(self, row: int, end: int, low: int, high: int) -> None:
        """Note that all of a rectangle is written."""
        if self.mask is not None:
            self.mask.reshape(self.rows, self.pitch)[row:end, low:high] = 1
        rectangles = self.rectangles
        at = 0
        while at < len(rectangles):
            r0, r1, b0, b1 = rectangles[at]
            if r0 <= row and end <= r1 and b0 <= low and high <= b1:
                return
            if r0 == row and r1 == end and b0 <= high and low <= b1:
                low, high = min(b0, low), max(b1, high)
            elif b0 == low and b1 == high and r0 <= end and row <= r1:
                row, end = min(r0, row), max(r1, end)
            elif not (row <= r0 and r1 <= end and low <= b0 and b1 <= high):
                at += 1
                continue
            del rectangles[at]  # merged into this one, which may touch another now
            at = 0
        if len(rectangles) >= _MOST_RECTANGLES:
            self.bytes()
            del rectangles[: _MOST_RECTANGLES // 2]
        rectangles.append((row, end, low, high))

    def bytes(self) -> np.ndarray:
        """Return the mask, uint8[rows * pitch]: 1 where written."""
        mask = self.mask
        if mask is None:
            mask = self.mask = np.zeros(self.rows * self.pitch, np.uint8)
            grid = mask.reshape(self.rows, self.pitch)
            for row, end, low, high in self.rectangles:
                grid[row:end, low:high] = 1
        return mask
