"""A classifier of handwritten digits, trained as the launch post of 2022 trains its model.

The post changes two lines of a plain PyTorch script: the device, and a mark at the end of a step.
Start it with ``python -m trainium_edu torchrun --nproc_per_node=32 launch_post.py``.
"""

import torch
import torch_xla.core.xla_model as xm
from sklearn.datasets import load_digits

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.data / 16, dtype=torch.float32)
labels = torch.tensor(digits.target)

device = xm.xla_device()
model = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(),
    torch.nn.Linear(256, 10),
).to(device)  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_function = torch.nn.CrossEntropyLoss()

for step in range(40):
    begin = 32 * step % 1760
    samples, targets = images[begin : begin + 32].to(device), labels[begin : begin + 32].to(device)
    optimizer.zero_grad()
    loss = loss_function(model(samples), targets)
    loss.backward()
    optimizer.step()
    xm.mark_step()

print(f"loss after the last step: {loss.item():.4f}")
