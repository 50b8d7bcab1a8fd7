"""``MpDeviceLoader``: hands out batches that are on the device, and marks the steps.

The original reads ahead in threads.  Here a batch is read when it is asked for: what an emulated
chip waits for is not this computer's disk.
"""

import copy
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping

from trainium_edu.specs.arguments import whole
from trainium_edu.xla.device import Device
from trainium_edu.xla.numpy import Tensor, as_tensor  # with its methods

__all__ = ["MpDeviceLoader", "each_leaf", "on_device", "stepping"]


class MpDeviceLoader:
    """Go through a loader's batches, each on a device.

    ``mark_step`` is called *before* a batch is handed out, the first one too, and once more at the
    end; with ``batches_per_execution=k`` before every k-th only, so that k batches make one graph:
    fewer launches, more memory.

    Parameters
    ----------
    loader : iterable
        Of arrays, or tuples, lists and dicts of them, nested at will.
    device : Device
    batches_per_execution : int

    References
    ----------
    pytorch/xla, ``torch_xla/distributed/parallel_loader.py``.

    Examples
    --------
    >>> import numpy as np
    >>> device = Device()
    >>> batches = [(np.ones(2, np.float32),), (np.zeros(2, np.float32),)]
    >>> for (x,) in MpDeviceLoader(batches, device):
    ...     print(x.numpy().tolist(), device.step)
    [1.0, 1.0] 1
    [0.0, 0.0] 2
    >>> device.step
    4
    """

    def __init__(self, loader, device: Device, *, batches_per_execution: int = 1):
        if not isinstance(device, Device):
            raise TypeError(f"device is {device!r}; take that of xm.xla_device()")
        self.batches_per_execution = whole(batches_per_execution, "batches_per_execution", 1)
        self._loader, self._device = loader, device

    def __len__(self):
        return len(self._loader)

    def __iter__(self) -> Iterator:
        batches = (on_device(batch, self._device) for batch in self._loader)
        return stepping(batches, self._device.mark_step, self.batches_per_execution)


def stepping(batches: Iterable, mark_step: Callable[[], None], every: int) -> Iterator:
    """Yield batches, and mark a step before each `every`-th one and once more at the end."""
    source = iter(batches)
    for number in itertools.count():
        if number % every == 0:
            mark_step()
        try:
            batch = next(source)
        except StopIteration:
            mark_step()
            return
        yield batch


def on_device(batch, device: Device):
    """Return a batch with its arrays on a device; all else stays unchanged."""

    def put(leaf):
        is_array = hasattr(leaf, "__array__") and not isinstance(leaf, Tensor)
        return as_tensor(leaf, device) if is_array else leaf

    return each_leaf(batch, put)


def each_leaf(batch, function: Callable):
    """Return nested data with a function's results; containers keep what else they know."""
    if isinstance(batch, Mapping):
        made = copy.copy(batch) if isinstance(batch, MutableMapping) else dict(batch)
        for key, value in batch.items():
            made[key] = each_leaf(value, function)
        return made
    if isinstance(batch, list | tuple | set):
        parts = [each_leaf(one, function) for one in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        changed = copy.copy(batch)
        for field in dataclasses.fields(batch):
            object.__setattr__(changed, field.name, each_leaf(getattr(batch, field.name), function))
        return changed
    return function(batch)
