"""Judges: the order that AWS's document publishes; arithmetic on the facts' exact counts."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from trainium_edu import fabric
from trainium_edu.fabric import Costs, FabricError
from trainium_edu.specs import FABRIC

PUBLISHED = ("mesh", "rdh", "kangaring")


ORDERS = ("rotated", "spread", "same")


def order_of_winners(topology, axis_order, costs=None):
    options = {"rdh": {"axis_order": axis_order}}
    return fabric.select(topology, options=options, costs=costs).order


@for_each("hop_ns", FABRIC.hop_latency_ns.value)
@for_rows("hbm", "overlapped", "added")
@for_rows("direction", "one_way", "both_ways")
def test_published_order_comes_out_where_it_is_published(hop_ns, hbm, direction):
    """AWS's ranking stands in a text with four ranks on a chip; nothing is fitted."""
    costs = Costs(hbm=hbm, on_chip_latency_ns=hop_ns)
    four = fabric.trn2_48xlarge(latency_ns=hop_ns, direction=direction)
    assert fabric.select(four, costs=costs).order == PUBLISHED
    two = fabric.trn1_32xlarge(latency_ns=hop_ns, direction=direction)
    assert fabric.select(two, costs=costs).order == ("mesh", "kangaring")  # two axes of four busy
    assert order_of_winners(two, "spread", costs) == PUBLISHED  # as if chunks were cut
    for topology in (two, four):
        assert "rdh" not in order_of_winners(topology, "same", costs)


def test_the_axis_order_decides_by_the_channels_that_it_keeps_busy():
    """Facts 2.2 and 2.3: 16 of 64 channels and 1.875 B/b on one axis, against mesh's 1.0."""
    for build, busy in ((fabric.trn1_32xlarge, (32, 64, 16)), (fabric.trn2_48xlarge, (64, 64, 16))):
        t = build()
        plans = [fabric.plan(t, "all_gather", "rdh", axis_order=order) for order in ORDERS]
        assert tuple((fabric.link_loads(p, t)[0] > 0).sum() for p in plans) == busy
        whole = fabric.plan(t, "all_reduce", "rdh", axis_order="same")
        assert fabric.busiest_link_chunks(whole, t) / t.ranks == 1.875
        assert fabric.busiest_link_chunks(fabric.plan(t, "all_reduce", "mesh"), t) / t.ranks == 1.0


def test_plan_select_choose_and_impact_walk_the_axes_in_one_order():
    """What lesson 07 prints by ``impact`` and lesson 08 by ``select`` is one number."""
    t, nbytes = fabric.trn1_32xlarge(), 2**26
    (broken,) = fabric.impact(t, fabric.without_link(t, 0, 1), nbytes, algorithms=["rdh"])
    found = fabric.select(t, algorithms=["rdh"], sizes=[nbytes])
    planned = fabric.account(fabric.plan(t, "all_reduce", "rdh"), t, nbytes).total_ns
    assert broken.healthy_ns == planned == pytest.approx(float(found.times_ns[0, 0]), rel=1e-9)
    assert planned == pytest.approx(1_039_758, rel=1e-4)
    assert fabric.choose(t, "all_reduce", 6_000_000) == "mesh"  # between 4.5 and 7.8 MB


def test_crossovers_lie_in_the_ranges_of_the_facts():
    """1.6 to 4.8 MB and 105 to 277 MB, from the counts and documented constants alone."""
    found = []
    counts = {  # steps, busiest-link chunks, chunk touches of an all-reduce on 16 x 4 ranks
        name: (s.steps, fabric.busiest_link_chunks(s, t), fabric.hbm_touches(s))
        for t in [fabric.trn2_48xlarge()]
        for name, s in [(n, fabric.plan(t, "all_reduce", n)) for n in PUBLISHED]
    }
    assert counts == {"mesh": (4, 64, 892), "rdh": (10, 30, 984), "kangaring": (62, 31, 892)}
    for hop_ns in FABRIC.hop_latency_ns.value:
        for join in (max, lambda link, memory: link + memory):
            lines = [
                fabric.Line(n, steps * hop_ns, join(links / 128, touches / 2900) / 64)
                for n, (steps, links, touches) in counts.items()
            ]
            found.append([b / 1e6 for b, _, _ in fabric.crossovers(lines)])
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    assert low == pytest.approx([1.6, 105], rel=0.03)
    assert high == pytest.approx([4.8, 277], rel=0.03)


@for_each("hop_ns", FABRIC.hop_latency_ns.value)
def test_step_by_step_crossovers_bracket_the_published_boundaries_within_a_factor_of_five(hop_ns):
    for hbm in ("overlapped", "added"):
        costs = Costs(hbm=hbm, on_chip_latency_ns=hop_ns)
        chosen = fabric.select(fabric.trn2_48xlarge(latency_ns=hop_ns), costs=costs)
        (small, _, _), (large, _, _) = chosen.crossovers
        assert 1 / 5 < small / float(FABRIC.mesh_below_bytes) < 5
        assert 1 / 5 < large / float(FABRIC.kangaring_above_bytes) < 5


@for_each("algorithm", PUBLISHED)
@for_each("topology", [fabric.trn1_32xlarge(), fabric.trn2_48xlarge()], ids=lambda t: t.name)
def test_a_line_is_the_account_at_every_size(algorithm, topology):
    schedule = fabric.plan(topology, "all_reduce", algorithm)
    line = fabric.line(schedule, topology)
    for nbytes in (64 * 4, 64 * 4 * 1000, 2**28):
        exact = fabric.account(schedule, topology, nbytes).total_ns
        assert float(line.at(nbytes)) == pytest.approx(exact, rel=1e-9)


def test_choose_follows_the_published_16_rank_choices_at_both_ends():
    torus = fabric.group(16)
    assert fabric.choose(torus, "all_reduce", 4) == "mesh"
    assert fabric.choose(torus, "all_reduce", 2**25) == "kangaring"  # inside RDH's range, too


def test_algorithms_that_cannot_are_left_out_with_the_reason():
    chosen = fabric.select(fabric.inf2_48xlarge())
    assert [n for n, _ in chosen.left_out] == ["rdh"]
    assert "power of two; 12 is not" in chosen.left_out[0][1]
    assert len(chosen.lines) == 2
    with pytest.raises(FabricError, match="none of rdh can"):
        fabric.select(fabric.inf2_48xlarge(), algorithms=["rdh"])


def ring_over_torus(nbytes, **costs):
    best = [
        fabric.select(machine(), sizes=[nbytes], costs=Costs(**costs)).times_ns.min()
        for machine in (fabric.inf2_48xlarge, fabric.trn1_32xlarge)
    ]
    return best[0] / best[1]


def test_what_a_ring_costs_is_one_answer_that_depends_on_the_size():
    """Closed forms: latency alone for nothing; 2 x 11/12 over 4 x 15/16 where cables decide."""
    assert ring_over_torus(0) == 1.0  # mesh, four steps on both
    assert ring_over_torus(2**13) == pytest.approx(1.03, abs=0.005)
    assert ring_over_torus(2**20) == pytest.approx(2.01, abs=0.005)
    assert ring_over_torus(2**26) == pytest.approx(1.09, abs=0.005)
    by_cables = (11 / 12 / 2) / (15 / 16 / 4)
    assert by_cables == pytest.approx(1.956, abs=5e-4)
    assert ring_over_torus(2**40, hbm="ignored") == pytest.approx(by_cables, rel=1e-4)
