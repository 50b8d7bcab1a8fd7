"""How an instruction sees a buffer: start, shape and strides, and the numbers behind them.

A view never copies.  On chip its first axis is the partition axis (contiguous partitions, the same
free pattern on each); in HBM all axes are alike.  Strides and offsets are in bytes.  A view through
another dtype reads the same bits.
"""

from functools import lru_cache
from itertools import pairwise
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import DType, Rounding, get_dtype, to_fp32, write_fp32
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.memory import FRESH_INTEGER, Buffer
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["View", "whole"]


@lru_cache(4096)
def _row_major(shape, itemsize):
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class View:
    """A strided window on a buffer.

    Attributes
    ----------
    buffer : Buffer
    dtype : DType
    shape : tuple of int
    strides : tuple of int    bytes; on chip ``strides[0]`` is one partition (the buffer's pitch)
    offset : int              bytes from the buffer's first byte
    """

    __slots__ = ("_array", "_extent", "_read", "_write", "buffer", "dtype", "offset", "shape",
                 "strides")  # fmt: skip

    indirect = None  #: an ``indirect.Indirect`` where data decides the place

    def __init__(self, buffer: Buffer, dtype: DType, shape, strides, offset=0):
        self.buffer = buffer
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self._array: np.ndarray | None = None  # found when first asked for
        self._extent: tuple[int, int, int, int, bool] | None = None
        self._read: tuple | None = None  #: what an instruction last recorded of it
        self._write: tuple | None = None  #: the same, where it was written

    # -- what it is ---------------------------------------------------------------------------

    @property
    def memory(self) -> Memory:
        """HBM, SBUF or PSUM."""
        return self.buffer.info.memory

    @property
    def partitions(self) -> int:
        """Partitions it spans (on chip)."""
        return self.shape[0]

    @property
    def start_partition(self) -> int:
        """First partition inside the memory (on chip)."""
        pitch = self.buffer.pitch
        return self.buffer.info.start_partition + self.offset // pitch

    @property
    def free_size(self) -> int:
        """Elements per partition: the N of the cost formulas."""
        return prod(self.shape[1:])

    @property
    def size(self) -> int:
        """Elements in all."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes it touches if no stride is 0."""
        return self.size * self.dtype.itemsize

    def __repr__(self):
        return f"{self.buffer.info.name}: {self.dtype}{list(self.shape)} in {self.memory}"

    def footprint(self) -> tuple[int, int, int, int]:
        """Return the rectangle it touches: (first row, row end, first byte, byte end).

        Rows are partitions of the buffer on chip; in HBM they are all axes but the last.
        """
        return (self._extent or self.extent())[:4]

    def extent(self) -> tuple[int, int, int, int, bool]:
        """Return the footprint, and whether every byte of that rectangle is touched."""
        info = self.buffer.info
        if info.memory is Memory.HBM:
            row, low = divmod(self.offset, info.row_bytes)
            rows, low, high, is_dense = _in_hbm(
                self.shape, self.strides, self.dtype.itemsize, info.row_bytes, low
            )
        else:
            pitch = self.buffer.pitch
            row, low = divmod(self.offset, pitch)
            rows = self.shape[0]
            high, is_dense = _on_chip(self.shape, self.strides, self.dtype.itemsize, pitch)
            high += low
        found = self._extent = row, row + rows, low, high, is_dense
        return found

    # -- the numbers --------------------------------------------------------------------------

    def array(self) -> np.ndarray:
        """Return the live NumPy window on the bytes (storage dtype); writing to it skips masks."""
        window, buffer = self._array, self.buffer
        if window is None or buffer.pending is not None:
            window = self._array = np.ndarray(
                self.shape, self.dtype.storage, buffer.base, buffer.start + self.offset,
                self.strides,
            )  # fmt: skip
        return window

    def read(self) -> np.ndarray:
        """Return the stored numbers; what was never written reads NaN (float) or 4 (integer)."""
        values = self.array()
        if self.buffer.all_written or self.is_written():
            return values
        fresh = np.float32("nan") if self.dtype.is_float else FRESH_INTEGER
        return np.where(self.written(), values, np.asarray(fresh).astype(self.dtype.storage))

    def is_written(self) -> bool:
        """Whether every byte that it touches was written before."""
        buffer = self.buffer
        if buffer.all_written:
            return True
        row, end, low, high, is_dense = self._in_base()
        if buffer.written.covers(row, end, low, high):
            return True
        if not bool(self.written().all()):
            return False
        if is_dense:
            buffer.written.add(row, end, low, high)  # the next question is answered at once
        return True

    def written(self) -> np.ndarray:
        """Return which elements were written before, bool[shape]."""
        buffer = self.buffer
        if buffer.all_written:
            return np.ones(self.shape, bool)
        written = buffer.written
        if written.is_empty:
            return np.zeros(self.shape, bool)
        size = self.dtype.itemsize
        return self._marks() == int.from_bytes(b"\1" * size, "little")

    def read_fp32(self) -> np.ndarray:
        """Return the numbers in FP32, as engines compute with them."""
        return to_fp32(self.read(), self.dtype)

    def write_fp32(self, values: np.ndarray, rounding: Rounding) -> None:
        """Round FP32 numbers once into the view's dtype and store them."""
        write_fp32(values, self.dtype, rounding, self.array())
        self.buffer.writes += 1
        if not self.buffer.all_written:
            self.mark_written()

    def write_bits(self, values: np.ndarray) -> None:
        """Store numbers that have the storage dtype already (copies, integer results)."""
        self.array()[...] = values
        self.buffer.writes += 1
        if not self.buffer.all_written:
            self.mark_written()

    def write_where(self, mask: np.ndarray, values: np.ndarray) -> None:
        """Store numbers where `mask` says so, and leave the other places as they were.

        Parameters
        ----------
        mask : bool[shape]
        values : storage dtype, [shape]
        """
        np.copyto(self.array(), values, where=mask)
        self.buffer.writes += 1
        if not self.buffer.all_written:
            self._marks()[mask] = int.from_bytes(b"\1" * self.dtype.itemsize, "little")

    def mark_written(self) -> None:
        """Note that all of the view's bytes hold data now."""
        buffer = self.buffer
        buffer.writes += 1
        if buffer.all_written:
            return
        row, end, low, high, is_dense = self._in_base()
        if not is_dense:
            self._marks()[...] = int.from_bytes(b"\1" * self.dtype.itemsize, "little")
            return
        written = buffer.written
        written.add(row, end, low, high)
        if buffer.start == 0 and written.rectangles[-1] == (0, written.rows, 0, written.pitch):
            buffer.all_written = buffer.info.address is None

    def _in_base(self):
        """Return the extent in rows and bytes of the buffer's base."""
        extent = self._extent or self.extent()
        start = self.buffer.start
        if not start:
            return extent
        row, low = divmod(start, self.buffer.written.pitch)
        return extent[0] + row, extent[1] + row, extent[2] + low, extent[3] + low, extent[4]

    def _marks(self):
        """Return the mask's bytes of each element as one unsigned number, live."""
        return np.ndarray(
            self.shape, f"u{self.dtype.itemsize}", self.buffer.written.bytes(),
            self.buffer.start + self.offset, self.strides,
        )  # fmt: skip

    # -- other views of the same bytes ----------------------------------------------------------

    def _like(self, shape, strides, offset, dtype=None):
        return type(self)(self.buffer, dtype or self.dtype, tuple(shape), tuple(strides), offset)

    def sliced(self, *index) -> "View":
        """Return the part that slices select; ints stay as axes of size 1 on the partition axis.

        Parameters
        ----------
        index : slice or int, one per axis from the left
            Steps are allowed on free axes only (partitions are contiguous).
        """
        sizes, steps, offset = self.shape, self.strides, self.offset
        if len(index) > len(sizes):
            raise IndexError(f"{self!r} has {len(sizes)} axes, but {len(index)} were indexed")
        shape, strides = list(sizes), list(steps)
        on_chip = self.buffer.info.memory is not Memory.HBM
        dropped = 0
        for axis, part in enumerate(index):
            size, stride = sizes[axis], steps[axis]
            if isinstance(part, slice):
                start, stop, step = part.start, part.stop, part.step
                if start is None and stop is None and step is None:
                    continue
                if not (step is None and type(start) is type(stop) is int
                        and 0 <= start < stop <= size):  # fmt: skip
                    start, stop, step = self._bounds(part, axis, size)
                    if step != 1:
                        if on_chip and axis == 0:
                            raise NkiValidationError(
                                f"{self!r}: partitions are read one after another, and step {step} "
                                "skips some; put the strided axis on the free side"
                            )
                        strides[axis - dropped] = stride * step
                        stop = start - (start - stop) // step  # so many, one after another
                shape[axis - dropped] = stop - start
            else:
                start = part.__index__()
                if not -size <= start < size:
                    raise NkiValidationError(
                        f"{self!r}: index {start} is out of bounds for axis {axis} of size {size}"
                    )
                start %= size
                if on_chip and axis == 0:
                    shape[0] = 1
                else:
                    del shape[axis - dropped], strides[axis - dropped]
                    dropped += 1
            offset += start * stride
        if on_chip and len(shape) < 2:
            shape.append(1)
            strides.append(self.dtype.itemsize)
        return type(self)(self.buffer, self.dtype, tuple(shape), tuple(strides), offset)

    def _bounds(self, part: slice, axis: int, size: int) -> tuple[int, int, int]:
        step = 1 if part.step is None else part.step.__index__()
        start = 0 if part.start is None else part.start.__index__()
        stop = size if part.stop is None else part.stop.__index__()
        start, stop = start + size * (start < 0), stop + size * (stop < 0)
        if step < 1 or not 0 <= start < stop <= size:
            bounds = (part.start, part.stop, part.step)[: 2 + (part.step is not None)]
            text = ":".join("" if bound is None else str(bound) for bound in bounds)
            raise NkiValidationError(
                f"{self!r}: slice {text} on axis {axis} is out of bounds or empty; the axis has "
                f"{size} elements and steps are >= 1 (the last, shorter tile ends at min(end, "
                f"{size}))"
            )
        return start, stop, step

    def reshaped(self, *shape: int) -> "View":
        """Return the same elements in another shape, where that needs no copy."""
        count = prod(shape)
        if count != self.size:
            raise NkiValidationError(
                f"{self!r} has {self.size} elements, but shape {list(shape)} has {count}"
            )
        if self.memory is not Memory.HBM and (not shape or shape[0] != self.shape[0]):
            raise NkiValidationError(
                f"{self!r}: a reshape keeps the partition axis ({self.shape[0]}), because "
                "renaming axes does not move data between partitions"
            )
        strides = _reshaped_strides(self.shape, self.strides, shape)
        if strides is None:
            raise NkiValidationError(
                f"{self!r} is not contiguous, so shape {list(shape)} would need a copy; "
                "copy it into a new tile first"
            )
        return self._like(shape, strides, self.offset)

    def permuted(self, *axes: int) -> "View":
        """Return the view with its axes in another order (partition axis stays first on chip)."""
        if sorted(axes) != list(range(len(self.shape))):
            raise NkiValidationError(f"{self!r}: axes {axes} are not a permutation of its axes")
        if self.memory is not Memory.HBM and axes[0] != 0:
            raise NkiValidationError(
                f"{self!r}: the partition axis stays first; moving it needs nc_transpose"
            )
        return self._like(
            (self.shape[a] for a in axes), (self.strides[a] for a in axes), self.offset
        )

    def broadcast(self, *shape: int) -> "View":
        """Return the view with axes of size 1 repeated (stride 0); partitions do not repeat."""
        if len(shape) != len(self.shape):
            raise NkiValidationError(f"{self!r}: broadcast to {list(shape)} adds or removes axes")
        strides = []
        for axis, (have, want, stride) in enumerate(
            zip(self.shape, shape, self.strides, strict=True)
        ):
            if have != want and (have != 1 or (axis == 0 and self.memory is not Memory.HBM)):
                raise NkiValidationError(
                    f"{self!r}: axis {axis} has {have} elements and cannot be repeated to {want}"
                    + ("; partitions are repeated by the Tensor Engine" if axis == 0 else "")
                )
            strides.append(stride if have == want else 0)
        return self._like(shape, strides, self.offset)

    def as_dtype(self, dtype) -> "View":
        """Return the same bits read as another dtype; the last axis is rescaled."""
        dtype = get_dtype(dtype)
        old, new = self.dtype.itemsize, dtype.itemsize
        if old == new:
            return self._like(self.shape, self.strides, self.offset, dtype)
        last = self.shape[-1] * old
        is_dense = self.shape[-1] == 1 or self.strides[-1] == old
        if not is_dense or last % new:
            raise NkiValidationError(
                f"{self!r}: the last axis has {last} bytes"
                + ("" if is_dense else ", not contiguous,")
                + f" and {dtype} takes {new} at a time; reinterpret before slicing, or copy"
            )
        on_chip = self.memory is not Memory.HBM  # there each partition is a memory of its own
        start = self.offset % self.buffer.pitch if on_chip else self.offset
        rows = list(zip(self.shape, self.strides, strict=True))[on_chip:-1]
        apart = [stride for size, stride in rows if size > 1]
        if any(place % new for place in (start, *apart)):
            raise NkiValidationError(
                f"{self!r} starts at byte {start}, and its rows lie {apart} bytes apart; as "
                f"{dtype} both must be whole elements, multiples of {new} bytes"
            )
        return self._like(
            (*self.shape[:-1], last // new), (*self.strides[:-1], new), self.offset, dtype
        )


@lru_cache(4096)
def _on_chip(shape, strides, itemsize, pitch) -> tuple[int, bool]:
    """Return how many bytes of each partition a pattern reaches over, and whether it is dense."""
    reach = step = itemsize
    is_dense = shape[0] == 1 or strides[0] == pitch
    for axis in range(len(shape) - 1, 0, -1):
        size = shape[axis]
        if size != 1:
            stride = strides[axis]
            is_dense = is_dense and stride == step
            reach += (size - 1) * stride
            step *= size
    return reach, is_dense


@lru_cache(4096)
def _in_hbm(shape, strides, itemsize, pitch, low) -> tuple[int, int, int, bool]:
    """Return (rows, first byte, byte end, whether dense) of a pattern from byte `low` of a row."""
    high, rows, run, apart = low + itemsize, 0, itemsize, []
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if stride == run and not apart:
            run *= size  # one after another so far
        else:
            apart.append(stride)
        if stride >= pitch:
            rows += (size - 1) * (stride // pitch)
            high += (size - 1) * (stride % pitch)
        else:
            high += (size - 1) * stride
    fits = low + run <= pitch
    if high > pitch:  # runs over the end of a row: whole rows
        rows += -(-high // pitch)
        return rows, 0, pitch, not apart and low == 0 and run == rows * pitch
    is_dense = fits and (not apart or apart == [pitch])
    if not apart and not fits:
        is_dense = low == 0 and run % pitch == 0
    return rows + 1, low, high, is_dense


def whole(buffer: Buffer) -> View:
    """Return the view of a whole buffer."""
    info = buffer.info
    if info.memory is Memory.HBM:
        strides = _row_major(info.shape, info.dtype.itemsize)
    else:
        strides = (buffer.pitch, *_row_major(info.shape[1:], info.dtype.itemsize))
    return View(buffer, info.dtype, info.shape, strides)


def _reshaped_strides(shape, strides, new) -> tuple[int, ...] | None:
    """Return the strides of the same elements in another shape, or None if that takes a copy.

    Groups of axes of equal size are matched from the front, as NumPy does; NumPy itself is not
    asked, since it tries the copy before it says no, and these bytes may not be there.
    """
    old = [(size, step) for size, step in zip(shape, strides, strict=True) if size != 1]
    new_strides, begin, first = [0] * len(new), 0, 0
    while begin < len(new) and first < len(old):
        end, last = begin + 1, first + 1
        have, want = old[first][0], new[begin]
        while have != want:
            if want < have:
                want, end = want * new[end], end + 1
            else:
                have, last = have * old[last][0], last + 1
        group = old[first:last]
        if any(a != n * b for (_, a), (n, b) in pairwise(group)):
            return None
        new_strides[end - 1] = group[-1][1]
        for axis in range(end - 1, begin, -1):
            new_strides[axis - 1] = new_strides[axis] * new[axis]
        begin, first = end, last
    for axis in range(begin, len(new)):  # of size 1
        new_strides[axis] = new_strides[begin - 1] if begin else 1
    return tuple(new_strides)
