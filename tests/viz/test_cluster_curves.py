"""The wall, a claim's range, checkpoints.  Judges: the numbers handed in, measured back."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from trainium_edu.viz import cluster_curves as picture
from trainium_edu.viz.bars import short
from trainium_edu.viz.colours import COLOURS

CHIPS = np.geomspace(16, 1e5, 41)
PARTS = {"compute": 1e5 / CHIPS, "links": np.full(41, 10.0)}


def words(scene):
    return [s[3] for s in scene.shapes if s[0] == "text"]


def named(scene, kind):
    return {s[-1]: np.array(s[1:3]) for s in scene.shapes if s[0] == kind and s[-1]}


def wall(at=512, found=(1e4, 0.5), width=890):
    strong = PARTS["compute"] / (PARTS["compute"] + 10)
    return picture.draw_wall(CHIPS, strong, np.ones(41), PARTS, at, found, width=width)


@for_rows("width", 400, 890)
def test_the_parts_of_a_step_fill_the_chart(width):
    bands = named(wall(width=width), "area")
    compute, links = (bands[name][1] for name in PARTS)
    np.testing.assert_allclose(compute[41:][::-1], links[:41], atol=0.1)  # one upon the other
    whole = compute[0] - links[-1]  # from the bottom to the top, in pixels
    share = PARTS["compute"] / (PARTS["compute"] + 10)
    np.testing.assert_allclose((compute[:41] - compute[41:][::-1]) / -whole, -share, atol=0.005)


def test_the_wall_is_marked_where_half_is_left():
    scene = wall()
    (mark,) = [s for s in scene.shapes if s[0] == "rect" and (s[3], s[4]) == (10, 10)]
    y = np.interp(mark[1] + 5, *named(scene, "path")["strong: batch stays"])
    assert y == pytest.approx(mark[2] + 5, abs=1)
    assert "the wall: 10,000 chips" in words(scene)
    assert not any("wall" in w for w in words(wall(found=())))


def test_beyond_the_batch_nothing_is_drawn():
    strong = np.where(CHIPS < 1e4, 1.0, np.nan)
    parts = {name: np.where(CHIPS < 1e4, values, np.nan) for name, values in PARTS.items()}
    scene = picture.draw_wall(CHIPS, strong, np.ones(41), parts, 512, ())
    inside = int((CHIPS < 1e4).sum())
    assert len(named(scene, "path")["strong: batch stays"][0]) == inside
    assert len(named(scene, "area")["links"][0]) == 2 * inside


def test_the_moving_line_stands_at_its_chips_in_both_charts():
    lines = [s for s in wall(at=100).shapes if s[0] == "line" and s[5] == "ink"]
    assert len(lines) == 2
    for line, curve in zip(lines, ("strong: batch stays", "compute"), strict=True):
        xs = (named(wall(), "path") | named(wall(), "area"))[curve][0][:41]
        share = (line[1] - xs[0]) / (xs.max() - xs[0])
        assert share == pytest.approx(np.log(100 / 16) / np.log(1e5 / 16), abs=0.005)


def claim(claimed, allowed, spell=short):
    return SimpleNamespace(claimed=claimed, allowed=allowed, spell=spell, tick=short)


CLAIM, FOUND = claim(50, (49, 51), "{:g} %".format), (31, 39.5, 44)


@for_each("verdict", list(picture.VERDICT))
def test_a_verdict_is_stamped_in_words_and_colour(verdict):
    scene = picture.draw_claim(CLAIM, FOUND, verdict, why="speed 1.3")
    assert {verdict.upper(), "speed 1.3"} <= set(words(scene))
    assert scene.shapes[0][5] == picture.VERDICT[verdict]


@for_rows("width", 400, 890)
def test_a_claim_stands_beside_what_its_arithmetic_gives(width):
    scene = picture.draw_claim(CLAIM, FOUND, "conflicting", width=width)
    (band,) = [s for s in scene.shapes if s[0] == "rect" and s[4] == 20]
    (now,) = [s for s in scene.shapes if s[0] == "rect" and s[4] == 32]
    (allowed,) = [s for s in scene.shapes if s[0] == "rect" and s[4] == 40]
    (claimed,) = [s for s in scene.shapes if s[0] == "line" and s[5] == "ink"]
    per = band[3] / (44 - 31)
    assert (now[1] + 4 - band[1]) / per == pytest.approx(39.5 - 31, abs=0.1)
    assert (claimed[1] - band[1]) / per == pytest.approx(50 - 31, abs=0.1)
    assert allowed[3] / per == pytest.approx(2, abs=0.1)
    assert {"claimed: 50 %", "arithmetic: 39.5 %", "possible: 31 % to 44 %"} <= set(words(scene))
    assert max(s[2] for s in scene.shapes if s[0] == "text") < scene.height


def test_an_axis_that_shows_the_ends_does_not_move():
    ends = (20, 60)
    drawn = [picture.draw_claim(CLAIM, (v, v, v), "consistent", ends=ends) for v in (30, 45)]
    lines = [[s for s in scene.shapes if s[0] == "line" and s[5] == "ink"] for scene in drawn]
    assert lines[0] == lines[1]


def test_at_least_is_allowed_to_the_end_of_the_axis():
    scene = picture.draw_claim(claim(6, (6, np.inf)), (5.7, 5.7, 6.3), "depends")
    (allowed,) = [s for s in scene.shapes if s[0] == "rect" and s[4] == 40]
    assert allowed[1] + allowed[3] == pytest.approx(960 - 24)


def test_without_an_input_there_is_the_claim_alone():
    scene = picture.draw_claim(claim(0.3, (0.28, 0.32)), (), "untestable")
    assert not any(w.startswith("arithmetic") for w in words(scene))
    assert "claimed: 0.3" in words(scene)


def test_the_best_interval_lies_at_the_bottom_of_the_sum():
    minutes = np.geomspace(0.1, 10080, 200)
    best = (2 * 2 * 2000) ** 0.5
    least = 2 / best + best / 4000
    scene = picture.draw_interval(
        minutes, 2 / minutes, minutes / 4000, {"Young": (best, least)}, 60
    )
    soon = picture.draw_interval(minutes, 2 / minutes, minutes, {"Young": (0.2, 0.3)}, 60)
    assert "Young: 12 s, 30 %" in words(soon)
    (mark,) = [s for s in scene.shapes if s[0] == "rect" and (s[3], s[4]) == (10, 10)]
    assert mark[2] + 5 == pytest.approx(named(scene, "path")["both"][1].max(), abs=0.3)
    assert mark[5] == COLOURS["red"]
    assert "Young: 89.4 min, 4.47 %" in words(scene)


def test_two_rules_that_agree_are_both_seen_and_the_axes_end_at_ticks():
    minutes = np.geomspace(1 / 6, 1440, 200)
    marks = {"Young": (49.2, 0.0183), "Daly": (48.9, 0.0183)}
    scene = picture.draw_interval(minutes, 0.4 / minutes, minutes / 5000, marks, 60)
    names = [s for s in scene.shapes if s[0] == "text" and s[3] in marks]
    assert [s[3] for s in names] == ["Young", "Daly"]
    assert names[1][2] - names[0][2] >= names[0][6]  # one above the other
    squares = {s[3] for s in scene.shapes if s[0] == "rect" and s[3] == s[4] and s[3] != 12}
    assert squares == {10, 18}
    assert {"10 s", "1 day"} <= set(words(scene))
