"""Pictures of training on many ranks.  Judge: artists and labels hold the data given."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.widgets import monitored
from trainium_edu.timeline import Timeline
from trainium_edu.viz import style
from trainium_edu.viz.data_parallel import plot_memory, plot_scaling, plot_step
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


WEAK = [(2, 200.0, 180.0, 220.0), (8, 720.0, 640.0, 800.0), (32, 2400.0, 2000.0, 2800.0)]
STRONG = [(2, 200.0, 180.0, 220.0), (8, 500.0, 450.0, 560.0)]


def test_speed_up_counts_from_one_rank_of_the_smallest_group():
    fig = plot_scaling(WEAK, STRONG)
    speed, share = fig.axes
    weak, strong, ideal = speed.lines
    np.testing.assert_allclose(weak.get_ydata(), [2, 7.2, 24])
    np.testing.assert_allclose(strong.get_ydata(), [2, 5])
    np.testing.assert_allclose(ideal.get_ydata(), [2, 8, 32])
    np.testing.assert_allclose(share.lines[0].get_ydata(), [100, 90, 75])
    band = speed.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(1.8)
    assert band.max() == pytest.approx(28)
    assert [t.get_text() for t in share.get_xticklabels()] == ["2", "8", "32"]


def test_one_kind_of_scaling_is_drawn_alone():
    assert len(plot_scaling(WEAK, []).axes[0].lines) == 2


ROWS = [
    ("plain", {"weights": 2**20, "gradients": 2**20, "optimiser state": 4 * 2**20}),
    ("ZeRO-1", {"weights": 2**20, "gradients": 2**20, "optimiser state": 2**17}),
]


def test_bars_of_one_core_add_up():
    ax = plot_memory(ROWS).axes[0]
    assert [c.get_label() for c in ax.containers] == list(ROWS[0][1])
    for row, (_, held) in enumerate(ROWS):
        widths = [container[row].get_width() for container in ax.containers]
        np.testing.assert_allclose(widths, np.array(list(held.values())) / 2**20)
        last = ax.containers[-1][row]
        assert last.get_x() + last.get_width() == pytest.approx(sum(held.values()) / 2**20)
    assert [t.get_text().strip() for t in ax.texts] == ["6 MiB", "2.125 MiB"]
    assert ax.get_xlabel() == "MiB per NeuronCore"


def test_a_limit_is_a_line_where_it_is_in_sight_and_else_a_sentence():
    near, far = (plot_memory(ROWS, limit).axes[0] for limit in (8 * 2**20, 16 * 2**30))
    assert near.lines[0].get_xdata()[0] == pytest.approx(8)
    assert near.get_xlim()[1] > 8
    assert not far.lines
    assert far.get_title() == "a NeuronCore has 16 GiB: 2,731 times the longest bar"


def test_both_themes_draw():
    for dark in (False, True):
        with style.theme(dark):
            for fig in (plot_step(report(True), report(False)), plot_scaling(WEAK, STRONG),
                        plot_memory(ROWS, 2**23)):  # fmt: skip
                assert style.to_png(fig).startswith(b"\x89PNG")
