"""The script on the chip, with a line that notes which classes it guesses."""

import torch
import torch_xla.core.xla_model as xm
from sklearn.datasets import load_digits

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.data / 16, dtype=torch.float32)[:640]
labels = torch.tensor(digits.target)[:640]

device = xm.xla_device()
model = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
).to(device)
optimizer = torch.optim.Adam(model.parameters())
loss_function = torch.nn.CrossEntropyLoss()

for _ in range(2):
    for first in range(0, len(images), 64):
        samples = images[first : first + 64].to(device)
        targets = labels[first : first + 64].to(device)
        optimizer.zero_grad()
        scores = model(samples)
        guessed = torch.unique(scores.argmax(dim=1))
        loss = loss_function(scores, targets)
        loss.backward()
        optimizer.step()
        xm.mark_step()

print(f"last loss {loss.item():.2f}")
