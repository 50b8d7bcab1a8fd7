"""The grader's end in a process that runs a kernel file or C++, asked in plain data.

Nothing that is computed here is believed but a program, which is issued again where the file never
was (``exercises.request``), and what C++ returned, which is compared there.
"""

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from trainium_edu import nki
from trainium_edu.exercises import cpp
from trainium_edu.exercises.answers import said_of
from trainium_edu.exercises.request import Request
from trainium_edu.nki import beta1
from trainium_edu.nki.kernel import Kernel, chip_for_all

__all__ = ["ask", "load", "run_cpp"]


class _File:
    """The one kernel file of this process."""

    path = ""
    kernel: Any = None


def load(path: str, name: str, chip: str) -> tuple:
    """Import a kernel file, which can import what stands beside it.

    Parameters
    ----------
    path : str
    name : str
        The kernel's function in it.
    chip : {"trn1", "inf2"}

    Returns
    -------
    reply : tuple
        Of "ready"; or of "error" and a sentence.
    """
    nki.activate(replace=True)
    chip_for_all(chip)
    _File.path = str(Path(path).resolve())
    sys.path.append(str(Path(path).parent))  # last: it hides nothing of Python's
    try:
        names = runpy.run_path(_File.path, run_name="kernel_file")
        function = names.get(name)
        if not callable(function):
            return "error", f"it defines no function {name!r}"
        parts = [part.__name__ for part in names.values() if isinstance(part, ModuleType)]
        older = any(part.startswith(("neuronxcc", beta1.__name__)) for part in parts)
        if not isinstance(function, Kernel):
            function = beta1.jit(function) if older else nki.jit(function)
    except (Exception, SystemExit) as problem:
        return "error", said_of(problem, _File.path)
    _File.kernel = function
    return ("ready",)


def ask(request: Request) -> tuple:
    """Ask the kernel for its program.

    Returns
    -------
    reply : tuple
        Of "program", its bytes, and the older compiler's passes that it goes through, as
        ``nki.run`` takes them; or of "error" and a sentence.
    """
    try:
        program = request.report(_File.kernel)
    except (Exception, SystemExit) as problem:
        return "error", said_of(problem, _File.path)
    passes = _File.kernel.passes
    return "program", program, passes if passes in (None, ()) else True


def run_cpp(job: cpp.Job) -> tuple:
    """Compile a text of C++ and run it on cases.

    Returns
    -------
    reply : tuple
        Of "value" and what :func:`cpp.run_here` returns.
    """
    return "value", cpp.run_here(job)
