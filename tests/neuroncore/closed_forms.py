"""Functions of the Scalar Engine in closed form, of float64."""

import math

import numpy as np


def erf(x):
    return np.vectorize(math.erf)(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


CLOSED = {
    "copy": lambda x: x, "square": lambda x: x * x, "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "gelu_dx": lambda x: 0.5 * (1 + erf(x / np.sqrt(2)))
    + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
    "gelu_apprx_tanh": lambda x: 0.5
    * x
    * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "gelu_apprx_sigmoid_dx": lambda x: sigmoid(1.702 * x)
    + 1.702 * x * sigmoid(1.702 * x) * (1 - sigmoid(1.702 * x)),
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "tanh": np.tanh, "softplus": softplus, "mish": lambda x: x * np.tanh(softplus(x)),
    "erf": erf, "erf_dx": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x), "exp": np.exp,
    "arctan": np.arctan, "sign": np.sign, "abs": np.abs,
    "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: x**-0.5, "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
}  # fmt: skip
