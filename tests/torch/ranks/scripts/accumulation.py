"""Gradients of several batches added up, and sent in small buckets."""

import os

import torch
import torch.distributed as dist
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_backend  # noqa: F401
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

os.environ["ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB"] = "1"
dist.init_process_group("xla")
torch.manual_seed(3)
device = xm.xla_device()
samples = TensorDataset(torch.randint(0, 20, (64, 5)), torch.randn(64, 1))
loader = DataLoader(samples, batch_size=4, sampler=DistributedSampler(samples))
model = nn.Sequential(nn.Embedding(20, 64), nn.Flatten(), nn.Linear(320, 1024), nn.Tanh(),
                      nn.Linear(1024, 1)).to(device)  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
total = torch.zeros(1, device=device)
for number, (x, y) in enumerate(pl.MpDeviceLoader(loader, device), 1):
    loss = nn.functional.mse_loss(model(x), y) / 2
    loss.backward()
    total += loss.detach()
    if number % 2 == 0:
        xm.reduce_gradients(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
mean = xm.all_reduce("sum", total, scale=1 / xm.xrt_world_size())
print("mean loss", mean.item())
