"""The process that an operator's functions run in: started once, asked again and again.

Nothing of the learner's is loaded into Python.  The program forks for every call, so that one call
leaves nothing behind for the next, and a crash ends a child of a child.
"""

import ctypes
import mmap
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from select import select
from typing import IO, NamedTuple

import numpy as np

from trainium_edu.neuroncore.gpsimd_cpp import wire
from trainium_edu.neuroncore.gpsimd_cpp.mistakes import OperatorError
from trainium_edu.neuroncore.recording.dtypes import DTYPES

__all__ = ["START_S", "Answer", "Entry", "Worker"]

_PAGE = mmap.PAGESIZE
_MOST_PRINTED = 128 * 1024  #: bytes; of more the oldest are lost, as in the runtime's queue
_SLACK_S = 5.0
START_S = 10.0  #: within which a program says what it has


class Entry(NamedTuple):
    """One function that the program brings."""

    library: str
    name: str
    kernel: str
    signature: str  #: a letter an argument: T tensor, s scalar


class Answer(NamedTuple):
    """What came back."""

    call: wire.Call
    output: np.ndarray  #: empty if none was asked for
    printed: str
    errors: str
    touched: tuple = ()  #: (slot, readers, writers): uint8[elements], a bit for each processor


class Worker:
    """One program, waiting for calls.

    Parameters
    ----------
    program : Path
    role : {"kernel", "shape"}
    """

    def __init__(self, program: Path, role: str):
        self.program, self.role = program, role
        self._lock = threading.Lock()
        self._running: _Running | None = None
        with self._lock:
            self._start()

    def _start(self) -> "_Running":
        """Return the running program; start it, unless it runs and belongs to this process."""
        now = self._running
        if now and now.owner == os.getpid() and now.process.poll() is None:
            return now
        folder = Path(tempfile.mkdtemp(prefix="trainium_edu-", dir=_shared_memory()))
        process = subprocess.Popen(
            [str(self.program), self.role], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        now = _Running(process, process.stdin, process.stdout, folder, os.getpid())
        self._end = weakref.finalize(self, _end, now)
        ready, _, _ = select([now.answers], [], [], START_S)
        said = now.answers.readline() if ready else b""
        if not said:
            self._end()
            raise OperatorError(
                "the program does not get as far as its functions; look at what the constructors "
                "of its global variables do"
            )
        self.count = int(said)
        lines = [now.answers.readline().decode() for _ in range(min(self.count, 64))]
        self.entries = [Entry(*line.rstrip("\n").split("\t")) for line in lines]
        self._running = now
        return now

    def run(self, entry: int, arguments, out=None, *, multicore=False, processors=1,
            limits: "Limits", watch=None) -> Answer:  # fmt: skip
        """Run one function.

        Parameters
        ----------
        entry : int
        arguments : sequence of array, float, or (shape, dtype name)
        out : (shape, dtype name), optional
        multicore : bool
        processors : int
        limits : Limits
        watch : (slot, element), optional
            The element whose last readers and writers are to be named.
        """
        with self._lock:
            return self._run(
                self._start(), entry, arguments, out, multicore, processors, limits, watch
            )

    def _run(self, running, entry, arguments, out, multicore, processors, limits, watch):
        path = running.folder / "call"
        layout, size = _Layout(ctypes.sizeof(wire.Call)), 0
        call = wire.Call(entry, len(arguments), multicore, processors, limits.cpu_seconds,
                         limits.memory_bytes, limits.stack_bytes)  # fmt: skip
        call.watch_tensor = -1
        if watch is not None:
            call.watch_tensor, call.watch_element = watch
        placed = []
        for number, given in enumerate(arguments):
            slot = call.argument[number]
            if isinstance(given, float):
                slot.kind, slot.value = 1, given
                continue
            shape, dtype = given if isinstance(given, tuple) else (given.shape, given.dtype.name)
            layout.put(slot.tensor, shape, dtype, multicore)
            placed.append((number, slot.tensor, given))
        if out is not None:
            layout.put(call.out, *out, multicore)
        size = layout.end
        path.touch()
        for length in (0, size):  # all of it zeros, whatever an earlier call left there
            os.truncate(path, length)
        with path.open("r+b") as file:
            shared = mmap.mmap(file.fileno(), size)
        buffer = np.frombuffer(shared, np.uint8)
        for _, slot, given in placed:
            if isinstance(given, np.ndarray) and given.size:
                there = buffer[slot.offset : slot.offset + given.nbytes]
                there[:] = np.ascontiguousarray(given).reshape(-1).view(np.uint8)
        buffer[: ctypes.sizeof(call)] = np.frombuffer(bytes(call), np.uint8)
        if out is not None:
            _fresh(buffer, call.out, *out)
        self._ask(running, path, limits)
        answer = wire.Call.from_buffer_copy(buffer[: ctypes.sizeof(call)].tobytes())
        output = np.empty(0)
        if out is not None:
            output = _array(buffer, answer.out.offset, *out).copy()
        touched = ()
        if multicore:
            touched = tuple(
                (number, *_maps(buffer, slot))
                for number, slot in [*((n, s) for n, s, _ in placed), (wire.OUT, call.out)]
            )
        printed, errors = (_said(running.folder / f"call.{kind}") for kind in ("out", "err"))
        return Answer(answer, output, printed, errors, touched)

    def _ask(self, running: "_Running", path: Path, limits: "Limits") -> None:
        try:
            running.requests.write(f"{path}\n".encode())
            running.requests.flush()
            longest = 16 * limits.cpu_seconds + _SLACK_S
            ready, _, _ = select([running.answers], [], [], longest)
            said = running.answers.readline() if ready else b""
        except BaseException:  # Ctrl-C: what runs must not go on
            self._kill()
            raise
        if said != b"done\n":
            self._kill()

    def _kill(self) -> None:
        self._end()
        self._running = None


class _Running(NamedTuple):
    """A program that was started, and the folder in which it finds calls."""

    process: subprocess.Popen
    requests: IO[bytes]
    answers: IO[bytes]
    folder: Path
    owner: int  #: the process that started it


def _said(path: Path) -> str:
    """Return what a program printed to a file, and empty it."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_PRINTED))
            text = file.read()
        path.unlink()
    except FileNotFoundError:
        return ""
    return text.decode(errors="replace")


class Limits(NamedTuple):
    """What one call may use."""

    cpu_seconds: int = 10
    memory_bytes: int = 4 << 30
    stack_bytes: int = 8192


class _Layout:
    """Places tensors behind the call, one after the other."""

    def __init__(self, end: int):
        self.end = _pages(end) + _PAGE

    def take(self, nbytes: int) -> int:
        """Return a place that ends with a page; the next page is a guard."""
        self.end += _pages(nbytes) + _PAGE
        return self.end - _PAGE - nbytes

    def put(self, slot: wire.TensorSlot, shape, dtype: str, multicore: bool) -> None:
        count = int(np.prod(shape, dtype=np.int64))
        slot.dtype, slot.dims = wire.DTYPES.index(dtype), len(shape)
        slot.sizes[: len(shape)] = list(map(int, shape))
        slot.offset = self.take(count * DTYPES[dtype].storage.itemsize)
        slot.touched = self.take(2 * count) if multicore else 0


def _pages(nbytes: int) -> int:
    return max(1, -(-nbytes // _PAGE)) * _PAGE


def _array(buffer, offset, shape, dtype):
    storage = DTYPES[dtype].storage
    nbytes = int(np.prod(shape, dtype=np.int64)) * storage.itemsize
    return buffer[offset : offset + nbytes].view(storage).reshape(shape)


def _fresh(buffer, slot, shape, dtype) -> None:
    """Fill the room of the result as memory is that nobody wrote: NaN, or the integer 4."""
    there = _array(buffer, slot.offset, shape, dtype)
    there[...] = 4 if there.dtype.kind in "iu" else np.nan


def _maps(buffer, slot):
    count = int(np.prod(slot.sizes[: slot.dims], dtype=np.int64))
    both = buffer[slot.touched : slot.touched + 2 * count].copy()
    return both[:count], both[count:]


def _shared_memory() -> str | None:
    """Return a folder that is memory, where there is one."""
    folder = "/dev/shm"
    return folder if os.path.isdir(folder) and os.access(folder, os.W_OK) else None


def _end(running: _Running) -> None:
    """End the program and what it started."""
    if os.getpid() != running.owner:
        return
    running.requests.close()
    running.answers.close()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(running.process.pid, signal.SIGKILL)
    running.process.wait()
    shutil.rmtree(running.folder, ignore_errors=True)
