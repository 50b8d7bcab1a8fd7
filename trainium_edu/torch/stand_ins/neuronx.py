"""``torch_neuronx`` and ``libneuronxla``: what scripts take from them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trainium_edu.nki.beta1.kernel import trace as nki_jit
from trainium_edu.torch import core as cores
from trainium_edu.torch.traced import DataParallel, dynamic_batch, inputs_of, trace

__all__ = ["DataParallel", "__version__", "async_load", "dynamic_batch", "get_platform_target",
           "lazy_load", "move_trace_to_device", "nki_jit", "profile",
           "register_hlo_snapshot_callback", "trace"]  # fmt: skip

__version__ = "2.9.0.2.11"  #: of the torch_neuronx for PyTorch 2.9, the last of this face


def get_platform_target() -> str:
    """Return the chip as the compiler's ``--target`` names it."""
    return str(cores.current().instance).split(".")[0].removesuffix("n")


@contextmanager
def profile(*args, **kwargs) -> Iterator[None]:
    """Return a context; what it would show is in the report of ``run --report``."""
    yield


def move_trace_to_device(trace, *given, **named) -> None:
    """Accept it of a traced model: weights are on the chip, and loading takes no time here."""
    inputs_of(trace)


lazy_load = async_load = move_trace_to_device


def register_hlo_snapshot_callback(callback: Callable) -> None:
    """Print that no snapshots of graphs are taken, whatever `callback` returns."""
    if cores.current().world.ordinal == 0:
        print("libneuronxla.register_hlo_snapshot_callback: no snapshot is taken; the run's graphs "
              "are in the report: run --report DIR", file=sys.stderr)  # fmt: skip
