"""Compile and run a submission's C++ apart: in a process behind the system's walls.

A grader must not run a text that it was handed.  It starts a process as it does for a kernel file,
with the submission's limits on time, memory and files, and asks that for what the text gives
(``kernel_call.run_cpp``).  Correct results are not known there; the checks compare.  The process
goes on as long as the text is the same, so that hidden rounds compile nothing again.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from trainium_edu.cli import sandbox
from trainium_edu.cli.limits import Limits
from trainium_edu.cli.submission_kernel import Stopped, SubmissionKernel
from trainium_edu.exercises import cpp
from trainium_edu.neuroncore.engines.custom_op import Work

__all__ = ["Apart"]

_COMPILE_S = 30.0


class Apart:
    """Runs jobs as :func:`cpp.run_here` does, in another process; ends with the ``with``.

    Parameters
    ----------
    walls : bool
        Whether it stands behind the system's walls.
    limits : Limits
    """

    def __init__(self, walls: bool, limits: Limits):
        self._walls, self._limits = walls, limits
        self._text = ""
        self._process: Any = None  # a SubmissionKernel once one runs

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="cpp-", ignore_cleanup_errors=True)
        cpp.use(self)
        return self

    def __exit__(self, *_):
        cpp.use(cpp.run_here)
        if self._process:
            self._process.stop()
        self._folder.cleanup()

    def __call__(self, job: cpp.Job, *, patience_s: float = _COMPILE_S) -> dict:
        """Run a job over there, with patience for the compiler besides its limit.

        Raises
        ------
        Stopped
            If it does not end in time, or ends the process.
        """
        if self._process is None or job.kernel != self._text:
            self._start()
            self._text = job.kernel
        self._process.seconds = patience_s + self._limits.seconds
        arguments = job.name, job.kernel, job.shape, job.multicore, list(job.cases)
        try:
            told = self._process.call("run_cpp", arguments, {})
        except Stopped as stop:
            self._process = None
            within = f"its C++ did not end within {self._limits.seconds:g} s"
            raise Stopped(within if "did not end" in str(stop) else _ENDED) from None
        except Exception:  # not one that ours could raise
            raise Stopped(_ENDED) from None
        try:
            outcomes, problem, text, line = told
            outcomes = [cpp.Outcome(_checked(output), tuple(Work(*map(int, w)) for w in works),
                                    float(ns)) for output, works, ns in outcomes]  # fmt: skip
        except (ValueError, TypeError):
            raise Stopped(_ENDED) from None
        if not problem:
            return {"outcomes": outcomes}
        return {"outcomes": outcomes, "problem": str(problem), "text": str(text), "line": int(line)}

    def _start(self):
        if self._process:
            self._process.stop()
        folder = Path(self._folder.name).resolve()
        self._process = SubmissionKernel(
            seconds=60.0, print_at_most_bytes=self._limits.print_bytes, folder=folder,
            environment=sandbox.environment(folder), walls=self._walls, called="process",
        )  # fmt: skip
        self._process.begin()
        self._process.run("from trainium_edu.cli.kernel_call import run_cpp")


_ENDED = "its C++ ended the process that runs it"


def _checked(array) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype.name not in ("float32", "int32"):
        raise ValueError("no output of an operator")
    return array
