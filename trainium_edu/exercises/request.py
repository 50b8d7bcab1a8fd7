"""Ask a kernel for its program, and measure that: how a grader times a kernel it must not trust.

The kernel runs where its author's code runs, and only what it recorded leaves: a program, which is
data.  Its instructions are then issued again on a core of the grader's, on arrays of the grader's,
so that values, times and counts are computed here and nobody can report others.

>>> from trainium_edu.exercises.request import Request, measured
>>> from trainium_edu.nki.examples.vector_add import add_tiles
>>> import numpy as np
>>> x = np.ones((128, 512), np.float32)
>>> found = measured(add_tiles(Request((x, x))), x, x)
>>> found["instructions"]["tensor_tensor"], float(found["outputs"][0].max())
(1, 2.0)
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

__all__ = ["Request", "measured"]

_MOST_INSTRUCTIONS = 200_000
_MOST_BYTES = 32 << 20


@dataclass(frozen=True)
class Request:
    """Arguments for a kernel, with the wish for its program instead of the outputs.

    A kernel called with one Request runs on one NeuronCore, and returns its recorded program as
    bytes (``neuroncore.recording.program_io``), or None if it returns nothing.
    """

    arguments: tuple
    keywords: tuple = ()  #: (name, value) pairs

    def __repr__(self):
        """Return what a kernel sees: dtypes and shapes, and values where it takes values."""
        arrays = [
            f"{a.dtype}{list(a.shape)}" if hasattr(a, "shape") else repr(a) for a in self.arguments
        ]
        return ", ".join([*arrays, *(f"{name}={value!r}" for name, value in self.keywords)])

    def report(self, kernel) -> bytes | None:
        """Run the kernel and return what it recorded, or None if the kernel returns nothing."""
        from trainium_edu.neuroncore.recording.program_io import to_bytes
        from trainium_edu.nki.kernel import jit
        from trainium_edu.nki.launching import execute

        ((outputs, cores),) = execute(jit(kernel), [(self.arguments, dict(self.keywords))])
        return None if outputs is None else to_bytes(cores[0].program)


def measured(recorded: bytes, *arrays, buffers: int | None = None) -> dict[str, Any]:
    """Issue a recorded program again on these arrays, and return what it gives and takes.

    Parameters
    ----------
    recorded : bytes
        What a kernel called with a :class:`Request` returned.
    *arrays : ndarray
        The arguments, in the kernel's order.
    buffers : int, optional
        As ``nki.run`` takes it.

    Returns
    -------
    dict
        ``outputs`` (list of arrays), ``makespan_ns``, ``mfu``, ``hbm_bytes``, ``instructions``
        (name → count) and ``timeline``.

    Raises
    ------
    ValueError
        One sentence on why the program cannot be issued again.
    NkiValidationError
        Where the chip refuses an instruction.
    """
    import numpy as np

    from trainium_edu.exercises.replay import replay
    from trainium_edu.neuroncore import NeuronCore
    from trainium_edu.neuroncore.execution.deferred import Deferred
    from trainium_edu.neuroncore.recording.engine import Memory
    from trainium_edu.neuroncore.recording.program_io import from_bytes
    from trainium_edu.neuroncore.timing.measure import measure

    if not isinstance(recorded, bytes) or len(recorded) > _MOST_BYTES:
        raise ValueError("a kernel that is asked for its program returns up to 32 MiB of it")
    program = from_bytes(recorded, "the kernel's program")
    if len(program) > _MOST_INSTRUCTIONS:
        raise ValueError(
            f"the kernel records {len(program)} instructions, and at most {_MOST_INSTRUCTIONS} are"
            " issued again; let each do more"
        )
    data: dict[int, Any] = {}
    for info in program.allocations:
        if info.index < len(arrays):  # a kernel's arguments are its first tensors
            given = np.asarray(arrays[info.index])
            if info.memory is not Memory.HBM or info.shape != given.shape:
                raise ValueError(
                    f"argument {info.index + 1} of the program is {info.memory} {info.shape}, and"
                    f" its array has shape {given.shape}"
                )
            data[info.index] = given.copy()
        elif info.name == "identity_constant" and info.memory is Memory.HBM:
            data[info.index] = np.eye(*info.shape, dtype=info.dtype.storage)
        elif info.name == "shared_constant":
            raise ValueError(
                "the kernel brings constants of its own; compute from its arguments alone"
            )
    core = NeuronCore(
        program.spec, rounding=program.rounding, name=program.name, executor=Deferred()
    )
    tiles = replay(program, core, data)
    core.finish()
    again = core.program
    again.outputs = list(program.outputs)
    for info, was in zip(again.allocations, program.allocations, strict=True):
        info.site = was.site  # tiles of one line share its buffers
    timeline = measure(again, buffers=buffers)
    return {
        "outputs": [np.array(core.value(tiles[index])) for index in again.outputs],
        "makespan_ns": float(timeline.makespan_ns),
        "mfu": float(timeline.mfu),
        "hbm_bytes": int(timeline.hbm_bytes),
        "instructions": dict(Counter(i.name for i in again.instructions)),
        "timeline": timeline,
    }
