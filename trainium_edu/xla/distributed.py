"""The names of ``torch.distributed`` for the process group ``"xla"``, thin over ``xm``.

Each call is of all ranks, and records: what it gives is known after the next cut, or when a value
is asked for.  Who the ranks are says the world (``device.World``), which ``torchrun`` and
``training.launch`` set; a script that runs by itself is a world of one.
"""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum

from trainium_edu.specs.arguments import choice, short, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla import xm
from trainium_edu.xla.device import current_world, of_process
from trainium_edu.xla.operations import apply
from trainium_edu.xla.tensor import Tensor

__all__ = [
    "ReduceOp", "all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group",
    "get_backend", "get_rank", "get_world_size", "init_process_group", "is_available",
    "is_initialized",
]  # fmt: skip

_BACKEND = "xla"


class ReduceOp(StrEnum):
    """How values of all ranks become one."""

    SUM = "sum"
    AVG = "mean"
    MAX = "max"
    MIN = "min"


@checked
def init_process_group(backend: str = _BACKEND, init_method: str | None = None,
                       timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
                       **others) -> None:  # fmt: skip
    """Join the group of all ranks.

    Parameters
    ----------
    backend : str
        ``"xla"``, which is what NeuronCores speak.
    init_method : str, optional
        ``"env://"`` or ``"xla://"``; both are what the launcher says.
    timeout : timedelta, optional
        Changes nothing: a rank that nobody waits for stops the launch at once.
    world_size, rank : int
        If given, what the launcher has said.

    Raises
    ------
    ValueError
        For another backend, another way to meet, or numbers that are not the launcher's.
    RuntimeError
        If the group is there already.

    Examples
    --------
    >>> init_process_group("xla")
    >>> get_rank(), get_world_size(), is_initialized()
    (0, 1, True)
    >>> destroy_process_group()
    """
    here = current_world()
    if backend != _BACKEND:
        raise ValueError(f"backend is {short(backend)}; NeuronCores are reached by 'xla' alone: "
                         "call init_process_group('xla')")  # fmt: skip
    if init_method not in (None, "env://", "xla://"):
        raise ValueError(f"init_method is {short(init_method)}; the launcher tells ranks how to "
                         "meet: leave it out, or say 'env://'")  # fmt: skip
    if others:
        raise TypeError(f"init_process_group takes no {next(iter(others))} here; leave it out")
    for name, given, is_so in (("world_size", world_size, here.size), ("rank", rank, here.ordinal)):
        if given not in (-1, is_so):
            raise ValueError(f"{name} is {given}, and this process was started with {is_so}; leave "
                             "it out, or start as many ranks with torchrun")  # fmt: skip
    if is_initialized():
        raise RuntimeError("init_process_group was called before in this process; call it once, or "
                           "destroy_process_group() between")  # fmt: skip
    of_process()["group"] = _BACKEND


def is_available() -> bool:
    """Return True: the group needs nothing that may be missing."""
    return True


def is_initialized() -> bool:
    """Return whether this process has joined the group."""
    return "group" in of_process()


def destroy_process_group(group: None = None) -> None:
    """Leave the group."""
    _joined("destroy_process_group")
    del of_process()["group"]


def get_backend(group: None = None) -> str:
    """Return the name of what ranks meet by."""
    _joined("get_backend")
    return _BACKEND


def get_rank(group: None = None) -> int:
    """Return this rank's number."""
    _joined("get_rank")
    return current_world().ordinal


def get_world_size(group: None = None) -> int:
    """Return how many ranks take part."""
    _joined("get_world_size")
    return current_world().size


@checked
def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM, group: None = None,
               async_op: bool = False) -> None:  # fmt: skip
    """Let a tensor stand for the sum (mean, maximum, minimum) of all ranks' tensors.

    Parameters
    ----------
    tensor : Tensor
    op : ReduceOp
    group : None
        All ranks.
    async_op : bool
        False: recorded calls have nothing to wait for.
    """
    _joined("all_reduce", async_op)
    kind = choice(str(op), "op", tuple(str(one) for one in ReduceOp))
    scale = 1 / get_world_size() if kind == ReduceOp.AVG else 1.0
    xm.all_reduce(ReduceOp.SUM if kind == ReduceOp.AVG else kind, [tensor], scale)


@checked
def all_gather(tensor_list: Sequence, tensor: Tensor, group: None = None,
               async_op: bool = False) -> None:  # fmt: skip
    """Let each tensor of a list stand for one rank's tensor.

    Parameters
    ----------
    tensor_list : list of Tensor
        One per rank, in the tensor's shape and dtype.
    tensor : Tensor
    """
    _joined("all_gather", async_op)
    world = get_world_size()
    if len(tensor_list) != world:
        raise ValueError(f"tensor_list has {len(tensor_list)} tensors for {world} ranks; give one "
                         "for each")  # fmt: skip
    for room, one in zip(tensor_list, _gathered(tensor, world), strict=True):
        room.set_(one)


@checked
def broadcast(tensor: Tensor, src: int = 0, group: None = None, async_op: bool = False) -> None:
    """Let a tensor stand for that of one rank.

    Every rank's travels, and one is kept: the bits are those of that rank.

    Parameters
    ----------
    tensor : Tensor
    src : int
        The rank.
    """
    _joined("broadcast", async_op)
    world = get_world_size()
    whole(src, "src", 0, world - 1)
    tensor.set_(_gathered(tensor, world)[src])


@checked
def barrier(group: None = None, async_op: bool = False) -> None:
    """Wait for all ranks, on the host."""
    _joined("barrier", async_op)
    xm.rendezvous("torch.distributed.barrier")


def _gathered(tensor, world) -> list[Tensor]:
    """Return every rank's tensor, in order."""
    flat = tensor.reshape((1, -1))
    node = apply("all_gather", flat.as_node(), axis=-2, world=world)
    rows = Tensor(tensor.device, node.type, node)
    return [xnp.reshape(rows[i], tensor.shape) for i in range(world)]


def _joined(name, is_async=False):
    """Raise unless this process has joined the group."""
    if not is_initialized():
        raise RuntimeError(f"{name} needs the group of all ranks; call init_process_group('xla') "
                           "first")  # fmt: skip
    if is_async:
        raise ValueError(f"{name} has nothing to wait for, since it is only recorded; leave "
                         "async_op out")  # fmt: skip
