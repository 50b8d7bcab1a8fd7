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
    buffer_bytes,
    link_loads,
    memory_loads,
    message_latencies,
    rules,
)
from trainium_edu.fabric.algorithms.ring import flat_chains
from trainium_edu.fabric.arguments import choice
from trainium_edu.fabric.collectives import plan
from trainium_edu.fabric.embedding import is_power_of_two
from trainium_edu.fabric.machines import one_instance
from trainium_edu.fabric.routing import routes
from trainium_edu.fabric.topology import FabricError, Topology, known

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
        Two or more instances, up to 100,000 chips and beyond.
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
    costs, nbytes = _rules(cluster, costs), buffer_bytes(nbytes)
    inside, x = one_instance(cluster), cluster.instances
    _links_of_one(cluster)
    local = np.flatnonzero((cluster.src < cluster.chips) & (cluster.dst < cluster.chips))
    shape = local.reshape(x, -1)  # cables by instance
    scatter, first = _intra(cluster, inside, shape, "reduce_scatter", intra, nbytes, costs)
    across, second = _inter(cluster, x, inside.ranks, inter, nbytes, costs)
    gather, third = _intra(cluster, inside, shape, "all_gather", intra, nbytes, costs)
    return HierarchicalTime((scatter, across, gather), first + second + third)


def _rules(cluster, costs):
    """Return the costs by which a cluster of several instances is timed."""
    if known(cluster).instances < 2:
        raise FabricError(f"{cluster.name} is one instance; use account() for it")
    return rules(costs)


def _links_of_one(cluster):
    """Return how many links lead out of the chips of one instance, the same for each of them."""
    x, devices = cluster.instances, len(cluster.gateways)
    out = cluster.links - x * devices
    shift = np.arange(x)[:, None] * cluster.chips_per_instance
    alike = out % x == 0 and bool((cluster.src[out:] >= cluster.chips).all())
    if alike:
        src, dst = (a[:out].reshape(x, -1) for a in (cluster.src, cluster.dst))
        ends = np.where(dst >= cluster.chips, dst, dst - shift)
        down = cluster.dst[out:].reshape(x, -1) - shift
        alike = all((a == a[0]).all() for a in (src - shift, ends, down))
    if not alike:
        raise FabricError(
            f"{cluster.name}: its instances have different links, and what one does is not what"
            " the others do; leave the damaged one out"
        )
    return out // x


def _intra(cluster, inside, local, operation, how, nbytes, costs):
    schedule = plan(inside, operation, how)
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
    stage = Stage(f"{operation} inside ({how})", schedule.steps, float(latency.sum()), total)
    return stage, carried


def _inter(cluster, x, y, how, nbytes, costs):
    rounds = {"ring": 2 * (x - 1), "mesh": 2, "rdh": 2 * (x.bit_length() - 1)}
    how = choice(how, rounds, "algorithm between instances")
    if how == "rdh" and not is_power_of_two(x):
        raise FabricError(f"rdh needs a power of two of instances; {x} is not. Use ring or mesh")
    steps = rounds[how]
    sent = 2 * (x - 1) / x * nbytes / y  # bytes that each rank sends in all
    chips = np.arange(cluster.chips_per_instance)  # every chip sends to its like in the next
    carried, hop_ns = _all_alike(cluster, chips, chips + len(chips), costs)
    carried *= sent * cluster.ranks_per_chip
    link_ns = float((carried / cluster.bandwidth_bytes_per_s).max()) * 1e9
    touched = 5 * cluster.ranks_per_chip * sent / 2  # 2R 1W per partial, 1R 1W per copy
    hbm_ns = touched / cluster.hbm_bytes_per_s * 1e9
    moving = float(_together(link_ns, hbm_ns, costs.hbm))
    name = f"all_reduce between ({how})"
    return Stage(name, steps, steps * hop_ns, steps * hop_ns + moving), carried


def _all_alike(cluster, src, dst, costs):
    """Return the messages on each link, and the longest latency, if all instances do as one does.

    The ways of one instance are counted and repeated; ``src`` and ``dst`` are chips of it and its
    neighbour.
    """
    start, links = routes(cluster, src, dst, costs.ties)
    x, devices, block = cluster.instances, len(cluster.gateways), _links_of_one(cluster)
    out = links < block * x
    one = np.bincount(links[out] % block, minlength=block)
    down = np.bincount((links[~out] - block * x) % devices, minlength=devices)
    move = np.repeat(np.arange(len(src)), np.diff(start))
    hop_ns = float(message_latencies(cluster, move, links, len(src), costs.latency).max())
    return np.concatenate((np.tile(one, x), np.tile(down, x))).astype(np.float64), hop_ns


def flat_ring_time(cluster: Topology, nbytes: int, *, costs: Costs | None = None) -> Stage:
    """Time rings through all ranks of all instances: as many as there are network devices.

    Parameters
    ----------
    cluster : Topology
        Two or more instances.
    nbytes : int
        Bytes of each rank's buffer.
    costs : Costs, optional

    Returns
    -------
    Stage

    Examples
    --------
    >>> from trainium_edu.fabric import ultracluster
    >>> flat_ring_time(ultracluster(1600), 2**30).steps
    6398

    Notes
    -----
    Each EFA device hangs on a different chip, so each directed cycle leaves an instance through
    another one and carries 1/D of the buffer.  There are D devices of b bytes/s and N ranks, and
    a is the time from memory to memory over the network.  All ranks step together, as in
    :func:`account`, and every step lasts as long as the one over the network.  So the time is
    ``2 (N - 1) (a + B / (D N b))`` as long as neither cables nor memory are slower.  The cost of
    switching between so many cycles, which the document calls high, is not modelled.

    References
    ----------
    `aws-internode` in :data:`trainium_edu.specs.SOURCES`.
    """
    costs, nbytes = _rules(cluster, costs), buffer_bytes(nbytes)
    n, size = cluster.ranks, cluster.chips_per_instance
    src, dst = [], []
    for chain in flat_chains(cluster):
        onward = np.append(chain[1:], chain[0] + size)
        src += [chain, onward]  # there, and back along the same chips
        dst += [onward, chain]
    lanes = len(src)
    used, hop_ns = _all_alike(cluster, np.concatenate(src), np.concatenate(dst), costs)
    link_ns = float((used / cluster.bandwidth_bytes_per_s).max()) * nbytes / n / lanes * 1e9
    touch_ns = cluster.ranks_per_chip * nbytes / n / cluster.hbm_bytes_per_s * 1e9
    # 2R 1W per partial while scattering, 1R 1W per copy while gathering
    moving = sum(float(_together(link_ns, k * touch_ns, costs.hbm)) for k in (3, 2))
    steps = 2 * (n - 1)
    name = f"flat ring, {lanes} directed cycles"
    return Stage(name, steps, steps * hop_ns, steps * hop_ns + (n - 1) * moving)
