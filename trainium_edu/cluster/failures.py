"""What fails, what a checkpoint costs, how often to write one, and what of the time is useful.

Failures are exponential, of one rate, and stop the whole job.  The closed forms are Young's,
Daly's and Vaidya's; :func:`simulate` judges them.  A machine's own rate is yours to give: AWS
publishes none for Trainium; ``specs.FAILURES`` holds what others reported for GPUs.

Left out: failures that come in bursts or wear off, slow ones (``scaling.slowest``), work that goes
on without the failed instance, checkpoints of data loaders.  Sources: `young-1974`, `daly-2006`,
`vaidya-1997` (specs.SOURCES).
"""

from dataclasses import dataclass
from math import ceil, exp, expm1, isfinite, sqrt
from typing import Literal

import numpy as np

from trainium_edu.cluster.memory import STATES, WIDTHS
from trainium_edu.specs import INSTANCES, STORAGE
from trainium_edu.specs.arguments import choice, flag, number, whole
from trainium_edu.specs.signatures import checked

__all__ = [
    "Checkpoint", "Feed", "Rate", "Simulated", "checkpoint", "checkpoint_bytes",
    "cluster_mtbf_s", "daly_interval_s", "expected_time_s", "feed", "goodput",
    "optimal_interval_s", "simulate", "storage_rate", "young_interval_s",
]  # fmt: skip

TiB = 2**40
TIERS = {f"fsx-{tier}": getattr(STORAGE.fsx, f"tier_{tier}") for tier in (125, 250, 500, 1000)}
STORES = ("nvme", *TIERS, "s3")
MOST_FAILURES = 10**6  # a simulation beyond never ends
LONGEST_S = 1e20  # of any time: no unit that was mistaken makes one longer


@checked
def cluster_mtbf_s(instance_mtbf_hours: float, instances: int = 1) -> float:
    """Return the mean time between failures of a job on a number of instances, in seconds.

    Parameters
    ----------
    instance_mtbf_hours : float
        Of one instance, above 0; ``specs.FAILURES`` has examples.
    instances : int

    Returns
    -------
    float
        That of one, divided by their number: any failure stops all.

    Raises
    ------
    ValueError
        If either is not above 0.

    Examples
    --------
    >>> from trainium_edu.specs import FAILURES
    >>> one = float(FAILURES.llama3.instance_mtbf_hours)
    >>> print(f"{one / 24:.0f} days; 2,048 of them {cluster_mtbf_s(one, 2048) / 3600:.2f} hours")
    264 days; 2,048 of them 3.09 hours
    """
    hours = number(instance_mtbf_hours, "instance_mtbf_hours", above=0, high=1e9)
    return 3600 * hours / whole(instances, "instances", 1, 10**6)


@checked
def checkpoint_bytes(parameters: float, precision: str = "bf16-master", optimizer: str = "adamw"):
    """Return the bytes of a checkpoint: weights, master copy, the optimiser's states.

    Parameters
    ----------
    parameters : float
    precision : {"bf16-sr", "bf16-master", "fp32"}
        As in :class:`~trainium_edu.cluster.plan.Plan`.
    optimizer : {"adamw", "lamb", "sgd"}

    Returns
    -------
    float
        For AdamW 6, 14 or 12 bytes per parameter.  Gradients are not kept.

    Raises
    ------
    ValueError
        For another precision or optimiser.

    Examples
    --------
    >>> print(checkpoint_bytes(175e9) / 1e12, "TB")
    2.45 TB
    """
    weights, _, master, state = WIDTHS[choice(precision, "precision", tuple(WIDTHS))]
    states = STATES[choice(optimizer, "optimizer", tuple(STATES))]
    return number(parameters, "parameters", 1, 1e18) * (weights + master + states * state)


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes per second between a cluster and a store, and what bounds them."""

    bytes_per_s: float
    bound: str

    def __str__(self):
        return f"{self.bytes_per_s / 1e9:,.1f} GB/s, bound by {self.bound}"


@checked
def storage_rate(
    storage: str,
    instances: int = 1,
    *,
    direction: Literal["write", "read"] = "write",
    tebibytes: float | None = None,
    burst: bool = False,
    instance: str = "trn1.32xlarge",
) -> Rate:
    """Return how fast instances together write to a store, or read from it.

    Parameters
    ----------
    storage : {"nvme", "fsx-125", "fsx-250", "fsx-500", "fsx-1000", "s3"}
        The instances' own disks; FSx for Lustre by its MB/s per TiB; Amazon S3.
    instances : int
        Those that take part.
    direction : {"write", "read"}
        Matters for local disks; reads from FSx come from its disks, not from its cache.
    tebibytes : float
        Size of the file system, at least 1,200 GiB; only FSx needs one.
    burst : bool
        Whether FSx's credits last, which its page grants for reading.
    instance : str
        A key of ``specs.INSTANCES`` with a network of EFA.

    Returns
    -------
    Rate

    Raises
    ------
    ValueError
        For an unknown store or instance; for FSx without a size.

    Notes
    -----
    Local disks: documented operations per second of an *assumed* 4 KiB.  S3: *assumed* one network
    card of 100 Gbit/s per instance, and documented 85 MB/s per request.

    References
    ----------
    `aws-instance-store`, `aws-fsx-ssd`, `aws-fsx-create`, `aws-fsx-performance`,
    `aws-s3-patterns` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> print(storage_rate("nvme", 128))
    377.5 GB/s, bound by local disks
    >>> print(storage_rate("fsx-1000", 128, tebibytes=100))
    100.0 GB/s, bound by the file system's disks
    """
    choice(storage, "storage", STORES)
    whole(instances, "instances", 1, 10**6)
    choice(direction, "direction", ("write", "read"))
    flag(burst, "burst")
    choice(instance, "instance", _with_network())
    if storage == "nvme":
        one = getattr(STORAGE.nvme, f"{direction}_bytes_per_s")
        return Rate(instances * float(one), "local disks")
    network = float(INSTANCES[instance].network_bits_per_s)
    if storage == "s3":
        card = min(network, float(STORAGE.s3.client_bits_per_s)) / 8
        requests = ceil(card / STORAGE.s3.bytes_per_s_per_request.value[0])
        bound = f"one network card per instance, which takes {requests} requests at once"
        return Rate(instances * card, bound)
    if tebibytes is None:
        raise ValueError(f"{storage} without a size: its rate grows with its tebibytes, so say "
                         "tebibytes=100 or how many there are")  # fmt: skip
    least, why = STORAGE.fsx.least_gibibytes.value, ": FSx offers none smaller than 1,200 GiB"
    size, tier = number(tebibytes, "tebibytes", least / 1024, 1e6, why=why), TIERS[storage]
    ending = "_burst_bytes_per_s_per_tib" if burst else "_bytes_per_s_per_tib"
    rates = {
        "the file system's disks": size * float(getattr(tier, f"disk{ending}")),
        "the file system's network": size * float(getattr(tier, f"network{ending}")),
        "100 Gbit/s per client": instances * float(STORAGE.fsx.client_bits_per_s) / 8,
        "the instances' network": instances * network / 8,
    }
    bound = min(rates, key=rates.__getitem__)
    return Rate(rates[bound], bound)


def _with_network():
    return tuple(name for name, i in INSTANCES.items() if "efa_devices" in dict(i.items()))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint's times.

    Attributes
    ----------
    nbytes : float
    stall_s : float
        How long training stands still for it.
    latency_s : float
        From its beginning until it may be restarted from; the same unless it is asynchronous.
    read_s : float
        To read it back.
    bound : str
        What bounds the writing.
    """

    nbytes: float
    stall_s: float
    latency_s: float
    read_s: float
    bound: str

    def __str__(self):
        return (
            f"{self.nbytes / 1e12:.3g} TB: stalls {self.stall_s:.3g} s, safe after "
            f"{self.latency_s:.3g} s, read in {self.read_s:.3g} s, bound by {self.bound}"
        )


@checked
def checkpoint(
    nbytes: float,
    storage: str,
    instances: int = 1,
    *,
    asynchronous: bool = False,
    copies: int = 1,
    tebibytes: float | None = None,
    burst: bool = False,
    instance: str = "trn1.32xlarge",
) -> Checkpoint:
    """Return how long a checkpoint takes, each instance writing an equal part.

    Parameters
    ----------
    nbytes : float
        In all; see :func:`checkpoint_bytes`.
    storage, instances, tebibytes, burst, instance
        As in :func:`storage_rate`.
    asynchronous : bool
        Whether training goes on as soon as the host has a copy.  The copy's rate, 16 GB/s per
        chip, is *assumed*.
    copies : int
        Copies of each part, each on another instance's disks: local ones end with their instance.
        1 suits failures that spare the disks, and stores that keep copies of their own.

    Returns
    -------
    Checkpoint

    Raises
    ------
    ValueError
        If an instance's part exceeds its host memory (asynchronous) or its disks; for more copies
        than instances, or of what is not on local disks.

    Examples
    --------
    >>> print(checkpoint(2.45e12, "fsx-1000", 128, tebibytes=100))
    2.45 TB: stalls 24.5 s, safe after 24.5 s, read in 24.5 s, bound by the file system's disks
    >>> print(checkpoint(2.45e12, "fsx-1000", 128, tebibytes=100, asynchronous=True))
    2.45 TB: stalls 0.0748 s, safe after 24.6 s, read in 24.5 s, bound by the file system's disks
    """
    size = number(nbytes, "nbytes", 1, 1e21)
    write, read = (
        storage_rate(storage, instances, direction=way, tebibytes=tebibytes, burst=burst,
                     instance=instance)
        for way in ("write", "read")
    )  # fmt: skip
    host, part, bound = INSTANCES[instance], size / instances, write.bound
    whole(copies, "copies", 1, instances if storage == "nvme" else 1,
          why=": only local disks want copies, each on another instance")  # fmt: skip
    written, back = copies * size / write.bytes_per_s, size / read.bytes_per_s
    if storage == "nvme":
        disks = STORAGE.nvme.disks.value * STORAGE.nvme.disk_bytes.value
        _must_hold(copies * part, disks, "on its disks")
    if copies > 1:  # sent to others while it is written; a new instance reads from them
        sent = part / float(host.network_bits_per_s) * 8
        back = max(back, sent)
        if (copies - 1) * sent > written:
            written, bound = (copies - 1) * sent, "the instances' network"
    copy = 0.0
    if flag(asynchronous, "asynchronous"):
        _must_hold(part, host.host_memory_bytes.value, "in its host memory")
        copy = part / (host.chips.value * float(STORAGE.host_copy_bytes_per_s_per_chip))
    return Checkpoint(size, copy or written, copy + written, back, bound)


def _must_hold(part, most, where):
    """Raise if an instance's part of a checkpoint exceeds where it is put."""
    if part > most:
        raise ValueError(
            f"each instance's part of the checkpoint is {part / 1e12:.3g} TB, and there is room "
            f"for {most / 1e12:.3g} TB {where}: write from more instances"
        )


@checked
def young_interval_s(mtbf_s: float, checkpoint_s: float) -> float:
    """Return Young's interval: seconds of work between two checkpoints, ``sqrt(2 d M)``.

    Parameters
    ----------
    mtbf_s : float
        M, the job's mean time between failures.
    checkpoint_s : float
        d, how long a checkpoint stalls the job.

    Returns
    -------
    float

    Notes
    -----
    Longer than :func:`optimal_interval_s` by 1.5 % at d / M = 0.001, by 5 % at 0.01, 17 % at 0.1.

    References
    ----------
    `young-1974` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> young_interval_s(24 * 3600, 300) / 60
    120.0
    """
    return sqrt(2 * _stall(checkpoint_s) * _mtbf(mtbf_s))


@checked
def daly_interval_s(mtbf_s: float, checkpoint_s: float) -> float:
    """Return Daly's higher-order interval: seconds of work between two checkpoints.

    Parameters
    ----------
    mtbf_s, checkpoint_s : float
        As in :func:`young_interval_s`.

    Returns
    -------
    float

    Notes
    -----
    ``sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d`` for d < 2 M, and M beyond; within
    0.6 % of :func:`optimal_interval_s` up to d = M / 2.

    References
    ----------
    `daly-2006` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> round(daly_interval_s(24 * 3600, 300) / 60)
    117
    """
    stall, mtbf = _stall(checkpoint_s), _mtbf(mtbf_s)
    half = stall / (2 * mtbf)
    return mtbf if half >= 1 else sqrt(2 * stall * mtbf) * (1 + sqrt(half) / 3 + half / 9) - stall


@checked
def optimal_interval_s(mtbf_s: float, checkpoint_s: float, latency_s: float | None = None) -> float:
    """Return the interval at which :func:`expected_time_s` is least, to the last digits.

    Parameters
    ----------
    mtbf_s, checkpoint_s, latency_s : float
        As in :func:`expected_time_s`.

    Returns
    -------
    float
        The root x M of ``1 - x = exp(-x - d / M)``, which restarts do not move; if more, what an
        asynchronous checkpoint takes until the next may begin.

    Examples
    --------
    >>> round(optimal_interval_s(24 * 3600, 300) / 60, 1)
    116.7
    """
    mtbf, stall = _mtbf(mtbf_s), _stall(checkpoint_s)
    latency = stall if latency_s is None else number(latency_s, "latency_s", stall, LONGEST_S)
    share = stall / mtbf
    x = min(sqrt(2 * share), 1.0)
    for _ in range(60):  # Newton from the right of a convex function's root
        x -= (expm1(-x - share) + x) / -expm1(-x - share)
    return max(x * mtbf, latency - stall)


@checked
def expected_time_s(work_s: float, interval_s: float, mtbf_s: float, checkpoint_s: float,
                    restart_s: float = 0.0, latency_s: float | None = None) -> float:  # fmt: skip
    """Return how long work takes on average, with checkpoints, failures and restarts.

    Parameters
    ----------
    work_s : float
        Seconds without failures or checkpoints.
    interval_s : float
        T, seconds of work between checkpoints.
    mtbf_s : float
        M, the job's mean time between failures.
    checkpoint_s : float
        d, how long a checkpoint stalls the job.
    restart_s : float
        R: noticing, replacing, reading the checkpoint.
    latency_s : float, optional
        L, until a checkpoint may be restarted from; d unless it is asynchronous, and no more
        than an interval and a stall: the next one waits for it.

    Returns
    -------
    float
        Huge where segments hardly ever end.

    Raises
    ------
    ValueError
        If a time is not positive, or the latency out of range; if no segment would ever end.

    Notes
    -----
    ``M exp((R + L - d) / M) (exp((T + d) / M) - 1) / T`` per second of work; failures strike
    during checkpoints and restarts too.

    References
    ----------
    `daly-2006`, `vaidya-1997` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> print(f"{expected_time_s(500 * 3600, 7000, 24 * 3600, 300, 600) / 3600:.1f} hours")
    547.9 hours
    """
    work, interval = number(work_s, "work_s", above=0, high=LONGEST_S), _interval(interval_s)
    mtbf, stall, restart, late = _times(interval, mtbf_s, checkpoint_s, restart_s, latency_s)
    try:
        again = exp((restart + late) / mtbf)
        found = work / interval * mtbf * again * expm1((interval + stall) / mtbf)
        if isfinite(found):
            return found
    except OverflowError:
        pass
    best = optimal_interval_s(mtbf, stall)
    raise ValueError(
        f"segments of {interval + stall:.4g} s and restarts of {restart:.4g} s never end where "
        f"{mtbf:.4g} s pass between failures, so nothing is ever done; save more often, such as "
        f"every {best:.3g} s of work, restart faster, or take fewer instances"
    )


@checked
def goodput(interval_s: float, mtbf_s: float, checkpoint_s: float, restart_s: float = 0.0,
            latency_s: float | None = None) -> float:  # fmt: skip
    """Return which share of the time is useful work, on average: 1 / :func:`expected_time_s`.

    Parameters
    ----------
    interval_s, mtbf_s, checkpoint_s, restart_s, latency_s : float
        As in :func:`expected_time_s`.

    Returns
    -------
    float

    Examples
    --------
    >>> print(f"{goodput(7000, 24 * 3600, 300, 600):.1%}")
    91.3%
    """
    return 1 / expected_time_s(1.0, interval_s, mtbf_s, checkpoint_s, restart_s, latency_s)


@dataclass(frozen=True, slots=True)
class Simulated:
    """Many runs of the same work.

    Attributes
    ----------
    times_s : float64[runs]
    failures : int64[runs]
    work_s : float
    """

    times_s: np.ndarray
    failures: np.ndarray
    work_s: float

    @property
    def mean_s(self) -> float:
        """The mean of the times."""
        return float(self.times_s.mean())

    @property
    def error_s(self) -> float:
        """The standard error of that mean."""
        return float(self.times_s.std(ddof=1) / sqrt(len(self.times_s)))

    @property
    def goodput(self) -> float:
        """Useful work over time, over all runs."""
        return self.work_s / self.mean_s

    def __str__(self):
        return (f"{len(self.times_s)} runs: {self.mean_s / 3600:,.1f} h, error "
                f"{self.error_s / 3600:.1f} h, {self.failures.mean():.1f} failures, "
                f"goodput {self.goodput:.1%}")  # fmt: skip


@checked
def simulate(
    work_s: float,
    interval_s: float,
    mtbf_s: float,
    checkpoint_s: float,
    restart_s: float = 0.0,
    latency_s: float | None = None,
    *,
    runs: int = 1000,
    seed: int = 0,
) -> Simulated:
    """Play runs with failures at exponential gaps; the same seed gives the same runs.

    Parameters
    ----------
    work_s, interval_s, mtbf_s, checkpoint_s, restart_s, latency_s : float
        As in :func:`expected_time_s`; a last, shorter segment is played as such.
    runs : int
        2 to 1,000,000.
    seed : int

    Returns
    -------
    Simulated

    Raises
    ------
    ValueError
        If a run would see more than a million failures.

    Examples
    --------
    >>> print(simulate(500 * 3600, 7000, 24 * 3600, 300, 600))
    1000 runs: 548.1 h, error 0.2 h, 23.0 failures, goodput 91.2%
    """
    expected = expected_time_s(work_s, interval_s, mtbf_s, checkpoint_s, restart_s, latency_s)
    mtbf, stall, restart, late = _times(interval_s, mtbf_s, checkpoint_s, restart_s, latency_s)
    whole(runs, "runs", 2, 10**6)
    if expected > MOST_FAILURES * mtbf:
        raise ValueError(
            f"about {expected / mtbf:.3g} failures in a run, more than {MOST_FAILURES:,}: segments "
            f"of {interval_s + stall:.4g} s hardly ever end where {mtbf:.4g} s pass between "
            "failures; take a shorter interval"
        )
    segment, segments = interval_s + stall, ceil(work_s / interval_s)
    last = work_s - (segments - 1) * interval_s + stall
    rng = np.random.default_rng(whole(seed, "seed", 0))
    segments_to_go = np.full(runs, segments)  # of the runs still under way
    times, failures, under_way = np.zeros(runs), np.zeros(runs, np.int64), np.arange(runs)
    before = 0.0  # what precedes a run's next segment: nothing at first, then a restart
    while under_way.size:
        gap = rng.exponential(mtbf, under_way.size)
        needed = before + (segments_to_go - 1) * segment + last
        ends = gap >= needed
        times[under_way] += np.where(ends, needed, gap)
        failures[under_way] += ~ends
        safe = np.floor(np.maximum(gap - before - late, 0) / segment).astype(np.int64)
        segments_to_go = (segments_to_go - np.minimum(safe, segments_to_go - 1))[~ends]
        under_way, before = under_way[~ends], restart
    return Simulated(times, failures, float(work_s))


def _mtbf(seconds):
    return number(seconds, "mtbf_s", above=0, high=LONGEST_S)


def _interval(seconds):
    return number(seconds, "interval_s", above=0, high=LONGEST_S)


def _stall(seconds):
    why = ": a checkpoint that takes no time would be written without end"
    return number(seconds, "checkpoint_s", 1e-9, LONGEST_S, why=why)


def _times(interval, mtbf_s, checkpoint_s, restart_s, latency_s):
    """Return M, d, R, L - d, checked."""
    mtbf, stall = _mtbf(mtbf_s), _stall(checkpoint_s)
    restart = number(restart_s, "restart_s", 0, LONGEST_S)
    if latency_s is None:
        return mtbf, stall, restart, 0.0
    why = ": it includes the stall, and ends before the next checkpoint does"
    late = number(latency_s, "latency_s", stall, interval + stall, why=why) - stall
    return mtbf, stall, restart, late


@dataclass(frozen=True, slots=True)
class Feed:
    """The data that training reads.

    Attributes
    ----------
    bytes_per_s : float
    shares : dict of str to float
        Share of each store's rate; above 1 training waits for its data.
    """

    bytes_per_s: float
    shares: dict

    def __str__(self):
        rows = [f"  {name:10}{share:>12.4%} of its rate" for name, share in self.shares.items()]
        return "\n".join([f"{self.bytes_per_s / 1e6:,.3f} MB/s", *rows])


@checked
def feed(samples_per_s: float, bytes_per_sample: float, instances: int = 1, *,
         tebibytes: float = 1.2, instance: str = "trn1.32xlarge") -> Feed:  # fmt: skip
    """Return what training reads per second, and how much of each store's rate that is.

    Parameters
    ----------
    samples_per_s : float
        Of all instances; tokens per second will do.
    bytes_per_sample : float
        ``specs.STORAGE.token_bytes`` and ``image_bytes`` are examples, both *assumed*.
    instances : int
    tebibytes : float
        Size of the FSx file system; 1.2 is the smallest.
    instance : str

    Returns
    -------
    Feed
        With two rows more: EFA, which gradients want too, and the way from host to chips, whose
        rate is *assumed*.

    Examples
    --------
    >>> print(feed(26_000, 2, 32).bytes_per_s, "bytes/s for 26,000 tokens")
    52000.0 bytes/s for 26,000 tokens
    """
    each = number(samples_per_s, "samples_per_s", 0, 1e15)
    each *= number(bytes_per_sample, "bytes_per_sample", above=0, high=1e15)
    shares = {
        name: each / storage_rate(name, instances, direction="read", tebibytes=tebibytes,
                                  instance=instance).bytes_per_s
        for name in STORES
    }  # fmt: skip
    host, one = INSTANCES[instance], each / instances
    shares["EFA"] = one / float(host.network_bits_per_s) * 8
    shares["host"] = one / (host.chips.value * float(STORAGE.host_copy_bytes_per_s_per_chip))
    return Feed(each, shares)
