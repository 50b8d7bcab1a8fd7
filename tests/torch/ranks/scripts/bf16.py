"""``XLA_USE_BF16`` with stochastic rounding, set after the imports; an encoder layer."""

import os

import torch
import torch.distributed as dist
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_backend  # noqa: F401
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

os.environ["XLA_USE_BF16"] = "1"
os.environ["NEURON_RT_STOCHASTIC_ROUNDING_EN"] = "1"
dist.init_process_group("xla")
torch.manual_seed(2)
device = xm.xla_device()
samples = TensorDataset(torch.randn(32, 6, 16), torch.randint(0, 3, (32,)))
loader = DataLoader(samples, batch_size=4, sampler=DistributedSampler(samples))


class Model(nn.Module):
    """One layer of attention, and a mean."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.layer(x).mean(1))


model = Model().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for x, y in pl.MpDeviceLoader(loader, device):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    xm.optimizer_step(optimizer)
