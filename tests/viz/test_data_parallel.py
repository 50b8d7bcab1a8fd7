"""Pictures of training on many ranks.  Judge: artists and labels hold the data given."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.widgets import monitored
from trainium_edu.timeline import Timeline
from trainium_edu.training import Job, Memory, input_pipeline, scaling
from trainium_edu.viz import style
from trainium_edu.viz.data_parallel import plot_memory, plot_pipeline, plot_scaling, plot_step
from trainium_edu.viz.step_frames import exposed


def report(overlap):
    sums, _ = monitored.bills()
    spans = Timeline(monitored.spans(sums, overlap=overlap))
    exposed_ns = float(np.ptp(exposed(spans.spans), axis=1).sum())
    return SimpleNamespace(spans=spans, step_ns=spans.makespan_ns, exposed_ns=exposed_ns)


def boxes(collection):
    """Return begin and length of each box of a lane, in µs."""
    paths = (path.vertices[:, 0] for path in collection.get_paths())
    return [(x.min(), np.ptp(x)) for x in paths]


def test_a_step_is_drawn_twice_on_one_scale():
    on, off = report(True), report(False)
    axes = plot_step(on, off).axes
    assert axes[0].get_xlim() == axes[1].get_xlim()
    for ax, given in zip(axes, (on, off), strict=True):
        lanes = {c.get_label(): c for c in ax.collections}
        for track in ("engines", "CC-cores"):
            wanted = [(s.start_ns / 1e3, s.duration_ns / 1e3) for s in given.spans.on(track)]
            np.testing.assert_allclose(boxes(lanes[track]), wanted, atol=1e-9)
        alone = [c for c in ax.collections if c.get_label().startswith("_")]
        drawn = sum(length for c in alone for _, length in boxes(c))
        assert drawn == pytest.approx(given.exposed_ns / 1e3)
        assert ax.lines[0].get_xdata()[0] == pytest.approx(given.step_ns / 1e3)
    assert "283.2 µs per step" in axes[0].get_title()


def points(*rows):
    """Return points from (ranks, samples per µs, low, high)."""
    return [
        SimpleNamespace(ranks=n, report=SimpleNamespace(
            samples=1000, step_ns=1e6 / rate,
            band=SimpleNamespace(low_ns=1e6 / high, high_ns=1e6 / low),
        ))
        for n, rate, low, high in rows
    ]  # fmt: skip


WEAK = points((2, 200, 180, 220), (8, 720, 640, 800), (32, 2400, 2000, 2800))
STRONG = points((2, 200, 180, 220), (8, 500, 450, 560))


def test_speed_up_counts_from_one_rank_of_the_smallest_group():
    fig = plot_scaling(WEAK, STRONG)
    speed, share = fig.axes
    weak, strong, ideal = speed.lines
    np.testing.assert_allclose(weak.get_ydata(), [2, 7.2, 24])
    np.testing.assert_allclose(strong.get_ydata(), [2, 5])
    np.testing.assert_allclose(ideal.get_ydata(), [2, 8, 32])
    np.testing.assert_allclose(share.lines[0].get_ydata(), [100, 90, 75])
    band = speed.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(2)  # the first point is where all bands begin
    assert band.max() == pytest.approx(2 * 2800 / 220)
    assert [t.get_text() for t in share.get_xticklabels()] == ["2", "8", "32"]


def test_the_curves_of_a_job_are_those_of_its_points():
    found = scaling(Job(batch=8), (1, 2, 8))
    share = plot_scaling(found, []).axes[1]
    assert len(share.lines) == 2
    np.testing.assert_allclose(share.lines[0].get_ydata(), [100 * p.efficiency for p in found])


MIB = 2**20
PLAIN = Memory(MIB, MIB, 0, 4 * MIB, 0, MIB // 2, parameters=1, available=8 * MIB)
ZERO = replace(PLAIN, states=MIB // 8)
ROWS = [("plain", PLAIN), ("ZeRO-1", ZERO)]


def test_bars_of_one_core_add_up():
    ax = plot_memory(ROWS).axes[0]
    labels = ["weights", "gradients", "optimiser's state", "activations"]
    assert [c.get_label() for c in ax.containers] == labels  # what nobody keeps is left out
    for row, (_, held) in enumerate(ROWS):
        widths = [container[row].get_width() for container in ax.containers]
        kept = np.array([held.weights, held.gradients, held.states, held.activations])
        np.testing.assert_allclose(widths, kept / MIB)
        last = ax.containers[-1][row]
        assert last.get_x() + last.get_width() == pytest.approx(held.total / MIB)
    assert [t.get_text().strip() for t in ax.texts[:2]] == ["6.5 MiB", "2.625 MiB"]
    assert ax.get_xlabel() == "MiB per NeuronCore"


def test_a_limit_is_a_line_where_it_is_in_sight_and_else_a_sentence():
    near = plot_memory(ROWS).axes[0]
    assert near.lines[0].get_xdata()[0] == pytest.approx(8)
    assert near.get_xlim()[1] > 8
    far = plot_memory([("plain", replace(PLAIN, available=16 * 2**30))]).axes[0]
    assert not far.lines
    assert far.get_title() == "a NeuronCore has 16 GiB, 2,521 times the longest bar"


@pytest.mark.parametrize("workers", [1, 4])
def test_the_chips_waits_are_the_gaps_between_steps(workers):
    found = input_pipeline(100e6, ranks=2, workers=workers, steps=20)
    lanes, ready = plot_pipeline(found, steps=6).axes
    drawn = {c.get_label(): c for c in lanes.collections}
    steps = boxes(drawn["chips"])
    assert steps == [pytest.approx((s.start_ns / 1e6, 100)) for s in found.timeline.on("chips")[:6]]
    gaps = [c for c in lanes.collections if c.get_label().startswith("_")]
    waits = [wait / 1e6 for wait in found.wait_ns[:6] if wait]
    np.testing.assert_allclose([length for c in gaps for _, length in boxes(c)], waits)
    assert len([label for label in drawn if label.startswith("worker")]) == workers
    assert found.binds in lanes.get_title()
    depth = ready.lines[0].get_ydata()
    assert 0 == depth.min() == depth[-1] <= depth.max() <= 2 * workers + 1


def test_both_themes_draw():
    for dark in (False, True):
        with style.theme(dark):
            for fig in (plot_step(report(True), report(False)), plot_scaling(WEAK, STRONG),
                        plot_memory(ROWS), plot_pipeline(input_pipeline(1e8))):  # fmt: skip
                assert style.to_png(fig).startswith(b"\x89PNG")
