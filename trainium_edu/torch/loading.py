"""``MpDeviceLoader``, ``ParallelLoader``, and the time that loading takes on a server.

Batches are true ones, made by the script's own loader and its workers.  :class:`Feed` says when
they are there on the emulated clock: workers read and decode as in ``training.pipeline``, all
ranks of an instance at once, and a thread copies to the chip.  A sample costs in proportion to its
bytes, each batch as much as the first.  Only what a ``DataLoader`` loads takes time; batches that
other Python makes are there at once, and workers start in no time.

Without values (``--values none``) only shapes travel: the workers of a ``DataLoader`` keep their
batches, so that no shared memory fills up.
"""

import shutil
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from torch.utils.data import DataLoader

from trainium_edu.neuroncore.advice.evidence import several
from trainium_edu.specs import INSTANCES, SOURCES
from trainium_edu.specs.arguments import whole
from trainium_edu.torch import core as cores
from trainium_edu.torch.clock import transfer_ns
from trainium_edu.torch.refusals import refusal, sentence
from trainium_edu.torch.tensor import hollow
from trainium_edu.training.pipeline import (
    BYTES_PER_SAMPLE,
    DECODE_NS,
    STORAGE_BYTES_PER_S,
    BatchQueue,
)
from trainium_edu.xla.loader import each_leaf, stepping

__all__ = ["BYTES_OF_PHOTOGRAPH", "Feed", "MpDeviceLoader", "ParallelLoader", "PerDeviceLoader",
           "timed"]  # fmt: skip

BYTES_OF_PHOTOGRAPH = SOURCES["emulator"].says(
    3 * 224 * 224 * 4, "bytes", "input pipeline",
    note="of the photograph that DECODE_NS is for, once decoded and cropped, in FP32; a sample of "
    "another size takes time in proportion",
)  # fmt: skip


class Feed:
    """The times at which the batches of a loader are there, on the emulated clock.

    Parameters
    ----------
    clock : Clock
    loaded_bytes : int
        Of one batch, as tensors.
    workers : int
        Processes that load, of each rank; 0: the script itself does, when it asks for a batch.
    ahead : int
        Batches of each rank that may be on their way or ready.
    ranks : int
        That share the instance.
    instance : str
    begin_ns : float
        When loading began.
    copied_bytes : int
        Of one batch, that a thread copies to the chip.
    copied_ahead : int
        Batches that this thread copies ahead; 0: there is none.

    Examples
    --------
    >>> from trainium_edu.torch.clock import Clock
    >>> clock, photographs = Clock(), 8 * int(BYTES_OF_PHOTOGRAPH.value)
    >>> feed = Feed(clock, photographs, workers=1, ahead=2)
    >>> feed.take() / 1e6  # in ms: each of 8 takes 0.11 to read and 5 to decode
    40.88
    """

    def __init__(self, clock, loaded_bytes, *, workers, ahead, ranks=1, instance="trn1.2xlarge",
                 begin_ns=0.0, copied_bytes=0, copied_ahead=0):  # fmt: skip
        photographs = loaded_bytes / float(BYTES_OF_PHOTOGRAPH)
        read_ns = photographs * float(BYTES_PER_SAMPLE) / float(STORAGE_BYTES_PER_S) * 1e9
        decode_ns = photographs * float(DECODE_NS)
        vcpus = int(INSTANCES[instance].vcpus)
        workers, waits = max(workers, 1), workers == 0 and not copied_ahead
        self._queue = BatchQueue(ranks, workers, max(ahead, workers), vcpus, read_ns, decode_ns)
        self._clock, self._begin_ns, self._waits = clock, begin_ns, waits
        self._copy_ns, self._copied_ns = transfer_ns(copied_bytes), 0.0
        self._copied_ahead = copied_ahead
        self._taken: deque[float] = deque(maxlen=copied_ahead or 1)

    def take(self) -> float:
        """Wait for the next batch, and return the host's time in ns when it is there."""
        if self._waits and self._taken:  # the script begins to load only now
            self._queue.take(self._now())
        ready = max(self._queue.ready())
        if self._copied_ahead:
            room = self._taken[0] if len(self._taken) == self._copied_ahead else 0.0
            self._copied_ns = ready = max(ready, self._copied_ns, room) + self._copy_ns
        self._clock.wait_for(self._begin_ns + ready, "loader")
        self._taken.append(self._now())
        if not self._waits:
            self._queue.take(self._now())
        return self._clock.host_ns

    def _now(self):
        return self._clock.host_ns - self._begin_ns


class _Batches:
    """Go through a loader and wait for each batch on the emulated clock.

    With queues (how many batches a thread reads ahead, and another copies ahead) a batch is handed
    out on the device.
    """

    def __init__(self, loader, core, queues=None):
        self._core, self._loader, self._queues = core, loader, queues
        self._feed, self._begin_ns = None, core.clock.host_ns
        can_send_shapes = type(loader) is DataLoader and not loader.persistent_workers
        self._shapes = queues is not None and core.values == "none" and can_send_shapes
        with _as_it_is(), _set_up(loader, self._shapes):
            self._iterator = iter(loader)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._iterator)

    def __getattr__(self, name):
        return getattr(self.__dict__["_iterator"], name)

    def __next__(self):
        core = self._core
        with _as_it_is(), _memory_told():
            batch = next(self._iterator)
        if self._feed is None:
            self._feed = self._made_for(batch)
        self._feed.take()
        if self._queues is None:
            return batch
        with core.clock.aside():
            return each_tensor(batch, self._put)

    def _put(self, tensor):
        core = self._core
        if tensor.device.type == core.device.type:
            return tensor
        if core.computes:
            return tensor.to(core.device)
        return hollow(tensor.shape, tensor.dtype, core)

    def _made_for(self, batch):
        """Return the feed for batches like this one."""
        core, world = self._core, self._core.world
        sizes: list[int] = []
        each_tensor(batch, lambda tensor: sizes.append(tensor.numel() * tensor.element_size()))
        size, workers = sum(sizes), getattr(self._loader, "num_workers", None)
        ranks = min(world.size, world.per_instance)
        prefetch = (getattr(self._loader, "prefetch_factor", None) or 2) if workers else 1
        if workers and not self._shapes:
            _check_shared_memory(size, workers, prefetch, ranks)
        read_ahead, copied_ahead = self._queues or (0, 0)
        return Feed(
            core.clock, 0 if workers is None else size, workers=workers or 0,
            ahead=(workers or 1) * prefetch + read_ahead + copied_ahead, ranks=ranks,
            instance=core.instance, begin_ns=self._begin_ns, copied_bytes=size,
            copied_ahead=copied_ahead,
        )  # fmt: skip


def each_tensor(batch, function):
    """Return a batch with a function's result for each tensor; other values are unchanged."""
    return each_leaf(batch, lambda one: function(one) if isinstance(one, torch.Tensor) else one)


# -- loaders of PyTorch ---------------------------------------------------------------------------

_own_pace = False  # whether a DataLoader is gone through without the emulated clock


@contextmanager
def _as_it_is():
    """Read loaders as PyTorch does, inside the context."""
    global _own_pace
    before, _own_pace = _own_pace, True
    try:
        yield
    finally:
        _own_pace = before


@contextmanager
def timed():
    """Charge the time of each ``DataLoader`` that a script reads to the emulated clock.

    What PyTorch says about the vCPUs of the computer that emulates is left out.
    """
    original = DataLoader.__iter__

    def __iter__(self):
        core = None if _own_pace else cores._current
        if core is not None:
            return _Batches(self, core)
        with _set_up(self, shapes=False):
            return original(self)

    with patch.multiple(DataLoader, __iter__=__iter__,
                        check_worker_number_rationality=lambda self: None):  # fmt: skip
        yield


def _shapes(collate, samples):
    """Collate as given, and keep the shapes: what a worker sends instead of a batch."""
    return each_tensor(collate(samples), lambda tensor: tensor.to("meta"))


@contextmanager
def _set_up(loader, shapes):
    """Set up a ``DataLoader`` for the emulator: shapes only, no pinned memory."""
    if not isinstance(loader, DataLoader):
        yield
        return
    collate = partial(_shapes, loader.collate_fn) if shapes else loader.collate_fn
    # the emulated chip copies from anywhere
    with patch.multiple(loader, collate_fn=collate, pin_memory=False):
        yield


_SHARED = Path("/dev/shm")


def _check_shared_memory(size, workers, prefetch, processes):
    """Refuse what cannot fit in shared memory, where workers put their batches."""
    needed = size * workers * prefetch * processes
    if _SHARED.is_dir() and (total := shutil.disk_usage(_SHARED).total) < needed:
        raise refusal(
            "loaders.memory", size=size / 1e6, workers=workers, prefetch=prefetch,
            ranks=several(processes, "rank"), needed=needed / 1e6,
            folder=_SHARED, total=total / 1e6, remedy=sentence("loaders.remedy"),
        )  # fmt: skip


@contextmanager
def _memory_told():
    """Name full shared memory, if a worker died of it."""
    try:
        yield
    except RuntimeError as error:
        if "Bus error" in str(error) or "No space left" in str(error):
            remedy = sentence("loaders.remedy")
            raise RuntimeError(f"a loader's worker found {_SHARED} full: {remedy}") from error
        raise


# -- loaders of PyTorch/XLA -----------------------------------------------------------------------


class ParallelLoader:
    """Read batches ahead and copy them to a device, in threads of their own.

    Parameters
    ----------
    loader : iterable
        Of batches: tensors, or dicts, lists, (named) tuples, dataclasses of them.
    devices : list of torch.device
        One; a process has one NeuronCore.
    batchdim : int
        Changes nothing: a process has one NeuronCore, which takes whole batches.
    batches_per_execution : int
        Batches for each step that is marked.
    loader_prefetch_size, device_prefetch_size : int
        Batches in the queue before copying, and on the device.
    host_to_device_transfer_threads : int
        Changes nothing: they share one link.
    input_sharding : None
        SPMD is not modelled.

    Raises
    ------
    ValueError
        For more devices than one, numbers out of range, a sharding.

    References
    ----------
    pytorch/xla, ``torch_xla/distributed/parallel_loader.py``, 1.13 to 2.9.
    """

    def __init__(self, loader, devices, batchdim=0, batches_per_execution=1,
                 loader_prefetch_size=16, device_prefetch_size=8,
                 host_to_device_transfer_threads=1, input_sharding=None):  # fmt: skip
        if len(devices) != 1:
            raise refusal("loaders.devices", ValueError, count=len(devices))
        if input_sharding is not None:
            raise ValueError("input_sharding is given, and SPMD is not modelled; leave it out")
        if torch.device(devices[0]).type != "xla":
            raise refusal("loaders.device", ValueError, device=devices[0])
        self.batches_per_execution = whole(batches_per_execution, "batches_per_execution", 1)
        self._queues = (whole(loader_prefetch_size, "loader_prefetch_size", 1),
                        whole(device_prefetch_size, "device_prefetch_size", 1))  # fmt: skip
        whole(host_to_device_transfer_threads, "host_to_device_transfer_threads", 1)
        whole(batchdim, "batchdim", 0)
        self._loader = loader
        self._batches: Iterator | None = _Batches(loader, cores.current(), self._queues)

    def per_device_loader(self, device) -> "PerDeviceLoader":
        """Return what goes through the batches on a device."""
        return PerDeviceLoader(self, device)

    def per_device_samples(self) -> int:
        """Return how many batches there are."""
        return len(self._loader)

    def next_item(self, device=None):
        """Return the next batch, None after the last one."""
        batch = None if self._batches is None else next(self._batches, None)
        if batch is None:
            self.close()
        return batch

    def close(self) -> None:
        """Hand out no more batches."""
        self._batches = None


class PerDeviceLoader:
    """Hand out batches on a device, and mark a step before."""

    def __init__(self, loader, device):
        self._loader = loader
        batches = iter(partial(loader.next_item, device), None)
        every = loader.batches_per_execution
        self._steps = stepping(batches, lambda: cores.current().mark_step(), every)

    def __iter__(self):
        return self

    def __len__(self):
        return self._loader.per_device_samples()

    def __next__(self):
        return next(self._steps)

    next = __next__

    def close(self) -> None:
        """Hand out no more batches."""
        self._loader.close()


class MpDeviceLoader:
    """Go through a loader's batches, each on the device, read and copied ahead.

    A step is marked *before* a batch is handed out, the first one too, and once more at the end;
    with ``batches_per_execution=k`` before every k-th only.

    Parameters
    ----------
    loader : iterable
        Of batches; see :class:`ParallelLoader`.
    device : torch.device
    **kwargs
        Those of :class:`ParallelLoader`.

    Examples
    --------
    >>> import trainium_edu.torch
    >>> trainium_edu.torch.activate()
    True
    >>> batches = [{"x": torch.ones(2)}, {"x": torch.zeros(2)}]
    >>> for batch in MpDeviceLoader(batches, "xla"):
    ...     print(batch["x"].device.type, cores.current().number)
    xla 1
    xla 2
    >>> cores.current().number
    4
    >>> trainium_edu.torch.deactivate()
    """

    def __init__(self, loader, device, **kwargs):
        self._loader, self._device, self._parallel_loader_kwargs = loader, device, kwargs
        self._open: ParallelLoader | None = None

    def __iter__(self):
        self._open = ParallelLoader(self._loader, [self._device], **self._parallel_loader_kwargs)
        return self._open.per_device_loader(self._device)

    def __len__(self):
        return len(self._loader)

    def close(self) -> None:
        """Hand out no more batches."""
        if self._open is not None:
            self._open.close()
