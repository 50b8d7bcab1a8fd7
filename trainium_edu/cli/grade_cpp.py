"""Compile and run a submission's C++ apart: in a process behind the system's walls.

A grader must not run a text that it was handed.  It starts a process as it does for a kernel file,
with the submission's limits on time, memory and files, and asks that for what the text gives
(``kernel_call.run_cpp``).  Correct results are not known there; the checks compare.  The process
goes on as long as the text is the same, so that hidden rounds compile nothing again.
"""

import tempfile
from pathlib import Path

import numpy as np

from trainium_edu.cli.apart import Apart, Stopped
from trainium_edu.cli.limits import Limits
from trainium_edu.exercises import cpp
from trainium_edu.neuroncore.engines.custom_op import Work

__all__ = ["CppApart"]

_COMPILE_S = 30.0


class CppApart:
    """Runs jobs as :func:`cpp.run_here` does, in another process; ends with the ``with``.

    Parameters
    ----------
    walls : bool
        Whether it stands behind the system's walls.
    limits : Limits
    """

    def __init__(self, walls: bool, limits: Limits):
        self._seconds, self._text = limits.seconds, ""
        self._folder = tempfile.TemporaryDirectory(prefix="cpp-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name).resolve()
        self._process = Apart("kernel_call", folder, limits, walls=walls)

    def __enter__(self):
        cpp.use(self)
        return self

    def __exit__(self, *_):
        cpp.use(cpp.run_here)
        self._process.stop()
        self._folder.cleanup()

    def __call__(self, job: cpp.Job, *, patience_s: float = _COMPILE_S) -> dict:
        """Run a job over there, with patience for the compiler besides its limit.

        Raises
        ------
        Stopped
            If it does not end in time, or ends the process.
        """
        if job.kernel != self._text:
            self._process.stop()
            self._text = job.kernel
        arguments = job.name, job.kernel, job.shape, job.multicore, list(job.cases)
        _, told, *_ = self._process.ask(
            "run_cpp", *arguments, doing="its C++", seconds=patience_s + self._seconds
        )
        try:
            outcomes, problem, text, line = told
            outcomes = [cpp.Outcome(_checked(output), tuple(Work(*map(int, w)) for w in works),
                                    float(ns)) for output, works, ns in outcomes]  # fmt: skip
            wrong = {"problem": str(problem), "text": str(text), "line": int(line)}
            return {"outcomes": outcomes} | (wrong if problem else {})
        except (ValueError, TypeError):
            raise Stopped("its C++ ended the process that runs it") from None


def _checked(array) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype.name not in ("float32", "int32"):
        raise ValueError("no output of an operator")
    return array
