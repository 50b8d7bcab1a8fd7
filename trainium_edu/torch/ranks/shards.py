"""Where ranks that run together get different data from: loaders with a ``DistributedSampler``.

A sampler made without a rank takes each rank's share of the samples; here all shares are loaded in
turn.  A batch holds :class:`Shards` in the place of tensors: they can go to the device, and tell
their shape.  All else that a script would do with them on the host differs by rank, and is refused.
"""

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from trainium_edu.torch import core as cores
from trainium_edu.torch.core import user_line
from trainium_edu.torch.differing import PerRank, RankAsked
from trainium_edu.torch.tensor import XlaTensor, on_device

__all__ = ["Shards", "put", "shards", "sharing"]

_Tensor = torch.Tensor
_TELL = {
    _Tensor.shape.__get__,
    _Tensor.dtype.__get__,
    _Tensor.device.__get__,
    _Tensor.ndim.__get__,
    _Tensor.layout.__get__,
    _Tensor.requires_grad.__get__,
    _Tensor.is_sparse.__get__,
    _Tensor.size,
    _Tensor.dim,
    _Tensor.numel,
    _Tensor.element_size,
    _Tensor.__len__,
    _Tensor.is_contiguous,
    _Tensor.is_floating_point,
    _Tensor.stride,
    torch.is_floating_point,
    torch.numel,
}  # fmt: skip  (attributes are their getters)


class Shards(torch.Tensor):
    """What all ranks have of a batch, on the host; it looks like the first rank's.

    Attributes
    ----------
    each : torch.Tensor [ranks, ...]
    """

    each: torch.Tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _TELL:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if func is _Tensor.to:
            return args[0]._to(*args[1:], **kwargs)
        if func in (_Tensor.pin_memory, _Tensor.contiguous):
            return args[0]
        name = getattr(func, "__name__", str(func))
        raise RankAsked(f"{user_line() or 'the script'} does {name} with a batch on the host")

    def _to(self, *args, **kwargs):
        device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
        each = self.each if dtype is None else self.each.to(dtype)
        if device is not None and device.type == "xla":
            return put(each)
        return of_ranks(each)


def of_ranks(each: torch.Tensor) -> Shards:
    """Return shards of what ranks have, [ranks, ...]."""
    made = each[0].as_subclass(Shards)
    made.each = each
    return made


def put(each: torch.Tensor) -> XlaTensor:
    """Return a tensor on the device that is another one on each rank.

    Parameters
    ----------
    each : torch.Tensor [ranks, ...]
    """
    return on_device(PerRank(each))


# -- loading for all ranks ------------------------------------------------------------------------


def shards(loader: DataLoader, ranks: int) -> Iterator:
    """Yield what each rank's loader would yield, all ranks' in one batch.

    Every rank's loader begins with the random state that a process of its own would have: the
    present one.

    Raises
    ------
    RankAsked
        If loading draws other random numbers on each rank, or draws them in workers.
    """
    chance = _Chance(loader)
    iterators = chance.alike([lambda rank=rank: iter(of_rank(loader, rank)._get_iterator())
                              for rank in range(ranks)])  # fmt: skip
    while True:
        before = chance.state()
        batches = chance.alike([lambda one=one: next(one, None) for one in iterators])
        if loader.num_workers and not _equal(before, chance.state()):
            raise RankAsked("a dataset draws random numbers in a loader's workers")
        if batches[0] is None:
            return
        yield joined(batches)


def of_rank(loader: DataLoader, rank: int) -> DataLoader:
    """Return a loader of one rank's share, without workers."""
    made = copy.copy(loader)
    fields: dict[str, Any] = {
        "num_workers": 0,
        "prefetch_factor": None,
        "persistent_workers": False,
        "timeout": 0,
    }
    sampler = copy.copy(_sampler(loader))
    sampler.rank, sampler.takes_shares = rank, False
    if loader.sampler is _sampler(loader):
        fields["sampler"] = sampler
    if loader.batch_sampler is not None:
        fields["batch_sampler"] = copy.copy(loader.batch_sampler)
        fields["batch_sampler"].sampler = sampler
    made.__dict__.update(fields)
    return made


def _sampler(loader) -> Any:
    """Return what takes each rank's share."""
    for one in (loader.sampler, getattr(loader.batch_sampler, "sampler", None)):
        if getattr(one, "takes_shares", False):
            return one
    return None


def joined(batches: list):
    """Return one batch of :class:`Shards` from one batch per rank."""
    first = batches[0]
    if isinstance(first, torch.Tensor):
        if any(one.shape != first.shape for one in batches):
            raise RankAsked("ranks have batches of other shapes")
        return of_ranks(torch.stack(batches))
    if isinstance(first, dict):
        made = copy.copy(first)
        for key in first:
            made[key] = joined([one[key] for one in batches])
        return made
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(joined, map(list, zip(*batches, strict=True))))
    if isinstance(first, list | tuple):
        return type(first)(map(joined, map(list, zip(*batches, strict=True))))
    if any(one != first for one in batches):
        raise RankAsked(f"batches have a {type(first).__name__} that differs by rank")
    return first


class _Chance:
    """The random state of a process, as loading changes it."""

    def __init__(self, loader):
        self._own = loader.generator

    def state(self) -> tuple:
        own = None if self._own is None else self._own.get_state()
        return torch.get_rng_state(), own, tuple(np.random.get_state())[1:3], random.getstate()  # noqa: NPY002

    def alike(self, calls: list) -> list:
        """Do calls from the same random state; it is afterwards as after each of them."""
        begin, found = self.state(), []
        after = begin
        for call in calls:
            if found and not _equal(begin, after):
                self._restore(begin)
            found.append(call())
            now = self.state()
            if len(found) > 1 and not _equal(now, after):
                raise RankAsked("loading draws other random numbers on each rank")
            after = now
        return found

    def _restore(self, state) -> None:
        torch.set_rng_state(state[0])
        if self._own is not None:
            self._own.set_state(state[1])
        np.random.set_state(("MT19937", *state[2]))  # noqa: NPY002
        random.setstate(state[3])


def _equal(one: tuple, other: tuple) -> bool:
    own = one[1] is None or torch.equal(one[1], other[1])
    return (own and torch.equal(one[0], other[0]) and one[3] == other[3]
            and one[2][1] == other[2][1] and np.array_equal(one[2][0], other[2][0]))  # fmt: skip


class _Iterator:
    """What a ``DataLoader`` goes through: all ranks' batches."""

    def __init__(self, loader, ranks):
        self._ranks, self._length = ranks, len(loader)
        self._reset(loader)

    def _reset(self, loader) -> None:
        self._batches = shards(loader, self._ranks)

    def __iter__(self):
        return self

    def __len__(self):
        return self._length

    def __next__(self):
        return next(self._batches)


@contextmanager
def sharing(ranks: int):
    """Let loaders whose sampler was made without a rank load for all ranks."""
    make, begin = DistributedSampler.__init__, DataLoader._get_iterator

    def __init__(self, dataset, num_replicas=None, rank=None, *args, **kwargs):
        make(self, dataset, num_replicas, rank, *args, **kwargs)
        self.takes_shares = rank is None and self.num_replicas == ranks

    def _get_iterator(self):
        if _sampler(self) is None or cores.current().values == "none":
            return begin(self)
        return _Iterator(self, ranks)

    DistributedSampler.__init__, DataLoader._get_iterator = __init__, _get_iterator
    try:
        yield
    finally:
        DistributedSampler.__init__, DataLoader._get_iterator = make, begin
