"""Pictures of training.  Judge: the shapes of the scene stand where the data are."""

import numpy as np
import pytest

from trainium_edu.viz import training as picture


def test_every_seed_is_a_dot_and_every_mean_is_written():
    groups = [("rate 0.1", {"fp32": [96.0, 98.0], "nearest": [50.0, 60.0]})]
    scene = picture.draw_accuracies(groups, {"fp32": "FP32", "nearest": "BF16 nearest"})
    texts = [shape[1:] for shape in scene.shapes if shape[0] == "text"]
    assert [text[2] for text in texts if text[-1]] == ["rate 0.1", "97.0", "55.0"]
    assert {"FP32", "BF16", "nearest"} <= {text[2] for text in texts}
    at = {text[2]: text[1] - 4 for text in texts}
    dots = [shape[2] + 3.5 for shape in scene.shapes if shape[0] == "rect"]
    means = [shape[2] for shape in scene.shapes if shape[0] == "path"]
    read = [100 - 60 * (y - at["100"]) / (at["40"] - at["100"]) for y in [*dots, *np.ravel(means)]]
    assert read == pytest.approx([96, 98, 50, 60, 97, 97, 55, 55], abs=0.1)


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
