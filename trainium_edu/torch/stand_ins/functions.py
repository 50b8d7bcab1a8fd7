"""``torch_xla.core.functions``: collectives that gradients go through, and a norm of them."""

from collections.abc import Sequence

import torch

from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.stand_ins import xla_model as xm

__all__ = ["SyncBatchNorm", "all_gather", "all_reduce"]


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


class SyncBatchNorm(torch.nn.Module):
    """A batch norm by the mean and the variance of all ranks' batches, which are equally large.

    Parameters
    ----------
    num_features : int
    eps, momentum : float
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = torch.nn.Parameter(torch.ones(num_features))
        self.bias = torch.nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, batch):
        """Return a batch [samples, features, ...], normalised."""
        if batch.dim() < 2 or batch.size(1) != self.num_features:
            shape = list(batch.shape)
            raise refusal("ranks.norm", ValueError, features=self.num_features, shape=shape)
        mean, variance = self.running_mean, self.running_var
        if self.training:
            axes = [i for i in range(batch.dim()) if i != 1]
            sums = torch.stack([batch.mean(axes), batch.square().mean(axes)])
            mean, squares = _SumOfGradients.apply(sums) / xm.xrt_world_size()
            variance = squares - mean.square()
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(variance, self.momentum)
        shape = [-1] + [1] * (batch.dim() - 2)
        scale = (self.weight * (variance + self.eps).rsqrt()).view(shape)
        return (batch - mean.view(shape)) * scale + self.bias.view(shape)


class _SumOfGradients(torch.autograd.Function):
    """A sum over ranks, whose gradient is the sum of all ranks' gradients."""

    @staticmethod
    def forward(ctx, value):
        return xm.all_reduce(xm.REDUCE_SUM, value)

    @staticmethod
    def backward(ctx, grad):
        return xm.all_reduce(xm.REDUCE_SUM, grad)
