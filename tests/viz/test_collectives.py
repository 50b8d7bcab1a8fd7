"""Judges: the numbers handed in, read back from the artists; NCCL's definition of bus bandwidth."""

import numpy as np
import pytest

from trainium_edu.viz import collectives as viz

SIZES = np.geomspace(2**10, 2**30, 16)
TIMES = np.stack([1000 + SIZES / 50, 9000 + SIZES / 100])


def test_times_are_drawn_in_microseconds_with_crossover_and_published_mark():
    fig = viz.plot_times(SIZES, TIMES, ["mesh", "rdh"], crossovers=[(8e5, "mesh", "rdh")],
                         published=[(2**20, "1 MB")])  # fmt: skip
    ax = fig.axes[0]
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_allclose(lines["mesh"].get_ydata(), TIMES[0] / 1e3)
    assert lines["_crossover"].get_xdata()[0] == 8e5
    assert lines["_published"].get_xdata()[0] == 2**20
    assert "0.8 MB\n→ rdh" in [t.get_text() for t in ax.texts]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_bus_bandwidth_is_bytes_over_time_times_the_factor():
    fig = viz.plot_bus_bandwidth(SIZES, TIMES, ["mesh", "rdh"], 1.5, limit=120)
    lines = {line.get_label(): line for line in fig.axes[0].lines}
    np.testing.assert_allclose(lines["rdh"].get_ydata(), 1.5 * SIZES / TIMES[1])
    assert lines["all wires full"].get_ydata()[0] == 120


def test_scaling_and_link_use_draw_one_line_for_each_name():
    fig = viz.plot_scaling([32, 64], [[1e6, 2e6]], ["ring"])
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [1, 2])
    fig = viz.plot_link_use([np.array([0.1, 0.5])], ["ring"])
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [50, 10])


def test_no_two_algorithms_look_alike():
    looks = [
        viz.look_of(name) for name in ("mesh", "rdh", "kangaring", "ring", "ring_by_dimension")
    ]
    assert len({(k["color"]) for k in looks}) == len(looks)
    assert len({str(k["linestyle"]) for k in looks}) == len(looks)


def test_learning_shows_loss_and_accuracy():
    fig = viz.plot_learning([2.0, 1.0], [0.1, 0.5, 0.9])
    assert fig.axes[0].lines[0].get_ydata().tolist() == [2.0, 1.0]
    assert fig.axes[1].lines[0].get_ydata().tolist() == pytest.approx([10, 50, 90])
