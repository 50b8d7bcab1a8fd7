"""Judges: networkx shortest paths; the facts' counts of over-subscription."""

import networkx as nx
import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric import FabricError, Ties

TOPOLOGIES = [
    fabric.torus(4, 4), fabric.ring(12), fabric.ring(7), fabric.hypercube(4), fabric.grid(3, 4),
    fabric.torus(3, 4, 2), fabric.fully_connected(5), fabric.ultracluster(48),
    fabric.without_link(fabric.torus(4, 4), 5, 6),
]  # fmt: skip


@for_each("topology", TOPOLOGIES, ids=lambda t: t.name)
@for_each("ties", list(Ties))
def test_routes_are_connected_and_shortest(topology, ties):
    shortest = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    for a in range(topology.chips):
        for b in range(topology.chips):
            way = fabric.route(topology, a, b, ties)
            at = a
            for link in way:
                assert topology.src[link] == at
                at = topology.dst[link]
            assert at == b
            if topology.instances == 1:
                assert len(way) == shortest[a][b]


@for_rows("ties, busiest", ("balanced", 8), ("one_way", 12))
def test_mesh_over_subscription_is_8_balanced_and_12_with_one_way_ties(ties, busiest):
    torus = fabric.torus(4, 4)
    a, b = (x.ravel() for x in np.meshgrid(np.arange(16), np.arange(16)))
    _, links = fabric.routes(torus, a, b, ties)
    load = np.bincount(links, minlength=64)
    assert (load.sum(), load.max()) == (512, busiest)
    if ties == "balanced":
        assert load.min() == 8


def test_routes_of_many_are_the_routes_of_each():
    torus = fabric.torus(3, 5)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 15, (2, 50))
    start, links = fabric.routes(torus, a, b)
    for i in range(50):
        ours = tuple(links[start[i] : start[i + 1]])
        assert ours == fabric.route(torus, int(a[i]), int(b[i]))


def test_a_disconnected_topology_is_named():
    line = fabric.without_link(fabric.grid(4), 1, 2)
    raises(FabricError, "no links lead from chip 0 to chip 3", fabric.route, line, 0, 3)
    with pytest.raises(FabricError, match="no links lead"):
        fabric.account(fabric.plan(line, "all_reduce", "ring"), line, 64)
