"""Pooled memory: any chip addresses any chip's HBM; what that costs in hops and gains in room."""

from dataclasses import dataclass

import numpy as np

from trainium_edu.fabric.arguments import real_number
from trainium_edu.fabric.topology import FabricError, Topology, known, whole_number

__all__ = ["Pool", "pool"]


@dataclass(frozen=True, slots=True)
class Pool:
    """A tensor spread evenly over chips, read by one of them."""

    home: int
    chips: tuple[int, ...]  #: where the tensor lies, nearest first
    hops: tuple[int, ...]  #: the hops from home to each chip
    capacity_bytes: int
    bandwidth_bytes_per_s: float  #: at which home reads all shares at the same time
    latency_ns: float  #: until the first byte of the farthest share

    def read_ns(self, nbytes: float) -> float:
        """Return the time, in ns, that `home` takes to read `nbytes` bytes."""
        if real_number(nbytes, "the number of bytes") > self.capacity_bytes:
            raise FabricError(
                f"{nbytes} bytes do not fit in the {self.capacity_bytes} bytes of"
                f" {len(self.chips)} chips; spread it over more chips"
            )
        return self.latency_ns + nbytes / self.bandwidth_bytes_per_s * 1e9


def pool(topology: Topology, home: int = 0, spread: int = 1) -> Pool:
    """Spread a tensor over the chips nearest to one, and see how that one reads it.

    Parameters
    ----------
    topology : Topology
    home : int
        The chip that reads.
    spread : int
        Over how many chips, home included.

    Returns
    -------
    Pool

    Notes
    -----
    All shares are equal and flow at the same time; the slowest of memory (each share at its own
    chip's HBM rate) and links (the busiest one on the ways home) sets the bandwidth.  Each share
    takes the shortest way that is least used so far; which way the hardware takes is not published.

    References
    ----------
    `aws-trn1-page` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> from trainium_edu.fabric import trn1_32xlarge
    >>> p = pool(trn1_32xlarge(), 0, 16)
    >>> p.hops.count(2), p.capacity_bytes // 2**30
    (6, 512)
    """
    home = whole_number(home, "home", least=0, most=known(topology).chips - 1)
    whole_number(spread, "spread", most=topology.chips)
    distance = topology.hops(home)[: topology.chips]
    order = np.lexsort((np.arange(topology.chips), np.where(distance < 0, 2**30, distance)))
    chips = order[:spread]
    if (distance[chips] < 0).any():
        raise FabricError(
            f"{topology.name}: only {int((distance >= 0).sum())} chips can be reached from {home}"
        )
    load = np.zeros(topology.links)
    latency = [0.0]
    for chip in chips[::-1]:  # the farthest have most ways to choose from, the nearest only one
        ways = _shortest_ways(topology, int(chip), int(home), distance)
        best = min(ways, key=lambda way: (max(load[way], default=0.0), load[way].sum(), way))
        load[best] += 1
        latency.append(float(topology.latency_ns[best].sum()))
    slowest = 1 / topology.hbm_bytes_per_s  # seconds per byte of one share
    if load.any():
        slowest = max(slowest, float((load / topology.bandwidth_bytes_per_s).max()))
    return Pool(
        int(home),
        tuple(int(c) for c in chips),
        tuple(int(d) for d in distance[chips]),
        spread * topology.hbm_bytes,
        spread / slowest,
        max(latency),
    )


def _shortest_ways(topology, chip, home, distance):
    """Return up to 64 shortest ways from a chip home, each a list of links."""
    unfinished, routes = [(chip, [])], []
    while unfinished and len(routes) < 64:
        at, links = unfinished.pop()
        if at == home:
            routes.append(links)
            continue
        back = topology.hops(at)[home] if distance[at] < 0 else distance[at]
        unfinished += [
            (nxt, [*links, topology.link(at, nxt)])
            for nxt in topology.neighbours(at)
            if distance[nxt] == back - 1
        ]
    return routes
