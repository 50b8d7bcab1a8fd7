"""``torch_xla.distributed.zero_redundancy_optimizer``: ZeRO-1, an optimiser's state in shards."""

import copy
from collections.abc import Iterator, Sequence

import torch

from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.stand_ins import xla_model as xm

__all__ = ["ZeroRedundancyOptimizer"]

_EXTRA = {"bucket_cap_mb_all_gather", "bucket_cap_mb_reduce_scatter", "coalesce_cc"}


class ZeroRedundancyOptimizer(torch.optim.Optimizer):
    """Let each rank keep and step its rows of every parameter, then give all ranks all rows.

    Parameters
    ----------
    params : iterable of Tensor, or of dict
    optimizer_class : type
        Of the optimiser that steps a rank's rows.
    optimizer_dtype : torch.dtype, optional
        Of those rows; default FP32.
    grad_clipping : bool
        Clip by the norm of all gradients.
    max_norm : float, optional
        Default 1.
    pin_layout : bool
        Changes nothing here, as do the sizes of buckets.
    sharding_groups : list of lists of int, optional
        Ranks that share one model's state; default all.
    grad_norm_groups : list of lists of int, optional
        Further ranks whose norms are added.
    lazy_init : bool
        Leave the shards to ``init_zero``.
    **defaults
        Of `optimizer_class`.

    Raises
    ------
    ValueError
        If this rank is in none of `sharding_groups`.

    References
    ----------
    pytorch/xla, ``torch_xla/distributed/zero_redundancy_optimizer.py``, 2.1 to 2.9.
    """

    def __init__(
        self, params, optimizer_class, optimizer_dtype=None, grad_clipping=True, max_norm=None,
        pin_layout=True, sharding_groups: Sequence | None = None,
        grad_norm_groups: Sequence | None = None, lazy_init=False, **defaults,
    ):  # fmt: skip
        defaults = {name: one for name, one in defaults.items() if name not in _EXTRA}
        super().__init__(params, defaults)
        self.optimizer_class, self.optimizer_dtype = optimizer_class, optimizer_dtype
        self.grad_clipping, self.max_norm = grad_clipping, 1.0 if max_norm is None else max_norm
        self.sharding_groups, self.grad_norm_groups = sharding_groups, grad_norm_groups
        if not lazy_init:
            self.init_zero()

    @torch.no_grad()
    def init_zero(self) -> None:
        """Take this rank's rows of all parameters, and make the optimiser that steps them."""
        rank = xm.get_ordinal()
        groups = self.sharding_groups or [range(xm.xrt_world_size())]
        mine = next((list(one) for one in groups if rank in one), None)
        if mine is None:
            raise refusal("ranks.sharding", ValueError, rank=rank, groups=groups)
        self._count, self._place = len(mine), mine.index(rank)
        shards = [{**one, "params": list(map(self._shard, one["params"]))}
                  for one in self.param_groups]  # fmt: skip
        self.base_optimizer = self.optimizer_class(shards, **self.defaults)
        _tell(self.base_optimizer, self)

    def _padded(self, value: torch.Tensor) -> torch.Tensor:
        """Return a tensor with rows of 0 behind, so that each rank has as many."""
        rows = torch.atleast_1d(value)
        more = -len(rows) % self._count
        return torch.cat([rows, rows.new_zeros((more, *rows.shape[1:]))]) if more else rows

    def _shard(self, parameter) -> torch.nn.Parameter:
        rows = self._padded(parameter.detach()).chunk(self._count)[self._place]
        dtype = self.optimizer_dtype or torch.float32
        return torch.nn.Parameter(rows.to(dtype, copy=True), parameter.requires_grad)

    def _pairs(self) -> Iterator[tuple]:
        """Yield parameters that have a gradient, each with this rank's rows."""
        for mine, shards in zip(self.param_groups, self.base_optimizer.param_groups, strict=True):
            for both in zip(mine["params"], shards["params"], strict=True):
                if both[0].grad is not None:
                    yield both

    @torch.no_grad()
    def step(self, closure=None, **options):
        """Reduce gradients to this rank's rows of their means, step these, and gather all rows."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        groups, count = self.sharding_groups, self._count
        _tell(self, self.base_optimizer)
        for parameter, shard in self._pairs():
            gradient = self._padded(parameter.grad)
            mean = xm.reduce_scatter(xm.REDUCE_SUM, gradient, 1 / count, 0, count, groups)
            shard.grad = mean.to(shard.dtype)
        if self.grad_clipping:
            self._clip([shard.grad for _, shard in self._pairs()])
        self.base_optimizer.step(**options)
        self.base_optimizer.zero_grad()
        for parameter, shard in self._pairs():
            rows = torch.atleast_1d(parameter)
            rows.copy_(xm.all_gather(shard.detach().to(rows.dtype), 0, groups)[: len(rows)])
        _tell(self.base_optimizer, self)
        return loss

    def _clip(self, gradients: list) -> None:
        if not gradients:
            return
        total = torch.stack([one.square().sum() for one in gradients]).sum()
        total = xm.all_reduce(xm.REDUCE_SUM, total, groups=self.sharding_groups)
        if self.grad_norm_groups is not None:
            total = xm.all_reduce(xm.REDUCE_SUM, total, groups=self.grad_norm_groups)
        factor = (self.max_norm / (total.sqrt() + 1e-6)).clamp(max=1.0)
        for one in gradients:
            one.mul_(factor)

    def state_dict(self) -> dict:
        """Return the options, and this rank's part of the state."""
        return {**super().state_dict(), "base_state": self.base_optimizer.state_dict()["state"]}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take what :meth:`state_dict` gave on this rank, and the parameters as they are now."""
        state_dict = copy.deepcopy(state_dict)
        state = state_dict.pop("base_state")
        super().load_state_dict(state_dict)
        self.init_zero()
        base = self.base_optimizer
        base.load_state_dict({**base.state_dict(), "state": state})


def _tell(one, other) -> None:
    """Copy the options of an optimiser's groups to another's."""
    for source, target in zip(one.param_groups, other.param_groups, strict=True):
        target.update({name: value for name, value in source.items() if name != "params"})
