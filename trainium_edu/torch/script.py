"""Run a file as Python does, and tell of what goes wrong from the script's first line on.

PyTorch is not needed for that.
"""

import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import dropwhile
from operator import call
from pathlib import Path

from trainium_edu.torch.imports import imports_of

__all__ = ["HERE", "ValuesOff", "called", "is_library", "run_main", "slow_imports", "told_of"]

HERE = str(Path(__file__).resolve().parents[1])
_LIBRARIES = (HERE, "site-packages", "dist-packages", "<frozen", str(Path(runpy.__file__).parent),
              *getattr(find_spec("torch"), "submodule_search_locations", ()))  # fmt: skip

_NOTES = {
    "device type at start of device string: neuron":
        "the device neuron is that of later chips; this is Trn1: xm.xla_device()",
    "autograd's threading in combination with fork":
        "ranks are forked, and PyTorch cannot go backward in a process whose parent has: run the "
        "script from the command line",
    "implement `getNewGenerator`": "PyTorch/XLA has no generator on the device: torch.Generator()",
}  # fmt: skip
#: libraries that take a second or more to load
_SLOW = {"timm", "transformers", "datasets", "evaluate", "torchvision", "sklearn", "pandas",
         "scipy"}  # fmt: skip
#: lines of this package that refuse something, or call what may
_OF_OTHERS = "raise ", "return call.run(", "return self._engine."


class ValuesOff(RuntimeError):
    """A value is asked for in a run that keeps shapes only."""


def is_library(file: str) -> bool:
    """Return whether a file is a library's, or of this package."""
    return any(part in file for part in _LIBRARIES)


def run_main(
    script: str, arguments: Sequence[str] = (), *, module: bool = False, launch: Callable = call
):
    """Run a file or a module as ``__main__``, and return what :func:`called` does.

    Parameters
    ----------
    script : str
        A file, or with `module` the name of a module.
    arguments : sequence of str
        What the script finds in ``sys.argv[1:]``.
    module : bool
    launch : callable (callable ())
        What runs it: by default once.
    """
    before = sys.argv, sys.path[:]
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path.cwd() if module else Path(script).resolve().parent))
    run: Callable = partial(runpy.run_module, alter_sys=True) if module else runpy.run_path
    try:
        return called(partial(launch, partial(run, script, run_name="__main__")), script)
    finally:
        sys.argv, sys.path[:] = before


def called(main: Callable[[], object], script: str = "") -> tuple[int, str]:
    """Call a function as Python calls a script.

    Parameters
    ----------
    main : callable ()
    script : str
        Its file, if it is one.

    Returns
    -------
    code : int
        0; what it exits with; 1 after an error, which is printed.
    problem : str
        How it failed, in one line; "" if it did not.
    """
    try:
        main()
    except SystemExit as stop:
        notes = getattr(stop, "__notes__", [])
        if stop.code is None or isinstance(stop.code, int):
            return int(stop.code or 0), ", ".join(notes)
        print(stop.code, file=sys.stderr)
        return 1, ", ".join([str(stop.code), *notes])
    except Exception as problem:
        told = told_of(problem)
        _print_from_script(problem, script)
        return 1, told
    return 0, ""


def told_of(problem: BaseException) -> str:
    """Return an error in one line, with the script's innermost line and the error's notes."""
    if isinstance(problem, ValuesOff):
        return str(problem)
    text, place = f"{type(problem).__name__}: {problem}", ""
    for line in traceback.extract_tb(problem.__traceback__):
        if not is_library(line.filename):
            place = f"{Path(line.filename).name}:{line.lineno}"
    text = text if not place or place in text else f"{text} at {place}"
    return ", ".join([text, *getattr(problem, "__notes__", [])])


def _print_from_script(problem: BaseException, script: str) -> None:
    """Print a traceback that begins in the script, with a word about what belongs elsewhere.

    This package's frames are left out, but for errors that are its own.
    """
    if isinstance(problem, ValuesOff):
        print(problem, file=sys.stderr)
        return
    for phrase, note in _NOTES.items():
        if phrase in str(problem):
            problem.add_note(note)
    told = traceback.TracebackException.from_exception(problem)

    def is_ours(line):
        return line.filename.startswith(HERE) and line.filename != script

    lines = list(dropwhile(lambda p: is_library(p.filename) and p.filename != script, told.stack))
    if lines and (not is_ours(lines[-1]) or (lines[-1].line or "").startswith(_OF_OTHERS)):
        lines = [line for line in lines if not is_ours(line)]
    told.stack[:] = lines or told.stack
    print("".join(told.format()), end="", file=sys.stderr)


def slow_imports(script: Path) -> list[str]:
    """Return modules that a script imports and that take long to load.

    Those after a line that sets variables are left out: they may look at them.
    """
    names = (name for name, is_early in imports_of(script) if is_early)
    return list(dict.fromkeys(name for name in names if name.partition(".")[0] in _SLOW))
