"""Run named functions on ranks, and keep what they return: ``grouped.py file name:ranks:values …``.

A process of its own, since PyTorch cannot fork what goes backward once a test has done so.
"""

import os
import pickle
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_functions
from torch.nn.parallel import DistributedDataParallel

from trainium_edu.torch import core as cores
from trainium_edu.torch.ranks import collectives
from trainium_edu.torch.ranks.processes import run_ranks
from trainium_edu.torch.stand_ins import zero


def exchanged(backend, device):
    """Do what torch.distributed can do, and return what came of it."""
    dist.init_process_group(backend)
    rank, count = dist.get_rank(), dist.get_world_size()
    assert (rank, count, dist.get_backend()) == (int(os.environ["RANK"]), 4, backend)
    x = (torch.arange(8.0) * (rank + 1)).to(device)
    found = [x.clone() for _ in range(4)]
    dist.all_reduce(found[0])
    dist.all_reduce(found[1], op=dist.ReduceOp.MAX)
    dist.all_reduce(found[2], op=dist.ReduceOp.MIN)
    dist.broadcast(found[3], 2)
    parts = [torch.zeros(8).to(device) for _ in range(count)]
    dist.all_gather(parts, x)
    whole = torch.zeros(2 * count).to(device)
    dist.all_gather_single(whole, x[:2].contiguous())
    part = torch.zeros(2).to(device)
    dist.reduce_scatter(part, list(x.reshape(count, 2).unbind(0)))
    scattered = torch.zeros(8).to(device)
    dist.scatter(scattered, [x * i for i in range(count)] if rank == 1 else None, 1)
    handed = [torch.zeros(8).to(device) for _ in range(count)] if rank == 1 else []
    dist.gather(x * 3, handed or None, 1)
    exchanged = torch.zeros(8).to(device)
    dist.all_to_all_single(exchanged, x)
    sent = [torch.zeros(2).to(device) for _ in range(count)]
    dist.all_to_all(sent, list((x + 1).reshape(count, 2).unbind(0)))
    leaf = x.clone().requires_grad_()
    whole_of = torch.cat(dist_functions.all_gather(leaf))  # goes back by an all-to-all
    (whole_of @ whole_of).backward()
    if backend == "xla":
        cores.current().mark_step()  # of all ranks, though one keeps what was gathered
    pair = dist.new_group([1, 3])
    mine = x.clone()
    if rank in (1, 3):
        dist.all_reduce(mine, group=pair)
    objects = [None] * count
    dist.all_gather_object(objects, {"rank": rank})
    said = [rank]
    dist.broadcast_object_list(said, 1)
    dist.barrier()
    dist.destroy_process_group()
    tensors = [*found, *parts, whole, part, scattered, exchanged, *sent, leaf.grad, mine, *handed]
    return [t.cpu().numpy() for t in tensors], objects, said


def trained(how):
    """Train on five batches, and return losses, weights and what the compiler did of late."""
    rank, device = int(os.environ["RANK"]), "cpu" if how == "gloo" else "xla"
    dist.init_process_group("gloo" if how == "gloo" else "xla")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    if rank and how not in ("reduced", "zero"):
        torch.nn.init.zeros_(model[0].weight)  # DDP begins with the first rank's
    model.to(device)
    wrapped = model
    if how not in ("reduced", "zero"):
        wrapped = DistributedDataParallel(model, gradient_as_bucket_view=how == "views")
    options = {"lr": 0.1, "momentum": 0.9}
    optimizer = torch.optim.SGD(model.parameters(), **options)
    if how == "zero":
        optimizer = zero.ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.SGD, grad_clipping=False, **options
        )
    data = torch.utils.data.TensorDataset(
        torch.randn(40, 6, generator=torch.Generator().manual_seed(1)), torch.arange(40) % 3
    )
    sampler = torch.utils.data.DistributedSampler(data)
    losses = []
    for x, y in torch.utils.data.DataLoader(data, 4, sampler=sampler):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(wrapped(x.to(device)), y.to(device))
        loss.backward()
        if how == "reduced":
            collectives.reduce_gradients(model.parameters())
        optimizer.step()
        if device == "xla":
            cores.current().mark_step()
        losses.append(loss.detach())
    kinds = [event.kind for event in cores.current().compiler.history[-2:]]
    return [float(loss) for loss in losses], model[0].weight.detach().cpu().numpy(), kinds


def sharded(device):
    """Clip, step and read back ZeRO-1's state; on the CPU, one plain optimiser's on the mean."""
    rank = int(os.environ["RANK"])
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 3, bias=False)).to(device)
    data = torch.randn(4, 2, 3, 6, generator=torch.Generator().manual_seed(1)).to(device)
    groups = [{"params": [p], "weight_decay": 0.1 * (p.dim() - 1)} for p in model.parameters()]

    def made():
        if device == "cpu":
            return torch.optim.AdamW(groups, lr=0.05)
        return zero.ZeroRedundancyOptimizer(groups, torch.optim.AdamW, lr=0.05, max_norm=0.2)

    optimizer = made()
    for step, both in enumerate(data):
        if step == 2:
            kept, optimizer = optimizer.state_dict(), made()
            optimizer.load_state_dict(kept)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        optimizer.zero_grad()
        given = both.flatten(0, 1) if device == "cpu" else both[rank]
        model(given).square().mean().backward()
        if device == "cpu":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.2)
        optimizer.step()
        schedule.step()
        if device == "xla":
            cores.current().mark_step()
    return [p.detach().cpu().numpy() for p in model.parameters()]


def shapes_only():
    """Train with DDP where no values are kept, and return the steps."""
    dist.init_process_group("xla", init_method="xla://")
    model = DistributedDataParallel(torch.nn.Linear(4, 2).to("xla"))
    for _ in range(3):
        model(torch.ones(3, 4).to("xla")).sum().backward()
        cores.current().mark_step()
    core = cores.current()
    return [(step.begin_ns, step.end_ns) for step in core.steps], core.compiler.history[-1].kind


class Branches(torch.nn.Module):
    """Takes one of its parts at a time."""

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Linear(3, 2) for _ in range(4))

    def forward(self, x, which):
        return self.parts[which](x)


def partly_used(backend, device):
    """Train with DDP where ranks use other weights, and some nobody's; return all of them."""
    dist.init_process_group(backend)
    torch.manual_seed(0)
    model = Branches().to(device)
    wrapped = DistributedDataParallel(model, find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    for step in range(3):
        optimizer.zero_grad()
        wrapped(torch.arange(6.0).view(2, 3).to(device), dist.get_rank() * step).sum().backward()
        optimizer.step()
        if device == "xla":
            cores.current().mark_step()
    return [one.detach().cpu().numpy() for one in model.parameters()]


FUNCTIONS = {
    "exchanged gloo": lambda: exchanged("gloo", "cpu"),
    "exchanged xla": lambda: exchanged("xla", "xla"),
    "exchanged xla on cpu": lambda: exchanged("xla", "cpu"),
    **{f"trained {how}": lambda how=how: trained(how)
       for how in ("gloo", "copies", "views", "reduced", "zero")},
    **{f"sharded {device}": lambda device=device: sharded(device) for device in ("cpu", "xla")},
    "partly used gloo": lambda: partly_used("gloo", "cpu"),
    "partly used xla": lambda: partly_used("xla", "xla"),
    "shapes only": shapes_only,
}  # fmt: skip


def main():
    outcomes = {}
    for name, function in FUNCTIONS.items():
        kept = []
        ranks = 4 if name.startswith("exchanged") else 2
        values = "none" if name == "shapes only" else "all"
        outcomes[name] = run_ranks(lambda f=function, k=kept: k.append(f()), ranks=ranks,
                                   instance="trn1.32xlarge", values=values,
                                   result=lambda core, k=kept: k[0])  # fmt: skip
    Path(sys.argv[1]).write_bytes(pickle.dumps(outcomes))


main()
