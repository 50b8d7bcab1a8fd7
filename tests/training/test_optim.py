"""Optimisers: how often they compile, what they keep and how it is rounded.

Judges: PyTorch/XLA's documented two graphs (first and steady); closed forms.  Their arithmetic is
compared with PyTorch in ``test_against_torch.py``.
"""

import numpy as np
import pytest

from tests.for_each import raises
from trainium_edu.training import nn, optim
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.tensor import as_tensor

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 6)).astype(np.float32), RNG.integers(0, 3, 12).astype(np.int32)


def train(model, optimiser, count, rows=slice(None), dtype="float32", schedule=None):
    device = optimiser.parameters[0].device
    losses = []
    for i in range(count):
        optimiser.lr = schedule(i) if schedule else optimiser.lr
        optimiser.zero_grad()
        x, y = as_tensor(X[rows], device, dtype), as_tensor(Y[rows], device)
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
        device.mark_step()
        losses.append(loss.item())
    return losses


def compiled(device):
    return [event.kind for event in device.compiler.history].count("compiled")


OPTIMISERS = {
    "sgd": lambda p, **k: optim.SGD(p, 0.1, 0.9, **k),
    "adam": lambda p, **k: optim.Adam(p, 1e-2, **k),
    "adamw": lambda p, **k: optim.AdamW(p, 1e-2, **k),
}


@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("options", [{}, {"master_weights": True}], ids=["plain", "master"])
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_200_steps_compile_once_with_states_made_before_else_twice(kind, options, eager):
    device = Device()
    model = nn.MLP(6, 8, 3).to(device, "bfloat16")
    optimiser = OPTIMISERS[kind](model.parameters(), **options)
    if eager:
        optimiser.init_states()

    def schedule(i):
        return optim.warmup_cosine(i, peak=0.05, warmup=10, steps=200)

    losses = train(model, optimiser, 200, dtype="bfloat16", schedule=schedule)
    assert losses[-1] < losses[0] / 2
    assert compiled(device) == (1 if eager else 2)
    assert len(device.compiler.history) == 200
    train(model, optimiser, 2, rows=slice(0, 5), dtype="bfloat16")
    assert compiled(device) == (2 if eager else 3)


def test_states_made_before_or_in_the_first_step_give_the_same_bits():
    found = []
    for eager in (True, False):
        nn.manual_seed(1)
        model = nn.MLP(6, 8, 3).to(Device())
        optimiser = optim.AdamW(model.parameters(), 1e-2)
        if eager:
            optimiser.init_states()
        found.append(train(model, optimiser, 5))
    assert found[0] == found[1]


def one_weight(device_rounds, **options):
    """Add 0.001 a thousand times to a weight of 1 in BF16, by steps of SGD."""
    device = Device(setting=Setting(device_rounds, seed=4))
    weight = as_tensor(np.ones(256, np.float32), device, "bfloat16").requires_grad_()
    optimiser = optim.SGD([weight], 0.001, **options)
    optimiser.init_states()
    for _ in range(1000):
        optimiser.zero_grad()
        (-weight).sum().backward()
        optimiser.step()
        device.mark_step()
    return weight.numpy()


def test_a_small_update_of_a_bf16_weight_is_lost_to_nearest_and_kept_on_average_by_stochastic():
    assert (one_weight("nearest") == 1).all()
    kept = one_weight("stochastic")
    assert kept.mean() == pytest.approx(2.0, abs=0.02)
    assert kept.std() > 0.01
    assert (one_weight("nearest", master_weights=True) == 2).all()


def test_weights_without_a_gradient_stay():
    device = Device()
    used, idle = (as_tensor(np.ones(3, np.float32), device).requires_grad_() for _ in range(2))
    optimiser = optim.AdamW([used, idle], 0.1)
    used.sum().backward()
    optimiser.step()
    device.mark_step()
    assert (idle.numpy() == 1).all()
    assert (used.numpy() < 1).all()
    assert not optimiser.states[1]


def test_gradients_add_up_until_they_are_forgotten():
    device = Device()
    weight = as_tensor(np.ones(3, np.float32), device).requires_grad_()
    for _ in range(2):
        (weight * 3.0).sum().backward()
        device.mark_step()
    assert weight.grad.numpy().tolist() == [6, 6, 6]
    optim.SGD([weight], 0.1).zero_grad()
    assert weight.grad is None


def test_an_optimiser_made_before_the_weights_moved_says_so():
    raises(ValueError, r"after model.to\(device\)", optim.SGD, nn.Linear(2, 2).parameters(), 0.1)


def test_schedules_rise_to_the_peak_and_fall_to_nothing():
    rates = [optim.warmup_cosine(i, peak=0.5, warmup=4, steps=20) for i in range(21)]
    assert rates[:5] == pytest.approx([0.125, 0.25, 0.375, 0.5, 0.5])
    assert (np.diff(rates[4:]) < 0).all()
    assert rates[20] == pytest.approx(0, abs=1e-12)
    assert optim.warmup_cosine(12, peak=0.5, warmup=4, steps=20) == pytest.approx(0.25)
