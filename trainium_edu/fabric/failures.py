"""What breaks, and what it does to each algorithm: a dead link, a slow link, a straggling rank."""

from dataclasses import dataclass, replace

import numpy as np

from trainium_edu.fabric.accounting import Costs, account
from trainium_edu.fabric.arguments import flag, names_of, real_number, shown, whole_number
from trainium_edu.fabric.collectives import plan
from trainium_edu.fabric.schedule import Op, Schedule, a_schedule
from trainium_edu.fabric.topology import FabricError, Topology, known

__all__ = ["Impact", "impact", "rank_clocks", "with_slow_link", "without_link"]


def _cable(topology, a, b, both_ways):
    known(topology)
    pairs = [(a, b), (b, a)] if flag(both_ways, "both_ways") else [(a, b)]
    links = [topology.link(*p) for p in pairs]
    if min(links) < 0:
        near = ", ".join(map(str, topology.neighbours(a))) or "none"
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
    dead = _cable(topology, a, b, both_ways)
    keep = np.ones(topology.links, bool)
    keep[dead] = False
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
    slow = _cable(topology, a, b, both_ways)
    speed = topology.bandwidth_bytes_per_s.copy()
    speed[slow] /= real_number(factor, "factor", least=1)
    return replace(
        topology, name=f"{topology.name} with a slow {a}-{b}", bandwidth_bytes_per_s=speed
    )


def lateness(schedule: Schedule, extra_ns, name: str) -> dict[int, float]:
    """Return checked nanoseconds by rank; none for None."""
    if extra_ns is None:
        return {}
    if not isinstance(extra_ns, dict):
        raise FabricError(f"{name} is {shown(extra_ns)}; write it as {{rank: nanoseconds}}")
    ranks = a_schedule(schedule).ranks
    for rank, extra in extra_ns.items():
        whole_number(rank, f"{name}: rank {shown(rank)}", least=0, most=ranks - 1)
        real_number(extra, f"{name} of rank {rank}", most=1e15)
    return extra_ns


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
    late, slow = (
        lateness(schedule, ns, name) for ns, name in ((late_ns, "late_ns"), (slow_ns, "slow_ns"))
    )
    bill = account(schedule, topology, nbytes, costs)
    clocks = np.zeros((schedule.steps + 1, schedule.ranks))
    clocks[0, list(late)] = list(late.values())
    slower = np.zeros(schedule.ranks)
    slower[list(slow)] = list(slow.values())
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
    known(damaged)
    rows = []
    for name in names_of(algorithms):
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
