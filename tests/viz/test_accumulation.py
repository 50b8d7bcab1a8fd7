"""Pictures of sums.  Judge: the curves on the page lie where the experiments' numbers are."""

import numpy as np
import pytest

from trainium_edu.numerics.long_sums import long_sums, many_roundings, quick_test
from trainium_edu.viz import accumulation as picture


def curves(scene):
    """Return {what it is: (xs, ys)}; of several of one name the last drawn."""
    return {
        shape[-1]: (np.array(shape[1]), np.array(shape[2]))
        for shape in scene.shapes
        if shape[0] == "path" and shape[-1]
    }


def test_the_quick_tests_bars_are_shares_beside_the_law():
    scene = picture.draw_quick_test(quick_test(runs=300), documented=2056)
    found = curves(scene)
    bars = [shape for shape in scene.shapes if shape[0] == "rect"]
    law = found["exact law"][1]
    areas = [max(law) - law[1::2], [bar[4] for bar in bars]]  # heights above the axis, in pixels
    assert sum(areas[1]) == pytest.approx(sum(areas[0]), rel=0.02)  # both are 100 %
    assert "AWS's page: 2056" in [shape[3] for shape in scene.shapes if shape[0] == "text"]
    assert len(set(found["nearest-even"][1])) == 1
    assert found["exact sum"][1][-1] < found["exact sum"][1][0]
    ends = found["AWS's page: 2056"][0]
    assert ends[0] == ends[1]


def test_a_guess_is_drawn_at_its_height_and_at_the_edge_beyond():
    test = quick_test(runs=20)

    def marker(guess):
        scene = picture.draw_quick_test(test, guess=guess)
        (area,) = [s for s in scene.shapes if s[0] == "area" and s[-1] == "your guess"]
        return area[2][0], curves(scene)

    height, found = marker(1024)
    assert height == found["nearest-even"][1][-1]
    height, found = marker(2048)
    assert height == pytest.approx(found["exact sum"][1][-1], abs=0.1)
    beyond, _ = marker(1e9)
    assert 0 <= beyond < height


def test_long_sums_show_both_modes_and_theory():
    sums, growth = long_sums(n=2000, replicas=4), many_roundings(n=2000, replicas=4)
    found = curves(picture.draw_long_sums(sums, growth))
    heights = []
    for words, values in (("stochastic", sums.stochastic), ("theory", 0.6745 * sums.spread)):
        ys = found[words][1]
        assert len(ys) == len(values)
        heights.append(np.polyfit(np.log10(values), ys, 1))
        assert np.abs(np.polyval(heights[-1], np.log10(values)) - ys).max() < 0.2
    np.testing.assert_allclose(heights[0], heights[1], rtol=0.01)  # one axis for both


def test_a_guessed_growth_starts_on_the_curve_and_ends_that_many_times_higher():
    sums, growth = long_sums(n=12_000, replicas=4), many_roundings(n=2000, replicas=4)
    found = curves(picture.draw_long_sums(sums, growth, guess=10.0))
    ys = found["theory"][1], np.log10(0.6745 * sums.spread)
    decade = -np.polyfit(ys[1], ys[0], 1)[0]  # pixels for a factor of ten
    (x0, x1), (y0, y1) = found["your guess"]
    assert y0 - y1 == pytest.approx(decade, rel=0.02)
    assert y0 == pytest.approx(np.interp(x0, *found["stochastic"]), abs=3)
    assert x0 < x1


def test_many_roundings_are_shown_in_epsilons():
    sums, growth = long_sums(n=2000, replicas=4), many_roundings(n=2000, replicas=4)
    found = curves(picture.draw_long_sums(sums, growth))
    bias, nearest = found["theory: n × bias"][1], growth.bias_line * 128
    slope, start = np.polyfit(np.log10(nearest), bias, 1)
    at = slope * np.log10(growth.nearest[growth.nearest > 0] * 128) + start
    assert found["theory: √n × spread"][1].size == growth.sd_line.size
    np.testing.assert_allclose(at, found["nearest-even"][1], atol=0.3)


def test_narrow_pages_stack_the_two_charts():
    test = quick_test(runs=50)
    wide, narrow = (picture.draw_quick_test(test, width=w) for w in (960, 400))
    assert narrow.height > 1.9 * wide.height
    for scene in (wide, narrow):
        xs = np.concatenate([shape[1] for shape in scene.shapes if shape[0] == "path"])
        assert 0 <= xs.min() <= xs.max() <= scene.width
