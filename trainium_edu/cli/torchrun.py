"""``python -m trainium_edu torchrun --nproc_per_node=32 train.py …``: a script on many ranks."""

import importlib.util
import runpy
import sys
import time
import traceback
from pathlib import Path

from trainium_edu.cli import torch_script

__all__ = ["command", "run_ranks"]


def command(options) -> int:
    """Run the script that the options name, once for each rank."""
    path = Path(options.script)
    if options.module:
        found = importlib.util.find_spec(options.script)
        path = Path((found and found.origin) or options.script)
    how = {"ranks": options.nproc_per_node, "nodes": options.nnodes, "algorithm": options.algorithm,
           "master": (options.master_addr, options.master_port)}  # fmt: skip
    if path.is_file() and torch_script.is_for_torch(path):
        return torch_script.run(options, module=options.module, **how)
    return run_ranks(path, options.arguments, instance=options.instance, **how)


def run_ranks(script, arguments=(), *, ranks=1, nodes=1, instance="trn1.32xlarge",
              algorithm="ring", master=("127.0.0.1", 29500)) -> int:  # fmt: skip
    """Run a Python file as ``__main__``, once for each rank, in lockstep.

    Parameters
    ----------
    script : str or Path
    arguments : sequence of str
        What the script finds in ``sys.argv[1:]``.
    ranks, nodes : int
        Ranks per instance, and instances.
    instance, algorithm : str
        Over which links, and in which order, ranks sum.
    master : (str, int)
        ``MASTER_ADDR`` and ``MASTER_PORT``.

    Returns
    -------
    int
        0; what the first rank exits with that does not exit with 0; or 1 after an error, whose
        traceback is printed.
    """
    from trainium_edu.specs.arguments import whole
    from trainium_edu.training.parallel.lockstep import check_place, launch

    path = Path(script)
    if not path.is_file():
        print(f"{path}: there is no such script", file=sys.stderr)
        return 2
    whole(ranks, "nproc_per_node", 1)
    whole(nodes, "nnodes", 1)
    check_place(ranks, nodes, instance)

    def main(index):
        sys.argv = [str(path), *arguments]
        runpy.run_path(str(path), run_name="__main__")

    before, started = sys.path[:], time.perf_counter()
    sys.path.insert(0, str(path.resolve().parent))
    try:
        found = launch(main, ranks * nodes, instance=instance, algorithm=algorithm, master=master)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
        if not isinstance(stop.code, int):
            print(stop.code, file=sys.stderr)
        print(f"{path.name} exits with {code}, {_rank(stop)}", file=sys.stderr)
        return code
    except Exception as problem:
        _print_from(problem, path)
        return 1
    finally:
        sys.path[:] = before
    print(_closing(found, instance, time.perf_counter() - started), file=sys.stderr)
    return 0


def _rank(problem) -> str:
    return next(iter(getattr(problem, "__notes__", ())), "raised by the launcher")


def _print_from(problem, path):
    """Print a traceback that begins in the script, and one sentence with rank and line."""
    frames = problem.__traceback__
    while frames is not None and Path(frames.tb_frame.f_code.co_filename) != path:
        frames = frames.tb_next
    if frames is not None:
        traceback.print_exception(type(problem), problem, frames)
    calls = traceback.extract_tb(frames)
    lines = [call.lineno for call in calls if Path(call.filename) == path]
    where = f" at {path.name}:{lines[-1]}" if lines else ""
    print(f"{path.name} failed{where}, {_rank(problem)}: {type(problem).__name__}: {problem}",
          file=sys.stderr)  # fmt: skip


def _closing(found, instance, seconds) -> str:
    """Return one line that says what a launch was."""
    from trainium_edu.training.parallel.step import step_report
    from trainium_edu.xla.executable import Executable

    history = found.device.compiler.history
    compiled = sum(event.kind in ("compiled", "extracted") for event in history)
    from_disk = sum(event.kind == "disk" for event in history)
    ranks, steps = len(found), found.device.step
    parts = [f"{ranks} rank{'s' * (ranks > 1)} of {instance}", f"{steps} step{'s' * (steps != 1)}",
             f"{compiled} graph{'s' * (compiled != 1)} compiled"]  # fmt: skip
    if from_disk:
        parts.append(f"{from_disk} found in the cache")
    if isinstance(found.executable, Executable):  # and not a graph that was only written down
        step = step_report(found.executable, found.links, 0)
        low, high = step.band.low_ns / 1e6, step.band.high_ns / 1e6
        parts.append(f"{step.step_ns / 1e6:.3f} ms a step on the chip ({low:.3f} to {high:.3f}, "
                     "modelled)")  # fmt: skip
    return f"torchrun: {', '.join(parts)}; {seconds:.1f} s here"
