"""A perceptron, SGD with momentum, each rank its share of the samples."""

import torch
import torch.distributed as dist
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_backend  # noqa: F401
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("xla")
torch.manual_seed(0)
device = xm.xla_device()
points, kinds = torch.randn(96, 16), torch.randint(0, 4, (96,))
samples = TensorDataset(points, kinds)
sampler = DistributedSampler(samples)
loader = pl.MpDeviceLoader(DataLoader(samples, batch_size=8, sampler=sampler), device)
model = torch.nn.Sequential(
    torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)
).to(device)  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        xm.optimizer_step(optimizer)
    print(f"epoch {epoch} is over")
