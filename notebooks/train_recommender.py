"""Train a recommender, data-parallel, and hold its loss against the best there can be.

    python -m trainium_edu torchrun --nproc_per_node=8 notebooks/train_recommender.py
    python notebooks/train_recommender.py

Every rank runs this file: it sees its own share of the baskets, and gradients are summed.
"""

import argparse

import numpy as np

import trainium_edu.xla.distributed as dist
from trainium_edu.training import DataLoader, DistributedSampler, baskets, expected_loss, nn, optim
from trainium_edu.training.shop import ITEMS
from trainium_edu.xla import MpDeviceLoader, as_tensor, xm


def main():
    """Train, then test."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=320)
    parser.add_argument("--samples", type=int, default=1024, help="of all ranks, in a step")
    parser.add_argument("--lr", type=float, default=0.03)
    options = parser.parse_args()

    dist.init_process_group("xla")
    device, ranks = xm.xla_device(), dist.get_world_size()
    nn.manual_seed(0)
    model = nn.Recommender(ITEMS).to(device)
    optimizer = optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.0)
    shop = baskets()
    samples = shop.inputs, shop.labels
    sampler = DistributedSampler(samples, ranks, dist.get_rank(), drop_last=True)
    batches = DataLoader(samples, options.samples // ranks, sampler=sampler, drop_last=True)
    loader = MpDeviceLoader(batches, device)
    if xm.is_master_ordinal():
        print(f"{ranks} ranks, {len(shop.labels)} samples, {options.steps} steps", flush=True)

    step, epoch, steps = 0, 0, options.steps
    while step < steps:
        sampler.set_epoch(epoch)
        for numbers, labels in loader:
            if step == steps:
                break
            optimizer.lr = optim.warmup_cosine(step, peak=options.lr, warmup=10, steps=steps)
            optimizer.zero_grad()
            loss = nn.cross_entropy(model(numbers), labels)
            loss.backward()
            xm.optimizer_step(optimizer)
            step += 1
        epoch += 1
        mean = xm.mesh_reduce("loss", loss, np.mean)
        if xm.is_master_ordinal():
            print(f"after {step} steps: loss of the last batch {mean:.3f}")

    logits = model(as_tensor(shop.test_inputs, device))
    xm.mark_step()
    logits = logits.numpy()
    said = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
    if xm.is_master_ordinal():
        reached = expected_loss(shop.probability, said)
        print(f"test: loss {reached:.3f}; no model can expect less than {shop.best_loss:.3f}")


if __name__ == "__main__":
    main()
