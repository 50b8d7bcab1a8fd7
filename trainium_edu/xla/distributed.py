"""The process group ``"xla"`` of ``torch.distributed``: who takes part.  ``xm`` sums and meets.

Who the ranks are says the world (``device.World``), which ``torchrun`` and ``training.launch`` set;
a script that runs by itself is a world of one.
"""

from datetime import timedelta

from trainium_edu.specs.arguments import short
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.device import current_world, of_process
from trainium_edu.xla.refusals import sentence

__all__ = ["destroy_process_group", "get_rank", "get_world_size", "init_process_group",
           "is_initialized"]  # fmt: skip

_BACKEND = "xla"


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
        Changes nothing: a rank that no other meets stops the launch immediately.
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
        raise ValueError(sentence("distributed.backend", backend=short(backend)))
    if init_method not in (None, "env://", "xla://"):
        raise ValueError(sentence("distributed.init_method", init_method=short(init_method)))
    if others:
        raise TypeError(f"init_process_group takes no {next(iter(others))} here; leave it out")
    for name, given, is_so in (("world_size", world_size, here.size), ("rank", rank, here.ordinal)):
        if given not in (-1, is_so):
            raise ValueError(f"{name} is {given}, and this process was started with {is_so}; leave "
                             "it out, or start as many ranks with torchrun")  # fmt: skip
    if is_initialized():
        raise RuntimeError(sentence("distributed.joined_twice"))
    of_process()["group"] = _BACKEND


def is_initialized() -> bool:
    """Return whether this process has joined the group."""
    return "group" in of_process()


def destroy_process_group(group: None = None) -> None:
    """Leave the group."""
    _joined("destroy_process_group")
    del of_process()["group"]


def get_rank(group: None = None) -> int:
    """Return this rank's number."""
    _joined("get_rank")
    return current_world().ordinal


def get_world_size(group: None = None) -> int:
    """Return how many ranks take part."""
    _joined("get_world_size")
    return current_world().size


def _joined(name):
    """Raise unless this process has joined the group."""
    if not is_initialized():
        raise RuntimeError(sentence("distributed.not_joined", name=name))
