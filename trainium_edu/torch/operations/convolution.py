"""Convolutions of one and two dimensions, also transposed, with groups and dilation.

A dilated filter has zeros between its elements.  Where each channel has a filter of its own, the
places of the filter are multiplied and added one after the other, on the Vector Engine; other
groups are convolutions side by side.
"""

from functools import reduce
from operator import add

from trainium_edu.torch.operations.table import of_floats, record, row
from trainium_edu.torch.operations.windows import Windows
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


class _Layer:
    """One convolution [N, C, H, W] with its settings; of one dimension, H is 1."""

    def __init__(self, x, w, stride, padding, dilation, transposed, output_padding, groups):
        self.transposed, self.groups = transposed, groups
        self.is_flat = len(x.shape) == 3
        fill = [(1, stride), (0, padding), (1, dilation), (0, output_padding)]
        pairs = [[n] * self.is_flat + list(given) * (2 - self.is_flat if len(given) == 1 else 1)
                 for n, given in fill]  # fmt: skip
        self.stride, self.padding, self.dilation, self.more = (tuple(p) for p in pairs)

    def wide(self, x):
        """Return a tensor with two axes of places."""
        return xnp.expand_dims(x, 2) if self.is_flat else x

    def narrow(self, x):
        """Return a result with as many axes as the operands have."""
        return xnp.squeeze(x, 2) if self.is_flat and x is not None else x

    @property
    def how(self):
        """The arguments of the rows of ``xla``."""
        return {"strides": self.stride, "padding": tuple((p, p) for p in self.padding)}

    def spread(self, w):
        """Return filters with zeros between their elements."""
        for axis, step in zip((2, 3), self.dilation, strict=True):
            if step > 1:
                shape, size = w.shape, w.shape[axis]
                apart = xnp.reshape(w, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
                width = [(0, 0)] * 5
                width[axis + 1] = 0, step - 1
                w = xnp.reshape(
                    xnp.pad(apart, width), (*shape[:axis], size * step, *shape[axis + 1 :])
                )
                w = w[(slice(None),) * axis + (slice((size - 1) * step + 1),)]
        return w

    def gathered(self, w):
        """Return the elements that a filter had before it was spread."""
        return w[:, :, :: self.dilation[0], :: self.dilation[1]]

    def size(self, x, w):
        """Return the shape of a transposed convolution's result."""
        places = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1 + more
            for n, k, s, p, d, more in zip(
                x.shape[2:], w.shape[2:], self.stride, self.padding, self.dilation, self.more,
                strict=True,
            )
        ]  # fmt: skip
        return (x.shape[0], w.shape[1], *places)

    def forward(self, x, w):
        """Return the convolution of one group."""
        if self.transposed:
            return record("convolution_of_input", self.spread(w), x, shape=self.size(x, w),
                          **self.how)  # fmt: skip
        return record("convolution", x, self.spread(w), **self.how)

    def backward(self, g, x, w, wanted):
        """Return the gradients of input and filter of one group, None where not wanted."""
        spread, of_x, of_w = self.spread(w), None, None
        if wanted[0] and self.transposed:
            of_x = record("convolution", g, spread, **self.how)
        elif wanted[0]:
            of_x = record("convolution_of_input", spread, g, shape=x.shape, **self.how)
        if wanted[1]:
            image, up = (g, x) if self.transposed else (x, g)
            of_w = self.gathered(
                record("convolution_of_filter", image, up, shape=spread.shape, **self.how)
            )
        return of_x, of_w

    def parts(self, x, w):
        """Return operands of each group."""
        return zip(xnp.split(x, self.groups, 1), xnp.split(w, self.groups, 0), strict=True)

    def is_by_channel(self, x, w):
        """Return whether each channel has one filter of its own."""
        one = w.shape[1] == 1 and w.shape[0] == x.shape[1] == self.groups
        return one and self.groups > 1 and not self.transposed

    def windows(self, x, w):
        """Return how a filter slides."""
        return Windows(x.shape[2:], w.shape[2:], self.stride, self.padding, self.dilation)


def _column(w, place):
    """Return one element of each filter, [channels, 1, 1]."""
    return w[:, 0, place[0], place[1]][:, None, None]


def _by_channel(windows, x, w):
    x = windows.padded(x)
    return reduce(add, (windows.at(x, at) * _column(w, at) for at in windows.places()))


def _by_channel_back(windows, g, x, w, wanted):
    of_x, of_w, places = None, None, windows.places()
    if wanted[0]:
        parts = (windows.back(g * _column(w, at), at) for at in places)
        of_x = windows.bare(reduce(add, parts))
    if wanted[1]:
        x = windows.padded(x)
        sums = [xnp.sum(windows.at(x, at) * g, (0, 2, 3)) for at in places]
        of_w = xnp.reshape(xnp.stack(sums, 1), w.shape)
    return of_x, of_w


def _is_known(input, weight, bias=None, stride=(), padding=(), dilation=(), transposed=False,
              output_padding=(), *_):  # fmt: skip
    """Return whether places are laid as the chip's convolution lays them."""
    beyond = transposed and any(
        more >= step for more, step in zip(output_padding, stride, strict=False)
    )
    return len(input.shape) in (3, 4) and of_floats(input) and not beyond


@row("convolution", fits=_is_known)
def _convolution(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    layer = _Layer(input, weight, stride, padding, dilation, transposed, output_padding, groups)
    x, w = layer.wide(input), layer.wide(weight)
    if layer.is_by_channel(x, w):
        out = _by_channel(layer.windows(x, w), x, w)
    elif groups > 1:
        out = xnp.concatenate([layer.forward(*one) for one in layer.parts(x, w)], 1)
    else:
        out = layer.forward(x, w)
    if bias is not None:
        out = out + xnp.reshape(bias, (1, bias.size, 1, 1))
    return layer.narrow(out)


@row("convolution_backward", fits=lambda grad_output, *given: _is_known(*given))
def _convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
    groups, output_mask,
):  # fmt: skip
    layer = _Layer(input, weight, stride, padding, dilation, transposed, output_padding, groups)
    g, x, w = (layer.wide(t) for t in (grad_output, input, weight))
    if layer.is_by_channel(x, w):
        of_x, of_w = _by_channel_back(layer.windows(x, w), g, x, w, output_mask)
    elif groups > 1:
        found = [
            layer.backward(up, *one, output_mask)
            for up, one in zip(xnp.split(g, groups, 1), layer.parts(x, w), strict=True)
        ]
        of_x, of_w = (
            xnp.concatenate(side, axis) if wanted else None
            for side, axis, wanted in zip(
                zip(*found, strict=True), (1, 0), output_mask, strict=False
            )
        )
    else:
        of_x, of_w = layer.backward(g, x, w, output_mask)
    of_bias = xnp.sum(g, (0, 2, 3)) if output_mask[2] else None
    return layer.narrow(of_x), layer.narrow(of_w), of_bias
