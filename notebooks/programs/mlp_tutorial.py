"""Three linear layers on images of 28 x 28 pixels: the model of AWS's MLP tutorial.

Random images take the place of MNIST.  The tutorial prints 95 iterations per second with one
worker, 163 with each of two; ``torchrun --nproc_per_node=2 mlp_tutorial.py`` is the second.
"""

import os
import time

import torch
import torch_xla.core.xla_model as xm
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_xla.distributed import (
    parallel_loader,
    xla_backend,
)

BATCH, WARMUP, STEPS = 32, 10, 200


class Network(nn.Module):
    """784 pixels, two hidden layers, ten classes."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = (
            nn.Linear(784, 120), nn.Linear(120, 84), nn.Linear(84, 10)
        )  # fmt: skip

    def forward(self, images):
        """Return the logarithm of each class's probability."""
        hidden = nn.functional.relu(self.first(images.flatten(1)))
        return nn.functional.log_softmax(self.last(nn.functional.relu(self.second(hidden))), dim=1)


def main():
    """Train, and print what the tutorial prints."""
    if "WORLD_SIZE" in os.environ:
        torch.distributed.init_process_group("xla")
    torch.manual_seed(0)
    images, labels = torch.rand(BATCH * 25, 1, 28, 28), torch.randint(0, 10, (BATCH * 25,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=BATCH)
    device = xm.xla_device()
    model = Network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = parallel_loader.MpDeviceLoader(loader, device)

    print("----------Training ---------------")
    step, begin = 0, None
    while step < WARMUP + STEPS:
        for samples, targets in batches:
            if step == WARMUP:
                begin = time.time()
            optimizer.zero_grad()
            loss = nn.functional.nll_loss(model(samples), targets)
            loss.backward()
            xm.optimizer_step(optimizer)
            step += 1
            if step == WARMUP + STEPS:
                break
    xm.mark_step()
    loss_now = loss.detach().to("cpu")
    print(f"Train throughput (iter/sec): {STEPS / (time.time() - begin):.2f}")
    print(f"Final loss is {loss_now:.4f}")
    print("----------End Training ---------------")


if __name__ == "__main__":
    main()
