"""``torch_xla.core.xla_model``: the names of torch_xla 1.13 to 2.9 together."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch

from trainium_edu.torch import core as cores
from trainium_edu.torch.loading import each_tensor
from trainium_edu.torch.ranks import collectives
from trainium_edu.torch.ranks.collectives import collective_permute, mesh_reduce
from trainium_edu.torch.ranks.group import XlaGroup
from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.stand_ins.checkpoint import optimization_barrier_
from trainium_edu.torch.tensor import XlaTensor
from trainium_edu.xla import metrics
from trainium_edu.xla.executable import Executable

__all__ = [
    "REDUCE_AND", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_MUL", "REDUCE_OR", "REDUCE_SUM",
    "_fetch_gradients", "_maybe_convert_to_cpu", "add_step_closure", "all_gather",
    "all_reduce", "all_to_all", "broadcast_master_param", "collective_broadcast",
    "collective_permute", "do_on_ordinals",
    "get_local_ordinal", "get_memory_info", "get_ordinal", "get_rng_state",
    "get_xla_supported_devices", "is_master_ordinal", "is_xla_tensor", "mark_step", "master_print",
    "mesh_reduce", "optimization_barrier_", "optimizer_step",
    "reduce_gradients", "reduce_scatter", "rendezvous", "save", "send_cpu_data_to_device",
    "set_replication", "set_rng_state", "sync", "unlazy", "wait_device_ops", "xla_device",
    "xla_device_hw", "xla_device_kind", "xla_real_devices", "xrt_world_size",
]  # fmt: skip

ProcessGroupXla = XlaGroup  # of torch_xla.distributed.xla_backend
_xla_metrics_report = metrics.metrics_report  # of torch_xla._XLAC
REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR = "sum", "mul", "and", "or"
REDUCE_MIN, REDUCE_MAX = "min", "max"


# -- devices ------------------------------------------------------------------------------------


def get_xla_supported_devices(devkind: str | None = None, max_devices: int | None = None):
    """Return the names of the instance's devices, one per NeuronCore."""
    if isinstance(devkind, int):  # torch_xla 2.9 has no `devkind`
        devkind, max_devices = None, devkind
    if devkind not in (None, "NEURON"):
        return []
    return [f"xla:{i}" for i in range(int(cores.current().machine.cores))][:max_devices]


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """Return this process's NeuronCore as a device.

    Parameters
    ----------
    n : int, optional
        Its number, which has to be this process's own: one process drives one NeuronCore.
    devkind : str, optional
        "NEURON".
    """
    core = cores.current()
    core.follow()
    if n is not None and n != core.device.index:
        raise refusal("elsewhere.neuroncore", device=core.device, number=n)
    if devkind not in (None, "NEURON"):
        raise RuntimeError(f"there is no device of kind {devkind!r}; this is Trainium, NEURON")
    return core.device


def xla_device_kind(device=None) -> str:
    """Return what kind of device it is: a NeuronCore-v2, on Trn1 and Inf2."""
    return "NC_v2"


def xla_device_hw(device=None) -> str:
    """Return the name of the hardware."""
    return "NEURON"


def xla_real_devices(devices: Iterable | None = None) -> list[str]:
    """Return what is behind the names of devices: ``NEURON:0`` and so on."""
    named = devices or get_xla_supported_devices()
    return [f"NEURON:{torch.device(one).index or 0}" for one in named]


def set_replication(device, devices: Sequence) -> None:
    """Accept it: each process drives one NeuronCore, and knows the others."""


def is_xla_tensor(tensor) -> bool:
    """Return whether a tensor is on the device."""
    return isinstance(tensor, XlaTensor)


def _xla_get_tensor_id(tensor) -> int:
    """Return a number that tensors share whose value is one; Transformers' saving asks for it."""
    return id(tensor.cell)


def get_memory_info(device=None) -> dict[str, int]:
    """Return how much of a NeuronCore's HBM the newest graph uses, by the names of all versions."""
    ran = (step.executable for step in reversed(cores.current().steps))
    needs = next((dict(one.needs) for one in ran if isinstance(one, Executable)), {})
    needs.pop("flops", None)  # all others are bytes
    used = needs.get("tensors", 0) + needs.get("constants", 0)
    limit = int(cores.current().machine.chip.hbm_bytes_per_core)
    return {"bytes_used": used, "bytes_limit": limit, "peak_bytes_used": sum(needs.values()),
            "kb_free": (limit - used) // 1024, "kb_total": limit // 1024}  # fmt: skip


# -- the world ----------------------------------------------------------------------------------


def xrt_world_size(defval: int = 1) -> int:
    """Return how many ranks take part."""
    return cores.current().world.size


def get_ordinal(defval: int = 0) -> int:
    """Return this rank's number."""
    return cores.current().world.ordinal


def get_local_ordinal(defval: int = 0) -> int:
    """Return this rank's number on its instance."""
    world = cores.current().world
    return world.ordinal % world.per_instance


def is_master_ordinal(local: bool = True) -> bool:
    """Return whether this is the first rank, of the instance or of all."""
    return (get_local_ordinal() if local else get_ordinal()) == 0


def master_print(*args, fd=None, local: bool = False, flush: bool = False) -> None:
    """Print on the first rank."""
    if is_master_ordinal(local):
        print(*args, file=sys.stdout if fd is None else fd, flush=flush)


# -- steps --------------------------------------------------------------------------------------


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    """Run all that is pending; with `wait`, be there when it is done."""
    core = cores.current()
    core.mark_step()
    if wait:
        core.clock.wait()


sync = mark_step


def wait_device_ops(devices: Sequence = ()) -> None:
    """Wait for all that was queued."""
    cores.current().clock.wait()


def unlazy(tensors: Sequence) -> None:
    """Compute tensors now, and wait for them."""
    core = cores.current()
    for one in tensors:
        core.run_early(one.cell)
    core.clock.wait()


def add_step_closure(closure: Callable, args: Sequence = (), run_async: bool = False) -> None:
    """Call a function after the next step, in the order of asking."""
    cores.current().closures.append((closure, args))


# -- collectives --------------------------------------------------------------------------------


def all_reduce(reduce_type: str, inputs, scale: float = 1.0, groups: Sequence | None = None,
               pin_layout: bool = True):  # fmt: skip
    """Record the sum (or another reduction) over ranks, times `scale`; alone, do nothing.

    Parameters
    ----------
    reduce_type : {"sum", "min", "max"}
    inputs : Tensor, or list of Tensor
    groups : list of lists of int, optional
        Ranks that take part together; default all.

    Returns
    -------
    Tensor, or list of Tensor
        A new tensor; a list is reduced in place and returned.
    """
    is_one = isinstance(inputs, torch.Tensor)
    if xrt_world_size() == 1:
        return inputs.clone() if is_one else inputs
    found = collectives.all_reduce(reduce_type, inputs, scale, groups)
    return found if is_one else inputs


def all_gather(value, dim: int = 0, groups: Sequence | None = None, output=None,
               pin_layout: bool = True, channel_id=None, use_global_device_ids=None):  # fmt: skip
    """Record the concatenation of every rank's tensor along an axis."""
    return _each(lambda one: collectives.all_gather(one, dim, groups), value, output)


def all_to_all(value, split_dimension: int, concat_dimension: int, split_count: int,
               groups: Sequence | None = None, pin_layout: bool = True):  # fmt: skip
    """Record that part r along an axis goes to rank r, and what comes is put together."""
    count = len(groups[0]) if groups else xrt_world_size()
    if split_count != count:
        raise refusal("ranks.split_count", ValueError, split_count=split_count, count=count)
    return collectives.all_to_all(value, split_dimension, concat_dimension, groups)


def reduce_scatter(reduce_type: str, input, scale: float, scatter_dim: int, shard_count: int,
                   groups: Sequence | None = None, output=None, pin_layout: bool = True,
                   channel_id=None, use_global_device_ids=None):  # fmt: skip
    """Record a reduction of which each rank keeps its part of an axis."""

    def scattered(one):
        return collectives.reduce_scatter(reduce_type, one, scale, scatter_dim, groups)

    return _each(scattered, input, output)


def _each(function, given, output):
    """Call a function for a tensor or for each of a list; put the results where they shall be."""
    if not isinstance(given, torch.Tensor):
        outputs = [None] * len(given) if output is None else output
        return [_each(function, one, out) for one, out in zip(given, outputs, strict=True)]
    found = function(given)
    return found if output is None else output.copy_(found)


def collective_broadcast(tensors: Sequence, root_ordinal: int = 0, groups: Sequence | None = None,
                         pin_layout: bool = True) -> None:  # fmt: skip
    """Copy the tensors of one rank to all, in place."""
    collectives.broadcast(tensors, root_ordinal, groups)


def broadcast_master_param(model: torch.nn.Module) -> None:
    """Copy the parameters and buffers of rank 0's model to all ranks."""
    collective_broadcast([*model.parameters(), *model.buffers()])
    mark_step()


# -- training -----------------------------------------------------------------------------------


def reduce_gradients(optimizer, groups: Sequence | None = None, pin_layout: bool = True) -> None:
    """Replace gradients by their sums over ranks, times 1/world; alone, do nothing.

    They travel in buckets of ``ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB``, the last layer's first.
    """
    weights = [one for group in optimizer.param_groups for one in group["params"]]
    collectives.reduce_gradients(weights, groups)


def _fetch_gradients(optimizer) -> list:
    """Return an optimiser's gradients; Accelerate, and so Hugging Face's Trainer, asks for them."""
    return [one.grad for group in optimizer.param_groups for one in group["params"]
            if one.grad is not None]  # fmt: skip


def optimizer_step(optimizer, barrier: bool = False, optimizer_args: Mapping | None = None,
                   groups: Sequence | None = None, pin_layout: bool = True):  # fmt: skip
    """Reduce gradients over ranks, then let the optimiser step; with `barrier`, mark a step.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
    barrier : bool
        Without it, the loader or the loop marks the step.
    optimizer_args : dict, optional
        Of ``optimizer.step``.

    Returns
    -------
    What ``optimizer.step`` returned.
    """
    reduce_gradients(optimizer, groups, pin_layout)
    result = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return result


# -- between host and device ----------------------------------------------------------------------


def _maybe_convert_to_cpu(data, convert: bool = True):
    """Return nested data with its tensors moved to the CPU; the Trainer asks for it."""
    if not convert:
        return data
    return each_tensor(data, lambda one: one.detach().cpu() if is_xla_tensor(one) else one)


def send_cpu_data_to_device(datas, device, input_sharding=None):
    """Move nested CPU tensors to the device; one tensor comes back in a list."""
    datas = [datas] if isinstance(datas, torch.Tensor) else datas
    return each_tensor(datas, lambda one: one if is_xla_tensor(one) else one.to(device))


def save(data, file_or_path, master_only: bool = True, global_master: bool = False) -> None:
    """Move nested tensors to the CPU and write them as ``torch.save`` does.

    Parameters
    ----------
    data : object
    file_or_path : str, Path or file
    master_only : bool
        Only the first rank writes, of each instance or (with `global_master`) of all.
    """
    if not master_only or is_master_ordinal(local=not global_master):
        torch.save(_maybe_convert_to_cpu(data), file_or_path)


# -- on the host --------------------------------------------------------------------------------


def rendezvous(tag: str, payload: bytes = b"", replicas: Sequence = ()) -> list[bytes]:
    """Wait for all ranks, and return every rank's payload; what is pending runs before.

    Raises
    ------
    ValueError
        For some of the ranks only.
    """
    count = xrt_world_size()
    if replicas and len(replicas) != count:
        raise ValueError(f"rendezvous of {len(replicas)} of {count} ranks; all of them have to")
    if not isinstance(payload, bytes):
        raise TypeError(f"the payload is {type(payload).__name__}; it has to be bytes")
    mark_step()
    return collectives.rendezvous(tag, payload)


def do_on_ordinals(target: Callable, data: Sequence = (), ordinals=(0,)):
    """Call a function with data moved to the CPU, on some ranks; None on the others."""
    wanted = [ordinals] if isinstance(ordinals, int) else ordinals
    result = target(*_maybe_convert_to_cpu(data)) if get_ordinal() in wanted else None
    rendezvous("torch_xla.core.xla_model.do_on_ordinals")
    return result


# -- random numbers -----------------------------------------------------------------------------

_seeds: dict[str, int] = {}


def set_rng_state(seed: int, device=None) -> None:
    """Seed the device's random numbers, which come from PyTorch's generator on the CPU here."""
    _seeds["xla"] = int(seed)
    torch.manual_seed(int(seed))


def get_rng_state(device=None) -> int:
    """Return the seed that was set."""
    return _seeds.get("xla", torch.initial_seed())
