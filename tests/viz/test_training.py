"""Pictures of training.  Judge: the artists of the returned figure hold the data given."""

import numpy as np
import pytest

from trainium_edu.training import ARMS
from trainium_edu.viz import style
from trainium_edu.viz import training as picture


def some_curves():
    x = np.linspace(1, 0.1, 8)
    return {name: (arm.short, x, 1 - x / 2) for name, arm in ARMS.items()}


def test_each_arm_has_a_line_in_both_pictures():
    fig = picture.plot_runs(some_curves(), 10, title="learning rate 0.01")
    loss, accuracy = fig.axes
    assert len(loss.lines) == len(accuracy.lines) == 4
    assert np.allclose(accuracy.lines[2].get_ydata(), 100 * (1 - np.linspace(1, 0.1, 8) / 2))
    assert loss.get_xlim() == (0, 10)
    assert [t.get_text() for t in fig.legends[0].get_texts()] == [a.short for a in ARMS.values()]


@pytest.mark.parametrize("loss", [[], [2.0], [2.0, np.nan], [1e30, np.inf]])
def test_short_and_diverged_runs_can_be_drawn(loss):
    fig = picture.plot_runs({"fp32": ("FP32", loss, [0.1] * len(loss))}, 10)
    low, high = fig.axes[0].get_ylim()
    assert 0 < low < high < np.inf


def test_no_arm_is_a_picture_too():
    assert len(picture.plot_runs({}, 10).axes) == 2


def test_the_wall_fills_what_is_misread_and_nothing_else():
    """Judge: the colours of the drawn array, tile by tile."""
    images = np.zeros((40, 64))
    named = np.arange(40) % 10
    labels = named.copy()
    labels[[3, 38]] = 9, 1
    with style.theme():  # titles stand on the left there
        fig = picture.plot_film_end([np.nan, 2.0, 1.0], [4, 20, 38], 2, images, labels, named)
    loss, right, wall = fig.axes
    assert right.lines[0].get_ydata().tolist() == [4, 20, 38]
    assert right.lines[0].get_xdata().tolist() == [0, 0.5, 1]
    assert loss.lines[0].get_xdata().tolist() == [0, 0.5, 1]
    canvas = np.asarray(wall.images[0].get_array())
    middle = canvas[4::10, 4::10].reshape(-1, 3)[:40]  # two rows of 36 tiles
    filled = np.flatnonzero((middle != middle[0]).any(axis=1))
    assert filled.tolist() == [3, 38]
    assert wall.get_title(loc="left").startswith("At the end 2 of 40 are misread")


def test_every_seed_is_a_dot_and_every_mean_is_written():
    groups = [("rate 0.1", {"fp32": [96.0, 98.0], "nearest": [50.0, 60.0]})]
    fig = picture.plot_accuracies(groups, {"fp32": "FP32", "nearest": "BF16 nearest"})
    ax = fig.axes[0]
    assert [t.get_text() for t in ax.texts] == ["97.0", "55.0"]
    assert ax.lines[0].get_ydata().tolist() == [96.0, 98.0]


def test_the_claim_is_a_line_beside_the_arithmetic():
    tokens = np.array([64.0, 512.0, 4096.0])
    scene = picture.draw_faster(tokens, [0.7, 0.3, 0.05], [0.8, 0.5, 0.1], 0.3)
    curves = {shape[-1]: shape for shape in scene.shapes if shape[0] == "path"}
    claim = curves["“up to 30 % faster”"][2]
    gain = curves["the step gets faster by"][2]
    assert claim[0] == claim[1] == gain[1]  # 30 % of 512 tokens lies on the claim's line
    assert gain[0] < gain[1] < gain[2]  # y goes down the page
    assert (gain[2] - gain[0]) / (gain[1] - gain[0]) == pytest.approx(65 / 40, abs=0.01)
    xs = curves["the step gets faster by"][1]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.11)  # logarithmic
