"""Memory that processes share, in as many bytes as are needed.

It has no name and lies on no file system, so ``/dev/shm`` may be as small as it likes, and nothing
stays behind however a process ends.
"""

import mmap
import os
import tempfile

import numpy as np

__all__ = ["Shared"]

_LEAST = 2**16


class Shared:
    """Bytes that this process and those forked after it see."""

    def __init__(self):
        if hasattr(os, "memfd_create"):
            self._fd = os.memfd_create("ranks")
        else:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as this
            self._fd = self._file.fileno()
        self._map: mmap.mmap | None = None

    def array(self, count: int, dtype) -> np.ndarray:
        """Return the first elements as an array, zeros at first; there may be more than before."""
        nbytes = count * np.dtype(dtype).itemsize
        if self._map is None or len(self._map) < nbytes:
            size = max(_LEAST, 1 << (nbytes - 1).bit_length(), os.fstat(self._fd).st_size)
            if os.fstat(self._fd).st_size < size:
                os.ftruncate(self._fd, size)
            self._map = mmap.mmap(self._fd, size)
        return np.frombuffer(self._map, dtype, count)

    def close(self) -> None:
        """Unmap the memory; the system frees it after the last process."""
        self._map = None
        os.close(self._fd)
