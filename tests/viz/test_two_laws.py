"""Judge: the runs' own numbers, and the squares' areas against the geometric series."""

import numpy as np
import pytest

from trainium_edu.numerics.two_laws import doublings, walks
from trainium_edu.viz import two_laws as picture


@pytest.fixture(scope="module")
def found():
    return doublings(count=4, runs=20)


@pytest.mark.parametrize("k", range(5))
def test_the_filled_squares_cover_the_series_share_of_the_large_one(found, k):
    scene = picture.draw_doublings(found, k)
    rects = [shape for shape in scene.shapes if shape[0] == "rect"]
    (outer,) = [r for r in rects if r[7]]
    inside = [r for r in rects if not r[7] and r[2] + r[4] <= outer[2] + outer[4] + 1
              and r[1] + r[3] <= outer[1] + outer[3] + 1]  # fmt: skip
    assert len(inside) == k
    share = sum(r[3] * r[4] for r in inside) / (outer[3] * outer[4])
    assert share == pytest.approx((1 - 0.25**k) / 3, rel=0.01)
    words = [shape[3] for shape in scene.shapes if shape[0] == "text"]
    if k:
        before = 128 * 2 ** (k - 1)
        assert f"{before} × {before // 128}" in words
        assert f"= {before}² × ε" in words


def test_the_formula_stands_on_the_picture_only_after_two_squares(found):
    for k, shown in ((1, False), (2, True)):
        scene = picture.draw_doublings(found, k)
        words = [shape[3] for shape in scene.shapes if shape[0] == "text"]
        assert ("√(ε/3) = 5.1 %" in words) is shown


def test_the_mean_square_is_drawn_against_a_straight_line():
    found = walks(n=16, runs=200)
    scene = picture.draw_walks(found, 16)
    curves = {s[-1]: np.array(s[1:3]) for s in scene.shapes if s[0] == "path" and s[-1]}
    theory, drawn = curves["theory: n × one rounding's"], curves["mean over 200 runs"]
    scale = (theory[1, 0] - theory[1, 1]) / (16 * found.one)  # pixels for 1
    np.testing.assert_allclose((drawn[1, 0] - drawn[1, 1:]) / scale, found.mean_square, atol=0.05)
    assert sum(s[0] == "path" and s[-1] == "a run with dice" for s in scene.shapes) == 8


@pytest.mark.parametrize("width", [400, 960])
def test_both_pictures_stay_inside_their_page(found, width):
    for scene in (picture.draw_walks(walks(n=16, runs=20), 5, width=width),
                  picture.draw_doublings(found, 3, width=width)):  # fmt: skip
        xs = np.concatenate([s[1] for s in scene.shapes if s[0] == "path"])
        boxes = [s for s in scene.shapes if s[0] == "rect"]
        assert min(xs.min(), *(b[1] for b in boxes)) >= 0
        assert max(xs.max(), *(b[1] + b[3] for b in boxes)) <= scene.width
        assert max(b[2] + b[4] for b in boxes) <= scene.height
