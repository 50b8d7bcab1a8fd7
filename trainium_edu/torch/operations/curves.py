"""Activations and their gradients."""

from trainium_edu.torch.operations.arithmetic import log1p
from trainium_edu.torch.operations.table import fixed, gradient, of_floats, record, row
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


def _inside(x, low, high):
    """Return 1 strictly between two numbers, else 0, in x's dtype."""
    return xnp.astype(xnp.logical_and(x > low, x < high), x.dtype)


@row("relu")
def _relu(self):
    return xnp.relu(self) if self.type.is_float else xnp.maximum(self, 0)


@row("relu6")
def _relu6(self):
    return xnp.clip(self, 0, 6)


@row("threshold")
def _threshold(self, threshold, value):
    return xnp.where(self > threshold, self, value)


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


@row("silu_backward")
def _silu_backward(grad_output, self):
    return gradient("silu", grad_output, self)[0]


@row("tanh_backward")
def _tanh_backward(grad_output, output):
    return grad_output * (fixed(output, 1.0) - xnp.square(output))


@row("sigmoid_backward")
def _sigmoid_backward(grad_output, output):
    return grad_output * (output * (fixed(output, 1.0) - output))


@row("leaky_relu")
def _leaky_relu(self, negative_slope=0.01):
    return xnp.where(self > 0, self, self * negative_slope)


@row("leaky_relu_backward")
def _leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    return xnp.where(self > 0, grad_output, grad_output * negative_slope)


@row("celu")
def _celu(self, alpha=1.0):
    return _elu(self, alpha, 1.0, 1.0 / alpha)


@row("elu")
def _elu(self, alpha=1, scale=1, input_scale=1):
    low = (xnp.exp(self * input_scale) - fixed(self, 1.0)) * (alpha * scale)
    return xnp.where(self > 0, self * scale, low)


@row("elu_backward")
def _elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    x = self_or_result
    if is_result:
        slope = (x + alpha * scale) * input_scale
    else:
        slope = xnp.exp(x * input_scale) * (input_scale * alpha * scale)
    return grad_output * xnp.where(x > 0, float(scale), slope)


@row("softplus")
def _softplus(self, beta=1, threshold=20):
    x = self * beta
    soft = xnp.maximum(x, 0) + log1p(xnp.exp(-xnp.abs(x)))
    return xnp.where(x > threshold, self, soft / beta)


@row("softplus_backward")
def _softplus_backward(grad_output, self, beta, threshold):
    x = self * beta
    return xnp.where(x > threshold, grad_output, grad_output * xnp.sigmoid(x))


@row("log_sigmoid_forward")
def _log_sigmoid(self):
    raised = xnp.exp(-xnp.abs(self))
    return xnp.minimum(self, 0) - log1p(raised), raised


@row("log_sigmoid_backward")
def _log_sigmoid_backward(grad_output, self, buffer):
    return grad_output * xnp.sigmoid(-self)


@row("hardtanh", fits=of_floats)
def _hardtanh(self, min_val=-1, max_val=1):
    return xnp.clip(self, min_val, max_val)


@row("hardtanh_backward")
def _hardtanh_backward(grad_output, self, min_val, max_val):
    return grad_output * _inside(self, min_val, max_val)


@row("hardsigmoid")
def _hardsigmoid(self):
    return xnp.clip(self + fixed(self, 3.0), 0, 6) * fixed(self, 1 / 6)


@row("hardsigmoid_backward")
def _hardsigmoid_backward(grad_output, self):
    return grad_output * (_inside(self, -3, 3) * fixed(self, 1 / 6))


@row("hardswish")
def _hardswish(self):
    return self * _hardsigmoid(self)


@row("hardswish_backward")
def _hardswish_backward(grad_output, self):
    slope = self * fixed(self, 1 / 3) + fixed(self, 0.5)
    slope = xnp.where(self > -3, xnp.where(self > 3, 1.0, slope), 0.0)
    return grad_output * slope


@row("mish")
def _mish(self):
    return self * xnp.tanh(_softplus(self))


@row("mish_backward")
def _mish_backward(grad_output, self):
    bent, s = xnp.tanh(_softplus(self)), xnp.sigmoid(self)
    return grad_output * (bent + self * s * (fixed(self, 1.0) - xnp.square(bent)))


@row("_prelu_kernel")
def _prelu(self, weight):
    return xnp.where(self > 0, self, self * weight)


@row("_prelu_kernel_backward")
def _prelu_backward(grad_output, self, weight):
    is_up = self > 0
    of_weight = xnp.where(is_up, 0.0, grad_output * self)
    return xnp.where(is_up, grad_output, grad_output * weight), of_weight


@row("hardshrink")
def _hardshrink(self, lambd=0.5):
    return xnp.where(xnp.abs(self) > lambd, self, 0.0)


@row("hardshrink_backward")
def _hardshrink_backward(grad_out, self, lambd):
    return xnp.where(xnp.abs(self) > lambd, grad_out, 0.0)


@row("softshrink")
def _softshrink(self, lambd=0.5):
    return xnp.where(xnp.abs(self) > lambd, self - xnp.sign(self) * lambd, 0.0)


@row("softshrink_backward")
def _softshrink_backward(grad_output, self, lambd):
    return _hardshrink_backward(grad_output, self, lambd)


@row("glu")
def _glu(self, dim=-1):
    a, b = xnp.split(self, 2, dim)
    return a * xnp.sigmoid(b)


@row("glu_backward")
def _glu_backward(grad_output, self, dim):
    a, b = xnp.split(self, 2, dim)
    s = xnp.sigmoid(b)
    of_a = grad_output * s
    return xnp.concatenate([of_a, of_a * a * (fixed(s, 1.0) - s)], dim)
