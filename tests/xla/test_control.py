"""Judges: Python's own loops and branches, PyTorch's gradient of the branch that is taken."""

import numpy as np
import pytest

from trainium_edu import xla
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.control import cond, while_loop


def newton(x, root):
    return x, (root + x / root) * 0.5


def test_a_loop_turns_as_often_as_its_condition_says(device):
    x, root = (xla.as_tensor(v, device) for v in (10.0, 10.0))
    error = 1e-4
    _, found = while_loop(lambda x, r: xnp.abs(r * r - x) > error, newton, [x, root], most=20)
    device.mark_step()
    wanted = np.float32(10)
    while abs(wanted * wanted - np.float32(10)) > error:
        wanted = (wanted + np.float32(10) / wanted) * np.float32(0.5)
    assert found.item() == wanted
    assert [event.kind for event in device.compiler.history] == ["compiled"]


def test_another_number_of_turns_is_the_same_graph(device):
    for start in (3.0, 300.0):
        n = xla.as_tensor(start, device)
        (n,) = while_loop(lambda n: n > 1.0, lambda n: (n * 0.5,), [n], most=20)
        device.mark_step()
        assert 0.5 < n.item() <= 1
    assert [event.kind for event in device.compiler.history] == ["compiled", "memory"]


@pytest.mark.judge
@pytest.mark.parametrize("size", [1.0, 10.0])
def test_the_gradient_is_that_of_the_branch_taken(device, size):
    torch = pytest.importorskip("torch")
    values = np.array([1.0, 2.0, 3.0], np.float32) * size
    x = xla.as_tensor(values, device).requires_grad_()
    (y,) = cond(x.sum() > 10.0, lambda x: (x * x).sum(), lambda x: xnp.exp(x).sum(), x)
    y.backward()
    device.mark_step()
    t = torch.tensor(values, requires_grad=True)
    ((t * t).sum() if t.sum() > 10 else t.exp().sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-6)
