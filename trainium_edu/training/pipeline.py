"""Whether the chip waits for its input: workers, prefetch, vCPUs and storage of one host.

Each rank has a loader with workers of its own; all share the host's storage and vCPUs.  A worker
takes one batch at a time: it reads the batch (storage serves one batch after the other), then
decodes it on one vCPU.  It begins another while fewer than ``workers * prefetch`` of its rank's
batches are on their way or ready.  A step takes a ready batch of each rank.  Every time is given
and nothing is drawn by chance, so that a run is its own proof; on a host, times scatter, and more
prefetch pays than here.

Left out: the copy from host to chip, caches of the file system, and that a busy host slows all.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from trainium_edu.specs import INSTANCES, SOURCES
from trainium_edu.specs.arguments import choice, number, whole, wholes
from trainium_edu.specs.signatures import checked
from trainium_edu.timeline import Span, Timeline

__all__ = ["BYTES_PER_SAMPLE", "DECODE_NS", "STORAGE_BYTES_PER_S", "BatchQueue", "Pipeline",
           "input_pipeline"]  # fmt: skip


def _assumed(value, unit, note):
    return SOURCES["emulator"].says(value, unit, "input pipeline", note=note)


BYTES_PER_SAMPLE = _assumed(
    110_000, "bytes", "about that of a photograph as JPEG, some 400 x 350 pixels"
)
DECODE_NS = _assumed(5e6, "ns", "to decode and crop such a photograph on one vCPU; measure yours")
STORAGE_BYTES_PER_S = _assumed(
    1e9, "bytes/s", "one volume or file system that is neither slow nor fast"
)
_MOST = 2**20  # of whatever is counted here


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The result of :func:`input_pipeline`."""

    step_ns: float
    wait_ns: np.ndarray  #: float64[steps], which the chip waited before each step
    steady_wait_ns: float  #: mean over the second half of the steps
    samples_per_s: float  #: rate of all ranks, in the second half
    most_samples_per_s: dict[str, float]  #: what each resource alone would allow
    timeline: Timeline  #: tracks "chips", "storage", and of rank 0 "worker w" and "ready"

    @property
    def binds(self) -> str:
        """The resource that allows least: "chips", "storage", "vCPUs" or "workers"."""
        return min(self.most_samples_per_s, key=self.most_samples_per_s.__getitem__)

    def __repr__(self):
        return (
            f"Pipeline({self.samples_per_s:.4g} samples/s, {self.binds} bind, the chip waits "
            f"{self.steady_wait_ns:.4g} of {self.step_ns + self.steady_wait_ns:.4g} ns)"
        )


@checked
def input_pipeline(step_ns: float, *, ranks: int = 32, batch: int = 32, workers: int = 2,
                   prefetch: int = 2, instance: str = "trn1.32xlarge", vcpus: int | None = None,
                   bytes_per_sample: float = float(BYTES_PER_SAMPLE),
                   decode_ns: float = float(DECODE_NS),
                   storage_bytes_per_s: float = float(STORAGE_BYTES_PER_S),
                   steps: int = 64) -> Pipeline:  # fmt: skip
    """Follow batches from storage to the chips, and say how long steps wait for them.

    Parameters
    ----------
    step_ns : float
        Of a step whose batches lie ready.
    ranks : int
        That share the host.
    batch : int
        Samples per rank and step.
    workers : int
        Of each rank's loader.
    prefetch : int
        Batches that each worker fetches ahead (``prefetch_factor``).
    instance : str
        Whose vCPUs are there; see ``specs.INSTANCES``.
    vcpus : int, optional
        In place of the instance's.
    bytes_per_sample, decode_ns, storage_bytes_per_s : float
        The defaults are assumed: ``BYTES_PER_SAMPLE``, ``DECODE_NS``, ``STORAGE_BYTES_PER_S``.
    steps : int
        To follow.

    Returns
    -------
    Pipeline

    Raises
    ------
    ValueError
        For sizes out of range, or more ranks than the instance has NeuronCores.

    Examples
    --------
    >>> found = input_pipeline(100e6, ranks=2, batch=32, workers=1, decode_ns=5e6)
    >>> found.binds, round(found.steady_wait_ns / 1e6)
    ('workers', 64)

    Notes
    -----
    In the long run the rate is at most, in samples/s, the least of: chips ``ranks batch / step``,
    storage ``bytes/s / bytes``, vCPUs ``vcpus / decode``, workers ``ranks workers batch / (read +
    decode)``.  Prefetch does not change these; it decides how close to them a run comes.
    """
    kinds = {name: kind for name, kind in INSTANCES.items() if hasattr(kind, "vcpus")}
    cores = kinds[choice(instance, "instance", tuple(kinds))].cores
    wholes(1, _MOST, ranks=ranks, batch=batch, workers=workers, prefetch=prefetch)
    whole(steps, "steps", 2, _MOST)
    if ranks > int(cores):
        raise ValueError(f"{ranks} ranks are more than the {int(cores)} NeuronCores of {instance}; "
                         "a host feeds its own only: give the ranks of one host")  # fmt: skip
    vcpus = int(kinds[instance].vcpus) if vcpus is None else whole(vcpus, "vcpus", 1, _MOST)
    number(step_ns, "step_ns", above=0)
    number(storage_bytes_per_s, "storage_bytes_per_s", above=0)
    read_ns = batch * number(bytes_per_sample, "bytes_per_sample", 0) / storage_bytes_per_s * 1e9
    decode_ns = batch * number(decode_ns, "decode_ns", 0)
    starts, waits, spans, chip_free = [], [], [], 0.0
    queue = BatchQueue(ranks, workers, workers * prefetch, vcpus, read_ns, decode_ns, steps, spans)
    for k in range(steps):
        ready = queue.ready()
        starts.append(max(chip_free, *ready))
        waits.append(starts[k] - chip_free)
        queue.take(starts[k])
        chip_free = starts[k] + step_ns
        spans.append(Span("chips", f"step {k}", starts[k], chip_free))
        spans.append(Span("ready", f"batch {k}", ready[0], starts[k]))
    half = steps // 2
    period = (starts[-1] - starts[half - 1]) / (steps - half)
    most = {
        "chips": ranks / step_ns,
        "storage": 1 / read_ns if read_ns else np.inf,
        "vCPUs": vcpus / decode_ns if decode_ns else np.inf,
        "workers": ranks * workers / (read_ns + decode_ns) if read_ns + decode_ns else np.inf,
    }
    return Pipeline(
        step_ns, np.array(waits), float(np.mean(waits[half:])), ranks * batch / period * 1e9,
        {name: rate * batch * 1e9 for name, rate in most.items()}, Timeline(spans),
    )  # fmt: skip


class BatchQueue:
    """Batches of one host on their way, followed as far as the next one that is asked for.

    Parameters
    ----------
    ranks, workers, vcpus : int
        Ranks of the host, workers of each rank's loader, vCPUs of the host; at least 1.
    ahead : int
        Batches of a rank that may be on their way or ready, at least `workers`.
    read_ns, decode_ns : float
        Of one batch.
    steps : int, optional
        After which no worker begins another.
    spans : list, optional
        To which what is done is added, as spans.

    Raises
    ------
    TypeError, ValueError
        For a count that is not an integer in its range, or a time that is not a number.

    Examples
    --------
    >>> queue = BatchQueue(1, 1, 2, 4, 10.0, 90.0)
    >>> for step in range(3):
    ...     begin = max(queue.ready())
    ...     queue.take(begin)
    ...     print(begin)
    100.0
    200.0
    300.0
    """

    def __init__(self, ranks, workers, ahead, vcpus, read_ns, decode_ns, steps=None, spans=None):
        wholes(1, _MOST, ranks=ranks, workers=workers, ahead=ahead, vcpus=vcpus)
        self._steps = np.inf if steps is None else whole(steps, "steps", 1, _MOST)
        self._ranks, self._workers, self._ahead = ranks, workers, ahead
        self._read_ns = number(read_ns, "read_ns", 0)
        self._decode_ns = number(decode_ns, "decode_ns", 0)
        self._spans = spans
        # Events are (time, batch, rank, what is due), so that the first to ask is served first.
        begun = range(int(min(workers, self._steps)))
        self._events = [(0.0, i, rank, "read") for rank in range(ranks) for i in begun]
        heapq.heapify(self._events)
        self._storage_free, self._vcpu_free = 0.0, [0.0] * vcpus
        self._asked: dict[tuple[int, int], float] = {}
        self._done: dict[int, dict[int, float]] = {}  # when each batch was ready, by rank
        self._taken: dict[int, float] = {}
        self._next = 0

    def ready(self) -> list[float]:
        """Return when the next batch lies ready, for each rank."""
        while len(self._done.get(self._next, ())) < self._ranks:
            self._follow(*heapq.heappop(self._events))
        return [self._done[self._next][rank] for rank in range(self._ranks)]

    def take(self, now) -> None:
        """Take the next batch from every rank's queue, which makes room for another."""
        k, self._next = self._next, self._next + 1
        self._taken[k] = now
        room = k + self._ahead
        for rank, done in self._done.get(room - self._workers, {}).items():  # its worker is idle
            self._begin(room, rank, done)
        del self._done[k]
        self._taken.pop(k - self._ahead, None)

    def _begin(self, i, rank, now):
        """Start a batch on a worker, if there is room for it."""
        room = 0.0 if i < self._ahead else self._taken.get(i - self._ahead)
        if room is not None and i < self._steps:
            heapq.heappush(self._events, (max(now, room), i, rank, "read"))

    def _follow(self, now, i, rank, due):
        """Apply one event."""
        if due == "read":
            self._asked[i, rank] = now
            start = max(now, self._storage_free)
            self._storage_free = start + self._read_ns
            self._span("storage", f"batch {i} of rank {rank}", start, self._storage_free)
            heapq.heappush(self._events, (self._storage_free, i, rank, "decode"))
        elif due == "decode":
            end = max(now, heapq.heappop(self._vcpu_free)) + self._decode_ns
            heapq.heappush(self._vcpu_free, end)
            heapq.heappush(self._events, (end, i, rank, "ready"))
        else:
            self._done.setdefault(i, {})[rank] = now
            asked = self._asked.pop((i, rank))
            if rank == 0:
                self._span(f"worker {i % self._workers}", f"batch {i}", asked, now)
            self._begin(i + self._workers, rank, now)  # the same worker's next

    def _span(self, track, label, start, end):
        if self._spans is not None:
            self._spans.append(Span(track, label, start, end))
