"""A small ViT on random images, in bfloat16, as benchmarks of training are written: times of steps.

``small_vit.py cpu`` is the same on the CPU in FP32; both print the first losses.
"""

import os
import sys
import time

import torch
from timm.models.vision_transformer import VisionTransformer
from torch.utils.data import DataLoader, Dataset

SHOWN, STEPS = 2, 8


class Images(Dataset):
    """Each drawn anew when it is asked for, and always alike."""

    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        drawn = torch.Generator().manual_seed(index)
        return torch.randn([3, 32, 32], generator=drawn), torch.tensor([index % 10])


def train(device, batches, step_of):
    """Train; print the first losses, and the mean time of the steps after them."""
    torch.manual_seed(0)
    model = VisionTransformer(img_size=32, patch_size=8, num_classes=10, embed_dim=48, depth=2,
                              num_heads=3).to(device)  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters())
    judge, times = torch.nn.CrossEntropyLoss(), []
    begin = time.perf_counter()
    for step, (images, labels) in enumerate(batches):
        optimiser.zero_grad()
        loss = judge(model(images), torch.squeeze(labels, -1))
        loss.backward()
        step_of(optimiser)
        if step < SHOWN:
            print(f"loss {loss.item():.5f}")
        now = time.perf_counter()
        times.append(now - begin)
        begin = now
        if step + 1 == STEPS:
            break
    print(f"average step time: {sum(times[SHOWN + 1 :]) / (STEPS - SHOWN - 1)}")


def main():
    """Train on the CPU, or on the device."""
    loader = DataLoader(Images(), batch_size=4, num_workers=1)
    if sys.argv[1:] == ["cpu"]:
        train("cpu", loader, lambda optimiser: optimiser.step())
        return
    import torch_xla.core.xla_model as xm
    import torch_xla.distributed.parallel_loader as pl
    import torch_xla.distributed.xla_backend  # noqa: F401

    os.environ["XLA_USE_BF16"] = "1"
    torch.distributed.init_process_group("xla")
    device = xm.xla_device()
    train(device, pl.MpDeviceLoader(loader, device), xm.optimizer_step)


if __name__ == "__main__":
    main()
