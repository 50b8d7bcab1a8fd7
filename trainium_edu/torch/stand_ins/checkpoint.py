"""``torch_xla.utils.checkpoint``: activations that are computed again where gradients need them.

The graph keeps equal work once, so what PyTorch's own checkpoint computes again falls together with
what was computed before; a barrier in front of it keeps the two apart.
"""

from collections.abc import Callable, Sequence

import torch
from torch.utils.checkpoint import checkpoint as _checkpoint  # scripts put ours in its place

from trainium_edu.torch.operations import ROWS
from trainium_edu.torch.operations.table import record
from trainium_edu.torch.tensor import XlaTensor

__all__ = ["checkpoint", "optimization_barrier_"]

_library = torch.library.Library("xla", "FRAGMENT")
_library.define("optimization_barrier(Tensor self) -> Tensor")
_library.impl("optimization_barrier", torch.clone, "CPU")
_library.impl("optimization_barrier", torch.empty_like, "Meta")
ROWS["xla::optimization_barrier"] = lambda x: record("detach", x)  # as it is, but another node


class _Barrier(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return torch.ops.xla.optimization_barrier(value)

    @staticmethod
    def backward(ctx, grad):
        return grad


def optimization_barrier_(tensors: Sequence[torch.Tensor]) -> None:
    """Keep the graph from merging what tensors give from here on with earlier equal nodes."""
    with torch.no_grad():
        for one in tensors:
            one.copy_(_Barrier.apply(one))


def checkpoint(function: Callable, *args, use_reentrant: bool = True,
               preserve_rng_state: bool = True):  # fmt: skip
    """Call a function; keep of it what it was given, and compute the rest again for gradients.

    Parameters
    ----------
    function : callable
    *args : object
        Of `function`.
    use_reentrant : bool
        Refused if False, as by PyTorch/XLA.
    preserve_rng_state : bool
        Draw the same numbers again.
    """
    if not use_reentrant:
        raise ValueError("torch_xla.utils.checkpoint has use_reentrant=True only; leave it out")
    again = False

    def behind_barrier(*given):
        nonlocal again
        if again:
            given = tuple(_Barrier.apply(x) if isinstance(x, XlaTensor) else x for x in given)
        again = True
        return function(*given)

    return _checkpoint(behind_barrier, *args, use_reentrant=True,
                       preserve_rng_state=preserve_rng_state)  # fmt: skip
