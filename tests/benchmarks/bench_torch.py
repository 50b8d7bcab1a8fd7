"""PyTorch scripts on the emulated device, beside the same scripts on the CPU; `make bench`.

Both run the same loop, in turns, FP32; the fastest turn of each counts.  On the device each call is
computed by PyTorch as well, and recorded, and the step is looked up and timed.
"""

from importlib.util import find_spec

from tests.benchmarks.bench_training import torch_mlp, torch_vit
from tests.benchmarks.timed import Table, alternating
from trainium_edu.training.data import digits

CALLS = 1000


def loop(device, make, optimiser, options, batch, mark):
    """Return a function that takes one step of a plain loop on a device."""
    import torch

    torch.manual_seed(0)
    model = make().to(device)
    data = digits()
    x = torch.tensor(data.train_images[:batch]).to(device)
    y = torch.tensor(data.train_labels[:batch]).long().to(device)
    optimiser = getattr(torch.optim, optimiser)(model.parameters(), **options)

    def step():
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
        mark()
        return loss

    return step


def per_call(core) -> float:
    """Return the seconds that recording adds to one call on small tensors."""
    import torch

    def chain(x):
        def call():
            with torch.no_grad():
                y = x
                for _ in range(CALLS):
                    y = y + x
            core.mark_step()

        return call

    small = torch.ones(4, 4)
    recorded, plain = alternating(chain(small.to(core.device)), chain(small))
    return (recorded - plain) / CALLS


def main():
    """Print the table; return its rows for pages."""
    table = Table("a PyTorch script on the device", "time", "beside it")
    if not find_spec("torch"):
        print("| PyTorch is not installed | | |")
        return {}
    from trainium_edu import torch as bridge

    bridge.activate()
    core = bridge.current()
    adam, sgd = ("Adam", {"lr": 1e-3}), ("SGD", {"lr": 0.1, "momentum": 0.9})
    for what, limit, make, how, batch in (
        ("MLP 64-256-256-10, batch 1,024, SGD", 0.8, torch_mlp, sgd, 1024),
        ("ViT on digits, batch 64, Adam", 0.65, torch_vit, adam, 64),
    ):
        ours, theirs = alternating(
            loop(core.device, make, *how, batch, core.mark_step),
            loop("cpu", make, *how, batch, lambda: None),
        )
        table.row(f"a PyTorch script: {what}", f"{ours * 1e3:.2f} ms",
                  f"{theirs / ours:.2f} x PyTorch on the CPU (at least {limit})")  # fmt: skip
    table.row(
        "one recorded call of a PyTorch script", f"{per_call(core) * 1e6:.1f} us", "at most 20 us"
    )
    return table.found
