"""Convolutions, batch norm and pooling on small pictures, AdamW; no device loader."""

import torch
import torch.distributed as dist
import torch_xla.core.xla_model as xm
import torch_xla.distributed.xla_backend  # noqa: F401
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("xla")
torch.manual_seed(1)
device = xm.xla_device()
pictures, kinds = torch.rand(48, 1, 8, 8), torch.randint(0, 10, (48,))
samples = TensorDataset(pictures, kinds)
sampler = DistributedSampler(samples, shuffle=False)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.GELU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.LayerNorm(32), nn.Linear(32, 10),
).to(device)  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for x, y in DataLoader(samples, batch_size=6, sampler=sampler):
    x, y = x.to(device), y.to(device)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y, label_smoothing=0.1).backward()
    xm.optimizer_step(optimizer, barrier=True)
print("done")
