"""Judges: networkx on the damaged graph; sums on real data."""

import networkx as nx
import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric import Costs, FabricError

TORUS = fabric.trn1_32xlarge()
LINKS_ONLY = Costs(hbm="ignored")


def test_a_dead_cable_costs_two_more_hops():
    damaged = fabric.without_link(TORUS, 0, 1)
    assert (damaged.links, len(fabric.route(damaged, 0, 1))) == (62, 3)
    graph = damaged.to_networkx()
    assert not graph.has_edge(0, 1)
    assert nx.shortest_path_length(graph, 0, 1) == 3
    one = fabric.without_link(TORUS, 0, 1, both_ways=False)
    assert (len(fabric.route(one, 0, 1)), len(fabric.route(one, 1, 0))) == (3, 1)


@for_rows("algorithm", "ring", "kangaring", "mesh", "rdh", "ring_by_dimension")
def test_replanned_collectives_are_still_exact_and_use_no_dead_link(algorithm):
    damaged = fabric.without_link(TORUS, 5, 6)
    data = np.random.default_rng(1).integers(-9, 9, (32, 100))
    out = fabric.run(damaged, "all_reduce", data, algorithm)
    assert all(np.array_equal(x, data.sum(axis=0)) for x in out)
    fabric.account(fabric.plan(damaged, "all_reduce", algorithm), damaged, 2**20)


def test_a_dead_link_halves_the_rings_that_are_left():
    damaged = fabric.without_link(TORUS, 0, 1)
    schedule = fabric.plan(damaged, "all_reduce", "ring")
    assert (schedule.lanes, fabric.busiest_link_chunks(schedule, damaged)) == (2, 2 * 31 / 2)


def test_impact_is_never_a_gain():
    damaged = fabric.without_link(TORUS, 0, 1)
    for row in fabric.impact(TORUS, damaged, 2**26, costs=LINKS_ONLY):
        assert row.rerouted_ns >= row.healthy_ns * (1 - 1e-12)
        assert row.algorithm in str(row)


def test_a_machine_in_two_pieces_cannot():
    line = fabric.grid(4)
    cut = fabric.without_link(line, 1, 2)
    (row,) = fabric.impact(line, cut, 2**20, algorithms=["ring"])
    assert row.rerouted_ns is None
    assert row.replanned_ns is None
    assert "no links lead" in row.why
    assert "cannot" in str(row)


def alone(topology, chip):
    """Cut every link of a chip."""
    for other in topology.neighbours(chip):
        topology = fabric.without_link(topology, chip, other)
    return topology


@for_rows(
    "whole, damaged",
    (fabric.grid(4), fabric.without_link(fabric.grid(4), 1, 2)),
    (fabric.grid(4), fabric.without_link(fabric.grid(4), 1, 2, both_ways=False)),
    (fabric.torus(4, 4), alone(fabric.torus(4, 4), 6)),
    (fabric.ultracluster(32), alone(fabric.ultracluster(32), 20)),
)
def test_data_do_not_run_over_links_that_are_cut(whole, damaged):
    """Judge: the clock, ``account``, which refuses a way that does not exist."""
    data, refused = np.ones((whole.ranks, 2 * whole.ranks)), 0
    for algorithm, able in fabric.ALGORITHMS.items():
        for collective in able:
            target = {"target": np.roll(np.arange(whole.ranks), 1)}
            options = target if collective == "permute" else {}
            try:
                schedule = fabric.plan(whole, collective, algorithm, **options)
            except FabricError:
                continue  # the whole machine cannot do it either
            raises(FabricError, "no links lead from chip", fabric.account, schedule, damaged, 64)
            with pytest.raises(FabricError, match="no links lead from chip"):
                fabric.run(damaged, collective, data, algorithm, **options)
            refused += 1
    assert refused >= 15


def test_chips_that_do_not_meet_need_no_links():
    damaged = fabric.without_link(fabric.grid(4), 1, 2)
    out = fabric.run(damaged, "permute", np.arange(8).reshape(4, 2), "mesh", target=[1, 0, 3, 2])
    assert [x.tolist() for x in out] == [[2, 3], [0, 1], [6, 7], [4, 5]]
