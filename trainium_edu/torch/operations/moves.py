"""Join, repeat, turn, shift, pad; choose by a condition."""

from trainium_edu.torch.operations.table import row
from trainium_edu.torch.operations.views import part
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


@row("cat")
def _cat(tensors, dim=0):
    kept = [t for t in tensors if 0 not in t.shape]  # PyTorch takes empty ones of any one axis
    kept = kept or [t for t in tensors if t.shape != (0,)] or list(tensors[:1])
    return xnp.concatenate(kept, dim)


@row("flip")
def _flip(self, dims):
    return xnp.flip(self, tuple(dims)) if dims else self


@row("roll")
def _roll(self, shifts, dims=()):
    shifts, dims = ([n] if isinstance(n, int) else list(n) for n in (shifts, dims))
    if not dims:
        return xnp.reshape(_roll(xnp.reshape(self, -1), shifts, [0]), self.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = self.shape[dim]
        at = -shift % size if size else 0
        if at:
            halves = part(self, dim, at, size), part(self, dim, 0, at)
            self = xnp.concatenate(halves, dim)
    return self


@row("constant_pad_nd")
def _pad(self, pad, value=0):
    pairs = [tuple(pad[i : i + 2]) for i in range(0, len(pad), 2)]
    width = [(0, 0)] * (self.ndim - len(pairs)) + pairs[::-1]
    for dim, (low, high) in enumerate(width):
        if low < 0 or high < 0:
            self = part(self, dim, max(-low, 0), self.shape[dim] - max(-high, 0))
    width = [(max(low, 0), max(high, 0)) for low, high in width]
    return xnp.pad(self, width, constant_values=float(value)) if self.ndim else self


# -- by a condition -------------------------------------------------------------------------------


@row("where.self")
def _where(condition, self, other):
    return xnp.where(condition, self, other)
