"""Convolution of images [N, C, H, W] with filters [O, C, h, w], and its two gradients.

All three are products with the *columns* of an image: one column [C h w] for each place that a
filter is laid on.  Each is linear in both operands, so their gradients are each other.
"""

import numpy as np

from trainium_edu.xla.graph import GraphError, Type
from trainium_edu.xla.operations.table import apply, register

__all__: list[str] = []


def _places(x, w, strides, padding, name="convolution"):
    """Return how many places a filter is laid on, down and across."""
    if len(x) != 4 or len(w) != 4 or x[1] != w[1]:
        raise GraphError(
            f"{name} of {list(x)} with {list(w)}: it takes [N, C, H, W] and [O, C, h, w] with "
            "equal C"
        )
    if len(strides) != 2 or len(padding) != 2 or min(strides) < 1 or min(map(min, padding)) < 0:
        raise GraphError(
            f"{name}: strides {strides} and padding {padding}; two strides from 1, and two pairs "
            "(before, after) from 0"
        )
    sizes = []
    for n, k, stride, (low, high) in zip(x[2:], w[2:], strides, padding, strict=True):
        if k > n + low + high:
            raise GraphError(
                f"{name} of {list(x)} with {list(w)}: a filter of {k} is larger than the image's "
                f"{n} with {low} and {high} of padding"
            )
        sizes.append((n + low + high - k) // stride + 1)
    return tuple(sizes)


def _one_dtype(name, *types):
    if len({t.dtype for t in types}) > 1 or not types[0].is_float:
        raise GraphError(
            f"{name} of {' and '.join(map(str, types))}: both must have one floating dtype"
        )


def _infer(x: Type, w: Type, strides, padding) -> Type:
    _one_dtype("convolution", x, w)
    places = _places(x.shape, w.shape, strides, padding)
    return x.like((x.shape[0], w.shape[0], *places))


def _infer_of_input(w: Type, g: Type, shape, strides, padding) -> Type:
    _one_dtype("convolution_of_input", w, g)
    _check_gradient("convolution_of_input", shape, w.shape, g, strides, padding)
    return w.like(shape)


def _infer_of_filter(x: Type, g: Type, shape, strides, padding) -> Type:
    _one_dtype("convolution_of_filter", x, g)
    _check_gradient("convolution_of_filter", x.shape, shape, g, strides, padding)
    return x.like(shape)


def _check_gradient(name, x, w, g, strides, padding):
    wanted = (x[0], w[0], *_places(x, w, strides, padding, name))
    if g.shape != wanted:
        raise GraphError(f"{name}: the gradient is {g}, and must have shape {list(wanted)}")


def _patches(x, kernel, strides, padding):
    """Return a view [N, C, h, w, down, across] of all places of a filter."""
    x = np.pad(x, ((0, 0), (0, 0), *padding)) if any(map(any, padding)) else x
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))
    return windows[:, :, :: strides[0], :: strides[1]].transpose(0, 1, 4, 5, 2, 3)


def _value(node, x, w):
    of = node.of
    patches = _patches(x, w.shape[2:], of["strides"], of["padding"])
    columns = patches.reshape(len(x), w[0].size, -1)
    return np.matmul(w.reshape(len(w), -1), columns).reshape(node.shape)


def _value_of_filter(node, x, g):
    of = node.of
    patches = _patches(x, node.shape[2:], of["strides"], of["padding"])
    return np.tensordot(g, patches, ((0, 2, 3), (0, 4, 5)))


def _value_of_input(node, w, g):
    (n, c, high, wide), of = node.shape, node.of
    down, across = of["strides"]
    (top, bottom), (left, right) = of["padding"]
    columns = np.matmul(w.reshape(len(w), -1).T, g.reshape(*g.shape[:2], -1))
    columns = columns.reshape(n, *w.shape[1:], *g.shape[2:])
    out = np.zeros((n, c, high + top + bottom, wide + left + right), w.dtype)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            rows = slice(i, i + down * g.shape[2], down)
            out[:, :, rows, j : j + across * g.shape[3] : across] += columns[:, :, i, j]
    return out[:, :, top : top + high, left : left + wide]


def _with(name):
    """Return a function that applies one of the three with a node's strides and padding."""

    def of(node, a, b, **shape):
        return apply(name, a, b, strides=node.of["strides"], padding=node.of["padding"], **shape)

    return of


_forward, _of_input, _of_filter = map(
    _with, ("convolution", "convolution_of_input", "convolution_of_filter")
)


def _back(node, g):
    x, w = node.inputs
    return _of_input(node, w, g, shape=x.shape), _of_filter(node, x, g, shape=w.shape)


def _back_of_input(node, g):
    w, up = node.inputs
    return _of_filter(node, g, up, shape=w.shape), _forward(node, g, w)


def _back_of_filter(node, g):
    x, up = node.inputs
    return _of_input(node, g, up, shape=x.shape), _forward(node, x, g)


def _flops(node):
    """Two per multiply-add of every place with every filter, the same for all three."""
    roles = {
        "convolution": (node, node.inputs[1]),
        "convolution_of_input": (node.inputs[1], node.inputs[0]),
        "convolution_of_filter": (node.inputs[1], node),
    }
    out, w = roles[node.operation]
    return 2 * out.type.size * (w.type.size // w.shape[0])


register("convolution", _infer, value=_value, vjp=_back, flops=_flops, by_replica=True)
register("convolution_of_input", _infer_of_input, value=_value_of_input, vjp=_back_of_input,
         flops=_flops, by_replica=True)  # fmt: skip
register("convolution_of_filter", _infer_of_filter, value=_value_of_filter, vjp=_back_of_filter,
         flops=_flops, by_replica=True)  # fmt: skip
