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
from trainium_edu.specs.arguments import choice, number, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.timeline import Span, Timeline

__all__ = ["BYTES_PER_SAMPLE", "DECODE_NS", "STORAGE_BYTES_PER_S", "Pipeline", "input_pipeline"]

_assumed = SOURCES["emulator"].says
BYTES_PER_SAMPLE = _assumed(
    110_000,
    "bytes",
    "input pipeline",
    note="about that of a photograph as JPEG, some 400 x 350 pixels",
)
DECODE_NS = _assumed(
    5e6,
    "ns",
    "input pipeline",
    note="to decode and crop such a photograph on one vCPU; measure yours",
)
STORAGE_BYTES_PER_S = _assumed(
    1e9, "bytes/s", "input pipeline", note="one volume or file system that is neither slow nor fast"
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What :func:`input_pipeline` found."""

    step_ns: float
    wait_ns: np.ndarray  #: float64[steps], which the chip waited before each step
    steady_wait_ns: float  #: mean over the second half of the steps
    samples_per_s: float  #: of all ranks, in the second half
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
def input_pipeline(
    step_ns: float,
    *,
    ranks: int = 32,
    batch: int = 32,
    workers: int = 2,
    prefetch: int = 2,
    instance: str = "trn1.32xlarge",
    vcpus: int | None = None,
    bytes_per_sample: float | None = None,
    decode_ns: float | None = None,
    storage_bytes_per_s: float | None = None,
    steps: int = 64,
) -> Pipeline:
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
    bytes_per_sample, decode_ns, storage_bytes_per_s : float, optional
        Default: assumed; see ``BYTES_PER_SAMPLE``, ``DECODE_NS`` and ``STORAGE_BYTES_PER_S``.
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
    counts = {"ranks": ranks, "batch": batch, "workers": workers, "prefetch": prefetch}
    for name, count in counts.items():
        whole(count, name, 1, 2**20)
    whole(steps, "steps", 2, 2**20)
    if ranks > int(cores):
        raise ValueError(f"{ranks} ranks are more than the {int(cores)} NeuronCores of {instance}; "
                         "a host feeds its own only: give the ranks of one host")  # fmt: skip
    vcpus = int(kinds[instance].vcpus) if vcpus is None else whole(vcpus, "vcpus", 1, 2**20)
    size = float(BYTES_PER_SAMPLE if bytes_per_sample is None else bytes_per_sample)
    decode = float(DECODE_NS if decode_ns is None else decode_ns)
    storage = float(STORAGE_BYTES_PER_S if storage_bytes_per_s is None else storage_bytes_per_s)
    number(step_ns, "step_ns", above=0)
    number(size, "bytes_per_sample", 0)
    number(decode, "decode_ns", 0)
    number(storage, "storage_bytes_per_s", above=0)
    read_ns, decode_ns = batch * size / storage * 1e9, batch * decode
    starts, waits, spans = _follow(step_ns, ranks, workers, prefetch, vcpus, read_ns, decode_ns,
                                   steps)  # fmt: skip
    half = steps // 2
    period = (starts[-1] - starts[half - 1]) / (steps - half)
    most = {
        "chips": ranks / step_ns,
        "storage": 1 / read_ns if read_ns else np.inf,
        "vCPUs": vcpus / decode_ns if decode_ns else np.inf,
        "workers": ranks * workers / (read_ns + decode_ns) if read_ns + decode_ns else np.inf,
    }
    return Pipeline(
        step_ns, waits, float(np.mean(waits[half:])), ranks * batch / period * 1e9,
        {name: rate * batch * 1e9 for name, rate in most.items()}, Timeline(spans),
    )  # fmt: skip


def _follow(step_ns, ranks, workers, prefetch, vcpus, read_ns, decode_ns, steps):
    """Return when steps start, how long each waited, and the spans: the events, in their order.

    Events are (time, batch, rank, what is due), so that whoever asks first is served first.
    """
    events = [(0.0, i, rank, "read") for rank in range(ranks) for i in range(min(workers, steps))]
    heapq.heapify(events)
    storage_free, vcpu_free, chip_free = 0.0, [0.0] * vcpus, 0.0
    missing = [ranks] * steps
    asked: dict[tuple[int, int], float] = {}
    may_begin = np.full(steps + workers * prefetch, np.nan)  # room for a batch since then
    may_begin[: workers * prefetch] = 0.0
    done = np.full((steps, ranks), np.nan)  # when each batch was ready
    starts, waits, spans = [], [], []
    while events:
        now, i, rank, due = heapq.heappop(events)
        if due == "read":
            asked[i, rank] = now
            start, storage_free = max(now, storage_free), max(now, storage_free) + read_ns
            spans.append(Span("storage", f"batch {i} of rank {rank}", start, storage_free))
            heapq.heappush(events, (storage_free, i, rank, "decode"))
        elif due == "decode":
            end = max(now, heapq.heappop(vcpu_free)) + decode_ns
            heapq.heappush(vcpu_free, end)
            heapq.heappush(events, (end, i, rank, "ready"))
        else:
            done[i, rank] = now
            missing[i] -= 1
            if rank == 0:
                spans.append(Span(f"worker {i % workers}", f"batch {i}", asked[i, 0], now))
            following = i + workers  # the same worker's next
            if following < steps and not np.isnan(may_begin[following]):
                begin = max(now, may_begin[following])
                heapq.heappush(events, (begin, following, rank, "read"))
            while len(starts) < steps and not missing[len(starts)]:
                k = len(starts)
                start = max(chip_free, done[k].max())
                waits.append(start - chip_free)
                starts.append(start)
                spans.append(Span("chips", f"step {k}", start, start + step_ns))
                spans.append(Span("ready", f"batch {k}", done[k, 0], start))
                chip_free = start + step_ns
                room = k + workers * prefetch
                may_begin[room] = start
                if room < steps:
                    for r in range(ranks):
                        before = done[room - workers, r]
                        if not np.isnan(before):  # its worker is idle
                            heapq.heappush(events, (max(start, before), room, r, "read"))
    return starts, np.array(waits), spans
