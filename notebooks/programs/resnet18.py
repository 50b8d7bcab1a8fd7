"""ResNet-18 on random images, for its shapes: what a convolutional network asks of the chip.

AWS's support matrix of the time listed training of convolutional networks as unsupported.
``python -m trainium_edu run --values none resnet18.py``.
"""

import time

import timm
import torch
import torch_xla.core.xla_model as xm

BATCH, STEPS = 8, 12

torch.manual_seed(0)
device = xm.xla_device()
model = timm.create_model("resnet18", num_classes=10).to(device)
model.train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images = torch.randn(BATCH, 3, 224, 224).to(device)
labels = torch.randint(0, 10, (BATCH,)).to(device)

for step in range(STEPS):
    if step == 2:
        begin = time.perf_counter()
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    xm.mark_step()

print(f"average step time: {(time.perf_counter() - begin) / (STEPS - 2):.4f} s")
