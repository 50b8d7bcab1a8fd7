"""The grader's end in a process that runs a kernel file or C++, asked in plain data.

Nothing that is computed here is believed but a program, which is issued again where the file never
was (``exercises.request``), and what C++ returned, which is compared there.
"""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from trainium_edu import nki
from trainium_edu.exercises import cpp
from trainium_edu.exercises.request import Request
from trainium_edu.nki import beta1
from trainium_edu.nki.kernel import Kernel, chip_for_all

__all__ = ["ask", "load", "run_cpp"]

_MOST = 400  # characters of what an exception says


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
    stem = Path(path).stem
    loader = importlib.machinery.SourceFileLoader(
        stem if stem.isidentifier() and stem not in sys.modules else "kernel_file", _File.path
    )  # whatever the file's name ends with
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = sys.modules[loader.name] = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    try:
        loader.exec_module(module)
        function = getattr(module, name, None)
        if not callable(function):
            return "error", f"it defines no function {name!r}"
        parts = [part.__name__ for part in vars(module).values() if isinstance(part, ModuleType)]
        older = any(part.startswith(("neuronxcc", beta1.__name__)) for part in parts)
        if not isinstance(function, Kernel):
            function = beta1.jit(function) if older else nki.jit(function)
    except (Exception, SystemExit) as problem:
        return "error", _said(problem)
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
        return "error", _said(problem)
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


def _said(problem) -> str:
    """Return an exception in one line, with the file's own line in which it arose."""
    line, trace = getattr(problem, "lineno", None) or 0, problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _File.path:
            line = trace.tb_lineno
        trace = trace.tb_next
    text = " ".join(f"{type(problem).__name__}: {problem}".split())[:_MOST]
    return f"line {line}: {text}" if line else text
