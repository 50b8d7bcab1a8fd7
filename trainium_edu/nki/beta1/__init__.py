"""The older interface, ``neuronxcc.nki`` (Beta 1, Neuron SDK 2.20 to 2.26): a second thin face.

Kernels run unmodified once ``trainium_edu.nki.activate()`` was called, or under ``python -m
trainium_edu run``.  Everything is recorded by the current interface's instructions, so limits,
values and time are those of the same kernel written there.

What differs is here: operations return tiles, which wait for their destination (``operation.py``);
indices are expressions and masks cut instructions to boxes (``index.py``, ``access.py``); tensors
have block dimensions (``tile.py``); loops run as plain Python, where AWS's compiler traced them
once.  Read ``operation.py`` first, then ``tile.py`` and ``language/``.
"""

from trainium_edu.nki.beta1 import compiler, isa, language, nccl, typing
from trainium_edu.nki.beta1.kernel import (
    FrameworkKernel,
    Kernel,
    baremetal,
    benchmark,
    jit,
    profile,
    simulate_kernel,
    trace,
)
from trainium_edu.nki.beta1.tile import Tile as tensor
from trainium_edu.nki.earlier import names_of

__all__ = [
    "FrameworkKernel", "Kernel", "baremetal", "benchmark", "compiler", "isa", "jit", "language",
    "nccl", "profile", "simulate_kernel", "tensor", "trace", "typing",
]  # fmt: skip

__getattr__ = names_of(__name__, "neuronxcc.nki")
