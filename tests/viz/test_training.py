"""Pictures of training.  Judge: the artists of the returned figure hold the data given."""

import numpy as np
import pytest

from trainium_edu.viz import training as picture


def test_every_seed_is_a_dot_and_every_mean_is_written():
    groups = [("rate 0.1", {"fp32": [96.0, 98.0], "nearest": [50.0, 60.0]})]
    ax = picture.plot_accuracies(groups, {"fp32": "FP32", "nearest": "BF16 nearest"}).axes[0]
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
