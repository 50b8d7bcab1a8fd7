"""Compile and run a submission's C++ apart: in a process behind the system's walls.

A grader must not run a text that it was handed.  It starts a process as it does for a kernel file,
with the submission's limits on time, memory and files, and asks that for what the text gives.
Correct results are not known there; the checks compare.  The process goes on as long as the text
is the same, so that hidden rounds compile nothing again.
"""

import tempfile
from dataclasses import replace
from itertools import starmap
from pathlib import Path

from trainium_edu.cli.apart import Apart
from trainium_edu.cli.limits import Limits
from trainium_edu.exercises import cpp
from trainium_edu.neuroncore.engines.custom_op import Work

__all__ = ["CppApart"]

_COMPILE_S = 30.0


class CppApart(Apart):
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
        super().__init__("kernel_call", Path(self._folder.name).resolve(), limits, walls=walls)

    def __enter__(self):
        cpp.use(self)
        return self

    def __exit__(self, *_):
        cpp.use(cpp.run_here)
        self.stop()
        self._folder.cleanup()

    def __call__(self, job: cpp.Job, *, patience_s: float = _COMPILE_S) -> dict:
        """Run a job over there, with patience for the compiler besides its limit.

        Raises
        ------
        Stopped
            If it does not end in time, or ends the process.
        """
        if job.kernel != self._text:
            self.stop()
            self._text = job.kernel
        try:
            told = self.ask("run_cpp", job, doing="its C++", seconds=patience_s + self._seconds)
            outcomes = [
                replace(one, works=tuple(starmap(Work, one.works))) for one in told["outcomes"]
            ]
            return {**told, "outcomes": outcomes}
        except (AttributeError, LookupError, TypeError, ValueError):
            raise self.stopped("its C++ ended the process that runs it") from None
