"""``python -m trainium_edu torchrun --nproc_per_node=32 train.py …``: a script on many ranks."""

import importlib.util
import sys
import time
from collections import Counter
from pathlib import Path

from trainium_edu.cli import torch_script
from trainium_edu.torch.script import run_main

__all__ = ["command"]


def command(options) -> int:
    """Run the script that the options name, once for each rank."""
    path, ranks, nodes = Path(options.script), options.nproc_per_node, options.nnodes
    if options.module:
        found = importlib.util.find_spec(options.script)
        path = Path((found and found.origin) or options.script)
    how = {"algorithm": options.algorithm, "master": (options.master_addr, options.master_port)}
    if path.is_file() and torch_script.is_for_torch(path):
        return torch_script.run(options, module=options.module, ranks=ranks, nodes=nodes, **how)
    return _in_lockstep(path, options.arguments, ranks, nodes, instance=options.instance, **how)


def _in_lockstep(path, arguments, ranks, nodes, *, instance, **how) -> int:
    """Run a Python file as ``__main__``, once for each rank; return the first exit code but 0."""
    from trainium_edu.fabric import ALGORITHMS
    from trainium_edu.specs.arguments import choice, whole
    from trainium_edu.training.parallel.lockstep import check_place, launch

    if not path.is_file():
        print(f"{path}: there is no such script", file=sys.stderr)
        return 2
    whole(ranks, "nproc_per_node", 1)
    whole(nodes, "nnodes", 1)
    choice(how["algorithm"], "algorithm", tuple(ALGORITHMS))
    check_place(ranks, nodes, instance)
    found: list = []

    def on_ranks(main):
        found.append(launch(lambda _: main(), ranks=ranks * nodes, instance=instance, **how))

    started = time.perf_counter()
    code, told = run_main(str(path), arguments, launch=on_ranks)
    if code:
        print(f"{path.name} exits with {code}: {told}", file=sys.stderr)
    else:
        print(_closing(found[0], instance, time.perf_counter() - started), file=sys.stderr)
    return code


def _closing(found, instance, seconds) -> str:
    """Return one line that says what a launch was."""
    from trainium_edu.neuroncore.advice.evidence import several
    from trainium_edu.training.parallel.step import step_report
    from trainium_edu.xla.executable import Executable

    kinds = Counter(event.kind for event in found.device.compiler.history)
    compiled, from_disk = kinds["compiled"] + kinds["extracted"], kinds["disk"]
    ranks, steps = several(len(found), "rank"), several(found.device.step, "step")
    parts = [f"{ranks} of {instance}", steps, f"{several(compiled, 'graph')} compiled"]
    if from_disk:
        parts.append(f"{from_disk} found in the cache")
    if isinstance(found.executable, Executable):  # and not a graph that was only written down
        step = step_report(found.executable, found.links, 0)
        low, high = step.band.low_ns / 1e6, step.band.high_ns / 1e6
        parts.append(
            f"{step.step_ns / 1e6:.3f} ms a step on the chip ({low:.3f} to {high:.3f}, modelled)"
        )
    return f"torchrun: {', '.join(parts)}; {seconds:.1f} s here"
