"""The familiar names of ``torch_xla.core.xla_model``, those of torch_xla 1.13 to 2.9 together.

One process of the original drives one NeuronCore.  Who takes part is a *world* here (see
``device.World``), which a trainer sets; by itself it is of one rank.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from trainium_edu import files, settings
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.sealed import sealed, split
from trainium_edu.specs import INSTANCES
from trainium_edu.specs.arguments import choice, short
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.device import Device, World, current_world, world
from trainium_edu.xla.loader import each_leaf
from trainium_edu.xla.numpy import Tensor  # with its methods
from trainium_edu.xla.operations import apply
from trainium_edu.xla.operations.control import items
from trainium_edu.xla.refusals import sentence
from trainium_edu.xla.tensor import of_node

__all__ = [
    "REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM", "World", "add_step_closure", "all_reduce",
    "get_local_ordinal", "get_ordinal", "is_master_ordinal", "mark_step", "mesh_reduce",
    "optimizer_step", "reduce_gradients", "rendezvous", "save", "world", "xla_device",
    "xrt_world_size",
]  # fmt: skip

REDUCE_SUM, REDUCE_MAX, REDUCE_MIN = "sum", "max", "min"
DEVICES: dict[int, Device] = {}  #: those that were asked for, by number


# -- devices ------------------------------------------------------------------------------------


@checked
def xla_device(n: int | None = None) -> Device:
    """Return a NeuronCore as a lazy device, and follow the switches of the environment.

    Parameters
    ----------
    n : int, optional
        Its number on the instance; default, this rank's own.

    Raises
    ------
    ValueError
        If the instance has none of that number, or a switch holds what it cannot.
    """
    here = current_world()
    if n is None and here.device is not None:
        here.device.follow_switches()
        return here.device
    n = here.ordinal % here.per_instance if n is None else n
    if n not in range(int(INSTANCES["trn1.32xlarge"].cores)):
        raise ValueError(sentence("xm.no_device", n=n))
    if n not in DEVICES:
        DEVICES[n] = Device(f"xla:{n}", follows_switches=True)
    DEVICES[n].follow_switches()
    return DEVICES[n]


@checked
def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    """Cut the recorded graph, compile it or look it up, run it; then the step closures.

    Parameters
    ----------
    wait, reset_scope : bool
        As in PyTorch/XLA; when this returns, everything has run.
    """
    xla_device().mark_step()


@checked
def add_step_closure(closure: Callable, args: Sequence = (), run_async: bool = False) -> None:
    """Call a function after the next step, when its arguments have values; in order of asking.

    Parameters
    ----------
    closure : callable
    args : tuple
        Its arguments: tensors that the next step computes.
    run_async : bool
        In a thread, in the original; here as without.
    """
    xla_device().add_step_closure(closure, args)


# -- the world ----------------------------------------------------------------------------------


@checked
def xrt_world_size(defval: int = 1) -> int:
    """Return how many ranks take part."""
    return current_world().size


@checked
def get_ordinal(defval: int = 0) -> int:
    """Return this rank's number in the world."""
    return current_world().ordinal


@checked
def get_local_ordinal(defval: int = 0) -> int:
    """Return this rank's number on its instance."""
    here = current_world()
    return here.ordinal % here.per_instance


@checked
def is_master_ordinal(local: bool = True) -> bool:
    """Return whether this is the first rank, of the instance or of all."""
    return (get_local_ordinal() if local else get_ordinal()) == 0


@checked
def all_reduce(reduce_type: str, inputs: Tensor | list, scale: float = 1.0,
               groups: Sequence | None = None, pin_layout: bool = True):  # fmt: skip
    """Record the sum (maximum, minimum) over ranks.

    Parameters
    ----------
    reduce_type : {"sum", "max", "min"}
    inputs : Tensor, or list of Tensor
    scale : float
        Times which the result is taken.
    groups : list of lists of int, optional
        The ranks that take part together; default all.
    pin_layout : bool
        Changes nothing here.

    Returns
    -------
    Tensor, or None
        The result; of a list, None: its tensors then stand for the results.
    """
    kind = choice(reduce_type, "reduce_type", (REDUCE_SUM, REDUCE_MAX, REDUCE_MIN))
    tensors: list[Tensor] = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not tensors:
        return None
    node = apply("all_reduce", *(t.as_node() for t in tensors), kind=kind, scale=float(scale),
                 groups=groups and tuple(map(tuple, groups)))  # fmt: skip
    results = [of_node(t.device, one) for t, one in zip(tensors, items(node), strict=True)]
    if isinstance(inputs, Tensor):
        return results[0]
    for one, result in zip(tensors, results, strict=True):
        one.set_(result)
    return None


@checked
def in_buckets(tensors: Sequence, bucket_bytes: int | None = None) -> list[list]:
    """Return tensors in groups of one dtype that travel together, the last one's first.

    Parameters
    ----------
    tensors : sequence of Tensor
        Or of PyTorch's.
    bucket_bytes : int, optional
        As in :func:`reduce_gradients`.
    """
    most = settings.lazy().bucket_bytes if bucket_bytes is None else bucket_bytes
    buckets: list[list] = []
    room = 0
    for tensor in reversed(tensors):
        if not buckets or buckets[-1][0].dtype != tensor.dtype or (most and tensor.nbytes > room):
            buckets.append([])
            room = most
        buckets[-1].append(tensor)
        room -= tensor.nbytes
    return buckets


@checked
def reduce_gradients(optimizer, groups: Sequence | None = None, pin_layout: bool = True, *,
                     bucket_bytes: int | None = None) -> None:  # fmt: skip
    """Replace each gradient by the mean over ranks: their sum, times 1/world; alone, do nothing.

    Gradients travel in buckets, the last layer's first, because they are known first.

    Parameters
    ----------
    optimizer : object
        Has ``parameters``, tensors with a ``grad``.
    bucket_bytes : int, optional
        Of a bucket, at most (one tensor may be larger); default what
        ``ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB`` says, and 0 puts all into one.
    """
    count = xrt_world_size()
    if count == 1:
        return
    gradients = [p.grad for p in optimizer.parameters if p.grad is not None]
    for bucket in in_buckets(gradients, bucket_bytes):
        all_reduce(REDUCE_SUM, bucket, 1.0 / count, groups)


@checked
def optimizer_step(optimizer, barrier: bool = False, optimizer_args: Mapping | None = None,
                   groups: Sequence | None = None, pin_layout: bool = True):  # fmt: skip
    """Reduce the gradients over all ranks, then let the optimiser step.

    Parameters
    ----------
    optimizer : object
        Has ``parameters`` and ``step(**optimizer_args)``.
    barrier : bool
        Mark a step too.  Without it, the loader (``MpDeviceLoader``) does, or the
        loop has to: the step is only recorded here.

    Returns
    -------
    What ``optimizer.step`` returned.

    References
    ----------
    pytorch/xla, ``torch_xla/core/xla_model.py``.
    """
    if not callable(getattr(optimizer, "step", None)):
        raise TypeError(f"optimizer is {short(optimizer)}; it must have parameters and step()")
    reduce_gradients(optimizer, groups, pin_layout)
    result = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return result


@checked
def rendezvous(tag: str, payload=b"", replicas=None) -> list:
    """Wait for all ranks, and return the payload of each.

    Raises
    ------
    RuntimeError
        If the world does not say how to meet.
    """
    here = current_world()
    if here.size == 1:
        return [payload]
    meet = getattr(here.collectives, "rendezvous", None)
    if meet is None:
        raise RuntimeError(sentence("xm.no_rendezvous", others=here.size - 1, tag=tag))
    return meet(tag, payload)


@checked
def mesh_reduce(tag: str, data, reduce_fn: Callable):
    """Collect a value of every rank on the host, and return what a function makes of the list.

    Parameters
    ----------
    tag : str
    data : Tensor, array or number
    reduce_fn : callable (list) -> object
    """
    values = data.numpy() if isinstance(data, Tensor) else data
    if isinstance(data, Tensor) and values.ndim > data.ndim:  # one recording for all ranks:
        return reduce_fn(list(values))  # the first axis counts them
    return reduce_fn(rendezvous(tag, values))


@checked
def save(data, file_or_path: str | Path, master_only: bool = True,
         global_master: bool = False) -> None:  # fmt: skip
    """Move tensors to the host and write them to a safetensors file, as checkpoints are.

    Parameters
    ----------
    data : Tensor, array, or dict
        A dict holds tensors, arrays and plain data, nested at will; names are joined by ``/``.
    file_or_path : str or Path
    master_only : bool
        Only the first rank (of the instance; with `global_master`, of all) writes.
    """
    arrays: dict[str, np.ndarray] = {}
    named = data if isinstance(data, Mapping) else {"data": data}
    plain = split(each_leaf(named, _on_host), "", arrays)
    if not master_only or is_master_ordinal(local=not global_master):
        files.write(file_or_path, sealed("trainium_edu state", 1, plain, arrays))
    rendezvous("torch_xla.core.xla_model.save")


def _on_host(leaf):
    """Return a tensor as an array of its dtype, and anything else unchanged."""
    if not isinstance(leaf, Tensor):
        return leaf
    return leaf.numpy().astype(get_dtype(leaf.dtype).storage, copy=False)
