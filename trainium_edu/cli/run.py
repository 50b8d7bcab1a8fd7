"""``python -m trainium_edu run script.py …``: let the script's ``import nki`` mean this package.

So does ``import neuronxcc.nki``, the older interface.
"""

import argparse
import runpy
import sys
import traceback
from pathlib import Path

from trainium_edu.cli import torch_script
from trainium_edu.cli.neuron_tools import tools_on_path

__all__ = ["add", "run_script"]


def add(commands) -> None:
    """Add the command to the dispatcher's list.

    Parameters
    ----------
    commands : argparse subparsers
    """
    parser = commands.add_parser("run", help="run a PyTorch script, or NKI kernels, unmodified")
    parser.add_argument("--platform", choices=("trn1", "inf2", "trn2"),
                        help="the chip of kernels, whatever the script sets")  # fmt: skip
    parser.add_argument(
        "--replace", action="store_true", help="even where AWS's own packages are installed"
    )
    parser.add_argument("--instance", default="trn1.2xlarge", help="default: %(default)s")
    torch_script.add_options(parser.add_argument)
    parser.add_argument("script", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")
    parser.set_defaults(run=_run)


def _run(options) -> int:
    path = Path(options.script)
    if path.is_file() and torch_script.is_for_torch(path):
        return torch_script.run(options, replace=options.replace, platform=options.platform)
    return run_script(
        options.script, options.arguments, platform=options.platform, replace=options.replace
    )


def run_script(script, arguments=(), *, platform=None, replace=False) -> int:
    """Run a Python file as ``__main__`` with ``import nki`` meaning this package.

    Parameters
    ----------
    script : str or Path
    arguments : sequence of str
        What the script finds in ``sys.argv[1:]``.
    platform : {"trn1", "inf2", "trn2"}, optional
        Chip of every kernel, whatever the environment says.
    replace : bool
        Also where AWS's own package is installed.

    Returns
    -------
    int
        0, what the script exits with, or 1 after an error (whose traceback is printed).
    """
    import trainium_edu.nki as nki
    from trainium_edu.nki import kernel

    path = Path(script)
    if not path.is_file():
        print(f"{path}: there is no such script", file=sys.stderr)
        return 2
    if not nki.activate(replace=replace):
        print(
            "AWS's own nki package is installed here and left alone: run the script with it, or "
            "add --replace",
            file=sys.stderr,
        )
        return 1
    before = sys.argv, sys.path[:], kernel.chip_for_all(platform)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with tools_on_path():
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return 1
        return int(stop.code or 0)
    except Exception as problem:
        _print_from_script(problem, path)
        return 1
    finally:
        sys.argv, sys.path[:] = before[:2]
        kernel.chip_for_all(before[2])
    return 0


def _print_from_script(problem, path):
    """Print a traceback that begins in the script."""
    frames = problem.__traceback__
    while frames is not None and Path(frames.tb_frame.f_code.co_filename) != path:
        frames = frames.tb_next
    traceback.print_exception(type(problem), problem, frames or problem.__traceback__)
