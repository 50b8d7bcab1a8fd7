"""Run a file as Python does, and tell of what goes wrong from the script's first line on."""

import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from trainium_edu.torch.core import ValuesOff, is_library

__all__ = ["print_from_script", "run_main", "told_of"]

_FORKED = "autograd's threading in combination with fork"
_NEURON = "device type at start of device string: neuron"


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
    except ValuesOff as problem:
        problems.append(str(problem))
        print(problem, file=sys.stderr)
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
    told, frames = f"{type(problem).__name__}: {problem}", problem.__traceback__
    place = ""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if not is_library(file):
            place = f"{Path(file).name}:{frames.tb_lineno}"
        frames = frames.tb_next
    return told if not place or place in told else f"{told} at {place}"


def print_from_script(problem: BaseException, script: str) -> None:
    """Print a traceback that begins in the script, with a word about what belongs elsewhere."""
    frames = problem.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    if _NEURON in str(problem):
        problem.add_note("the device neuron is that of later chips; this is Trn1: xm.xla_device()")
    if _FORKED in str(problem):
        problem.add_note("ranks apart are forked, and PyTorch cannot go backward in a process "
                         "whose parent has: run the script from the command line")  # fmt: skip
    traceback.print_exception(type(problem), problem, frames or problem.__traceback__)
