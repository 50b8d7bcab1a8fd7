"""Random numbers, of the chip's counter-based generator: seed and step are inputs of the graph.

They differ from PyTorch's random numbers.
"""

from math import pi
from weakref import WeakKeyDictionary

import numpy as np
import torch

from trainium_edu.torch.operations.arithmetic import floor
from trainium_edu.torch.operations.factories import _kind
from trainium_edu.torch.operations.table import dtype_of, fixed, record, row
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import Tensor, as_tensor

__all__: list[str] = []


class _State:
    """Seed and step of one device, and how many operations have drawn since its last cut."""

    def __init__(self, device: Device):
        self.cut, self.step, self.drawn = device.pending.number, 0, 0
        self.inputs = self._inputs(device)

    def _inputs(self, device):
        numbers = {"seed": torch.initial_seed() & 0x7FFFFFFF, "step": self.step}
        return tuple(as_tensor(np.int32(n), device, name=name) for name, n in numbers.items())

    def next(self, device) -> tuple[Tensor, Tensor, int]:
        """Return seed, step and the number of the operation that asks."""
        if self.cut != device.pending.number:
            self.cut, self.step, self.drawn = device.pending.number, self.step + 1, 0
            self.inputs = self._inputs(device)
        self.drawn += 1
        return *self.inputs, self.drawn - 1


_states: WeakKeyDictionary[Device, _State] = WeakKeyDictionary()


def _draw(device, operation, shape, **how) -> Tensor:
    state = _states.get(device)
    if state is None:
        state = _states[device] = _State(device)
    seed, step, number = state.next(device)
    return record(operation, seed, step, shape=tuple(shape), number=number, **how)


def _uniform_numbers(device, shape, dtype) -> Tensor:
    """Return numbers from 0 to below 1."""
    return xnp.astype(_draw(device, "random_uniform", shape), dtype)


def _normal_numbers(device, shape, dtype) -> Tensor:
    """Return normal numbers: sqrt(-2 log u) cos(2 pi v), u from above 0."""
    u, v = (_draw(device, "random_uniform", shape) for _ in "uv")
    away = xnp.sqrt(xnp.log(fixed(u, 1.0) - u) * fixed(u, -2.0))
    return xnp.astype(away * xnp.cos(v * fixed(v, 2 * pi)), dtype)


def _keep(x, probability, dtype) -> Tensor:
    """Return ones with a probability, else zeros."""
    return _draw(x.device, "random_keep", x.shape, probability=float(probability), dtype=dtype)


@row("native_dropout")
def _dropout(input, p, train):
    if train is False:
        return input, xnp.ones_like(input, "bool")
    keep = _keep(input, 1 - p, input.dtype)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return input * (keep * fixed(keep, scale)), xnp.astype(keep, "bool")


@row("bernoulli_.float", "bernoulli.p")
def _bernoulli(self, p=0.5, generator=None):
    kind = self.dtype if self.type.is_float else "float32"
    return xnp.astype(_keep(self, p, kind), self.dtype)


@row("bernoulli.Tensor", "bernoulli_.Tensor")
def _bernoulli_tensor(self, p, generator=None):
    drawn = _uniform_numbers(self.device, self.shape, "float32")
    return xnp.astype(drawn < xnp.astype(p, "float32"), self.dtype)


@row("uniform", "uniform_")
def _uniform(self, from_=0.0, to=1.0, generator=None):
    return _uniform_numbers(self.device, self.shape, self.dtype) * (to - from_) + from_


@row("normal_functional", "normal_")
def _normal(self, mean=0.0, std=1.0, generator=None):
    return _normal_numbers(self.device, self.shape, self.dtype) * std + mean


@row("exponential", "exponential_")
def _exponential(self, lambd=1.0, generator=None):
    u = _draw(self.device, "random_uniform", self.shape)
    return xnp.astype(xnp.log(fixed(u, 1.0) - u) * (-1.0 / lambd), self.dtype)


def _of_size(numbers):
    return lambda size, dtype=None, device=None, **_: numbers(device, size, _kind(dtype, 0.0))


def _like(numbers):
    def like(self, dtype=None, **_):
        return numbers(self.device, self.shape, self.dtype if dtype is None else dtype_of(dtype))

    return like


for _name, _numbers in {"rand": _uniform_numbers, "randn": _normal_numbers}.items():
    row(_name)(_of_size(_numbers))
    row(f"{_name}_like")(_like(_numbers))


@row("randint")
def _randint(high, size, dtype=torch.int64, device=None, **_):
    return _randint_low(0, high, size, dtype, device)


@row("randint.low")
def _randint_low(low, high, size, dtype=torch.int64, device=None, **_):
    drawn = floor(_draw(device, "random_uniform", size) * float(high - low))
    return xnp.astype(drawn + float(low), dtype_of(dtype))
