"""Ask a kernel for its program, and measure that: how a grader times a kernel it must not trust.

The kernel runs where its author's code runs, and only what it recorded leaves: a program, which is
data.  Its instructions are then issued again on a core of the grader's, on arrays of the grader's,
so that values, times and counts are computed here and nobody can report others.

>>> from trainium_edu.exercises.request import Request, measured
>>> from trainium_edu.nki.examples.vector_add import add_tiles
>>> import numpy as np
>>> x = np.ones((128, 512), np.float32)
>>> run = measured(add_tiles(Request((x, x))), x, x)
>>> len(run.program), float(run.outputs[0].max())
(4, 2.0)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trainium_edu.exercises.refusals import sentence
from trainium_edu.exercises.replay import replay
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.execution.deferred import Deferred
from trainium_edu.neuroncore.execution.products import one_blas_thread
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.program_io import from_bytes, to_bytes
from trainium_edu.neuroncore.run import Run
from trainium_edu.nki.kernel import jit
from trainium_edu.nki.launching import execute
from trainium_edu.nki.remedies import WORDS

__all__ = ["Blank", "Request", "measured"]

_MOST_INSTRUCTIONS = 200_000
_MOST_BYTES = 32 << 20


@dataclass(frozen=True)
class Blank:
    """An array of which a kernel is told shape and dtype, and no number.

    A kernel that is recorded with blanks computes no values, so that nothing of its program can
    depend on the numbers that it will be judged by.
    """

    shape: tuple[int, ...]
    dtype: str  #: as ``nl`` names it, "bfloat16"

    def array(self):
        """Return zeros in its place."""
        return np.zeros(self.shape, get_dtype(self.dtype).storage)


@dataclass(frozen=True)
class Request:
    """Arguments for a kernel, with the wish for its program instead of the outputs.

    A kernel called with one Request runs on one NeuronCore, and returns its recorded program as
    bytes (``neuroncore.recording.program_io``), or None if it returns nothing.  Arguments may be
    :class:`Blank`; then what it returns is seen in its program alone.
    """

    arguments: tuple
    keywords: tuple = ()  #: (name, value) pairs
    grid: tuple[int, ...] = ()  #: of instances, in the older interface

    def __repr__(self):
        """Return what a kernel sees: dtypes and shapes, and values where it takes values."""
        arrays = [
            f"{a.dtype}{list(a.shape)}" if hasattr(a, "shape") else repr(a) for a in self.arguments
        ]
        return ", ".join([*arrays, *(f"{name}={value!r}" for name, value in self.keywords)])

    def report(self, kernel) -> bytes | None:
        """Run the kernel and return what it recorded, or None if the kernel returns nothing."""
        blank = any(isinstance(a, Blank) for a in self.arguments)
        arguments = tuple(a.array() if isinstance(a, Blank) else a for a in self.arguments)
        entry = arguments, dict(self.keywords)
        started = jit(kernel)[self.grid] if self.grid else jit(kernel)
        ((outputs, cores),) = execute(started, [entry], values=not blank)
        if len(cores) > 1:
            raise ValueError(sentence("request.programs", count=len(cores)))
        program = cores[0].program
        return to_bytes(program) if blank or outputs is not None else None


def measured(recorded: bytes, *arrays, passes=None, writes=(), spec=None):
    """Issue a recorded program again on these arrays, and return what it gives and takes.

    Parameters
    ----------
    recorded : bytes
        What a kernel called with a :class:`Request` returned.
    *arrays : ndarray
        The arguments, in the kernel's order.  Where one is :class:`Blank`, limits are checked and
        time is predicted, and there are no outputs.
    passes
        As ``nki.run`` takes them.
    writes : iterable of int
        Arguments (from 0) that the kernel writes: they count as outputs, before what it returns.
    spec : specs.Record, optional
        The chip; default the one that it was recorded for.

    Returns
    -------
    neuroncore.run.Run
        Its ``outputs`` are a list of arrays.

    Raises
    ------
    ValueError
        One sentence on why the program cannot be issued again.
    NkiValidationError
        Where the chip refuses an instruction.
    """
    if not isinstance(recorded, bytes) or len(recorded) > _MOST_BYTES:
        raise ValueError("a kernel that is asked for its program returns up to 32 MiB of it")
    program = from_bytes(recorded, "the kernel's program")
    if len(program) > _MOST_INSTRUCTIONS:
        too_long = sentence("request.too_long", count=len(program), most=_MOST_INSTRUCTIONS)
        raise ValueError(too_long)
    for index in program.outputs:
        if program.allocations[index].memory is not Memory.HBM:
            raise ValueError(sentence("request.on_chip"))
    data: dict[int, Any] = {}
    blank = any(isinstance(a, Blank) for a in arrays)
    for info in program.allocations:
        if info.index < len(arrays):  # a kernel's arguments are its first tensors
            given = arrays[info.index] if blank else np.asarray(arrays[info.index])
            about = {"number": info.index + 1, "info": info}
            if info.memory is not Memory.HBM or info.shape != given.shape:
                raise ValueError(sentence("request.shape", **about, shape=given.shape))
            stored = np.dtype(get_dtype(given.dtype).storage)
            if stored != np.dtype(info.dtype.storage):  # a narrower one would move fewer bytes
                raise ValueError(sentence("request.dtype", **about, dtype=given.dtype))
            if not blank:
                data[info.index] = given.copy()
        elif info.name == "identity_constant" and info.memory is Memory.HBM:
            data[info.index] = np.eye(*info.shape, dtype=info.dtype.storage)
        elif info.name == "shared_constant":
            raise ValueError(sentence("request.constants"))
    how: dict = {"rounding": program.rounding, "name": program.name, "values": not blank}
    core = NeuronCore(spec or program.spec, executor=None if blank else Deferred(), **how)
    with one_blas_thread():  # as where the kernel ran
        tiles = replay(program, core, data)
        core.finish()
    again = core.program
    again.outputs = list(dict.fromkeys([*writes, *program.outputs]))
    for info, was in zip(again.allocations, program.allocations, strict=True):
        info.site = was.site  # tiles of one line share its buffers
    outputs = [] if blank else [np.array(core.value(tiles[i])) for i in again.outputs]
    return Run.of(program.name, outputs, [core], words=WORDS, passes=passes)
