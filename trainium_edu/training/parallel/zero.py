"""ZeRO-1: each rank keeps and updates its part of the optimiser's state.

The gradients of a bucket lie one after the other, cut into as many parts as there are ranks.  A
reduce-scatter gives each rank the sum of its part; the optimiser updates that part only; an
all-gather brings all parts of the new weights to all ranks.  On the wire that is what an all-reduce
takes; in memory, states and FP32 weights shrink to ``1 / ranks``.

Names are those of ``torch_xla.distributed.zero_redundancy_optimizer``, which cuts each parameter by
itself; here a bucket is cut, as its all-reduce is: so the sums are the same, bit for bit.

Bytes per core, of P parameters in buckets that R ranks share: weights and gradients as before.  The
rest is ``(4 or 2 for the part's weights + bytes of its states) · Σ ceil(elements / R)`` over
buckets; without ZeRO-1 the sum is P.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.specs.arguments import choice, flag, number
from trainium_edu.specs.signatures import checked
from trainium_edu.training.optim import Optimizer, clip_grad_norm_, of_rank_0, on_device
from trainium_edu.training.refusals import sentence
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla import xm
from trainium_edu.xla.graph import scope
from trainium_edu.xla.operations import apply
from trainium_edu.xla.operations.control import item
from trainium_edu.xla.tensor import Tensor, as_tensor, of_node

__all__ = ["ZeroRedundancyOptimizer"]


class _Bucket:
    """Some parameters that are cut into equal parts together, and this rank's part of them."""

    def __init__(self, parameters: list[Tensor], ranks: int, dtype: str):
        self.parameters, self.ranks = parameters, ranks
        self.elements = sum(p.size for p in parameters)
        self.part = self.placed([of_rank_0(p) for p in parameters], dtype)

    def reduce(self) -> None:
        """Record the mean of this rank's part of the gradients."""
        grads = [p.grad for p in self.parameters if p.grad is not None]
        if len(grads) < len(self.parameters):
            name = next(p.name for p in self.parameters if p.grad is None)
            raise ValueError(sentence("zero.no_gradient", name=name or "a parameter"))
        node = apply("reduce_scatter", *(g.as_node() for g in grads), kind="sum", world=self.ranks)
        self.part.grad = of_node(self.part.device, node) * (1.0 / self.ranks)

    def gather(self) -> None:
        """Record the way of all parts of the new weights to all ranks."""
        with scope("update"):
            new = xnp.astype(self.part, self.parameters[0].dtype)
        shapes = tuple(p.shape for p in self.parameters)
        node = apply("all_gather", new.as_node(), world=self.ranks, shapes=shapes)
        for i, weight in enumerate(self.parameters):
            value = node if len(shapes) == 1 else item(node, i)
            weight.set_(of_node(weight.device, value))

    # -- the same of arrays, where a rank begins or a state is kept -------------------------------

    def placed(self, arrays: Sequence[np.ndarray], dtype: str) -> Tensor:
        """Return this rank's part of arrays in the parameters' shapes; together, every rank's."""
        flat = np.concatenate([np.ravel(a) for a in arrays]).astype(np.float32)
        rows = np.pad(flat, (0, -len(flat) % self.ranks)).reshape(self.ranks, -1)
        device = self.parameters[0].device
        if device.setting.replicas is None:
            return as_tensor(rows[xm.get_ordinal()], device, dtype)
        return as_tensor(rows, device, dtype, per_replica=True)

    def arrays(self, part: Tensor) -> list[np.ndarray]:
        """Return what all ranks' parts hold, in the parameters' shapes."""
        values = part.numpy()
        rows = values if values.ndim == 2 else np.stack(xm.rendezvous("zero", values))
        ends = np.cumsum([p.size for p in self.parameters])[:-1]
        flat = rows.reshape(-1)[: self.elements].astype(get_dtype(part.dtype).storage)
        pieces = np.split(flat, ends)
        return [a.reshape(p.shape) for a, p in zip(pieces, self.parameters, strict=True)]


class ZeroRedundancyOptimizer:
    """An optimiser whose states are shared out among ranks.

    Call ``step`` itself, and not ``xm.optimizer_step``: the sum over ranks is part of it.

    Parameters
    ----------
    params : iterable of Tensor
        On the device already.
    optimizer_class : type
        Of the optimiser that updates each part: ``optim.SGD``, ``Adam``, ``AdamW``.
    optimizer_dtype : {"float32", "bfloat16"}, optional
        Of the part's weights; default float32.  Wider than `params`, it is their master weight.
    grad_clipping : bool
        Clip gradients by the norm of all, if there is a `max_norm`.
    max_norm : float, optional
    pin_layout : bool
        Changes nothing here.
    bucket_bytes : int, optional
        As in ``xm.reduce_gradients``.
    **defaults
        For `optimizer_class`.

    Attributes
    ----------
    base_optimizer : Optimizer
        Over this rank's parts, one per bucket.
    grad_norm : Tensor or None
        Of all gradients of the newest step, before clipping.

    References
    ----------
    pytorch/xla, ``torch_xla/distributed/zero_redundancy_optimizer.py``; Rajbhandari et al., "ZeRO:
    Memory Optimizations Toward Training Trillion Parameter Models", 2020.

    Examples
    --------
    >>> from trainium_edu.training import Job, Trainer
    >>> trainer = Trainer(Job(ranks=4, batch=8, optimizer="adam", lr=0.001, zero=True))
    >>> [part.shape for part in trainer.optimizer.base_optimizer.parameters]
    [(21251,)]
    >>> trainer.step().agree
    True
    """

    @checked
    def __init__(self, params: Iterable, optimizer_class: type, optimizer_dtype: str | None = None,
                 grad_clipping: bool = True, max_norm: float | None = None, pin_layout: bool = True,
                 *, bucket_bytes: int | None = None, **defaults):  # fmt: skip
        self.parameters = on_device(params)
        if not issubclass(optimizer_class, Optimizer):
            raise TypeError(sentence("zero.no_optimizer", optimizer_class=optimizer_class))
        dtype = choice(optimizer_dtype or "float32", "optimizer_dtype", ("float32", "bfloat16"))
        self.max_norm = None
        if flag(grad_clipping, "grad_clipping") and max_norm is not None:
            self.max_norm = number(max_norm, "max_norm", above=0)
        self.ranks = xm.xrt_world_size()
        groups = xm.in_buckets(self.parameters, bucket_bytes)
        self.buckets = [_Bucket(group, self.ranks, dtype) for group in groups]
        self.base_optimizer = optimizer_class([b.part for b in self.buckets], **defaults)
        self.base_optimizer.init_states()
        self.grad_norm: Tensor | None = None

    lr = property(lambda self: self.base_optimizer.lr,
                  lambda self, value: setattr(self.base_optimizer, "lr", value))  # fmt: skip
    steps = property(lambda self: self.base_optimizer.steps,
                     lambda self, value: setattr(self.base_optimizer, "steps", value))  # fmt: skip

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for tensor in (*self.parameters, *self.base_optimizer.parameters):
            tensor.grad = None

    def step(self) -> None:
        """Record sum, clipping and update of this rank's parts, and the way of all to all ranks."""
        for bucket in self.buckets:
            bucket.reduce()
        if self.max_norm is not None:
            parts = [bucket.part for bucket in self.buckets]
            over_ranks = None if self.ranks == 1 else partial(xm.all_reduce, "sum")
            self.grad_norm = clip_grad_norm_(parts, self.max_norm, over_ranks=over_ranks)
        self.base_optimizer.step()
        for bucket in self.buckets:
            bucket.gather()

    # -- what is kept ---------------------------------------------------------------------------

    def tensors(self) -> list[Tensor]:
        """Return all that is kept on the device."""
        return [*self.base_optimizer.parameters, *self.base_optimizer.tensors()]

    def state_arrays(self) -> list[dict[str, np.ndarray]]:
        """Return the states by parameter and name, at their width, as an optimiser of one rank has.

        Wider weights are ``"master"``, so that a run can go on with ZeRO or without.
        """
        found: dict[int, dict[str, np.ndarray]] = {id(p): {} for p in self.parameters}
        for bucket, state in zip(self.buckets, self.base_optimizer.states, strict=True):
            is_wider = bucket.part.dtype != bucket.parameters[0].dtype
            for name, part in (state | ({"master": bucket.part} if is_wider else {})).items():
                for one, array in zip(bucket.parameters, bucket.arrays(part), strict=True):
                    found[id(one)][name] = array
        return [found[id(p)] for p in self.parameters]

    def load_state_arrays(self, arrays: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Take states over, after the weights."""
        given = {id(p): state for p, state in zip(self.parameters, arrays, strict=True)}
        for bucket, state in zip(self.buckets, self.base_optimizer.states, strict=True):
            mine = [given[id(p)] for p in bucket.parameters]
            for name, part in state.items():
                part.set_(bucket.placed([one[name] for one in mine], part.dtype))
            kept = [one.get("master", of_rank_0(p))
                    for one, p in zip(mine, bucket.parameters, strict=True)]  # fmt: skip
            bucket.part.set_(bucket.placed(kept, bucket.part.dtype))
