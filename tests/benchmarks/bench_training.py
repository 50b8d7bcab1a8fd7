"""Training steps over lazy tensors beside PyTorch's on the CPU; `make bench`.

Both take turns, a few steps each, and the fastest turn of each counts.  PyTorch runs eagerly, in
FP32, with as many threads as BLAS has here.
"""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np

from tests.benchmarks.timed import Table, alternating
from tests.texts import text_beside
from trainium_edu.training import nn, optim
from trainium_edu.training.data import digits
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.tensor import as_tensor


def ours(model, optimiser, images, labels, dtype="float32", rounding="nearest"):
    """Return a function that takes one step of ours."""
    device = Device(setting=Setting(rounding))
    model.to(device, dtype)
    optimiser = optimiser(model.parameters())
    optimiser.init_states()

    def step():
        optimiser.zero_grad()
        x, y = as_tensor(images, device, dtype), as_tensor(labels, device)
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
        device.mark_step()
        return loss.item()

    return step


def theirs(make, optimiser, options, images, labels):
    """Return a function that takes one step in PyTorch."""
    import torch

    model = make()
    x, y = torch.tensor(images), torch.tensor(labels).long()
    optimiser = getattr(torch.optim, optimiser)(model.parameters(), **options)

    def step():
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def torch_mlp():
    """Return PyTorch's MLP 64-256-256-10."""
    from torch import nn as there

    return there.Sequential(
        there.Linear(64, 256), there.ReLU(), there.Linear(256, 256), there.ReLU(),
        there.Linear(256, 10),
    )  # fmt: skip


def torch_vit(width=64, depth=2, heads=4, hidden=128):
    """Return ``nn.ViT()`` of PyTorch's own layers."""
    import torch
    from torch import nn as there

    class ViT(there.Module):
        def __init__(self):
            super().__init__()
            self.embedding = there.Linear(4, width)
            self.class_token = there.Parameter(0.3 * torch.randn(1, 1, width))
            self.positions = there.Parameter(0.3 * torch.randn(1, 17, width))
            self.encoder = there.Sequential(
                *(
                    there.TransformerEncoderLayer(
                        width, heads, hidden, 0.0, "gelu", batch_first=True, norm_first=True
                    )
                    for _ in range(depth)
                )
            )
            self.norm, self.head = there.LayerNorm(width), there.Linear(width, 10)

        def forward(self, images):
            n = len(images)
            patches = images.reshape(n, 1, 4, 2, 4, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, 16, 4)
            first = self.class_token.expand(n, 1, width)
            x = torch.cat([first, self.embedding(patches)], 1) + self.positions
            return self.head(self.norm(self.encoder(x)[:, 0]))

    return ViT()


def recorded(count=2000):
    """Return a function that records a chain of nodes and looks it up; nothing is computed."""
    device = Device(compiler=Compiler(extracting=True))
    x = as_tensor(np.ones((4, 4), np.float32), device)

    def call():
        y = x
        for _ in range(count // 2):
            y = (y + x) * x
        device.mark_step()

    return call


#: Compiles the step of a ViT without values in a process of its own: seconds cold and from bytes,
#: the greatest memory of the process in bytes, operations.
COMPILE = text_beside(__file__, "compiled.py.txt")


def compiled(batch, image, patch, width, depth, heads, hidden, classes, channels):
    """Return (cold seconds, seconds from bytes, peak bytes, operations) of a ViT's step."""
    sizes = batch, image, channels, patch, width, depth, heads, hidden, classes
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, *map(str, sizes)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return tuple(map(float, done.stdout.split()))


def main():
    """Print the table; return its rows for pages."""
    images, labels = digits().train_images, digits().train_labels.astype(np.int32)
    table = Table("training", "best", "PyTorch FP32", "steps per second", "limit")

    def row(what, limit, ours, *peer):
        seconds, *others = alternating(ours, *([theirs(*peer)] if find_spec("torch") else []))
        times = [f"{s * 1e3:,.2f} ms" for s in (seconds, *others)]
        beside = [f"{other / seconds:.2f} x PyTorch" for other in others]
        page = (times[0], *(beside or ["PyTorch is not installed"]))
        table.row(what, *times, *beside, f"{limit} x", page=page)

    batch = images[:1024], labels[:1024]
    mlp = ours(
        nn.MLP(64, 256, 256, 10), lambda p: optim.SGD(p, 0.1, 0.9), *batch, "bfloat16", "stochastic"
    )
    row("an MLP's step, BF16, stochastic rounding, batch 1,024", 0.6, mlp, torch_mlp, "SGD",
        {"lr": 0.1, "momentum": 0.9}, *batch)  # fmt: skip
    batch = images[:64].reshape(64, 1, 8, 8), labels[:64]
    vit = ours(nn.ViT(), lambda p: optim.AdamW(p, 1e-3), *batch)
    row("a small ViT's step, FP32, batch 64", 0.4, vit, torch_vit, "AdamW", {"lr": 1e-3}, *batch)
    (seconds,) = alternating(recorded())
    table.row("2,000 nodes recorded and looked up", f"{seconds * 1e3:.2f} ms", "", "", "20 ms",
              page=(f"{seconds * 1e3:.2f} ms", ""))  # fmt: skip
    for what, sizes, limit in (
        ("a small ViT's step compiled, batch 64", (64, 8, 2, 64, 2, 4, 128, 10, 1), 3),
        ("ViT-B/16's step compiled without its numbers, batch 16",
         (16, 224, 16, 768, 12, 12, 3072, 1000, 3), 10),
    ):  # fmt: skip
        cold, cached, peak, nodes = compiled(*sizes)
        beside = (
            f"{cached * 1e3:.0f} ms from the cache, {peak / 2**20:,.0f} MiB, {nodes:,.0f} nodes"
        )
        table.row(what, f"{cold:.1f} s", beside, "", f"{limit} s, 50 ms, 1,024 MiB",
                  page=(f"{cold:.1f} s", beside))  # fmt: skip
    return table.found
