"""Judge: the arrays themselves, read back from the pixels."""

import json

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.numerics.quantisation import quantise
from trainium_edu.viz.quantisation import draw_quantised


def _pictures(scene):
    places = scene.data()["images"]
    flat = np.frombuffer(scene.pixels(), np.uint8)
    return [
        flat[offset : offset + 4 * rows * columns].reshape(rows, columns, 4)[..., :3]
        for *_box, columns, rows, offset in places
    ]


def test_a_photograph_is_shown_as_it_is_and_as_it_is_kept():
    x = np.random.default_rng(0).uniform(0, 1, (6, 8, 3)).astype(np.float32)
    q = quantise(x, "fp8_e5m2")
    first, second, third = _pictures(draw_quantised(x, q, title="noise"))
    np.testing.assert_allclose(first / 255, x, atol=0.0021)
    np.testing.assert_allclose(second / 255, np.clip(q.values, 0, 1), atol=0.0021)
    assert third.any()


def test_before_and_after_lie_under_one_wipe_and_are_the_largest_pictures():
    x = np.random.default_rng(0).uniform(0, 1, (6, 8, 3)).astype(np.float32)
    for width in (500, 960):
        data = draw_quantised(x, quantise(x, "fp8_e5m2"), width=width).data()
        before, after, error = (place[:4] for place in data["images"])
        assert data["wipe"] == 1
        assert before == after
        assert before[2] > 1.5 * error[2]
        assert before[2] / before[3] == pytest.approx(8 / 6, rel=0.01)
        assert max(box[0] + box[2] for box in (before, error)) <= width


@for_rows("overflow", "saturate", "infinity")
def test_infinities_and_wholly_exact_arrays_can_be_drawn(overflow):
    for x in (np.ones((3, 3)), np.array([[1e30, -1.0]]), np.zeros((2, 2))):
        scene = draw_quantised(x, quantise(x, "fp8_e4m3", overflow=overflow), width=500)
        assert len(_pictures(scene)) == 3
        assert json.dumps(scene.data(), allow_nan=False)


def test_signed_data_are_white_at_zero():
    x = np.array([[-1.0, 0.0, 1.0]])
    first, *_ = _pictures(draw_quantised(x, quantise(x, "bf16")))
    assert (first[0, 1] > 240).all()
    assert first[0, 0, 2] > first[0, 0, 0]  # negative is blue
    assert first[0, 2, 0] > first[0, 2, 2]  # positive is red
