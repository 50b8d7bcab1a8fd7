"""``nki.typing`` of the older interface: annotations of kernel parameters, ``tensor[128, 512]``.

With a dtype it is an argument: ``benchmark(kernel)(tensor[[128, 512], nl.float32])`` times a kernel
on an array that the caller need not make.
"""

import numpy as np

from trainium_edu.nki import typing as current_interface
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.refusals import refusal

__all__ = ["mutable_tensor", "scalar", "tensor"]


class tensor(current_interface.tensor):
    """A tensor parameter, or with shape and dtype a tensor of zeros; nothing is checked."""

    def __class_getitem__(cls, key):
        """Return the annotation itself; for ``[shape, dtype]`` an array."""
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], list | tuple):
            return np.zeros(tuple(key[0]), key[1])
        return cls


class mutable_tensor(tensor):
    """A tensor argument that the kernel may write to, and returns."""


def scalar(*_, **__):
    """Refuse: a number on the chip as the bound of a loop, which no reference of it describes."""
    raise refusal("loops.scalar_bound")


__getattr__ = names_of(__name__, "neuronxcc.nki.typing")
