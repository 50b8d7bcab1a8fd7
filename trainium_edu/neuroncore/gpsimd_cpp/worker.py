"""The process that an operator's functions run in: started once, asked again and again.

Nothing of the learner's is loaded into Python.  The program forks for every call, so that one call
leaves nothing behind for the next, and a crash ends a child of a child.
"""

import ctypes
import mmap
import os
import signal
import subprocess
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from select import select
from typing import IO, BinaryIO, NamedTuple

import numpy as np

from trainium_edu.neuroncore.gpsimd_cpp import wire
from trainium_edu.neuroncore.gpsimd_cpp.mistakes import OperatorError
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.specs import CUSTOM_OPERATORS

__all__ = ["START_S", "Answer", "Entry", "Worker"]

_PAGE = mmap.PAGESIZE
#: bytes; of more the oldest are lost, as in the runtime's queue
_MOST_PRINTED = int(CUSTOM_OPERATORS.printf_bytes)
_SLACK_S = 5.0
START_S = 10.0  #: within which a program says what it has


class Entry(NamedTuple):
    """One function that the program brings."""

    library: str
    name: str
    kernel: str
    signature: str  #: a letter an argument: T tensor, s scalar


class Answer(NamedTuple):
    """The outcome of one call."""

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
        files = tuple(tempfile.TemporaryFile(dir=_shared_memory()) for _ in range(3))  # noqa: SIM115
        numbers = [file.fileno() for file in files]
        process = subprocess.Popen(
            [str(self.program), self.role, *map(str, numbers)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True, pass_fds=numbers,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        now = _Running(process, process.stdin, process.stdout, files, os.getpid())
        self._end = weakref.finalize(self, _end, now)
        ready, _, _ = select([now.answers], [], [], START_S)
        count_line = now.answers.readline() if ready else b""
        if not count_line:
            self._end()
            raise OperatorError(
                "the program does not get as far as its functions; look at what the constructors "
                "of its global variables do"
            )
        self.count = int(count_line)
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
            The element whose last readers and writers the answer names.
        """
        with self._lock:
            return self._run(
                self._start(), entry, arguments, out, multicore, processors, limits, watch
            )

    def _run(self, running, entry, arguments, out, multicore, processors, limits, watch):
        layout = _Layout(ctypes.sizeof(wire.Call))
        call = wire.Call(entry, len(arguments), multicore, processors, limits.cpu_seconds,
                         limits.memory_bytes, limits.stack_bytes)  # fmt: skip
        call.watch_tensor = -1
        if watch is not None:
            call.watch_tensor, call.watch_element = watch
        placed = []
        for number, value in enumerate(arguments):
            slot = call.argument[number]
            if isinstance(value, float):
                slot.kind, slot.value = 1, value
                continue
            shape, dtype = value if isinstance(value, tuple) else (value.shape, value.dtype.name)
            layout.put(slot.tensor, shape, dtype, multicore)
            placed.append((number, slot.tensor, value))
        if out is not None:
            layout.put(call.out, *out, multicore)
        buffer = np.frombuffer(_shared(running.files[0], layout.end), np.uint8)
        for _, slot, value in placed:
            if isinstance(value, np.ndarray) and value.size:
                there = buffer[slot.offset : slot.offset + value.nbytes]
                there[:] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        buffer[: ctypes.sizeof(call)] = np.frombuffer(bytes(call), np.uint8)
        if out is not None:
            _fresh(buffer, call.out, *out)
        problem = self._ask(running, processors * (2 * limits.cpu_seconds + 2))
        answer = wire.Call.from_buffer_copy(buffer[: ctypes.sizeof(call)].tobytes())
        if problem:
            answer.status, answer.signal = wire.Status.SIGNALLED, problem
        output = np.empty(0)
        if out is not None:
            output = _array(buffer, answer.out.offset, *out).copy()
        touched = ()
        if multicore:
            touched = tuple(
                (number, *_maps(buffer, slot))
                for number, slot in [*((n, s) for n, s, _ in placed), (wire.OUT, call.out)]
            )
        printed, errors = map(_said, running.files[1:])
        os.ftruncate(running.files[0].fileno(), 0)  # it is memory, which others may need
        if problem:
            self._kill()
        return Answer(answer, output, printed, errors, touched)

    def _ask(self, running: "_Running", longest_s: float) -> int:
        """Wait for an answer; without one, return the signal that says why."""
        try:
            running.requests.write(b"\n")
            running.requests.flush()
            ready, _, _ = select([running.answers], [], [], longest_s + _SLACK_S)
            is_done = ready and running.answers.readline() == b"done\n"
        except BaseException:  # Ctrl-C: what runs must not go on
            self._kill()
            raise
        if is_done:
            return 0
        return signal.SIGKILL if ready else signal.SIGALRM

    def _kill(self) -> None:
        self._end()
        self._running = None


class _Running(NamedTuple):
    """A program that was started, and the files that it inherits.

    They have no names, so nothing stays of them when both processes are killed.
    """

    process: subprocess.Popen
    requests: IO[bytes]
    answers: IO[bytes]
    files: tuple[BinaryIO, ...]  #: the call, standard output, standard error
    owner: int  #: the process that started it


def _shared(file: BinaryIO, nbytes: int) -> mmap.mmap:
    """Return an empty file's memory: zeros, all of them there."""
    try:
        os.ftruncate(file.fileno(), nbytes)
        if hasattr(os, "posix_fallocate"):  # where memory is full, an error, and no SIGBUS later
            os.posix_fallocate(file.fileno(), 0, nbytes)
        return mmap.mmap(file.fileno(), nbytes)
    except OSError as problem:
        os.ftruncate(file.fileno(), 0)
        problem.filename = _shared_memory() or tempfile.gettempdir()
        raise


def _said(file: BinaryIO) -> str:
    """Return what a program printed to a file, and empty it."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_PRINTED))
    text = file.read()
    file.seek(0)
    file.truncate()
    return text.decode(errors="replace")


class Limits(NamedTuple):
    """The limits of one call."""

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
    """Fill the result as uninitialised memory: NaN, or the integer 4."""
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
    for file in running.files:
        file.close()
