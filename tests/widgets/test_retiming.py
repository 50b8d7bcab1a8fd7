"""Judges: neuroncore's own place, schedule and band, called directly."""

import pytest

from tests.for_each import raises
from tests.viz.programs import gelu_linear, timed
from trainium_edu.neuroncore import band_of, measure, place, schedule
from trainium_edu.timeline import Timeline
from trainium_edu.widgets.retiming import Retiming, Settings, core_of


@pytest.fixture(scope="module")
def core():
    return timed()


def test_settings_as_recorded_give_the_recorded_timing(core):
    retiming = Retiming(core)
    assert retiming.time(retiming.first) is core
    assert retiming.first == Settings(buffers=2)


def test_a_program_timed_by_default_has_as_many_buffers_as_fit():
    assert Retiming(measure(gelu_linear())).first.buffers == 0
    assert Retiming(measure(gelu_linear(), buffers={"tile": 3})).first.buffers == -1


@pytest.mark.parametrize("buffers", [1, 3, 8])
def test_other_buffers_are_another_placement(core, buffers):
    expected = schedule(core.program, place(core.program, buffers=buffers)).makespan_ns
    assert Retiming(core).time(Settings(buffers=buffers)).makespan_ns == expected


def test_twice_the_bandwidth_halves_every_transfers_data_time(core):
    fast = Retiming(core).time(Settings(dma=2.0, buffers=2))
    plain = core.pieces.work[core.pieces.descriptors > 0]
    assert fast.pieces.work[fast.pieces.descriptors > 0] == pytest.approx(plain / 2)
    assert (fast.pieces.lead == core.pieces.lead).all()
    assert fast.makespan_ns < core.makespan_ns


def test_twice_the_clock_halves_every_engines_time(core):
    fast = Retiming(core).time(Settings(clock=2.0, buffers=2))
    engines = core.pieces.descriptors == 0
    assert fast.pieces.hold[engines] == pytest.approx(core.pieces.hold[engines] / 2, abs=1e-5)
    dma = ~engines
    assert (fast.pieces.work[dma] == core.pieces.work[dma]).all()


def test_causes_are_taken_away_as_neuroncore_does(core):
    retiming = Retiming(core)
    for cause in ("dma", "ports", "fixed"):
        expected = schedule(core.program, core.placement, without=cause).makespan_ns
        found = retiming.time(Settings(buffers=2, without=frozenset({cause}))).makespan_ns
        assert found == expected
    endless = schedule(core.program, place(core.program, endless=True), without="buffers")
    found = retiming.time(Settings(buffers=2, without=frozenset({"buffers"})))
    assert found.makespan_ns == endless.makespan_ns


def test_a_recorded_timing_keeps_its_own_parameters():
    core = measure(gelu_linear(), buffers=2, parameters={"dma_start_ns": 2000.0})
    assert Retiming(core).time(Settings(buffers=3)).parameters["dma_start_ns"] == 2000


def test_bounds_are_the_band(core):
    retiming = Retiming(core)
    low, high = retiming.times(core).ends()
    band = band_of(core)
    assert (low, high) == (band.low_ns, band.high_ns)
    slow = retiming.time(Settings(dma=0.5, buffers=2))
    low, high = retiming.times(slow).ends()
    assert low < slow.makespan_ns < high


def test_what_has_a_timeline_is_found():
    class Run:
        timeline = timed(2)

    assert core_of(Run()) is Run.timeline
    assert core_of(gelu_linear(2)).makespan_ns == measure(gelu_linear(2)).makespan_ns
    raises(TypeError, "no timeline of a NeuronCore in a int", core_of, 3)
    raises(TypeError, "in a Timeline; give a CoreTimeline", core_of, Timeline())


def test_few_placements_are_kept_and_the_recorded_one_among_them(core, monkeypatch):
    retiming = Retiming(core)
    expected = {
        b: schedule(core.program, place(core.program, buffers=b)).makespan_ns for b in range(1, 9)
    }
    placed = []

    def counted(*args, buffers, **options):
        placed.append(buffers)
        return place(*args, buffers=buffers, **options)

    monkeypatch.setattr("trainium_edu.widgets.retiming.place", counted)
    for _ in range(2):
        for buffers, makespan in expected.items():
            assert retiming.time(Settings(buffers=buffers)).makespan_ns == makespan
    assert core.placement.buffers not in placed
    assert len(placed) == 2 * len(set(placed)) == 14  # eight are more than are kept
    retiming.time(Settings(buffers=8))
    assert len(placed) == 14  # the latest is kept
