"""Run scripts on the emulated device and on PyTorch's own gloo: ``scripted.py FILE ranks script``.

A process of its own, since PyTorch cannot fork what goes backward once a test has done so.  For
gloo, what the scripts take of ``torch_xla`` is written here in the words of its guide.
"""

import io
import pickle
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import torch
import torch.distributed as dist

from trainium_edu.torch import stand_ins
from trainium_edu.torch.ranks.processes import run_ranks


def all_reduce(kind, tensor, scale=1.0):
    dist.all_reduce(tensor)
    return tensor.mul_(scale)


def reduce_gradients(optimizer):
    for group in optimizer.param_groups:
        for one in group["params"]:
            all_reduce("sum", one.grad, 1 / dist.get_world_size())


def optimizer_step(optimizer, barrier=False):
    reduce_gradients(optimizer)
    optimizer.step()


def on_gloo():
    """Return modules under whose names a script finds what it imports."""
    xm = ModuleType("torch_xla.core.xla_model")
    vars(xm).update(xla_device=lambda: "cpu", xrt_world_size=dist.get_world_size,
                    all_reduce=all_reduce, reduce_gradients=reduce_gradients,
                    optimizer_step=optimizer_step)  # fmt: skip
    loader = ModuleType("torch_xla.distributed.parallel_loader")
    loader.MpDeviceLoader = lambda batches, device: batches
    found = {one.__name__: one for one in (xm, loader)}
    for name in ("", ".core", ".distributed", ".distributed.xla_backend"):
        found[f"torch_xla{name}"] = ModuleType(f"torch_xla{name}")
    found["torch_xla.core"].xla_model = xm
    found["torch_xla.distributed"].parallel_loader = loader
    return found


def told(core, names):
    steps = [(one.number, one.kind, one.begin_ns, one.end_ns) for one in core.steps]
    state = {name: one.detach().cpu().double().numpy()
             for name, one in names["model"].state_dict().items()}  # fmt: skip
    return {"state": state, "steps": steps}


def ran(script, ranks, way):
    def main():
        if way == "gloo":
            begin = dist.init_process_group
            instead = patch.object(dist, "init_process_group", lambda name: begin("gloo"))
            with patch.dict(sys.modules, on_gloo()), instead:
                names.update(runpy.run_path(script, run_name="__main__"))
        else:
            stand_ins.install()
            names.update(runpy.run_path(script, run_name="__main__"))

    names, shown = {}, io.StringIO()
    with redirect_stdout(shown):
        outcome = run_ranks(
            main, ranks=ranks, instance="trn1.32xlarge", result=lambda core: told(core, names)
        )
    return vars(outcome) | {"lines": shown.getvalue().splitlines()}


def main():
    file, ranks, *scripts = sys.argv[1:]
    torch.use_deterministic_algorithms(True)
    found = {(Path(script).name.partition(".")[0], way): ran(script, int(ranks), way)
             for script in scripts for way in ("xla", "gloo")}  # fmt: skip
    Path(file).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
