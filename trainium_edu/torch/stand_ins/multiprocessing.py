"""``torch_xla.distributed.xla_multiprocessing``."""

from collections.abc import Callable

from trainium_edu import settings
from trainium_edu.torch import core as cores
from trainium_edu.torch import many

__all__ = ["MpModelWrapper", "spawn"]


class MpModelWrapper:
    """A model that ranks move to their devices; each has a copy of its own here.

    Parameters
    ----------
    model : torch.nn.Module
    """

    def __init__(self, model):
        self._model = model

    def to(self, device):
        """Return the model on a device."""
        return self._model.to(device)


def spawn(fn: Callable, args: tuple = (), nprocs: int | None = None, join: bool = True,
          daemon: bool = False, start_method: str = "spawn"):  # fmt: skip
    """Call a function with each rank's number, one rank per NeuronCore.

    Parameters
    ----------
    fn : callable (index, ...)
    args : tuple
    nprocs : int, optional
        Default: what ``NEURONCORE_NUM_DEVICES`` says, or all of the instance.

    Raises
    ------
    RuntimeError
        If a rank fails, or ranks would wait for each other for ever.
    """
    core = cores.current()
    world = core.world
    if world.size > 1:  # torchrun has started them
        return fn(world.ordinal % world.per_instance, *args)
    told = settings.variable("NEURONCORE_NUM_DEVICES")
    count = nprocs or int(told or core.machine.cores)
    if count == 1:
        return fn(0, *args)
    many.spawn(lambda rank: fn(rank, *args), count, core)
    return None
