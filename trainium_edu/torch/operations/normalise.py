"""Softmax; layer and batch norm, and the first one's gradient.

The gradient uses the mean and 1/deviation that its forward pass returned, as PyTorch's does.
"""

from functools import partial
from math import inf

import torch

from trainium_edu.torch.operations.table import ON_CPU, fixed, record, row, to_dtype
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.tensor import Tensor

__all__: list[str] = []


# -- softmax --------------------------------------------------------------------------------------


def _along(function, self, dim, half_to_float):
    x = xnp.astype(self, "float32") if half_to_float else self
    return function(x, dim) if x.ndim else xnp.squeeze(function(xnp.expand_dims(x, 0)), 0)


for _name, _function in {"_softmax": xnp.softmax, "_log_softmax": xnp.log_softmax}.items():
    row(_name)(partial(_along, _function))


@row("_safe_softmax")
def _safe_softmax(self, dim, dtype=None):
    """Return 0 in rows that are masked as a whole."""
    x = to_dtype(self, dtype)
    hidden = xnp.max(x, dim, keepdims=True) == fixed(x, -inf)
    return xnp.where(hidden, 0.0, xnp.softmax(xnp.where(hidden, 0.0, x), dim))


def _safe_softmax_on_cpu(self, dim, dtype=None):
    """Return PyTorch's values; look for masked rows only where something is not a number."""
    out = torch.softmax(self, dim, dtype=dtype)
    return torch._safe_softmax(self, dim, dtype) if self.is_meta or out.sum().isnan() else out


ON_CPU["aten::_safe_softmax"] = _safe_softmax_on_cpu


@row("_softmax_backward_data")
def _softmax_backward(grad_output, output, dim, input_dtype):
    product = grad_output * output
    total = xnp.sum(product, dim, keepdims=True) if product.ndim else product
    return to_dtype(product - output * total, input_dtype)


@row("_log_softmax_backward_data")
def _log_softmax_backward(grad_output, output, dim, input_dtype):
    total = xnp.sum(grad_output, dim, keepdims=True) if output.ndim else grad_output
    return to_dtype(grad_output - xnp.exp(output) * total, input_dtype)


# -- what norms share -----------------------------------------------------------------------------


def _f32(x):
    return x if x is None else xnp.astype(x, "float32")


def _moments(x, axes, eps):
    """Return mean and 1/deviation over axes, which are kept."""
    x = _f32(x)
    mean = xnp.mean(x, axes, keepdims=True)
    variance = xnp.mean(xnp.square(x - mean), axes, keepdims=True)
    return mean, xnp.rsqrt(variance + fixed(variance, eps))


def _lay(weight, x, axis):
    """Return numbers of one axis in a shape that stretches to x."""
    shape = [1] * x.ndim
    shape[axis] = weight.size
    return xnp.reshape(weight, shape)


def _times(x, weight):
    return x if weight is None else x * weight


def _like(result, x):
    return result if result is None else xnp.astype(result, x.dtype)


# -- layer norm -----------------------------------------------------------------------------------


@row("native_layer_norm")
def _layer_norm(input, normalized_shape, weight, bias, eps):
    axes = tuple(range(-len(normalized_shape), 0))
    like = input if weight is None else weight
    mean, rstd = (_like(m, like) for m in _moments(input, axes, eps))
    if len(axes) == 1:
        size = normalized_shape[0]
        weight, bias = (
            _like(given, input) if given is not None
            else xnp.full(size, start, input.dtype, device=input.device)
            for given, start in ((weight, 1), (bias, 0))
        )  # fmt: skip
        return record("layer_norm", input, weight, bias, eps=eps), mean, rstd
    out = _times((_f32(input) - _f32(mean)) * _f32(rstd), weight)
    return _like(out if bias is None else out + bias, input), mean, rstd


@row("native_layer_norm_backward")
def _layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    axes = tuple(range(-len(normalized_shape), 0))
    lead = tuple(range(input.ndim - len(axes)))
    g, unit, of_x = _f32(grad_out), (_f32(input) - _f32(mean)) * _f32(rstd), None
    if output_mask[0]:
        weighted = _times(g, weight)  # what of it changes neither mean nor spread
        along = unit * xnp.mean(weighted * unit, axes, keepdims=True)
        of_x = (weighted - xnp.mean(weighted, axes, keepdims=True) - along) * _f32(rstd)
        of_x = _like(of_x, input)
    of_weight, of_bias = (
        _like(xnp.sum(one, lead) if lead else one, input) if wanted else None
        for one, wanted in zip((g * unit, g), output_mask[1:], strict=True)
    )
    return of_x, of_weight, of_bias


# -- batch norm -----------------------------------------------------------------------------------


def _but_channels(x: Tensor) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


@row("native_batch_norm", "_native_batch_norm_legit", writes=("running_mean", "running_var"))
@row("_native_batch_norm_legit_functional")
def _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Return the result, the batch's mean and 1/deviation, and the new running numbers."""
    x, axes = _f32(input), _but_channels(input)
    like = next((one for one in (weight, running_mean) if one is not None), input)
    if training:
        mean = xnp.mean(x, axes)
        variance = xnp.mean(xnp.square(x - _lay(mean, x, 1)), axes)
        rstd = xnp.rsqrt(variance + fixed(variance, eps))
        saved = _like(mean, like), _like(rstd, like)
    else:
        mean, variance = _f32(running_mean), _f32(running_var)
        rstd = xnp.rsqrt(variance + fixed(variance, eps))
        saved = tuple(xnp.zeros(0, like.dtype, device=input.device) for _ in "12")
    scale = _times(rstd, weight)
    out = (x - _lay(mean, x, 1)) * _lay(scale, x, 1)
    out = _like(out if bias is None else out + _lay(bias, x, 1), input)
    if training and running_mean is not None:
        count = x.size // x.shape[1]
        spread = variance * fixed(variance, count / max(count - 1, 1))
        running_mean, running_var = (
            _like(old + (new - old) * momentum, old)
            for old, new in ((running_mean, mean), (running_var, spread))
        )
    return out, *saved, running_mean, running_var


@row("_native_batch_norm_legit_no_training")
def _batch_norm_evaluated(input, weight, bias, running_mean, running_var, momentum, eps):
    return _batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)[:3]


# -- weights with norms ---------------------------------------------------------------------------


@row("_weight_norm_interface_backward")
def _weight_norm_backward(grad_w, saved_v, saved_g, saved_norms, dim):
    along = xnp.sum(grad_w * saved_v, _all_but(saved_v, dim), keepdims=True) / saved_norms
    rest = grad_w - saved_v * (along / saved_norms)
    return rest * (saved_g / saved_norms), along


def _all_but(x, dim):
    return tuple(axis for axis in range(x.ndim) if axis != dim % x.ndim)
