"""The process group ``xla`` of ``torch.distributed``, for ``init_process_group("xla")`` and DDP.

Tensors on the device go by ``collectives.py``, so they are part of the graph; tensors on the CPU
are handed round on the host.  Point-to-point messages are refused, as Trn1's XLA group does.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlparse

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from trainium_edu.torch import core as cores
from trainium_edu.torch.ranks import collectives
from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.tensor import XlaTensor

__all__ = ["XlaGroup", "register"]

_KINDS = {"SUM": "sum", "AVG": "mean", "MAX": "max", "MIN": "min"}
_rounds = iter(range(1, 2**62))


def _each(function: Callable) -> Callable:
    """Return what calls a method for each of many tensors."""

    def coalesced(self, outputs, inputs, opts=None):
        for output, given in zip(outputs, inputs, strict=True):
            function(self, output, given, opts)
        return _done(outputs)

    return coalesced


class XlaGroup(dist.ProcessGroup):
    """Ranks that exchange tensors.

    Parameters
    ----------
    ranks : sequence of int
        Numbers in the world of those that take part.
    rank : int
        This one's place among them.
    """

    def __init__(self, ranks: Sequence[int], rank: int):
        super().__init__(rank, len(ranks))  # type: ignore[call-arg]
        self._ranks, self._place = tuple(ranks), rank
        world = cores.current().world.size
        self._groups = None if len(ranks) == world else [self._ranks]

    def getBackendName(self):
        """Return what ``get_backend`` says."""
        return "xla"

    @property
    def supports_splitting(self) -> bool:
        """Whether a group is made of another's connections; there are none."""
        return False

    # -- three primitives, on the device or on the host --------------------------------------------

    def _reduce(self, tensors: list, operation) -> None:
        kind = _kind(operation)
        if _are_on_device(tensors):
            collectives.all_reduce(kind, tensors, groups=self._groups)
            return
        for one in tensors:
            rows = torch.stack(self._handed_round("all_reduce", one))
            if kind in ("max", "min"):
                one.copy_(getattr(rows, f"a{kind}")(0))
            else:
                one.copy_(rows.sum(0) if kind == "sum" else rows.sum(0) / len(rows))

    def _gather(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return all ranks' tensors along a new first axis."""
        if _are_on_device([tensor]):
            return collectives.all_gather(tensor.unsqueeze(0), 0, self._groups)
        return torch.stack(self._handed_round("all_gather", tensor))

    def _exchange(self, tensor: torch.Tensor) -> torch.Tensor:
        """Send equal parts along the first axis, and return those that came."""
        if _are_on_device([tensor]):
            return collectives.all_to_all(tensor, groups=self._groups)
        parts = self._handed_round("all_to_all", tensor)
        return torch.cat([one.chunk(len(self._ranks))[self._place] for one in parts])

    def _spread(self, tensors: list, root: int) -> None:
        if _are_on_device(tensors):
            collectives.broadcast(tensors, self._ranks[root], self._groups)
            return
        for one in tensors:
            one.copy_(self._handed_round("broadcast", one)[root])

    def _handed_round(self, name: str, tensor: torch.Tensor) -> list[torch.Tensor]:
        dtype = str(tensor.dtype).removeprefix("torch.")
        told = f"{name} of {dtype}{list(tensor.shape)} on the CPU"
        return self._met(told, tensor.detach().clone())

    def _met(self, tag: str, payload: Any) -> list:
        others = cores.current().collectives
        if others is None or len(self._ranks) == 1:
            return [payload]
        return others.rendezvous(tag, payload, self._ranks)

    # -- what torch.distributed calls --------------------------------------------------------------

    def allreduce(self, tensors, opts=None):
        """Reduce in place."""
        self._reduce(tensors, getattr(opts, "reduceOp", opts))
        return _done(tensors)

    allreduce_coalesced = allreduce

    def reduce(self, tensors, opts):
        """Reduce in place on one rank; the others keep theirs."""
        found = [one.clone() for one in tensors]
        self._reduce(found, opts.reduceOp)
        return self._filled_on(opts.rootRank, tensors, found)

    def broadcast(self, tensors, opts):
        """Copy the tensors of one rank to all."""
        self._spread(tensors, opts.rootRank)
        return _done(tensors)

    def allgather(self, outputs, inputs, opts=None):
        """Fill a list with the tensors of all."""
        for out, given in zip(outputs, inputs, strict=True):
            _filled(out, self._gather(given).unbind(0))
        return _done(outputs)

    def _allgather_base(self, output, given, opts=None):
        return _filled([output], [self._gather(given).reshape(output.shape)])

    all_gather_single = _allgather_base

    allgather_into_tensor_coalesced = all_gather_single_coalesced = _each(_allgather_base)

    def gather(self, outputs, inputs, opts):
        """Fill one rank's list with the tensors of all."""
        targets = outputs[0] if outputs else []
        return self._filled_on(opts.rootRank, targets, self._gather(inputs[0]).unbind(0))

    def _filled_on(self, root: int, targets, values):
        """Fill the tensors of one rank; hold values up to the step's end, in all ranks' graphs."""
        cores.current().closures.append((len, (values,)))
        return _filled(targets, values) if root == self._place else _done(targets)

    def scatter(self, outputs, inputs, opts):
        """Send each rank its tensor of one rank's list."""
        output = outputs[0]
        shape = (len(self._ranks), *output.shape)
        is_root = opts.rootRank == self._place
        parts = torch.stack(inputs[0]) if is_root else output.new_zeros(shape)
        self._spread([parts], opts.rootRank)
        return _filled(outputs, [parts[self._place]])

    def reduce_scatter(self, outputs, inputs, opts):
        """Reduce tensors, and keep this rank's part."""
        return self.reduce_scatter_tensor_coalesced(outputs, map(torch.stack, inputs), opts)

    def _reduce_scatter_base(self, output, given, opts):
        operation = getattr(opts, "reduceOp", opts)
        if _are_on_device([given]):
            found = collectives.reduce_scatter(_kind(operation), given.reshape(-1), 1.0, 0,
                                               self._groups)  # fmt: skip
        else:
            total = given.clone()
            self._reduce([total], operation)
            found = total.reshape(len(self._ranks), -1)[self._place]
        return _filled([output], [found.reshape(output.shape)])

    reduce_scatter_single = _reduce_scatter_base  # type: ignore[assignment]

    reduce_scatter_tensor_coalesced = _each(_reduce_scatter_base)
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def barrier(self, opts=None):
        """Wait for all."""
        self._met("barrier", b"")
        return _done([])

    def send(self, *given):
        """Refuse: the group has no point-to-point messages."""
        instead = "let all ranks take part: broadcast, all_gather, all_reduce"
        raise _refused("send and recv", instead)

    recv = recv_anysource = send

    def alltoall(self, outputs, inputs, opts=None):
        """Send a tensor to each, and fill a list with what came."""
        if len({one.shape for one in (*outputs, *inputs)}) > 1:
            raise _refused("all_to_all of several shapes", "pad them to one")
        return _filled(outputs, self._exchange(torch.stack(inputs)).unbind(0))

    def alltoall_base(self, output, given, output_sizes, input_sizes, opts=None):
        """Send equal parts of a tensor, one to each, and put together what came."""
        if len({*output_sizes, *input_sizes}) > 1:
            raise _refused("all_to_all_single with parts of several sizes", "pad them to one")
        return _filled([output], [self._exchange(given).reshape(output.shape)])

    all_to_all_single = alltoall_base


def _refused(name: str, instead: str) -> Exception:
    return refusal("ranks.group", NotImplementedError, name=name, instead=instead)


def _kind(operation) -> str:
    for name, kind in _KINDS.items():
        if operation is None or operation == getattr(dist.ReduceOp, name):
            return kind
    raise _refused(f"a reduction by {operation}", f"use {', '.join(_KINDS)}")


def _are_on_device(tensors) -> bool:
    return isinstance(tensors[0], XlaTensor)


def _filled(targets, values):
    """Copy values into tensors, and return work that is done."""
    for target, value in zip(targets, values, strict=True):
        target.copy_(value)
    return _done(targets)


def _done(result):
    """Return work that is done: the chip's part of it is in the graph."""
    future = torch.futures.Future()
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future)


# -- how torch.distributed finds it ----------------------------------------------------------------


def register() -> None:
    """Register the group with ``torch.distributed``, and how its ranks find each other."""
    if "xla" in dist.Backend.backend_list:
        return
    dist.Backend.register_backend("xla", _made, extended_api=True, devices=["xla", "cpu"])
    handlers = sys.modules["torch.distributed.rendezvous"]._rendezvous_handlers  # its name is taken
    for scheme in ("env", "xla"):
        before = handlers.get(scheme)
        handlers[scheme] = functools.partial(_found, before)
    original = dist.init_process_group

    @functools.wraps(original)
    def init_process_group(backend=None, *given, **named):
        if "nccl" in str(backend).lower():
            raise refusal("elsewhere.nccl")
        return original(backend, *given, **named)

    dist.init_process_group = distributed_c10d.init_process_group = init_process_group
    dist.Reducer = _Reducer  # type: ignore[misc]
    verify = dist._verify_params_across_processes

    def _verify_params_across_processes(group, tensors, logger=None):
        with _with_values():
            return verify(group, tensors, logger)

    dist._verify_params_across_processes = _verify_params_across_processes


def _made(options, more) -> XlaGroup:
    ranks = options.global_ranks_in_group or range(options.group_size)
    return XlaGroup(ranks, options.group_rank)


def _found(before, url: str, **named):
    """Yield (store, rank, world) of this process."""
    core = cores.current()
    world = core.world
    asked = parse_qs(urlparse(url).query)
    own = {"rank": world.ordinal, "world_size": world.size}
    is_ours = all(int(asked.get(name, [it])[0]) in (it, -1) for name, it in own.items())
    path = getattr(core.collectives, "folder", None)
    if before is not None and not (is_ours and (path is not None or world.size == 1)):
        yield from before(url, **named)
        return
    number = next(_rounds)
    store = dist.FileStore(f"{path}/store{number}", world.size) if path else dist.HashStore()
    yield store, world.ordinal, world.size
    raise RuntimeError("ranks have met already; end the group with destroy_process_group() first")


class _Reducer(dist.Reducer):
    """DDP's own, which agrees on an order of buckets by way of the device.

    Its map of the weights that were used stays on the host: only there is memory that it can pin.
    """

    def __init__(self, *given, **named):
        with patch.object(cores.current(), "counts_on_host", True):
            super().__init__(*given, **named)

    def _rebuild_buckets(self):
        with _with_values():
            return super()._rebuild_buckets()


def _with_values():
    """Return a context that keeps the values of a few numbers in a run of shapes only."""
    return patch.multiple(cores.current(), values="all", computes=True)
