"""Tensors of nothing, copies, and other dtypes.

What only says where or how a tensor lies (``layout``, ``pin_memory``, ``memory_format``) is taken
and has no meaning here.  ``empty`` gives zeros.
"""

import torch

from trainium_edu.torch.operations.table import dtype_of, row, to_dtype
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


def _kind(dtype, *values) -> str:
    """Return the dtype to make numbers in."""
    if dtype is not None:
        return dtype_of(dtype)
    if any(isinstance(v, float) for v in values):
        return dtype_of(torch.get_default_dtype())
    return "bool" if any(isinstance(v, bool) for v in values) else "int32"


@row("full")
def _full(size, fill_value, dtype=None, device=None, **_):
    return xnp.full(size, fill_value, _kind(dtype, fill_value), device=device)


@row("scalar_tensor")
def _scalar_tensor(s, dtype=None, device=None, **_):
    return xnp.full((), s, _kind(dtype, 0.0), device=device)


@row("empty.memory_format", "empty_strided")
def _empty(size, stride=(), dtype=None, device=None, **_):
    return xnp.full(size, 0, _kind(dtype, 0.0), device=device)


def _like(x, size, value, dtype):
    return xnp.full(size, value, x.dtype if dtype is None else dtype_of(dtype), device=x.device)


@row("full_like")
def _full_like(self, fill_value, dtype=None, **_):
    return _like(self, self.shape, fill_value, dtype)


@row("new_empty_strided")
def _new_empty_strided(self, size, stride, dtype=None, **_):
    return _like(self, size, 0, dtype)


@row("_foreach_zero")
def _foreach_zero(self):
    return tuple(xnp.zeros_like(x) for x in self)


# -- counting -------------------------------------------------------------------------------------


@row("arange.start_step")
def _arange_step(start, end, step=1, dtype=None, device=None, **_):
    return xnp.arange(start, end, step, _kind(dtype, start, end, step), device=device)


# -- copies ---------------------------------------------------------------------------------------


@row("clone")
def _clone(self, memory_format=None):
    return self


@row("copy")
def _copy(self, src, non_blocking=False):
    return xnp.broadcast_to(xnp.astype(src, self.dtype), self.shape)


@row("_to_copy")
def _to_copy(self, dtype=None, **_):
    return to_dtype(self, dtype)
