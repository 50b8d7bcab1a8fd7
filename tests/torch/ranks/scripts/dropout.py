"""Dropout: seeded alike, all ranks draw the same mask, together as apart."""

import torch
import torch.distributed as dist
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_backend  # noqa: F401
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("xla")
torch.manual_seed(4)
device = xm.xla_device()
samples = TensorDataset(torch.randn(32, 12), torch.randn(32, 2))
loader = DataLoader(samples, batch_size=4, sampler=DistributedSampler(samples))
model = nn.Sequential(nn.Linear(12, 16), nn.Dropout(0.25), nn.Sigmoid(), nn.Linear(16, 2))
model = model.to(device)
optimizer = torch.optim.Adam(model.parameters())
for x, y in pl.MpDeviceLoader(loader, device):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x + 0.1 * torch.randn_like(x)), y).backward()
    xm.optimizer_step(optimizer)
