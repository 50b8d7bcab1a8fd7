"""Ask a kernel for a report on its run as plain data: what a grader in another process can send.

>>> from trainium_edu.nki.request import Request
>>> from trainium_edu.nki.examples.vector_add import add_tiles
>>> import numpy as np
>>> x = np.ones((128, 512), np.float32)
>>> report = add_tiles(Request((x, x)))
>>> report["instructions"]["tensor_tensor"], float(report["outputs"][0].max())
(1, 2.0)
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """Arguments for a kernel, with the wish for a report instead of the outputs alone.

    A kernel called with one Request runs as ``nki.run`` runs it, and returns a dict: ``outputs``
    (list of arrays), ``makespan_ns``, ``mfu``, ``hbm_bytes``, ``instructions`` (name → count) and
    ``unwritten_reads`` (count).
    """

    arguments: tuple
    keywords: tuple = ()  #: (name, value) pairs
    buffers: int | None = None

    def __repr__(self):
        """Return what a kernel sees: dtypes and shapes, and values where it takes values."""
        arrays = [
            f"{a.dtype}{list(a.shape)}" if hasattr(a, "shape") else repr(a) for a in self.arguments
        ]
        return ", ".join([*arrays, *(f"{name}={value!r}" for name, value in self.keywords)])

    def report(self, kernel) -> dict[str, Any] | None:
        """Run the kernel and return the report, or None if the kernel returns nothing."""
        from trainium_edu.nki.kernel import run

        found = run(kernel, *self.arguments, buffers=self.buffers, **dict(self.keywords))
        if found.outputs is None:
            return None
        outputs = found.outputs if isinstance(found.outputs, tuple | list) else [found.outputs]
        (program,) = found.programs
        return {
            "outputs": list(outputs),
            "makespan_ns": float(found.timeline.makespan_ns),
            "mfu": float(found.timeline.mfu),
            "hbm_bytes": int(found.timeline.hbm_bytes),
            "instructions": dict(Counter(i.name for i in program.instructions)),
            "unwritten_reads": sum(w.kind == "uninitialised" for w in found.warnings),
        }
