"""Cells of LSTM and GRU as one operation each, which PyTorch asks of a device that is no CPU.

PyTorch has no kernels of them for the CPU, so their values are here too: ``ON_CPU`` has the same
functions on PyTorch's tensors.  A workspace holds what the backward pass needs.
"""

from types import SimpleNamespace

import torch

from trainium_edu.torch.operations.table import both
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []

_LAZY = SimpleNamespace(
    sigmoid=xnp.sigmoid, tanh=xnp.tanh, split=lambda x, parts: xnp.split(x, parts, 1),
    join=lambda parts: xnp.concatenate(parts, 1), total=lambda x: xnp.sum(x, 0),
)  # fmt: skip
_TORCH = SimpleNamespace(
    sigmoid=torch.sigmoid, tanh=torch.tanh, split=lambda x, parts: x.chunk(parts, 1),
    join=lambda parts: torch.cat(parts, 1), total=lambda x: x.sum(0),
)  # fmt: skip


def _plus(x, bias):
    return x if bias is None else x + bias


@both("_thnn_fused_lstm_cell", _LAZY, _TORCH)
def _lstm(on, input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    gates = _plus(_plus(input_gates + hidden_gates, input_bias), hidden_bias)
    i, f, g, o = on.split(gates, 4)
    i, f, g, o = on.sigmoid(i), on.sigmoid(f), on.tanh(g), on.sigmoid(o)
    cy = f * cx + i * g
    return o * on.tanh(cy), cy, on.join([i, f, g, o])


@both("_thnn_fused_lstm_cell_backward_impl", _LAZY, _TORCH)
def _lstm_backward(on, grad_hy, grad_cy, cx, cy, workspace, has_bias):
    i, f, g, o = on.split(workspace, 4)
    bent = on.tanh(cy)
    of_o, of_c = 0.0 * o, grad_cy
    if grad_hy is not None:
        of_o = grad_hy * bent * o * (1 - o)
        of_c = _plus(grad_hy * o * (1 - bent * bent), grad_cy)
    gates = on.join([of_c * g * i * (1 - i), of_c * cx * f * (1 - f), of_c * i * (1 - g * g), of_o])
    return gates, of_c * f, on.total(gates) if has_bias else None


@both("_thnn_fused_gru_cell", _LAZY, _TORCH)
def _gru(on, input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    ir, iz, i_new = on.split(_plus(input_gates, input_bias), 3)
    hr, hz, h_new = on.split(_plus(hidden_gates, hidden_bias), 3)
    r, z = on.sigmoid(ir + hr), on.sigmoid(iz + hz)
    new = on.tanh(i_new + r * h_new)
    return new + z * (hx - new), on.join([r, z, new, hx, h_new])


@both("_thnn_fused_gru_cell_backward", _LAZY, _TORCH)
def _gru_backward(on, grad_hy, workspace, has_bias):
    r, z, new, hx, h_new = on.split(workspace, 5)
    of_z = grad_hy * (hx - new) * z * (1 - z)
    of_new = grad_hy * (1 - z) * (1 - new * new)
    of_r = of_new * h_new * r * (1 - r)
    of_input, of_hidden = on.join([of_r, of_z, of_new]), on.join([of_r, of_z, of_new * r])
    sums = (on.total(of_input), on.total(of_hidden)) if has_bias else (None, None)
    return of_input, of_hidden, grad_hy * z, *sums
