"""Fine-tune an encoder that has read three books to tell their authors, from a few labels.

    python -m trainium_edu torchrun --nproc_per_node=4 notebooks/fine_tune_authors.py
    python -m trainium_edu torchrun --nproc_per_node=4 notebooks/fine_tune_authors.py --scratch

Every rank runs this file: it sees its own share of the passages, and gradients are summed.
"""

import argparse

import trainium_edu.xla.distributed as dist
from trainium_edu.training import DataLoader, DistributedSampler, few_authors, nn, optim
from trainium_edu.xla import MpDeviceLoader, as_tensor, xm


def main():
    """Fine-tune, then test."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=8, help="passages of each author")
    parser.add_argument("--scratch", action="store_true", help="begin with weights that are drawn")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--lr", type=float, default=0.001)
    options = parser.parse_args()

    dist.init_process_group("xla")
    device, ranks = xm.xla_device(), dist.get_world_size()
    nn.manual_seed(0)
    beginning = "from scratch" if options.scratch else "pre-trained"
    task = few_authors(options.labels, beginning=beginning)
    model = task.model().to(device)
    optimizer = optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.01)
    passages, authors, test_passages, test_authors = task.data()
    samples = passages, authors
    sampler = DistributedSampler(samples, ranks, dist.get_rank(), drop_last=True)
    each = min(32, len(authors)) // ranks
    batches = DataLoader(samples, each, sampler=sampler, drop_last=True)
    loader = MpDeviceLoader(batches, device)

    step, epoch, steps = 0, 0, options.steps
    while step < steps:
        sampler.set_epoch(epoch)
        epoch += 1
        for numbers, labels in loader:
            if step == steps:
                break
            optimizer.lr = optim.warmup_cosine(step, peak=options.lr, warmup=10, steps=steps)
            optimizer.zero_grad()
            loss = nn.cross_entropy(model(numbers), labels)
            loss.backward()
            xm.optimizer_step(optimizer)
            step += 1

    logits = model(as_tensor(test_passages, device))
    xm.mark_step()
    right = (logits.numpy().argmax(axis=1) == test_authors).mean()
    if xm.is_master_ordinal():
        print(f"{beginning}, {options.labels} passages of each author: {right:.0%} of the test")


if __name__ == "__main__":
    main()
