"""Judges: Matplotlib's own transforms, and round numbers by hand."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.for_each import for_rows
from trainium_edu.viz.chart import Chart, powers_of_ten, round_steps
from trainium_edu.viz.scene import Scene


@for_rows("log", "", "x", "y", "xy")
def test_points_land_where_matplotlib_puts_them(log):
    chart = Chart(Scene(500, 300), (50, 20, 400, 200), (1, 1000), (0.5, 200), log=log)
    fig = Figure((5, 3), dpi=100)
    ax = fig.add_axes((0.1, 0.8 / 3, 0.8, 2 / 3))
    ax.set(xlim=(1, 1000), ylim=(0.5, 200))
    ax.set_xscale("log" if "x" in log else "linear")
    ax.set_yscale("log" if "y" in log else "linear")
    xs, ys = np.array([1, 7.5, 330, 1000]), np.array([0.5, 3, 90, 200])
    judge = ax.transData.transform(np.stack([xs, ys], axis=1))
    ours_x, ours_y = chart.place(xs, ys)
    np.testing.assert_allclose(ours_x, judge[:, 0], atol=1e-6)
    np.testing.assert_allclose(300 - ours_y, judge[:, 1], atol=1e-6)


def test_what_lies_beyond_moves_to_the_end():
    chart = Chart(Scene(500, 300), (50, 20, 400, 200), (0, 1), (0, 1))
    assert [float(v) for v in chart.place(7, -3)] == [450, 220]


def test_a_logarithmic_axis_leaves_out_zero():
    chart = Chart(Scene(500, 300), (50, 20, 400, 200), (1, 10), (0.1, 1), log="xy")
    chart.curve([1, 2, 3, 4], [0, 0.5, np.nan, 1], "ink", words="w")
    assert len(chart.scene.shapes[0][1]) == 2


def test_round_numbers():
    assert round_steps(1000, 2211) == [1000, 1200, 1400, 1600, 1800, 2000, 2200] or round_steps(
        1000, 2211
    ) == [1000, 1500, 2000]
    assert powers_of_ten(1e-3, 1) == pytest.approx([0.001, 0.01, 0.1, 1])
    for low, high in ((0, 1), (1937, 2150), (-3, 4), (0, 8.3)):
        steps = round_steps(low, high)
        assert 3 <= len(steps) <= 8
        assert low - 1e-9 <= steps[0] <= steps[-1] <= high + 1e-9
