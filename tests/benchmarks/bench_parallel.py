"""Thirty-two replicas that train together, beside PyTorch on the CPU; `make bench`.

All take turns, and the fastest turn of each counts.  PyTorch does the same arithmetic on one copy
of the weights: a global batch in FP32, or 32 micro-batches in BF16, whose gradients it adds up.
Here every replica has weights of its own, every value is rounded at random, and gradients go
through the all-reduce's additions.
"""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np

from tests.benchmarks.bench_training import torch_mlp
from tests.benchmarks.timed import Table, alternating
from tests.texts import text_beside
from trainium_edu.training import nn, optim
from trainium_edu.training.data import digits
from trainium_edu.training.parallel.agreement import check_replicas
from trainium_edu.training.parallel.collectives import links
from trainium_edu.training.parallel.step import step_report
from trainium_edu.xla import xm
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.device import Device, World, world
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.tensor import as_tensor

RANKS, BATCH = 32, 32
#: A process of its own: the greatest memory in bytes of three steps of so many ranks.
MEMORY = text_beside(__file__, "replicas.py.txt")


class Replicas:
    """An MLP 64-256-256-10 on many ranks, in BF16 with stochastic rounding."""

    def __init__(self, ranks: int = RANKS, batch: int = BATCH):
        self.ranks, self.links = ranks, links(ranks, rounding="stochastic")
        setting = Setting("stochastic", replicas=ranks, collectives=self.links)
        self.device = Device(setting=setting, compiler=Compiler(times=self.links))
        self.model = nn.MLP(64, 256, 256, 10).to(self.device, "bfloat16")
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1)
        data, chosen = digits(), np.arange(ranks * batch) % 1024
        self.images = data.train_images[chosen].reshape(ranks, batch, 64)
        self.labels = data.train_labels[chosen].astype(np.int32).reshape(ranks, batch)

    def step(self) -> np.ndarray:
        """Take one step, and return each rank's loss."""
        device = self.device
        with world(World(0, self.ranks, self.links, device=device)):
            self.optimizer.zero_grad()
            x = as_tensor(self.images, device, "bfloat16", per_replica=True)
            y = as_tensor(self.labels, device, per_replica=True)
            loss = nn.cross_entropy(self.model(x), y)
            loss.backward()
            xm.optimizer_step(self.optimizer)
            device.mark_step()
            return loss.numpy()

    def timed(self):
        """Take one step, and ask when everything in it would have happened."""
        losses = self.step()
        return losses, step_report(self.device.executable, self.links, self.labels.size)

    def check(self):
        """Compare all replicas' bits."""
        check_replicas([(name, p.numpy()) for name, p in self.model.named_parameters()])


def theirs(dtype: str, parts: int, images, labels):
    """Return a function that takes one step in PyTorch, its batch cut into parts."""
    import torch

    model = torch_mlp().to(getattr(torch, dtype))
    x, y = torch.tensor(images).to(getattr(torch, dtype)), torch.tensor(labels).long()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        losses = []
        for some, right in zip(x.chunk(parts), y.chunk(parts), strict=True):
            loss = torch.nn.functional.cross_entropy(model(some), right) / parts
            loss.backward()
            losses.append(loss.detach())
        optimizer.step()
        return sum(losses).item()

    return step


def peak_bytes(ranks: int, batch: int) -> int:
    """Return the greatest memory of a process that trains so many replicas."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(ranks), str(batch)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)


def main():
    """Print the table; return its rows for pages."""
    ours = Replicas()
    calls = [ours.step, ours.timed, ours.check]
    if find_spec("torch"):
        batch = ours.images.reshape(-1, 64), ours.labels.reshape(-1)
        calls += [theirs("float32", 1, *batch), theirs("bfloat16", RANKS, *batch)]
    step, timed, check, *peers = (seconds * 1e3 for seconds in alternating(*calls))
    what = f"a step of {RANKS} replicas, batch {BATCH} each, BF16, stochastic rounding, all-reduce"
    beside = [
        f"{peer / step:.2f} x {name} (at least {limit})"
        for peer, name, limit in zip(
            peers, ("PyTorch FP32 on the global batch", "PyTorch BF16 in 32 micro-batches"),
            (0.45, 2), strict=False,
        )
    ] or ["PyTorch is not installed"]  # fmt: skip
    table = Table("data-parallel training", "time", "beside it")
    table.row(what, f"{step:.2f} ms", "; ".join(beside))
    table.row("the same with a report of when everything happens", f"{timed:.2f} ms",
              f"{timed / step:.3f} x the step without (at most 1.1)")  # fmt: skip
    table.row("do all replicas hold the same bits?", f"{check:.3f} ms",
              f"{check / step:.1%} of the step (at most 3 %)")  # fmt: skip
    table.row("greatest memory of 512 replicas", f"{peak_bytes(512, BATCH) / 2**30:.2f} GiB",
              "at most 8 GiB")  # fmt: skip
    return table.found
