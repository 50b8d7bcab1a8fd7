"""Judges: the points' own numbers, and the printed ridge; no browser."""

from tests.for_each import raises
from tests.viz.programs import timed
from trainium_edu.viz.roofline import Point
from trainium_edu.widgets.roofline import roofline


def test_programs_and_points_are_shown_by_name():
    class Run:
        timeline = timed(3)

    panel = roofline(timed(), Run(), Point("by hand", 2.0, 1e11), names=["a", "b", "c"])
    assert [p.name for p in panel.points] == ["a", "b", "by hand"]
    assert repr(panel) == "Panel('roofline of 3 programs')"
    picture = panel.children[0]
    assert "a: 62.7 FLOP/byte" in picture.page["scene"]["alt"]
    assert ">by hand<" in picture.page["scene"]["svg"]


def test_the_readings_of_the_ridge_stand_below_with_their_sources():
    table = roofline().children[1].value
    for words in ("222", "223.8", "231.7", "337.3", "documented", "derived", "Matrix Mult"):
        assert words in table


def test_a_name_for_each():
    raises(ValueError, "1 names for 2", roofline, timed(2), timed(2), names=["a"])
