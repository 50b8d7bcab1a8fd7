"""``torch_neuronx`` and ``libneuronxla``: what training scripts take from them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trainium_edu.nki.beta1.kernel import trace as nki_jit
from trainium_edu.specs import INSTANCES
from trainium_edu.torch import core as cores

__all__ = ["__version__", "get_platform_target", "nki_jit", "profile",
           "register_hlo_snapshot_callback"]  # fmt: skip

__version__ = "2.9.0.2.11"  #: of the torch_neuronx for PyTorch 2.9, the last of this face


def get_platform_target() -> str:
    """Return the chip as the compiler's ``--target`` names it."""
    return str(INSTANCES[cores.current().instance].name).split(".")[0].removesuffix("n")


@contextmanager
def profile(*args, **kwargs) -> Iterator[None]:
    """Return a context; what it would show is in the report of ``run --report``."""
    yield


def register_hlo_snapshot_callback(callback: Callable) -> None:
    """Say that no snapshots of graphs are taken, whatever `callback` says of an execution."""
    if cores.current().world.ordinal == 0:
        print("libneuronxla.register_hlo_snapshot_callback: no snapshot is taken; the run's graphs "
              "are in the report: run --report DIR", file=sys.stderr)  # fmt: skip
