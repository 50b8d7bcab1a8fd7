"""Values of the curves that networks bend with, at training speed: few passes, in FP32.

The error function is ``tanh(x P(x^2))``.  P is a least-squares fit of ``atanh(erf(x)) / x`` on
[-4, 4], weighted by the slope of tanh, so its errors count as they appear in the result.  They are
at most 6e-8, one spacing of FP32 near 1 (with FP32's own roundings 1.4e-7).  A chunk of numbers
goes through all steps before the next one, so it stays in the cache.  Wider numbers take SciPy's.
"""

from math import pi, sqrt

import numpy as np

from trainium_edu.neuroncore.engines import activations

__all__ = ["erf", "gelu", "gelu_slope", "gelu_tanh", "silu"]

_CHUNK = 1 << 16
_TOP = 4.5  #: from here on FP32 has nothing between the error function and 1
_P = (1.589554882e-07, -5.985637797e-06, 8.971238874e-05,
      -6.257192726e-04, -1.843838646e-04, 1.027654815e-01,
      1.128379705e+00)  # fmt: skip  # of x^12, x^10, ... 1


def erf(x: np.ndarray) -> np.ndarray:
    """Return the error function."""
    return _in_chunks(_erf, x) if x.dtype == np.float32 else activations.erf(x)


def gelu(x: np.ndarray) -> np.ndarray:
    """Return x times the normal distribution function."""
    return _in_chunks(_gelu, x) if x.dtype == np.float32 else activations.gelu(x)


def gelu_slope(x: np.ndarray) -> np.ndarray:
    """Return the derivative of gelu."""
    return _in_chunks(_gelu_slope, x) if x.dtype == np.float32 else activations.gelu_dx(x)


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """Return gelu with the distribution function written with tanh."""
    out, c = np.multiply(x, x, out=np.empty_like(x)), sqrt(2 / pi)
    out *= 0.044715 * c
    out += c
    out *= x
    np.tanh(out, out=out)
    out += 1
    out *= 0.5
    return _times(out, x, -12)


def silu(x: np.ndarray) -> np.ndarray:
    """Return x * sigmoid(x)."""
    return _times(activations.sigmoid(x), x, -120)


def _times(factor, x, low):
    """Multiply by x where it is not so low that the factor is nothing (minus infinity is)."""
    factor *= np.maximum(x, low)
    return factor


def _in_chunks(function, x):
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, _CHUNK):
        function(flat[start : start + _CHUNK], out[start : start + _CHUNK])
    return out.reshape(x.shape)


def _erf(x, out):
    inside = np.clip(x, -_TOP, _TOP)
    squared = inside * inside
    out[...] = _P[0]
    for number in _P[1:]:
        out *= squared
        out += number
    out *= inside
    np.tanh(out, out=out)


def _below(x, out):
    """Write the share of the normal distribution below x."""
    _erf(x * sqrt(0.5), out)
    out += 1
    out *= 0.5


def _gelu(x, out):
    _below(x, out)
    _times(out, x, -6)


def _gelu_slope(x, out):
    _below(x, out)
    inside = np.clip(x, -14, 14)
    density = inside * inside
    density *= -0.5
    np.exp(density, out=density)
    density *= inside
    density *= 1 / sqrt(2 * pi)
    out += density
