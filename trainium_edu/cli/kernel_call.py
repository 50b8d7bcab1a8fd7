"""The grader's end in a process that runs a kernel file or C++, asked in plain data.

Nothing that is computed here is believed but a program, which is issued again where the file never
was (``exercises.request``), and what C++ returned, which is compared there.
"""

import contextlib
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


_FILE: dict[str, Any] = {"path": "", "kernel": None}  #: the one kernel file of this process


@contextlib.contextmanager
def _in_one_line():
    """Raise what the file's code raises as one line, with the line of the file."""
    try:
        yield
    except (Exception, SystemExit) as problem:
        raise ValueError(said_of(problem, _FILE["path"])) from None


def load(path: str, name: str, chip: str) -> None:
    """Import a kernel file, which can import what stands beside it.

    Parameters
    ----------
    path : str
    name : str
        The kernel's function in it.
    chip : {"trn1", "inf2"}
    """
    nki.activate(replace=True)
    chip_for_all(chip)
    _FILE["path"] = str(Path(path).resolve())
    sys.path.append(str(Path(path).parent))  # last: it hides nothing of Python's
    with _in_one_line():
        names = runpy.run_path(_FILE["path"], run_name="kernel_file")
    function = names.get(name)
    if not callable(function):
        raise ValueError(f"it defines no function {name!r}")
    parts = [part.__name__ for part in names.values() if isinstance(part, ModuleType)]
    older = any(part.startswith(("neuronxcc", beta1.__name__)) for part in parts)
    if not isinstance(function, Kernel):
        function = beta1.jit(function) if older else nki.jit(function)
    _FILE["kernel"] = function


def ask(request: Request) -> tuple:
    """Return the kernel's program, and the older compiler's passes that it goes through.

    Returns
    -------
    program : bytes or None
    passes : True, None or ()
        As ``nki.run`` takes them.
    """
    with _in_one_line():
        program = request.report(_FILE["kernel"])
    passes = _FILE["kernel"].passes
    return program, passes if passes in (None, ()) else True


run_cpp = cpp.run_here  #: compile a text of C++, and run it on cases
