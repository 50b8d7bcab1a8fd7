"""Activations that are one instruction of the chip, and their gradients."""

from trainium_edu.torch.operations.table import gradient, record, row
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


@row("relu")
def _relu(self):
    return xnp.relu(self) if self.type.is_float else xnp.maximum(self, 0)


@row("threshold_backward")
def _threshold_backward(grad_output, self, threshold):
    if threshold == 0 and grad_output.type == self.type:
        return record("relu_gradient", grad_output, self)
    return xnp.where(self > threshold, grad_output, 0)


@row("gelu")
def _gelu(self, approximate="none"):
    return record("gelu" if approximate == "none" else "gelu_tanh", self)


@row("gelu_backward")
def _gelu_backward(grad_output, self, approximate="none"):
    return gradient("gelu" if approximate == "none" else "gelu_tanh", grad_output, self)[0]


@row("silu")
def _silu(self):
    return xnp.silu(self)


@row("hardshrink_backward", "softshrink_backward")
def _shrink_backward(grad_output, self, lambd):
    return xnp.where(xnp.abs(self) > lambd, grad_output, 0.0)
