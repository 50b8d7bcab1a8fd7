"""Convolution of images [N, C, H, W] with filters [O, C, h, w], and its two gradients.

An attribute `dtype` is that of the result where it is not the operands'.

All three are products with the *columns* of an image: one column [C h w] for each place that a
filter is laid on.  Each is linear in both operands, so their gradients are each other.
"""

from math import prod

import numpy as np

from trainium_edu.neuroncore import tilings
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import pieces
from trainium_edu.xla.graph import Type, Unfit
from trainium_edu.xla.operations.loops import dense
from trainium_edu.xla.operations.moves import copied, fill
from trainium_edu.xla.operations.table import apply, check_dtypes, register

__all__: list[str] = []

COLUMNS = 2**19  #: numbers of the executor's columns at a time: 2 MiB
SLAB_BYTES = 24 * 1024  #: per partition, for one tile of lines or columns


def _places(x, w, strides, padding):
    """Return how many places a filter is laid on, down and across."""
    if len(x) != 4 or len(w) != 4 or x[1] != w[1]:
        raise Unfit("it takes [N, C, H, W] and [O, C, h, w] with equal C")
    if len(strides) != 2 or len(padding) != 2 or min(strides) < 1 or min(map(min, padding)) < 0:
        raise Unfit("it takes two strides from 1, and two pairs (before, after) from 0")
    sizes = []
    for n, k, stride, (low, high) in zip(x[2:], w[2:], strides, padding, strict=True):
        if k > n + low + high:
            whole = f"{n} with {low} and {high} of padding"
            raise Unfit(f"a filter of {k} is larger than the image's {whole}")
        sizes.append((n + low + high - k) // stride + 1)
    return tuple(sizes)


#: operation -> the roles of its operands and its result: an image, a filter, the result's gradient
_ROLES = {"convolution": ("x", "w", "g"), "convolution_of_input": ("w", "g", "x"),
          "convolution_of_filter": ("x", "g", "w")}  # fmt: skip
_GIVES = {roles[-1]: name for name, roles in _ROLES.items()}


def _infer(name):
    def infer(a: Type, b: Type, strides, padding, shape=None, dtype=None) -> Type:
        check_dtypes("float", a, b)
        shapes = dict(zip(_ROLES[name], (a.shape, b.shape, shape), strict=True))
        x, w, g = (shapes[role] for role in "xwg")
        places = _places(x, w, strides, padding)
        if g not in (None, (x[0], w[0], *places)):
            raise Unfit(f"the gradient is {b}, and must have shape {[x[0], w[0], *places]}")
        return a.like(shape or (x[0], w[0], *places), dtype)

    return infer


def _in_roles(node, result):
    """Return a node's operands, and its result or that one's gradient, by their roles."""
    return dict(zip(_ROLES[node.operation], (*node.inputs, result), strict=True))


def _patches(x, kernel, strides, padding):
    """Return a view [N, C, h, w, down, across] of all places of a filter."""
    x = np.pad(x, ((0, 0), (0, 0), *padding)) if any(map(any, padding)) else x
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))
    return windows[:, :, :: strides[0], :: strides[1]].transpose(0, 1, 4, 5, 2, 3)


def _batches(count, size):
    """Yield slices of images whose columns are few enough to stay in the processor's cache."""
    return pieces(count, max(COLUMNS // max(size, 1), 1))


def _columns(node, x, w):
    """Yield (slice of images, their columns [n, C h w, places]); `w`: the filter's shape."""
    patches = _patches(x, w[2:], node.of["strides"], node.of["padding"])
    for some in _batches(len(x), patches[0].size):
        yield some, patches[some].reshape(some.stop - some.start, prod(w[1:]), -1)


def _value(node, x, w):
    out = np.empty((*node.shape[:2], prod(node.shape[2:])), x.dtype)
    for some, columns in _columns(node, x, w.shape):
        np.matmul(w.reshape(len(w), -1), columns, out=out[some])
    return out.reshape(node.shape)


def _value_of_filter(node, x, g):
    up = g.reshape(*g.shape[:2], -1)
    total = np.zeros((node.shape[0], prod(node.shape[1:])), x.dtype)
    for some, columns in _columns(node, x, node.shape):
        total += np.matmul(up[some], columns.swapaxes(1, 2)).sum(0)
    return total.reshape(node.shape)


def _value_of_input(node, w, g):
    (n, c, high, wide), of = node.shape, node.of
    down, across = of["strides"]
    (top, bottom), (left, right) = of["padding"]
    turned = np.ascontiguousarray(w.reshape(len(w), -1).T)
    out = np.zeros((n, c, high + top + bottom, wide + left + right), w.dtype)
    for batch in _batches(n, len(turned) * prod(g.shape[2:])):
        up = g[batch].reshape(batch.stop - batch.start, len(w), -1)
        columns = np.matmul(turned, up).reshape(len(up), *w.shape[1:], *g.shape[2:])
        for i, j in np.ndindex(w.shape[2:]):
            rows = slice(i, i + down * g.shape[2], down)
            out[batch, :, rows, j : j + across * g.shape[3] : across] += columns[:, :, i, j]
    return out[:, :, top : top + high, left : left + wide]


def _vjp(node, g):
    """Return the gradients of both operands: the other two operations, of what is at hand."""
    values, dtype = _in_roles(node, g), node.inputs[0].dtype
    gradients = []
    for operand in _ROLES[node.operation][:2]:
        name = _GIVES[operand]
        a, b = (values[role] for role in _ROLES[name][:2])
        a, b = (x if x.dtype == dtype else apply("cast", x, dtype=dtype) for x in (a, b))
        shape = {} if name == "convolution" else {"shape": values[operand].shape}
        gradients.append(apply(name, a, b, strides=node.of["strides"], padding=node.of["padding"],
                           **shape))  # fmt: skip
    return tuple(gradients)


def _flops(node):
    """Return 2 per multiply-add of every place with every filter, the same for all three."""
    values = _in_roles(node, node)
    return 2 * values["g"].type.size * (values["w"].type.size // values["w"].shape[0])


# -- instructions -----------------------------------------------------------------------------


class _Columns:
    """The columns of an image in HBM, [N places, C h w].

    They pass through SBUF, so that DMA moves long runs.  Each partition gets the rows of the image
    that one row of places reads, *slabs* [C, h, W]; the Vector Engine picks columns from them.
    """

    def __init__(self, core, dtype, x, w, node):
        (self.n, self.c, self.high, self.wide), (_, _, *self.kernel) = x, w
        self.strides, ((self.top, _), (self.left, _)) = node.of["strides"], node.of["padding"]
        self.down, self.across = _places(x, w, self.strides, node.of["padding"])
        self.core = core
        self.matrix = core.hbm((self.n * self.down * self.across, prod(w[1:])), dtype)

    def read(self, x):
        """Lay out the columns of an image."""
        for slab, rows, channels, loads in self._slabs(self.matrix.dtype):
            if self._misses_rows():
                self.core.memset(dst=slab, value=0.0)
            for part, image, places, lines in loads:
                here = slab.sliced(part, slice(None), lines)
                self.core.dma_copy(dst=here, src=self._window(x, image, channels, places, lines))
            for tile, there, steps in self._tiles(rows, channels):
                if self.left or self._reach(self.across - 1, self.kernel[1] - 1) >= self.wide:
                    self.core.memset(dst=tile, value=0.0)
                for column, line in self._pairs(tile, slab, steps):
                    self.core.tensor_copy(dst=column, src=line)
                self.core.dma_copy(dst=there, src=tile)

    def add_up(self):
        """Return the image [N, C, H, W], FP32, into which the columns are added."""
        core, image = self.core, self.core.hbm((self.n, self.c, self.high, self.wide), "float32")
        fill(core, image, 0.0)
        for slab, rows, channels, stores in self._slabs(self.matrix.dtype):
            core.memset(dst=slab, value=0.0)
            for tile, there, steps in self._tiles(rows, channels):
                core.dma_copy(dst=tile, src=there)
                for column, line in self._pairs(tile, slab, steps):
                    core.tensor_tensor(dst=line, data1=line, data2=column, op="add")
            for part, number, places, lines in stores:
                self._add_rows(image, slab, (part, number, channels, places, lines))
        return image

    def _add_rows(self, image, slab, where):
        """Add the lines of a slab to the image: at once those that no other place shares."""
        part, number, channels, places, lines = where
        step = min(self.strides[0], self.kernel[0])
        for some in pieces(lines.stop - lines.start, step):
            some = slice(lines.start + some.start, lines.start + some.stop)
            here = self._window(image, number, channels, places, some)
            there = slab.sliced(part, slice(None), some)
            self.core.dma_compute(dst=here, srcs=[here, there], reduce_op="add")

    def _slabs(self, dtype):
        """Yield (slab, rows of places it serves, channels, its transfers)."""
        each = max(SLAB_BYTES // (self.kernel[0] * self.wide * dtype.itemsize), 1)
        for first in range(0, self.n * self.down, 128):
            rows = slice(first, min(first + 128, self.n * self.down))
            for channels in pieces(self.c, each):
                shape = rows.stop - first, channels.stop - channels.start
                slab = self.core.sbuf((*shape, self.kernel[0], self.wide), dtype)
                yield slab, rows, channels, list(self._transfers(rows))

    def _transfers(self, rows):
        """Yield (partitions, image, rows of places, lines of the filter) that lie in the image."""
        start = rows.start
        while start < rows.stop:
            image, place = divmod(start, self.down)
            lines, end = self._lines(place), place + 1
            most = min(self.down, place + rows.stop - start)
            while end < most and self._lines(end) == lines:
                end += 1
            if lines.start < lines.stop:
                part = slice(start - rows.start, start - rows.start + end - place)
                yield part, image, slice(place, end), lines
            start += end - place

    def _lines(self, place):
        """Return which lines of the filter lie inside the image, at a row of places."""
        first = place * self.strides[0] - self.top
        return slice(max(0, -first), max(0, min(self.kernel[0], self.high - first)))

    def _misses_rows(self):
        whole = slice(0, self.kernel[0])
        return self._lines(0) != whole or self._lines(self.down - 1) != whole

    def _window(self, x, image, channels, places, lines):
        """Return the lines [places, C, lines, W] of an image; those of two places may overlap."""
        height = x.strides[2]
        first = places.start * self.strides[0] - self.top + lines.start
        shape = (places.stop - places.start, channels.stop - channels.start,
                 lines.stop - lines.start, self.wide)  # fmt: skip
        strides = height * self.strides[0], x.strides[1], height, x.strides[3]
        offset = x.offset + image * x.strides[0] + channels.start * x.strides[1] + first * height
        return View(x.buffer, x.dtype, shape, strides, offset)

    def _tiles(self, rows, channels):
        """Yield (tile of columns, where it lies in HBM, its places of a row)."""
        count, size = rows.stop - rows.start, prod(self.kernel)
        shape = self.n * self.down, self.across, self.c, *self.kernel
        every = self.matrix.reshaped(*shape)
        wide = channels.stop - channels.start
        each = max(SLAB_BYTES // (wide * size * self.matrix.dtype.itemsize), 1)
        for steps in pieces(self.across, each):
            tile = self.core.sbuf(
                (count, steps.stop - steps.start, wide, *self.kernel), self.matrix.dtype
            )
            yield tile, every.sliced(rows, steps, channels), steps

    def _reach(self, place, column):
        """Return which column of the image a column of the filter reads, at a place of a row."""
        return place * self.strides[1] - self.left + column

    def _pairs(self, tile, slab, steps):
        """Yield where columns and the slab's lines hold the same, one filter column at a time."""
        step = self.strides[1]
        for j in range(self.kernel[1]):
            inside = [
                k for k in range(steps.start, steps.stop) if 0 <= self._reach(k, j) < self.wide
            ]
            if not inside:
                continue
            first, last = inside[0], inside[-1]
            some = slice(first - steps.start, last - steps.start + 1)
            at = slice(self._reach(first, j), self._reach(last, j) + 1, step)
            every = slice(None)
            column = tile.sliced(every, some, every, every, slice(j, j + 1))
            line = slab.sliced(every, every, every, at).permuted(0, 3, 1, 2)
            yield column.reshaped(*column.shape[:-1]), line


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
        stationary_layout="MK", moving_layout="NK",
    )  # fmt: skip
    lowering.alias(node, result.permuted(1, 0, 2, 3))


def _lower_of_filter(lowering, node):
    core, (x, g) = lowering.core, node.inputs
    columns = _Columns(core, x.dtype, x.shape, node.shape, node)
    columns.read(lowering.view(x))
    tilings.matmul(
        core, lowering.out(node).reshaped(node.shape[0], node.type.size // node.shape[0]),
        _by_filter(core, lowering.view(g)), columns.matrix,
        stationary_layout="MK",
    )  # fmt: skip


def _lower_of_input(lowering, node):
    core, (w, g) = lowering.core, node.inputs
    columns = _Columns(core, "float32", node.shape, w.shape, node)
    filters = dense(lowering, w, (w.shape[0], w.type.size // w.shape[0]))
    up = _by_filter(core, lowering.view(g))
    tilings.matmul(core, columns.matrix, up, filters)
    image = columns.add_up()
    if node.dtype == "float32":
        lowering.alias(node, image)
    else:
        core.dma_copy(dst=lowering.out(node), src=image)


for _name, _function, _instructions in (
    ("convolution", _value, _lower), ("convolution_of_input", _value_of_input, _lower_of_input),
    ("convolution_of_filter", _value_of_filter, _lower_of_filter),
):  # fmt: skip
    register(_name, _infer(_name), value=_function, vjp=_vjp, lower=_instructions, flops=_flops,
             by_replica=True)  # fmt: skip
