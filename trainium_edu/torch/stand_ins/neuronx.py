"""``torch_neuronx``: what training scripts take from it."""

from collections.abc import Iterator
from contextlib import contextmanager

from trainium_edu.nki.beta1.kernel import trace as nki_jit
from trainium_edu.specs import INSTANCES
from trainium_edu.torch import core as cores

__all__ = ["__version__", "get_platform_target", "nki_jit", "profile"]

__version__ = "2.9.0.2.11"  #: of the torch_neuronx for PyTorch 2.9, the last of this face


def get_platform_target() -> str:
    """Return the chip as the compiler's ``--target`` names it."""
    return str(INSTANCES[cores.current().instance].name).split(".")[0].removesuffix("n")


@contextmanager
def profile(*args, **kwargs) -> Iterator[None]:
    """Return a context; what it would show is in the report of ``run --report``."""
    yield
