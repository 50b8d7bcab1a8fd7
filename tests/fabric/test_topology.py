"""Judges: the published neuron-ls tables, networkx, the facts' exact counts."""

import networkx as nx
import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu import fabric
from trainium_edu.specs import FABRIC, INSTANCES


def test_trn1_equals_the_published_neuron_ls_table_edge_for_edge():
    torus = fabric.trn1_32xlarge()
    table = FABRIC.neighbours_trn1.value
    assert tuple(torus.neighbours(chip) for chip in range(16)) == table


def test_inf2_equals_the_published_neuron_ls_table():
    ring = fabric.inf2_48xlarge()
    assert tuple(ring.neighbours(chip) for chip in range(12)) == FABRIC.neighbours_inf2.value
    assert fabric.machine("inf2.24xlarge").chips == 6


@for_rows("rows, columns", (4, 4), (3, 5), (2, 4), (5, 2))
def test_torus_is_networkx_periodic_grid(rows, columns):
    ours = fabric.torus(rows, columns).to_networkx()
    theirs = nx.grid_2d_graph(rows, columns, periodic=True)
    number = {(row, column): row * columns + column for row, column in theirs}
    named = {frozenset((number[a], number[b])) for a, b in theirs.edges if a != b}
    assert {frozenset(e) for e in ours.edges} == named


def test_torus_is_the_four_dimensional_hypercube():
    torus, cube = fabric.trn1_32xlarge().to_networkx(), fabric.hypercube(4).to_networkx()
    assert nx.is_isomorphic(torus, cube)
    address = dict(enumerate(fabric.cube_addresses(fabric.trn1_32xlarge()).tolist()))
    assert set(nx.relabel_nodes(torus, address).edges) == set(cube.edges)
    theirs = nx.hypercube_graph(4)
    as_bits = {n: int("".join(map(str, n)), 2) for n in theirs}
    assert set(nx.relabel_nodes(theirs, as_bits).to_directed().edges) == set(cube.edges)


def test_addresses_are_those_of_the_facts_and_distance_is_hamming_distance():
    torus = fabric.trn1_32xlarge()
    address = fabric.cube_addresses(torus)
    assert address.tolist() == [0, 1, 3, 2, 4, 5, 7, 6, 12, 13, 15, 14, 8, 9, 11, 10]
    for chip in range(16):
        hamming = [int(x).bit_count() for x in address ^ address[chip]]
        assert torus.hops(chip).tolist() == hamming
    assert sorted(np.bincount(torus.hops(0)).tolist()) == [1, 1, 4, 4, 6]
    plain = sum(int(a ^ b).bit_count() == 1 for a, b in zip(torus.src, torus.dst, strict=True))
    assert plain == 32  # of 64 directed links: the trap of plain chip numbers
    assert torus.hops(0)[2] == torus.hops(0)[8] == 2


def test_counts_of_the_facts():
    torus = fabric.trn1_32xlarge()
    assert (torus.chips, torus.ranks, torus.links) == (16, 32, 64)
    graph = torus.to_networkx().to_undirected()
    assert (nx.diameter(graph), sum(torus.hops(0)) / 15) == (4, pytest.approx(32 / 15))
    halves = [c for c in range(16) if c < 8]
    assert nx.cut_size(graph, halves) == 8


def test_published_bandwidth_per_chip_and_its_two_readings():
    for name, build in {
        "trn1.32xlarge": fabric.trn1_32xlarge,
        "trn1n.32xlarge": fabric.trn1n_32xlarge,
        "inf2.48xlarge": fabric.inf2_48xlarge,
    }.items():
        published = float(INSTANCES[name].neuronlink_bytes_per_s_per_chip)
        one, both = build(), build(direction="both_ways")
        out = one.bandwidth_bytes_per_s[one.src == 0].sum()
        assert out == published
        assert both.bandwidth_bytes_per_s[both.src == 0].sum() * 2 == published
        again = one.with_links(direction="both_ways")
        assert np.array_equal(again.bandwidth_bytes_per_s, both.bandwidth_bytes_per_s)


@for_rows("chips", 32, 160, 1600)
@for_rows("instance", "trn1.32xlarge", "trn1n.32xlarge")
def test_ultracluster_is_instances_joined_by_one_network(chips, instance):
    cluster = fabric.ultracluster(chips, instance=instance)
    devices = int(INSTANCES[instance].efa_devices)
    assert cluster.links == chips * 4 + 2 * devices * chips // 16
    assert np.all(np.diff(cluster.src) >= 0)
    rate = cluster.bandwidth_bytes_per_s[cluster.dst == chips]
    assert rate[:devices].sum() * 8 == float(INSTANCES[instance].network_bits_per_s)
    one = fabric.one_instance(cluster, chips // 16 - 1)
    assert [one.neighbours(c) for c in range(16)] == list(FABRIC.neighbours_trn1.value)
    graph = cluster.to_networkx()
    assert nx.is_strongly_connected(graph)
    assert graph.in_degree(chips) == devices * chips // 16


def test_a_hundred_thousand_chips_have_the_right_number_of_links():
    cluster = fabric.ultracluster(100_000)
    assert (cluster.instances, cluster.ranks, cluster.links) == (6250, 200_000, 500_000)
    assert cluster.neighbours(99_999)[:4] == tuple(99_984 + c for c in (11, 14, 3, 12))


@for_rows("ranks", 2, 4, 8, 16, 32, 64)
def test_groups_are_connected_pieces_of_the_torus(ranks):
    piece = fabric.group(ranks)
    assert piece.ranks == ranks
    if ranks < 32:
        whole = set(fabric.trn1_32xlarge().to_networkx().edges)
        assert set(piece.to_networkx().edges) <= whole


def test_trn2_is_a_torus_and_an_ultraserver_four_of_them_in_rings():
    """Judge: AWS's Trn2 page: 4 x 4, 64 chips, equal coordinates in rings, 1 024 and 256 GB/s."""
    node, server = fabric.trn2_48xlarge(), fabric.ultraserver()
    assert (node.chips, node.ranks, server.chips) == (16, 64, 64)
    assert node.neighbours(0) == fabric.trn1_32xlarge().neighbours(0)
    of_first = server.src == 0
    speeds = server.bandwidth_bytes_per_s[of_first].tolist()
    both = {b: 2 * v for b, v in zip(server.dst[of_first].tolist(), speeds, strict=True)}
    assert sum(speed for b, speed in both.items() if b < 16) == 1024e9
    assert {b: speed for b, speed in both.items() if b >= 16} == {16: 128e9, 48: 128e9}
    assert len(fabric.ultracluster(32, instance="trn2.48xlarge").gateways) == 16
