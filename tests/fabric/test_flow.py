"""Judges: the textbook definition of max-min fairness, closed forms, the step-by-step account."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainium_edu import fabric
from trainium_edu.fabric import Costs, FabricError

TORUS = fabric.torus(4, 4, latency_ns=1000)
SIMULATORS = Costs(latency="each", hbm="ignored", ties="one_way")


@given(st.data())
def test_rates_are_max_min_fair(data):
    links = data.draw(st.integers(1, 6))
    capacity = np.array(data.draw(st.lists(st.floats(1, 100), min_size=links, max_size=links)))
    paths = data.draw(
        st.lists(st.sets(st.integers(0, links - 1), min_size=1), min_size=1, max_size=8)
    )
    start = np.concatenate(([0], np.cumsum([len(p) for p in paths])))
    rate = fabric.max_min_rates(start, [k for p in paths for k in sorted(p)], capacity)
    load = np.zeros(links)
    for p, r in zip(paths, rate, strict=True):
        load[list(p)] += r
    assert np.all(load <= capacity * (1 + 1e-9))
    for p, r in zip(paths, rate, strict=True):  # each flow has a full link on which none is faster
        assert any(
            load[k] >= capacity[k] * (1 - 1e-6)
            and all(r >= s * (1 - 1e-6) for q, s in zip(paths, rate, strict=True) if k in q)
            for k in p
        )


def test_slope_of_a_crowded_mesh_is_twelve_chunks_with_one_way_ties_and_eight_balanced():
    schedule = fabric.plan(TORUS, "all_gather", "mesh")
    rate = TORUS.bandwidth_bytes_per_s[0]
    for ties, chunks in (("one_way", 12), ("balanced", 8)):
        costs = Costs(latency="each", hbm="ignored", ties=ties)
        times = [fabric.flow_level(schedule, TORUS, 16 * c, costs).total_ns
                 for c in (2**20, 2**22)]  # fmt: skip
        slope = (times[1] - times[0]) / (3 * 2**20 / rate * 1e9)
        assert slope == pytest.approx(chunks, abs=0.01)
    # 127.1 us was obtained once with SimGrid, start barrier of 4.01 us included
    crowded = fabric.flow_level(schedule, TORUS, 16 * 2**20, SIMULATORS).total_ns / 1e3
    assert crowded + 4.01 == pytest.approx(127.1, rel=1e-3)


@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling", "ring_by_dimension"])
@pytest.mark.parametrize("barrier", [True, False])
def test_without_crowding_the_flow_model_is_the_account(algorithm, barrier):
    schedule = fabric.plan(TORUS, "all_reduce", algorithm)
    ours = fabric.flow_level(schedule, TORUS, 2**22, SIMULATORS, barrier=barrier).total_ns
    wanted = fabric.account(schedule, TORUS, 2**22, SIMULATORS).total_ns
    assert ours == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("algorithm", ["ring", "kangaring", "rdh", "mesh"])
def test_dropping_the_barrier_never_slows_a_collective(algorithm):
    torus = fabric.trn1_32xlarge()
    schedule = fabric.plan(torus, "all_reduce", algorithm)
    with_, without = (
        fabric.flow_level(schedule, torus, 2**22, SIMULATORS, barrier=b) for b in (True, False)
    )
    assert without.total_ns <= with_.total_ns * (1 + 1e-9)
    assert np.all(without.end_ns >= without.start_ns)


def test_late_ranks_and_stragglers():
    schedule = fabric.plan(TORUS, "all_reduce", "ring")
    healthy = fabric.flow_level(schedule, TORUS, 2**20, barrier=False).total_ns
    late = fabric.flow_level(schedule, TORUS, 2**20, barrier=False, late_ns={3: 50_000})
    assert late.total_ns == pytest.approx(healthy + 50_000, rel=1e-6)
    slow = fabric.flow_level(schedule, TORUS, 2**20, barrier=False, slow_ns={3: 1000})
    assert slow.total_ns >= healthy + 29_000
    with pytest.raises(FabricError, match="rank 99"):
        fabric.flow_level(schedule, TORUS, 64, late_ns={99: 1})


def test_too_many_messages_are_refused():
    big = fabric.ring(200)
    with pytest.raises(FabricError, match="too many"):
        fabric.flow_level(fabric.plan(big, "all_reduce", "ring"), big, 64)
