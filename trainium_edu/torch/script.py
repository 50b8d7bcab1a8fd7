"""Run a file as Python does, and tell of what goes wrong from the script's first line on."""

import linecache
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from trainium_edu.torch.core import ValuesOff
from trainium_edu.torch.imports import imports_of
from trainium_edu.torch.origins import HERE, is_library

__all__ = ["called", "run_main", "slow_imports", "told_of"]

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


def run_main(script: str, arguments: Sequence[str] = (), *, module: bool = False):
    """Run a file or a module as ``__main__``, and return what :func:`called` does.

    Parameters
    ----------
    script : str
        A file, or with `module` the name of a module.
    arguments : sequence of str
        What the script finds in ``sys.argv[1:]``.
    module : bool
    """
    before = sys.argv, sys.path[:]
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path.cwd() if module else Path(script).resolve().parent))
    run: Callable = partial(runpy.run_module, alter_sys=True) if module else runpy.run_path
    try:
        return called(partial(run, script, run_name="__main__"), script)
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
        if stop.code is None or isinstance(stop.code, int):
            return int(stop.code or 0), ""
        print(stop.code, file=sys.stderr)
        return 1, str(stop.code)
    except Exception as problem:
        told = told_of(problem)
        _print_from_script(problem, script)
        return 1, told
    return 0, ""


def told_of(problem: BaseException) -> str:
    """Return an error in one line, with the script's innermost line."""
    if isinstance(problem, ValuesOff):
        return str(problem)
    text, frames = f"{type(problem).__name__}: {problem}", problem.__traceback__
    place = ""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if not is_library(file):
            place = f"{Path(file).name}:{frames.tb_lineno}"
        frames = frames.tb_next
    return text if not place or place in text else f"{text} at {place}"


def _print_from_script(problem: BaseException, script: str) -> None:
    """Print a traceback that begins in the script, with a word about what belongs elsewhere.

    This package's frames are left out, but for errors that are its own.
    """
    if isinstance(problem, ValuesOff):
        print(problem, file=sys.stderr)
        return
    frame = problem.__traceback__
    while frame is not None and is_library(file := frame.tb_frame.f_code.co_filename):
        if file == script:
            break
        frame = frame.tb_next
    frames, is_own = [], False
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        is_ours = file.startswith(HERE) and file != script
        line = linecache.getline(file, frame.tb_lineno).strip()
        is_own = is_ours and not line.startswith(_OF_OTHERS)
        frames.append((frame, is_ours))
        frame = frame.tb_next
    shown = [one for one, is_ours in frames if is_own or not is_ours]
    for one, after in zip(shown, [*shown[1:], None], strict=True):
        one.tb_next = after
    for phrase, note in _NOTES.items():
        if phrase in str(problem):
            problem.add_note(note)
    traceback.print_exception(type(problem), problem, shown[0] if shown else problem.__traceback__)


def slow_imports(script: Path) -> list[str]:
    """Return modules that a script imports and that take long to load.

    Those after a line that sets variables are left out: they may look at them.
    """
    names = (name for name, is_early in imports_of(script) if is_early)
    return list(dict.fromkeys(name for name in names if name.partition(".")[0] in _SLOW))
