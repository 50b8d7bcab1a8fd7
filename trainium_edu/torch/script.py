"""Run a file as Python does, and tell of what goes wrong from the script's first line on."""

import linecache
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from trainium_edu.torch.core import HERE, ValuesOff, is_library
from trainium_edu.torch.imports import imports_of

__all__ = ["print_from_script", "run_main", "slow_imports", "told_of"]

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


def run_main(script: str, arguments: Sequence[str] = (), *, module: bool = False,
             problems: list[str] | None = None) -> int:  # fmt: skip
    """Run a file or a module as ``__main__``, and return its exit code.

    Parameters
    ----------
    script : str
        A file, or with `module` the name of a module.
    arguments : sequence of str
        What the script finds in ``sys.argv[1:]``.
    module : bool
    problems : list of str, optional
        Gets a sentence if the script fails.

    Returns
    -------
    int
        0; what the script exits with; 1 after an error, which is printed.
    """
    problems = [] if problems is None else problems
    before = sys.argv, sys.path[:]
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path.cwd() if module else Path(script).resolve().parent))
    try:
        if module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return int(stop.code or 0)
        problems.append(str(stop.code))
        print(stop.code, file=sys.stderr)
        return 1
    except Exception as problem:
        problems.append(told_of(problem))
        print_from_script(problem, script)
        return 1
    finally:
        sys.argv, sys.path[:] = before
    return 0


def told_of(problem: BaseException) -> str:
    """Return an error in one line, with the script's innermost line."""
    if isinstance(problem, ValuesOff):
        return str(problem)
    told, frames = f"{type(problem).__name__}: {problem}", problem.__traceback__
    place = ""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if not is_library(file):
            place = f"{Path(file).name}:{frames.tb_lineno}"
        frames = frames.tb_next
    return told if not place or place in told else f"{told} at {place}"


def print_from_script(problem: BaseException, script: str = "") -> None:
    """Print a traceback that begins in the script, with a word about what belongs elsewhere.

    This package's frames are left out, but for errors that are its own.
    """
    if isinstance(problem, ValuesOff):
        print(problem, file=sys.stderr)
        return
    found = problem.__traceback__
    while found is not None and is_library(file := found.tb_frame.f_code.co_filename):
        if file == script:
            break
        found = found.tb_next
    frames, is_own = [], False
    while found is not None:
        file = found.tb_frame.f_code.co_filename
        is_ours = file.startswith(HERE) and file != script
        line = linecache.getline(file, found.tb_lineno).strip()
        is_own = is_ours and not line.startswith(_OF_OTHERS)
        frames.append((found, is_ours))
        found = found.tb_next
    kept = [one for one, is_ours in frames if is_own or not is_ours]
    for one, after in zip(kept, [*kept[1:], None], strict=True):
        one.tb_next = after
    for said, note in _NOTES.items():
        if said in str(problem):
            problem.add_note(note)
    traceback.print_exception(type(problem), problem, kept[0] if kept else problem.__traceback__)


def slow_imports(script: Path) -> list[str]:
    """Return modules that a script imports and that take long to load.

    Those after a line that sets variables are left out: they may look at them.
    """
    names = (name for name, is_early in imports_of(script) if is_early)
    return list(dict.fromkeys(name for name in names if name.partition(".")[0] in _SLOW))
