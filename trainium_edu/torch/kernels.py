"""Kernels in NKI on tensors of the device: one operation of PyTorch's, which names its kernel.

Its value is the kernel's, its time that of the graph's node.  No gradient flows through it: a
``torch.autograd.Function`` around the call brings its own, as AWS's guide shows.
"""

from typing import Any

import torch

from trainium_edu.torch.operations import ON_CPU, ROWS
from trainium_edu.xla.operations.custom import values_of
from trainium_edu.xla.tensor import called

__all__ = ["kernel_call"]

_NAME = "trainium_edu::kernel"
_library = torch.library.Library("trainium_edu", "FRAGMENT")
_library.define("kernel(str key, Tensor[] inputs) -> Tensor[]")
_kernels: dict[str, Any] = {}


def kernel_call(kernel):
    """Return the operation that calls a recorded kernel by its digest."""
    _kernels[kernel.digest] = kernel
    return torch.ops.trainium_edu.kernel.default


def _value(key: str, inputs):
    """Compute a call on values, or on none."""
    kernel = _kernels[key]
    # what the device holds in fewer bits, as XLA_USE_BF16 says, looks to PyTorch as it was
    is_narrowed = any(type.dtype == "bfloat16" and one.dtype is torch.float32
                      for type, one in zip(kernel.types, inputs, strict=True))  # fmt: skip
    kinds = [torch.float32 if is_narrowed and dtype == "bfloat16" else getattr(torch, dtype)
             for _, dtype in kernel.results]  # fmt: skip
    if any(one.device.type == "meta" for one in inputs):
        return [torch.empty(shape, dtype=kind, device="meta")
                for (shape, _), kind in zip(kernel.results, kinds, strict=True)]  # fmt: skip
    arrays = [(one.float() if one.is_floating_point() else one).numpy() for one in inputs]
    found = values_of(kernel, arrays, [type.dtype for type in kernel.types])
    return [torch.from_numpy(one).to(kind) for one, kind in zip(found, kinds, strict=True)]


ON_CPU[_NAME] = _value
ROWS[_NAME] = lambda key, inputs: called(_kernels[key], inputs)
_library.impl("kernel", _value, "CompositeExplicitAutograd")
