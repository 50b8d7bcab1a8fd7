"""SBUF, PSUM and HBM as bytes: what an allocation owns, what was written, what fresh memory reads.

A tile with a stated address is a window on the memory's own bytes, so two tiles at one address
overwrite each other.  A tile without one has storage of its own while the kernel runs; its address
comes later, from ``placement``.  HBM is accounted and allocated tensor by tensor.
"""

from math import prod
from operator import index
from typing import Any

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import DType, get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.written import Written
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Allocation", "Buffer", "OnChipMemory", "allowed_starts", "check_start_partition"]

FRESH_INTEGER = 4  # what AWS's simulator reads from fresh integer memory (specs: fresh_memory)


class Allocation:
    """The record that a program keeps of one buffer: everything but its values."""

    __slots__ = ("address", "dtype", "index", "memory", "name", "partitions", "row_bytes",
                 "shape", "site", "start_partition")  # fmt: skip

    def __init__(self, index, name, memory, shape, dtype, row_bytes, site, address=None,
                 start_partition=0):  # fmt: skip
        self.index = index  #: position in ``program.allocations``
        self.name = name
        self.memory = memory
        self.shape = shape
        self.dtype = dtype
        self.row_bytes = row_bytes  #: on chip: bytes per partition; HBM: bytes of the last axis
        self.site = site  #: (file, line, shape, dtype, memory): where it was allocated
        self.address = address  #: stated byte offset inside each partition, or None
        self.start_partition = start_partition
        self.partitions = shape[0] if memory is not Memory.HBM else 0

    def __repr__(self):
        where = "" if self.address is None else f" at byte {self.address}"
        return f"{self.name}: {self.dtype}{list(self.shape)} in {self.memory}{where}"


class Buffer:
    """One allocation with its bytes.

    Attributes
    ----------
    info : Allocation
    start : int          where this buffer's first byte is in ``base``
    pitch : int          bytes from one partition to the next in `base` (on chip)
    """

    __slots__ = ("__weakref__", "_base", "accumulating", "all_written", "info", "is_private",
                 "pending", "pitch", "start", "writes", "written")  # fmt: skip

    def __init__(self, info: Allocation, base, start, pitch, written, *, is_private=False):
        self.pending: Any = None  #: what is yet to be computed into or from it, with ``finish()``
        self.info = info
        self._base = base  #: None in a program recorded without values
        self.is_private = is_private  #: nobody else sees these bytes
        self.start = start
        self.pitch = pitch
        self.written = written  #: which bytes of `base` hold data
        self.all_written = False  #: short for: all that this allocation owns
        self.accumulating = None  #: PSUM: which locations hold a matmul's sum, or None
        self.writes = 0  #: how often its bytes changed

    @property
    def base(self):
        """The bytes, after all pending work on them is done."""
        if self.pending is not None:
            self.pending.finish()
        return self._base

    @property
    def nbytes(self) -> int:
        """Bytes in `base`."""
        return self._base.size

    def adopt(self, data) -> None:
        """Use the caller's bytes instead of its own."""
        self._base = data
        self.is_private = False
        self.all_written = True


class OnChipMemory:
    """The bytes of SBUF or PSUM: ``partitions`` rows of ``bytes_per_partition``.

    Parameters
    ----------
    memory : Memory
    record : specs.Record
        ``TRN1.sbuf`` or ``TRN1.psum``.
    """

    def __init__(self, memory: Memory, record):
        self.memory = memory
        self.partitions = int(record.partitions)
        self.bytes_per_partition = int(record.bytes_per_partition)
        self.bank_bytes = int(record.bank_bytes) if memory is Memory.PSUM else None
        self._bytes: np.ndarray | None = None
        self._written = Written(self.partitions, self.bytes_per_partition)
        self.stated = []  #: Allocations with an address, in order
        self.is_virtual = False  #: a compiler moves out what is too wide

    @property
    def bytes(self) -> np.ndarray:
        """The memory itself, uint8[partitions * bytes_per_partition]; made on first use."""
        data = self._bytes
        if data is None:
            data = self._bytes = np.zeros(self.partitions * self.bytes_per_partition, np.uint8)
        return data

    def check(self, shape, dtype: DType, name: str, address, start_partition) -> int:
        """Check the limits of one tile and return its bytes per partition."""

        def it():
            return f"{name}: {dtype}{list(shape)} in {self.memory.upper()}"

        if len(shape) < 2:
            size = shape[0] if shape else 1
            raise NkiValidationError(
                f"{it()} has {len(shape)} dimension; on-chip tiles are [partition, free, ...], so "
                f"write the shape as ({size}, 1) or (1, {size})"
            )
        if shape[0] > self.partitions:
            raise NkiValidationError(
                f"{it()}: partition dimension {shape[0]} exceeds maximum {self.partitions}; the "
                f"memory has {self.partitions} partitions, so split the first axis into tiles"
            )
        row_bytes = dtype.itemsize * prod(shape[1:])
        if row_bytes > self.bytes_per_partition and not self.is_virtual:
            raise NkiValidationError(
                f"{it()} needs {row_bytes} bytes in each partition, and {self.memory.upper()} has "
                f"{self.bytes_per_partition}; use a shorter free axis or a narrower dtype"
            )
        if address is not None and not 0 <= address <= self.bytes_per_partition - row_bytes:
            raise NkiValidationError(
                f"{it()} at byte {address} would end at byte {address + row_bytes}, and a partition"
                f" of {self.memory.upper()} has {self.bytes_per_partition} bytes"
            )
        if start_partition:
            check_start_partition(start_partition, shape[0], it())
        return row_bytes

    def buffer(self, info: Allocation) -> Buffer:
        """Return the window of a stated address."""
        self.stated.append(info)
        data = self.bytes
        start = info.start_partition * self.bytes_per_partition + info.address
        return Buffer(info, data, start, self.bytes_per_partition, self._written)


def own_buffer(info: Allocation, *, values: bool) -> Buffer:
    """Return a buffer with storage of its own (or none, in a program without values)."""
    rows = info.partitions if info.memory is not Memory.HBM else 1
    pitch = info.row_bytes
    if info.memory is Memory.HBM:
        pitch = info.dtype.itemsize * prod(info.shape)
    base = np.empty(rows * pitch, np.uint8) if values else None
    row_bytes = info.row_bytes  # in HBM a row is the last axis
    written = Written(rows * pitch // row_bytes, row_bytes)
    return Buffer(info, base, 0, pitch, written, is_private=True)


def allowed_starts(partitions: int) -> tuple[int, ...]:
    """Return the partitions on which an access to this many partitions may start."""
    return (0,) if partitions > 64 else (0, 64) if partitions > 32 else (0, 32, 64, 96)


def check_start_partition(start: int, partitions: int, operand) -> None:
    """Raise unless engines can start an access to this many partitions there."""
    if start == 0 and partitions <= 128:
        return
    if start not in allowed_starts(partitions) or start + partitions > 128:
        raise NkiValidationError(
            f"{operand!s} starts on partition {start}; an access to {partitions} partitions starts "
            f"on {' or '.join(map(str, allowed_starts(partitions)))} and ends by 127, because "
            "engines are wired to quarters of 32 partitions; move it, or copy it there by DMA"
        )


def tensor_shape(shape, name: str) -> tuple[int, ...]:
    """Return `shape` as a tuple of positive ints; raise for anything else."""
    if isinstance(shape, int):
        shape = (shape,)
    try:
        sizes = tuple(index(size) for size in shape)
        if bool in map(type, shape):
            raise TypeError
    except TypeError:
        raise TypeError(f"{name}: shape {shape!r} must be a tuple of whole numbers") from None
    if sizes and min(sizes) < 1:
        raise NkiValidationError(f"{name}: shape {list(shape)} has a size below 1; sizes are >= 1")
    return sizes


def make_allocation(index, name, memory, shape, dtype, site, address=None, start_partition=0):
    """Return the Allocation of a checked shape (see ``NeuronCore.allocate``)."""
    dtype = get_dtype(dtype)
    row_bytes = dtype.itemsize * prod(shape[1:] if memory is not Memory.HBM else shape[-1:])
    return Allocation(index, name, memory, shape, dtype, row_bytes, site, address, start_partition)
