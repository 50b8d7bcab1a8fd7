"""Judges: the cycles printed in the facts, counting of links."""

from tests.for_each import for_each, for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric import FabricError
from trainium_edu.fabric.algorithms.ring import directed_cycles

H1 = (0, 1, 2, 3, 7, 4, 5, 6, 10, 11, 8, 9, 13, 14, 15, 12)
H2 = (0, 4, 8, 12, 13, 1, 5, 9, 10, 14, 2, 6, 7, 11, 15, 3)


def test_two_cycles_of_the_facts():
    assert fabric.hamiltonian_cycles(fabric.trn1_32xlarge()) == (H1, H2)


@for_rows("k", 3, 4, 5, 6, 8)
def test_two_hamiltonian_cycles_use_every_cable_of_a_square_torus_once(k):
    torus = fabric.torus(k, k)
    used = []
    for cycle in directed_cycles(torus):
        chips = cycle.tolist()
        assert sorted(chips) == list(range(k * k))
        used += [torus.link(a, b) for a, b in zip(chips, chips[1:] + chips[:1], strict=True)]
    assert sorted(used) == list(range(torus.links))


@for_each("topology", [fabric.ring(12), fabric.hypercube(4), fabric.grid(3, 4), fabric.torus(3, 4),
     fabric.fully_connected(7), fabric.torus(2, 4), fabric.torus(2, 2, 3)],
    ids=lambda t: t.name)  # fmt: skip
def test_found_cycles_run_on_links(topology):
    (cycle, *_) = fabric.hamiltonian_cycles(topology)
    assert sorted(cycle) == list(range(topology.chips))
    pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
    assert all(topology.link(a, b) >= 0 for a, b in pairs)


def test_a_line_has_no_cycle():
    assert fabric.hamiltonian_cycles(fabric.grid(5)) == ()
    assert fabric.hamiltonian_cycles(fabric.grid(3, 3)) == ()  # odd chessboard


def test_a_dead_link_leaves_the_cycle_that_does_not_use_it():
    damaged = fabric.without_link(fabric.trn1_32xlarge(), 0, 1)
    assert fabric.hamiltonian_cycles(damaged) == (H2,)


@for_rows("count", 0, 5, True, -1)
def test_more_cycles_than_there_are_is_an_error(count):
    raises(FabricError, "directed cycles", directed_cycles, fabric.trn1_32xlarge(), count)
