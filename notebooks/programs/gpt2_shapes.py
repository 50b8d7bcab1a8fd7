"""A GPT-2 of 4 layers and 104 million parameters on 32 NeuronCores, for its shapes.

``python -m trainium_edu torchrun --values none --nproc_per_node=32 gpt2_shapes.py``: at this size
values are no work for a laptop, and the time of a step does not depend on them.
"""

import time

import torch
import torch_xla.core.xla_model as xm
from torch_xla.distributed import xla_backend
from transformers import GPT2Config, GPT2LMHeadModel

LENGTH, STEPS = 2048, 20

torch.distributed.init_process_group("xla")
torch.manual_seed(0)
device = xm.xla_device()
config = GPT2Config(n_layer=4, n_head=8, n_embd=1024, n_positions=LENGTH)
model = GPT2LMHeadModel(config).to(device)
model.tie_weights()  # moving to the device makes two tensors of one with two names
model.train()
count = sum(p.numel() for p in model.parameters())
print(f"{count / 1e6:.0f} million parameters")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
tokens = torch.randint(0, config.vocab_size, (1, LENGTH)).to(device)

for step in range(STEPS):
    if step == 2:
        begin = time.perf_counter()
    optimizer.zero_grad()
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    xm.optimizer_step(optimizer)
    xm.mark_step()

print(f"average step time: {(time.perf_counter() - begin) / (STEPS - 2):.4f} s")
