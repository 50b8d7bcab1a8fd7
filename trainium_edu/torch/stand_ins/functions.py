"""``torch_xla.core.functions``: collectives that gradients go through."""

from collections.abc import Sequence

import torch

from trainium_edu.torch.stand_ins import xla_model as xm

__all__ = ["all_gather", "all_reduce"]


def all_reduce(reduce_type: str, value: torch.Tensor, scale: float = 1.0,
               groups: Sequence | None = None) -> torch.Tensor:  # fmt: skip
    """Record a reduction over ranks; its gradient is that of this rank's part alone."""
    return _AllReduce.apply(value, reduce_type, scale, groups)


def all_gather(value: torch.Tensor, dim: int = 0) -> torch.Tensor:
    """Record all ranks' tensors in a row; the gradient is this rank's own part of it."""
    return _AllGather.apply(value, dim)


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, reduce_type, scale, groups):
        found = xm.all_reduce(reduce_type, value, scale, groups)
        ctx.sums, ctx.scale = reduce_type == xm.REDUCE_SUM, scale
        ctx.save_for_backward(value, found)
        return found

    @staticmethod
    def backward(ctx, grad):
        value, found = ctx.saved_tensors
        grad = grad * ctx.scale if ctx.scale != 1.0 else grad
        return (grad if ctx.sums else torch.where(value == found, grad, 0.0)), None, None, None


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, dim):
        ctx.dim, ctx.size = dim, value.size(dim)
        return xm.all_gather(value, dim)

    @staticmethod
    def backward(ctx, grad):
        return grad.narrow(ctx.dim, xm.get_ordinal() * ctx.size, ctx.size), None
