"""Pooling, and images in other sizes.

A mean of windows and a resized image are products with two small matrices, one for each axis, and
their gradients products with these transposed.
"""

from functools import reduce
from math import inf
from operator import add

import numpy as np

from trainium_edu.torch.operations.table import of_floats, row, small_array
from trainium_edu.torch.operations.windows import Windows
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


def _pair(given, otherwise=None):
    """Return two numbers; an empty list means the kernel's."""
    given = [given] if isinstance(given, int) else list(given) or list(otherwise)
    return given * 2 if len(given) == 1 else given


# -- the largest ----------------------------------------------------------------------------------


def _windows(x, kernel_size, stride, padding, dilation, ceil_mode):
    kernel = _pair(kernel_size)
    return Windows(x.shape[-2:], kernel, _pair(stride, kernel), _pair(padding), _pair(dilation),
                   ceil_mode)  # fmt: skip


def _numbers(windows, x):
    """Return the number of each pixel in its image, padded."""
    high, wide = windows.shape
    numbers = xnp.reshape(xnp.arange(high * wide, device=x.device), (high, wide))
    return windows.padded(numbers, -1)


@row("max_pool2d_with_indices", fits=of_floats)
def _max_pool(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Return the largest of each window, and its number in the image: of equal ones the first."""
    windows = _windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    x, numbers = windows.padded(self, -inf), _numbers(windows, self)
    first, *others = windows.places()
    best, place = windows.at(x, first), windows.at(numbers, first)
    for at in others:
        seen = windows.at(x, at)
        place = xnp.where(seen > best, windows.at(numbers, at), place)
        best = xnp.maximum(best, seen)
    return best, xnp.broadcast_to(place, best.shape)


@row("max_pool2d_with_indices_backward")
def _max_pool_backward(
    grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
):
    windows = _windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    numbers = _numbers(windows, self)
    parts = (
        windows.back(xnp.where(indices == windows.at(numbers, at), grad_output, 0.0), at)
        for at in windows.places()
    )
    return windows.bare(reduce(add, parts))


# -- products with a matrix for each axis ---------------------------------------------------------


def _between(x, down, across):
    """Return ``down @ x @ across.T``: the last two axes, each through its matrix."""
    down, across = (small_array(x.device, m.astype(np.float32), x.dtype) for m in (down, across.T))
    return xnp.matmul(xnp.matmul(xnp.broadcast_to(down, (*x.shape[:-2], *down.shape)), x), across)


def _shares(x, pairs, divisor):
    """Return sums of stretches [from, to) of both axes, over a number for each."""
    matrices = [_stretches(size, ends) for size, ends in zip(x.shape[-2:], pairs, strict=True)]
    return _between(x, *matrices) * _over(x, divisor)


def _over(x, divisor):
    return small_array(x.device, (1 / divisor).astype(np.float32), x.dtype)


def _stretches(size, ends):
    """Return a matrix with ones from, and up to, a place in each row."""
    place = np.arange(size)
    return np.array([(place >= a) & (place < b) for a, b in ends], float)


def _areas(counts):
    return np.outer(*(np.array(c, float) for c in counts))


def _avg_windows(shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
    """Return the stretches of both axes, and what their sums are divided by."""
    kernel = _pair(kernel_size)
    stride, padding = _pair(stride, kernel), _pair(padding)
    windows = Windows(shape, kernel, stride, padding, ceil=ceil_mode)
    ends, counts = [], []
    for size, k, s, p, out in zip(shape, kernel, stride, padding, windows.out, strict=True):
        whole = [(i * s - p, min(i * s - p + k, size + p)) for i in range(out)]
        inside = [(max(a, 0), min(b, size)) for a, b in whole]
        ends.append(inside)
        counts.append([b - a for a, b in (whole if count_include_pad else inside)])
    return ends, np.full((1, 1), float(divisor)) if divisor else _areas(counts)


@row("avg_pool2d", fits=of_floats)
def _avg_pool(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True,
              divisor_override=None):  # fmt: skip
    return _shares(self, *_avg_windows(self.shape[-2:], kernel_size, stride, padding, ceil_mode,
                                       count_include_pad, divisor_override))  # fmt: skip


def _shares_back(g, x, ends, divisor):
    matrices = [_stretches(size, e).T for size, e in zip(x.shape[-2:], ends, strict=True)]
    return _between(g * _over(g, divisor), *matrices)


@row("avg_pool2d_backward")
def _avg_pool_backward(grad_output, self, kernel_size, stride, padding, ceil_mode,
                       count_include_pad, divisor_override):  # fmt: skip
    found = _avg_windows(self.shape[-2:], kernel_size, stride, padding, ceil_mode,
                         count_include_pad, divisor_override)  # fmt: skip
    return _shares_back(grad_output, self, *found)


def _adaptive(shape, out):
    ends = [
        [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
        for n, m in zip(shape, out, strict=True)
    ]
    return ends, _areas([[b - a for a, b in one] for one in ends])


@row("_adaptive_avg_pool2d")
def _adaptive_avg_pool(self, output_size):
    return _shares(self, *_adaptive(self.shape[-2:], _pair(output_size)))


@row("_adaptive_avg_pool2d_backward")
def _adaptive_avg_pool_backward(grad_output, self):
    return _shares_back(grad_output, self, *_adaptive(self.shape[-2:], grad_output.shape[-2:]))


# -- other sizes ----------------------------------------------------------------------------------


def _nearest(size, out, scale):
    """Return a matrix that repeats pixels."""
    step = 1 / scale if scale else size / out
    places = np.minimum((np.arange(out) * np.float32(step)).astype(int), size - 1)
    return np.eye(size)[places]


def _linear(size, out, scale, align_corners):
    """Return a matrix that mixes two neighbours by their distance."""
    if align_corners:
        at = np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    else:
        at = np.maximum((np.arange(out) + 0.5) * (1 / scale if scale else size / out) - 0.5, 0)
    low = np.minimum(at.astype(int), size - 1)
    part = (at - low)[:, None]
    pixels = np.eye(size)
    return pixels[low] * (1 - part) + pixels[np.minimum(low + 1, size - 1)] * part


def _matrices(make, sizes, outs, scales, *how):
    return [make(n, m, s, *how) for n, m, s in zip(sizes, outs, scales, strict=True)]


@row("upsample_nearest2d_backward")
def _upsample_backward(grad_output, output_size, input_size, scales_h=None, scales_w=None):
    found = _matrices(_nearest, input_size[-2:], output_size, (scales_h, scales_w))
    return _between(grad_output, *(m.T for m in found))


@row("upsample_bilinear2d")
def _bilinear(self, output_size, align_corners, scales_h=None, scales_w=None):
    scales = scales_h, scales_w
    return _between(self, *_matrices(_linear, self.shape[-2:], output_size, scales, align_corners))


@row("upsample_bilinear2d_backward")
def _bilinear_backward(
    grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None
):
    found = _matrices(_linear, input_size[-2:], output_size, (scales_h, scales_w), align_corners)
    return _between(grad_output, *(m.T for m in found))
