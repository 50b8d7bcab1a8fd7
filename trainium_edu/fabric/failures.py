"""What breaks, and what it does to each algorithm: a dead link, a slow link, a straggling rank."""

from dataclasses import dataclass, replace

import numpy as np

from trainium_edu.fabric.accounting import Costs, account
from trainium_edu.fabric.collectives import plan
from trainium_edu.fabric.schedule import Op, Schedule
from trainium_edu.fabric.topology import FabricError, Topology

__all__ = ["Impact", "impact", "rank_clocks", "with_slow_link", "without_link"]


def _cable(topology, a, b, both_ways):
    pairs = [(a, b), (b, a)] if both_ways else [(a, b)]
    links = [topology.link(*p) for p in pairs]
    if min(links) < 0:
        near = ", ".join(map(str, topology.neighbours(a))) if 0 <= a < topology.chips else "none"
        raise FabricError(
            f"{topology.name} has no link between {a} and {b}; the neighbours of {a}: {near}"
        )
    return links


def without_link(topology: Topology, a: int, b: int, *, both_ways: bool = True) -> Topology:
    """Return the topology with a dead link.

    Parameters
    ----------
    topology : Topology
    a, b : int
        Neighbours.
    both_ways : bool
        Whether the whole cable is dead, or only the direction from a to b.

    Returns
    -------
    Topology
        Messages route around; rings are planned anew over cycles that are whole.

    Examples
    --------
    >>> from trainium_edu.fabric import route, torus
    >>> len(route(without_link(torus(4, 4), 0, 1), 0, 1))
    3
    """
    keep = np.ones(topology.links, bool)
    keep[_cable(topology, a, b, both_ways)] = False
    return replace(
        topology,
        name=f"{topology.name} without {a}{'-' if both_ways else '→'}{b}",
        src=topology.src[keep],
        dst=topology.dst[keep],
        bandwidth_bytes_per_s=topology.bandwidth_bytes_per_s[keep],
        latency_ns=topology.latency_ns[keep],
    )


def with_slow_link(
    topology: Topology, a: int, b: int, factor: float, *, both_ways: bool = True
) -> Topology:
    """Return the topology with one link at ``1 / factor`` of its bandwidth.

    Examples
    --------
    >>> from trainium_edu.fabric import torus
    >>> slow = with_slow_link(torus(4, 4), 0, 1, 4)
    >>> float(slow.bandwidth_bytes_per_s.max() / slow.bandwidth_bytes_per_s.min())
    4.0
    """
    if isinstance(factor, bool) or not 1 <= factor < float("inf"):
        raise FabricError(f"factor is {factor!r}; a slow link is slower by 1 or more")
    speed = topology.bandwidth_bytes_per_s.copy()
    speed[_cable(topology, a, b, both_ways)] /= factor
    return replace(
        topology, name=f"{topology.name} with a slow {a}-{b}", bandwidth_bytes_per_s=speed
    )


def rank_clocks(
    schedule: Schedule,
    topology: Topology,
    nbytes: int,
    costs: Costs | None = None,
    *,
    late_ns: dict[int, float] | None = None,
    slow_ns: dict[int, float] | None = None,
) -> np.ndarray:
    """Return when each rank is through with each step, if ranks wait for their partners only.

    Parameters
    ----------
    schedule, topology, nbytes, costs
        As for :func:`account`; a message lasts as long as its step does there.
    late_ns : dict of rank to ns, optional
        Ranks that join late: once.
    slow_ns : dict of rank to ns, optional
        Stragglers: what every step of theirs takes longer.

    Returns
    -------
    float64[steps + 1, ranks]

    Examples
    --------
    >>> from trainium_edu.fabric import plan, ring
    >>> s = plan(ring(4), "all_reduce", "ring", cycles=1)
    >>> clocks = rank_clocks(s, ring(4), 0, slow_ns={2: 1000})
    >>> (clocks[-1].max() - 6 * 1500).item()
    6000.0
    """
    late_ns, slow_ns = late_ns or {}, slow_ns or {}
    for rank, extra in (*late_ns.items(), *slow_ns.items()):
        if isinstance(rank, bool) or not 0 <= rank < schedule.ranks:
            raise FabricError(f"rank {rank} does not take part; there are {schedule.ranks}")
        if not 0 <= extra < float("inf"):
            raise FabricError(f"rank {rank} is late by {extra} ns; use a finite number from 0 up")
    bill = account(schedule, topology, nbytes, costs)
    clocks = np.zeros((schedule.steps + 1, schedule.ranks))
    clocks[0, list(late_ns)] = list(late_ns.values())
    slower = np.zeros(schedule.ranks)
    slower[list(slow_ns)] = list(slow_ns.values())
    edges = np.searchsorted(schedule.step, np.arange(schedule.steps + 1))
    for step in range(schedule.steps):
        rows = slice(edges[step], edges[step + 1])
        src, dst = schedule.src[rows], schedule.dst[rows]
        moves = schedule.op[rows] != Op.SETTLE
        src, dst = src[moves], dst[moves]
        before = clocks[step]
        starts = np.maximum(before[src], before[dst])
        ends = starts + bill.time_ns[step] + np.maximum(slower[src], slower[dst])
        after = before.copy()
        if not len(src):  # everybody settles what arrived
            after = before + bill.time_ns[step] + slower
        np.maximum.at(after, src, ends)
        np.maximum.at(after, dst, ends)
        clocks[step + 1] = after
    return clocks


@dataclass(frozen=True, slots=True)
class Impact:
    """What one failure does to one algorithm."""

    algorithm: str
    healthy_ns: float
    rerouted_ns: float | None  #: the old plan on the damaged machine; None: it cannot run
    replanned_ns: float | None  #: a new plan for the damaged machine
    why: str = ""

    def __str__(self):
        def show(ns):
            return "cannot" if ns is None else f"{ns / 1e3:10.1f} us ({ns / self.healthy_ns:.2f} x)"

        return (
            f"{self.algorithm:18} healthy {self.healthy_ns / 1e3:10.1f} us   same plan"
            f" {show(self.rerouted_ns)}   new plan {show(self.replanned_ns)}"
            + (f"   {self.why}" if self.why else "")
        )


def impact(
    healthy: Topology,
    damaged: Topology,
    nbytes: int,
    *,
    collective: str = "all_reduce",
    algorithms=("mesh", "rdh", "kangaring", "ring", "ring_by_dimension"),
    costs: Costs | None = None,
) -> list[Impact]:
    """Compare every algorithm on a healthy and a damaged machine.

    Parameters
    ----------
    healthy, damaged : Topology
        The same ranks.
    nbytes : int
    collective : str
    algorithms : sequence of str
    costs : Costs, optional

    Returns
    -------
    list of Impact

    Examples
    --------
    >>> from trainium_edu.fabric import torus
    >>> t = torus(4, 4)
    >>> one, = impact(t, without_link(t, 0, 1), 2**26, algorithms=["ring"])
    >>> round(one.rerouted_ns / one.healthy_ns, 2), round(one.replanned_ns / one.healthy_ns, 2)
    (1.51, 1.51)
    """
    rows = []
    for name in algorithms:
        plan_before = plan(healthy, collective, name)
        before = account(plan_before, healthy, nbytes, costs).total_ns
        rerouted, why = _try(lambda p=plan_before: p, damaged, nbytes, costs)
        replanned, why_not = _try(
            lambda n=name: plan(damaged, collective, n), damaged, nbytes, costs
        )
        rows.append(Impact(name, before, rerouted, replanned, why_not or why))
    return rows


def _try(make, topology, nbytes, costs):
    """Return the time of the plan that ``make`` makes, or None and why there is none."""
    try:
        return account(make(), topology, nbytes, costs).total_ns, ""
    except FabricError as error:
        return None, str(error)
