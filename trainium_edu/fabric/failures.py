"""Dead links, and their cost to each algorithm."""

from dataclasses import dataclass, replace

import numpy as np

from trainium_edu.fabric.accounting import Costs, account
from trainium_edu.fabric.arguments import flag, names_of
from trainium_edu.fabric.collectives import plan
from trainium_edu.fabric.topology import FabricError, Topology, known

__all__ = ["Impact", "impact", "without_link"]


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
        Messages route around; rings are planned again over the cycles that are left whole.

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


@dataclass(frozen=True, slots=True)
class Impact:
    """The times of one algorithm before and after a failure."""

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
