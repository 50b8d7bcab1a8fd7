"""Judges: networkx's distances, and the published neighbours of a torus; no browser."""

import json
from itertools import pairwise

import networkx as nx
import numpy as np

from tests.for_each import for_each, raises
from trainium_edu import fabric
from trainium_edu.widgets.topology import (
    MACHINES,
    TopologyExplorer,
    cycles_picture,
    topology_explorer,
    topology_picture,
)

TRN1 = "trn1.32xlarge: 16 chips"


def test_the_text_tells_shortest_distances():
    explorer = TopologyExplorer(TRN1, drawn_as="hypercube")
    graph = fabric.trn1_32xlarge().to_networkx()
    for a, b in ((0, 10), (3, 0), (15, 12), (5, 5)):
        explorer.start, explorer.end = a, b
        hops = nx.shortest_path_length(graph, a, b)
        assert f"{hops} hop" in explorer.told
        assert f"differ in {hops} bit" in explorer.told
    explorer.drawn_as = "flat"
    assert "address" not in explorer.told


def test_cutting_a_cable_makes_a_detour():
    explorer = topology_explorer(start=0, end=1)
    assert "1 hop." in explorer.told
    explorer.cut = "0 - 1"
    assert "3 hops." in explorer.told


@for_each("machine", MACHINES)
def test_the_page_is_given_every_way_on_every_machine(machine):
    """Judge: networkx on the same graph without the cable."""
    explorer = topology_explorer(machine, end=1)
    scene = json.loads(explorer.scenes)[machine]
    whole = MACHINES[machine]()
    size = (1 + len(scene["wires"]), whole.chips, whole.chips, scene["most"])
    table = np.frombuffer(explorer.ways, np.uint8, np.prod(size), scene["begin"]).reshape(size)
    for k, wire in enumerate([None, *map(tuple, scene["wires"])]):
        graph = whole.to_networkx().to_undirected()
        graph.remove_edges_from([wire] if wire else [])
        far = dict(nx.all_pairs_shortest_path_length(graph))
        for a in range(whole.chips):
            for b in range(whole.chips):
                way = [int(c) for c in table[k, a, b] if c != 255]
                assert (way[0], way[-1], len(way) - 1) == (a, b, far[a][b])
                assert all(graph.has_edge(*step) for step in pairwise(way))


def test_what_is_not_there_is_refused_with_a_sentence():
    raises(fabric.FabricError, "no cable '0 - 2' here", TopologyExplorer, TRN1, cut="0 - 2")
    raises(fabric.FabricError, "no drawing 'cube' here", TopologyExplorer, TRN1, drawn_as="cube")
    raises(fabric.FabricError, "", topology_explorer, "inf2.24xlarge: 6 chips", end=10)


def test_the_repr_says_the_way():
    explorer = topology_explorer(end=1)
    explorer.cut = "0 - 1"
    assert "0 → 12 → 13 → 1: 3 hops." in repr(explorer)


def test_pictures_tell_their_numbers():
    path = topology_picture(fabric.trn1_32xlarge(), path=[0, 1])
    cycles = cycles_picture(fabric.torus(4, 4))
    assert "32 cables, path 0 → 1" in path.page["scene"]["alt"]
    assert "16 cables (solid), 16 cables (dashed)" in cycles.page["scene"]["alt"]
