"""Windows on the last two axes, one place of the window at a time: strided slices and back."""

from trainium_edu.torch.operations.table import gradient
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.tensor import Tensor

__all__ = ["Windows"]


class Windows:
    """The geometry of a window that slides over images [..., H, W].

    Parameters
    ----------
    shape : (H, W)
    kernel, stride, padding, dilation : pairs of int
    ceil : bool
        Also count windows that begin inside and end outside, as ``ceil_mode`` does.
    """

    def __init__(self, shape, kernel, stride, padding, dilation=(1, 1), ceil=False):
        self.kernel, self.stride, self.dilation = kernel, stride, dilation
        self.shape, self.out, self.pads = shape, [], []
        for n, k, s, p, d in zip(shape, kernel, stride, padding, dilation, strict=True):
            reach = d * (k - 1) + 1
            count = (n + 2 * p - reach + (s - 1 if ceil else 0)) // s + 1
            if ceil and (count - 1) * s >= n + p:
                count -= 1
            self.out.append(count)
            self.pads.append((p, max(p, (count - 1) * s + reach - n - p)))

    def padded(self, x: Tensor, value: float = 0.0) -> Tensor:
        """Return images with a number around."""
        width = [(0, 0)] * (x.ndim - 2) + self.pads
        return x if not any(map(any, self.pads)) else xnp.pad(x, width, constant_values=value)

    def places(self) -> list[tuple[int, int]]:
        """Return the places of the window, row by row."""
        return [(i, j) for i in range(self.kernel[0]) for j in range(self.kernel[1])]

    def _stretch(self, place, axis):
        first, step = place[axis] * self.dilation[axis], self.stride[axis]
        return first, first + (self.out[axis] - 1) * step + 1, step

    def at(self, x: Tensor, place: tuple[int, int]) -> Tensor:
        """Return what all windows see at one place, of padded images."""
        down, across = (slice(*self._stretch(place, axis)) for axis in (0, 1))
        return x[..., down, across]

    def back(self, g: Tensor, place: tuple[int, int]) -> Tensor:
        """Return padded images that hold what the windows saw at one place, else 0."""
        sizes = [n + a + b for n, (a, b) in zip(self.shape, self.pads, strict=True)]
        image = xnp.zeros((*g.shape[:-2], *sizes), g.dtype, device=g.device)
        ends = [(0, n, 1) for n in g.shape[:-2]] + [self._stretch(place, a) for a in (0, 1)]
        starts, limits, strides = (tuple(side) for side in zip(*ends, strict=True))
        return gradient("slice", g, image, starts=starts, limits=limits, strides=strides)[0]

    def bare(self, x: Tensor) -> Tensor:
        """Return padded images without their padding."""
        down, across = (slice(a, a + n) for n, (a, _) in zip(self.shape, self.pads, strict=True))
        return x[..., down, across]
