"""Hierarchical collectives on machines of any size: timed without a list of moves.

All instances do the same inside, so one instance's schedule is timed against the links of each;
between instances Y rings (or meshes, or cubes) run side by side over the EFA devices.
"""

from dataclasses import dataclass, field

import numpy as np

from trainium_edu.fabric.accounting import (
    Costs,
    _latencies,
    _together,
    link_loads,
    memory_loads,
)
from trainium_edu.fabric.collectives import plan
from trainium_edu.fabric.embedding import is_power_of_two
from trainium_edu.fabric.machines import one_instance
from trainium_edu.fabric.routing import routes
from trainium_edu.fabric.topology import FabricError, Topology, whole_number

__all__ = ["HierarchicalTime", "Stage", "flat_ring_time", "hierarchical_time"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One level of the hierarchy."""

    name: str
    steps: int
    latency_ns: float
    total_ns: float


@dataclass(frozen=True, slots=True)
class HierarchicalTime:
    """The stages of a collective over many instances, and what crossed each link."""

    stages: tuple[Stage, ...]
    link_bytes: np.ndarray = field(repr=False)  #: float64[links], over the whole collective

    @property
    def total_ns(self) -> float:
        """Nanoseconds in all."""
        return sum(s.total_ns for s in self.stages)

    @property
    def steps(self) -> int:
        """Steps in all."""
        return sum(s.steps for s in self.stages)

    def __str__(self):
        return "\n".join(
            f"{s.name:32} {s.steps:6} steps {s.total_ns / 1e3:14.2f} us"
            f" (latency {s.latency_ns / 1e3:.2f})"
            for s in (*self.stages, Stage("all", self.steps, sum(s.latency_ns for s in self.stages),
                                          self.total_ns))
        )  # fmt: skip


def hierarchical_time(
    cluster: Topology,
    nbytes: int,
    *,
    intra: str = "kangaring",
    inter: str = "ring",
    costs: Costs | None = None,
) -> HierarchicalTime:
    """Time a hierarchical all-reduce: scatter inside, reduce between, gather inside.

    Parameters
    ----------
    cluster : Topology
        Two or more instances, up to 100 000 chips and beyond.
    nbytes : int
        Bytes of each rank's buffer.
    intra : str
        Algorithm inside an instance.
    inter : {"ring", "mesh", "rdh"}
        Algorithm between instances.
    costs : Costs, optional

    Returns
    -------
    HierarchicalTime

    Examples
    --------
    >>> from trainium_edu.fabric import ultracluster
    >>> hierarchical_time(ultracluster(1600), 2**30).steps
    228

    References
    ----------
    `aws-internode` in :data:`trainium_edu.specs.SOURCES`.
    """
    costs = costs or Costs()
    whole_number(nbytes, "the number of bytes", least=0, most=2**50)
    if cluster.instances < 2:
        raise FabricError(f"{cluster.name} is one instance; use account() for it")
    inside, x = one_instance(cluster), cluster.instances
    shape = _local_links(cluster)
    scatter, first = _intra(cluster, inside, shape, "reduce_scatter", intra, nbytes, costs)
    across, second = _inter(cluster, x, inside.ranks, inter, nbytes, costs)
    gather, third = _intra(cluster, inside, shape, "all_gather", intra, nbytes, costs)
    return HierarchicalTime((scatter, across, gather), first + second + third)


def _local_links(cluster):
    """Return the indices of the cables inside each instance: int[instances, cables]."""
    local = np.flatnonzero((cluster.src < cluster.chips) & (cluster.dst < cluster.chips))
    if len(local) % cluster.instances:
        raise FabricError(
            f"{cluster.name}: instances with different cables; repair or leave it out"
        )
    return local.reshape(cluster.instances, -1)


def _intra(cluster, inside, local, what, how, nbytes, costs):
    schedule = plan(inside, what, how)
    sizes = np.full(schedule.items, nbytes / schedule.items)
    loads = link_loads(schedule, inside, sizes, ties=costs.ties)
    speed = cluster.bandwidth_bytes_per_s[local]
    slowest = speed.min(axis=0)  # per cable, over all instances
    link_ns = (loads / slowest).max(axis=1, initial=0.0) * 1e9
    hbm_ns = memory_loads(schedule, sizes).max(axis=1) / cluster.hbm_bytes_per_s * 1e9
    latency = _latencies(schedule, inside, costs)
    total = float((latency + _together(link_ns, hbm_ns, costs.hbm)).sum())
    carried = np.zeros(cluster.links)
    carried[local] = loads.sum(axis=0)
    stage = Stage(f"{what} inside ({how})", schedule.steps, float(latency.sum()), total)
    return stage, carried


def _inter(cluster, x, y, how, nbytes, costs):
    rounds = {"ring": 2 * (x - 1), "mesh": 2, "rdh": 2 * (x.bit_length() - 1)}
    if how not in rounds:
        raise FabricError(f"{how!r} is no algorithm between instances; use {', '.join(rounds)}")
    if how == "rdh" and not is_power_of_two(x):
        raise FabricError(f"rdh needs a power of two of instances; {x} is not. Use ring or mesh")
    steps = rounds[how]
    sent = 2 * (x - 1) / x * nbytes / y  # bytes that each rank sends in all
    carried, way = _everyone_to_the_next(cluster, sent * cluster.ranks_per_chip, costs.ties)
    link_ns = float((carried / cluster.bandwidth_bytes_per_s).max()) * 1e9
    hop_ns = _network_latency_ns(cluster, way)
    touched = 5 * cluster.ranks_per_chip * sent / 2  # 2R 1W per partial, 1R 1W per copy
    hbm_ns = touched / cluster.hbm_bytes_per_s * 1e9
    moving = float(_together(link_ns, hbm_ns, costs.hbm))
    name = f"all_reduce between ({how})"
    return Stage(name, steps, steps * hop_ns, steps * hop_ns + moving), carried


def _everyone_to_the_next(cluster, chip_bytes, ties):
    """Return the bytes on each link if every chip sends to its like in the next instance.

    All instances do the same, so the ways of one are counted and repeated.
    """
    size, x = cluster.chips_per_instance, cluster.instances
    chips = np.arange(size)
    _, links = routes(cluster, chips, chips + size, ties)
    devices = len(cluster.gateways)
    block = (cluster.links - x * devices) // x  # links out of the chips of one instance
    if block * x + devices * x != cluster.links:
        raise FabricError(f"{cluster.name}: instances with different links; leave one out")
    out = links < block * x
    one = np.bincount(links[out] % block, minlength=block)
    down = np.bincount((links[~out] - block * x) % devices, minlength=devices)
    return np.concatenate((np.tile(one, x), np.tile(down, x))) * float(chip_bytes), links


def _network_latency_ns(cluster, links):
    outside = (cluster.src[links] >= cluster.chips) | (cluster.dst[links] >= cluster.chips)
    return 2 * float(cluster.latency_ns[links[outside]].max())


def flat_ring_time(cluster: Topology, nbytes: int) -> Stage:
    """Time one long ring through all ranks of all instances, in both directions.

    Examples
    --------
    >>> from trainium_edu.fabric import ultracluster
    >>> flat_ring_time(ultracluster(1600), 2**30).steps
    6398
    """
    whole_number(nbytes, "the number of bytes", least=0, most=2**50)
    if cluster.instances < 2:
        raise FabricError(f"{cluster.name} is one instance; use account() for it")
    steps = 2 * (cluster.ranks - 1)
    size = cluster.chips_per_instance
    _, way = routes(cluster, np.array([0]), np.array([size]))
    hop_ns = _network_latency_ns(cluster, way)
    slowest = float(cluster.bandwidth_bytes_per_s.min())
    moving = nbytes / cluster.ranks / 2 / slowest * 1e9
    return Stage("flat ring, both directions", steps, steps * hop_ns, steps * (hop_ns + moving))
