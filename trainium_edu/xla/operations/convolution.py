"""Convolution of images [N, C, H, W] with filters [O, C, h, w], and its two gradients.

An attribute `dtype` is that of the result where it is not the operands'.

All three are products with the *columns* of an image: one column [C h w] for each place that a
filter is laid on.  Each is linear in both operands, so their gradients are each other.
"""

from math import prod

import numpy as np

from trainium_edu.neuroncore import tilings
from trainium_edu.xla.graph import GraphError, Type
from trainium_edu.xla.operations.loops import dense
from trainium_edu.xla.operations.moves import copied, fill
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


def _infer(x: Type, w: Type, strides, padding, dtype=None) -> Type:
    _one_dtype("convolution", x, w)
    places = _places(x.shape, w.shape, strides, padding)
    return x.like((x.shape[0], w.shape[0], *places), dtype)


def _infer_of_input(w: Type, g: Type, shape, strides, padding, dtype=None) -> Type:
    _one_dtype("convolution_of_input", w, g)
    _check_gradient("convolution_of_input", shape, w.shape, g, strides, padding)
    return w.like(shape, dtype)


def _infer_of_filter(x: Type, g: Type, shape, strides, padding, dtype=None) -> Type:
    _one_dtype("convolution_of_filter", x, g)
    _check_gradient("convolution_of_filter", x.shape, shape, g, strides, padding)
    return x.like(shape, dtype)


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
    """Return a function that applies one of the three as a node of them says."""

    def of(node, *operands, **shape):
        dtype = node.inputs[0].dtype
        a, b = (x if x.dtype == dtype else apply("cast", x, dtype=dtype) for x in operands)
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


# -- instructions -----------------------------------------------------------------------------


class _Columns:
    """The columns of an image in HBM, [C h w, N places], or turned where strides skip elements.

    DMA moves runs of neighbours: those of an image row where the stride is 1, else those of a
    filter row.
    """

    def __init__(self, core, dtype, x, w, node):
        (self.n, self.c, *self.size), (_, _, *self.kernel) = x, w
        self.strides, self.padding = node.of["strides"], node.of["padding"]
        self.places = _places(x, w, self.strides, self.padding)
        self.turned = self.strides[1] > 1
        self.core, rows, columns = core, prod(w[1:]), self.n * prod(self.places)
        self.matrix = core.hbm((columns, rows) if self.turned else (rows, columns), dtype)

    def pairs(self, image):
        """Yield, for each element of the filter, where columns and a padded image hold the same."""
        (h, w), (down, across), (rows, columns) = self.kernel, self.strides, self.places
        shape = (self.c, h, w), (self.n, rows, columns)
        if self.turned:
            every = self.matrix.reshaped(*shape[1], *shape[0]).permuted(0, 3, 1, 2, 4, 5)
        else:
            every = self.matrix.reshaped(*shape[0], *shape[1]).permuted(3, 0, 4, 5, 1, 2)
        for i, j in np.ndindex(h, w):
            here = image.sliced(
                slice(None), slice(None), slice(i, i + (rows - 1) * down + 1, down),
                slice(j, j + (columns - 1) * across + 1, across),
            )  # fmt: skip
            yield every.sliced(*[slice(None)] * 4, i, j), here

    def padded_shape(self):
        return (self.n, self.c, *(n + sum(p) for n, p in zip(self.size, self.padding, strict=True)))

    def inside(self, image):
        """Return a padded image without its borders."""
        parts = (slice(low, low + n) for n, (low, _) in zip(self.size, self.padding, strict=True))
        return image.sliced(slice(None), slice(None), *parts)

    def read(self, x):
        """Lay out the columns of an image."""
        if any(map(any, self.padding)):
            image = self.core.hbm(self.padded_shape(), x.dtype)
            fill(self.core, image, 0.0)
            self.core.dma_copy(dst=self.inside(image), src=x)
            x = image
        for column, here in self.pairs(x):
            self.core.dma_copy(dst=column, src=here)

    def add_up(self):
        """Return the image [N, C, H, W], FP32, into which the columns are added."""
        image = self.core.hbm(self.padded_shape(), "float32")
        fill(self.core, image, 0.0)
        for column, here in self.pairs(image):
            self.core.dma_compute(dst=here, srcs=[here, column], reduce_op="add")
        return self.inside(image)


def _by_filter(core, view):
    """Return a tensor [N, O, ...] as [O, N ...]."""
    filters = view.shape[1]
    return copied(core, view.permuted(1, 0, 2, 3)).reshaped(filters, view.size // filters)


def _lower(lowering, node):
    core, (x, w) = lowering.core, node.inputs
    columns = _Columns(core, x.dtype, x.shape, w.shape, node)
    columns.read(lowering.view(x))
    filters = dense(lowering, w, (w.shape[0], w.type.size // w.shape[0]))
    n, o, *places = node.shape
    result = core.hbm((o, n, *places), node.dtype)
    tilings.matmul(
        core, result.reshaped(o, node.type.size // o), filters, columns.matrix,
        stationary_layout="MK", moving_layout="NK" if columns.turned else "KN",
    )  # fmt: skip
    lowering.alias(node, result.permuted(1, 0, 2, 3))


def _lower_of_filter(lowering, node):
    core, (x, g) = lowering.core, node.inputs
    columns = _Columns(core, x.dtype, x.shape, node.shape, node)
    columns.read(lowering.view(x))
    tilings.matmul(
        core, lowering.out(node).reshaped(node.shape[0], node.type.size // node.shape[0]),
        _by_filter(core, lowering.view(g)), columns.matrix,
        stationary_layout="MK", moving_layout="KN" if columns.turned else "NK",
    )  # fmt: skip


def _lower_of_input(lowering, node):
    core, (w, g) = lowering.core, node.inputs
    columns = _Columns(core, "float32", node.shape, w.shape, node)
    filters = dense(lowering, w, (w.shape[0], w.type.size // w.shape[0]))
    up = _by_filter(core, lowering.view(g))
    tilings.matmul(core, columns.matrix, *((up, filters) if columns.turned else (filters, up)))
    image = columns.add_up()
    if node.dtype == "float32":
        lowering.alias(node, image)
    else:
        core.dma_copy(dst=lowering.out(node), src=image)


register("convolution", _infer, value=_value, vjp=_back, lower=_lower, flops=_flops,
         by_replica=True)  # fmt: skip
register("convolution_of_input", _infer_of_input, value=_value_of_input, vjp=_back_of_input,
         lower=_lower_of_input, flops=_flops, by_replica=True)  # fmt: skip
register("convolution_of_filter", _infer_of_filter, value=_value_of_filter, vjp=_back_of_filter,
         lower=_lower_of_filter, flops=_flops, by_replica=True)  # fmt: skip
