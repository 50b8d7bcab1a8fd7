"""Train a small network on handwritten digits, data-parallel, as one does on Trainium.

    python -m trainium_edu torchrun --nproc_per_node=32 notebooks/train_digits.py
    python notebooks/train_digits.py

Every rank runs this file: it sees its own share of the samples, and gradients are summed.
"""

import argparse

import numpy as np

import trainium_edu.xla.distributed as dist
from trainium_edu.training import DataLoader, DistributedSampler, digits, nn, optim
from trainium_edu.xla import MpDeviceLoader, xm


def main():
    """Train, and save the weights."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--save", default="digits.npz")
    options = parser.parse_args()

    dist.init_process_group("xla")
    device = xm.xla_device()
    nn.manual_seed(0)
    model = nn.MLP(64, 256, 256, 10).to(device)
    optimizer = optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    data = digits()
    samples = data.train_images, data.train_labels
    sampler = DistributedSampler(samples, dist.get_world_size(), dist.get_rank(), drop_last=True)
    batches = DataLoader(samples, options.batch, sampler=sampler, drop_last=True)
    loader = MpDeviceLoader(batches, device)

    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.cross_entropy(model(images), labels)
            loss.backward()
            xm.optimizer_step(optimizer)
        mean = xm.mesh_reduce("loss", loss, np.mean)
        if xm.is_master_ordinal():
            print(f"epoch {epoch}: loss of the last batch {mean:.4f}")
    xm.save(model.state_dict(), options.save)


if __name__ == "__main__":
    main()
