"""Compile and run a submission's C++ apart: ``python -m trainium_edu.cli.grade_cpp``.

A grader must not run a text that it was handed.  It starts this process, behind the system's walls
where there are any (``sandbox``), with the submission's limits on time, memory and files, and asks
it: a line of JSON with a text and cases comes in, a line with results goes out.  Correct results
are not known here; the checks compare.  It goes on as long as the text is the same, so that hidden
rounds compile nothing again.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from select import select
from typing import Any

import numpy as np

from trainium_edu.cli import sandbox
from trainium_edu.cli.limits import Limits, limit_this_process
from trainium_edu.cli.submission_kernel import Stopped
from trainium_edu.exercises import cpp
from trainium_edu.neuroncore.engines.custom_op import Work

__all__ = ["Apart", "main"]

_COMPILE_S = 30.0
_REPLY_AT_MOST_BYTES = 64 << 20


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
        self._process: Any = None  # a Popen while one runs

    def __enter__(self):
        cpp.use(self)
        return self

    def __exit__(self, *_):
        cpp.use(cpp.run_here)
        self._end()

    def __call__(self, job: cpp.Job, *, patience_s: float = _COMPILE_S) -> dict:
        """Run a job over there, with patience for the compiler besides its limit.

        Raises
        ------
        Stopped
            If it does not end in time, or ends the process.
        """
        if self._process is None or job.kernel != self._text:
            self._end()
            self._start()
            self._text = job.kernel
        line = json.dumps([asdict(replace(job, cases=())), _packed(job.cases)])
        said = self._say(line.encode() + b"\n", patience_s + self._limits.seconds)
        try:
            told = json.loads(said)
            told["outcomes"] = [
                cpp.Outcome(_array(o["output"]), tuple(Work(*w) for w in o["works"]), o["ns"])
                for o in told["outcomes"]
            ]
        except (ValueError, LookupError, TypeError):
            self._end()
            raise Stopped("its C++ ended the process that runs it") from None
        return told

    def _start(self):
        self._folder = tempfile.TemporaryDirectory(prefix="cpp-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name).resolve()
        command = [sys.executable, "-m", "trainium_edu.cli.grade_cpp"]
        if self._walls:
            command = sandbox.command(folder, command)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=folder, env=sandbox.environment(folder), start_new_session=True,
        )  # fmt: skip
        self._tell(json.dumps(asdict(self._limits)).encode() + b"\n")

    def _tell(self, data: bytes):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def _say(self, data: bytes, seconds: float) -> bytes:
        """Send a line, and return the line that comes back in time."""
        self._tell(data)
        pipe, said = self._process.stdout.fileno(), b""
        while not said.endswith(b"\n") and len(said) < _REPLY_AT_MOST_BYTES:
            ready, _, _ = select([pipe], [], [], seconds)
            if not ready:
                self._end()
                raise Stopped(f"its C++ did not end within {self._limits.seconds:g} s")
            part = os.read(pipe, 1 << 20)
            if not part:
                break
            said += part
        return said

    def _end(self):
        process, self._process = self._process, None
        if process is None:
            return
        import psutil

        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    child.kill()
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()
        self._folder.cleanup()


def _packed(cases) -> list:
    return [[[a.dtype.name, list(a.shape), a.ravel().tolist()] if isinstance(a, np.ndarray) else a
             for a in case] for case in cases]  # fmt: skip


def _array(packed) -> np.ndarray:
    dtype, shape, values = packed
    if dtype not in ("float32", "int32"):
        raise ValueError(dtype)
    return np.array(values, dtype).reshape(shape)


def main():
    """Answer jobs, a line each, until there are no more."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    given = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout):  # what is started here has no pipe
        os.dup2(nothing, stream.fileno())
    limit_this_process(Limits(**json.loads(given.readline())))
    for line in given:
        job, cases = json.loads(line)
        cases = [tuple(_array(a) if isinstance(a, list) else a for a in case) for case in cases]
        told = cpp.run_here(cpp.Job(**{**job, "cases": cases}))
        told["outcomes"] = [
            {"output": _packed([[o.output]])[0][0], "works": o.works, "ns": o.ns}
            for o in told["outcomes"]
        ]
        out.write(json.dumps(told) + "\n")
        out.flush()


if __name__ == "__main__":
    sandbox.harden()
    main()
