"""The grader's end in the process that runs a kernel file: import it, and ask for its program.

It also watches, so that what a kernel file has no business with becomes one sentence in the report.
Watching protects nothing, since a file could undo it: the walls do, and that the program is issued
again where the file never was (``exercises.request``).
"""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import trainium_edu
import trainium_edu.neuroncore.run  # loaded, and so watched, before the file could change it
import trainium_edu.nki as nki
import trainium_edu.nki.beta1
from trainium_edu.exercises.request import Request
from trainium_edu.nki.kernel import Kernel, chip_for_all

__all__ = ["ask", "load"]

_REFUSED = {
    "a process": ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system",
                  "subprocess.Popen", "pty.spawn"),
    "a signal": ("os.kill", "os.killpg", "signal.pthread_kill"),
    "a connection": ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"),
}  # fmt: skip
_EVENTS = {event: what for what, events in _REFUSED.items() for event in events}
_CLOCKS = ("time", "datetime")
_MOST = 400  # characters of what an exception says


class _File:
    """The one kernel file of this process."""

    path = ""
    kernel: Any = None
    tried = ""  #: the first thing it tried that it has no business with, as a sentence
    callables: dict = {}  #: (module, name) → what was there before the file was imported  # noqa: RUF012


def load(path: str, name: str, chip: str) -> tuple[str, str]:
    """Import a kernel file, which can import what stands beside it.

    Parameters
    ----------
    path : str
    name : str
        The kernel's function in it.
    chip : {"trn1", "inf2"}

    Returns
    -------
    kind : {"", "error", "refused"}
    sentence : str
    """
    nki.activate(replace=True)
    chip_for_all(chip)
    _File.path = str(Path(path).resolve())
    _File.callables = dict(_callables())
    sys.path.append(str(Path(path).parent))  # last: it hides nothing of Python's
    sys.addaudithook(_watcher(_readable()))
    stem = Path(path).stem
    spec = importlib.util.spec_from_file_location(
        stem if stem.isidentifier() and stem not in sys.modules else "kernel_file", _File.path
    )
    assert spec is not None  # the name ends with .py
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:
        return _refused() or ("error", _said(problem))
    function = getattr(module, name, None)
    if not callable(function):
        return "error", f"it defines no function {name!r}"
    parts = [part.__name__ for part in vars(module).values() if isinstance(part, ModuleType)]
    older = any(part.startswith(("neuronxcc", nki.beta1.__name__)) for part in parts)
    try:
        if not isinstance(function, Kernel):
            function = nki.beta1.jit(function) if older else nki.jit(function)
        _File.kernel = function
    except Exception as problem:
        return "error", _said(problem)
    return _refused() or ("", "")


def ask(request: Request) -> tuple[str, object]:
    """Ask the kernel for its program.

    Returns
    -------
    kind : {"program", "older", "as written", "error", "refused"}
    found : bytes or str
        A program of the current interface, of the older one with its compiler's passes or without,
        or a sentence.
    """
    try:
        program = request.report(_File.kernel)
    except (Exception, SystemExit) as problem:
        return _refused() or ("error", _said(problem))
    passes = _File.kernel.passes
    kind = "program" if passes is None else "as written" if passes == () else "older"
    return _refused() or (kind, program)


def _refused():
    """Return what the file did that it has no business with, if anything."""
    now = {} if _File.tried else dict(_callables())
    for place, was in _File.callables.items():
        if not _File.tried and now.get(place) is not was:
            _File.tried = f"it replaces {'.'.join(place)}, and may only call it"
    return ("refused", _File.tried) if _File.tried else None


def _callables():
    """Yield every function, class and method of this package, and those of clocks, by its place."""
    for name, module in list(sys.modules.items()):
        if module is None or name.partition(".")[0] not in ("trainium_edu", *_CLOCKS):
            continue
        for key, value in list(vars(module).items()):
            if not callable(value):
                continue
            yield (name, key), value
            if isinstance(value, type) and value.__module__ == name:
                for method, function in list(vars(value).items()):
                    if callable(function):
                        yield (name, key, method), function


def _readable() -> tuple[str, ...]:
    """Return the folders that hold Python, this package, and the kernel's file."""
    places = {sys.prefix, sys.base_prefix, str(Path(trainium_edu.__file__).parent), os.getcwd()}
    places |= {os.path.realpath(place) for place in places}
    system = ("/usr", "/lib", "/lib64", "/dev", "/sys", f"/proc/{os.getpid()}", "/proc/cpuinfo",
              "/proc/meminfo", "/nix/store", "/etc/ld.so.cache", "/etc/localtime")  # fmt: skip
    return (*places, *system)


def _watcher(readable):
    """Return a hook that refuses what a kernel file has no business with."""

    def hook(event, args):
        if event in _EVENTS:
            _refuse(f"it asks the system for {_EVENTS[event]} ({event})")
        elif event == "open" and isinstance(args[0], str | bytes):
            path = os.path.realpath(os.fsdecode(args[0]))
            if not path.startswith(tuple(place + os.sep for place in readable)) and (
                path not in readable
            ):
                _refuse(f"it opens {os.fsdecode(args[0])!r:.80}, which is not its own")

    return hook


def _refuse(what):
    line = _line_of(sys._getframe())
    _File.tried = _File.tried or (f"line {line}: {what}" if line else what)
    raise PermissionError(what)


def _line_of(frame):
    """Return the line of the file in a frame or those that called it; 0 if it has none."""
    while frame is not None:
        if frame.f_code.co_filename == _File.path:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def _said(problem) -> str:
    """Return an exception in one line, with the file's own line in which it arose."""
    line, trace = getattr(problem, "lineno", None) or 0, problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _File.path:
            line = trace.tb_lineno
        trace = trace.tb_next
    text = " ".join(f"{type(problem).__name__}: {problem}".split())[:_MOST]
    return f"line {line}: {text}" if line else text
