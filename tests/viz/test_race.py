"""A race of programs.  Judge: the share of its time that has passed, in closed form."""

import pytest

from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.race import race_scenes

TIMES = {"slow": 8000.0, "middle": 2000.0, "fast": 1000.0}
LANE = 890 - 150 - 120  # CSS pixels


def done(scene):
    """Return the drawn share of each program's work."""
    return [s[3] / LANE for s in scene.shapes if s[0] == "rect" and s[5] == ENGINE["gpsimd"]]


def words(scene):
    return [s[3] for s in scene.shapes if s[0] == "text"]


def test_bars_are_the_share_of_each_programs_time():
    scenes = race_scenes(TIMES)
    assert len(scenes) == 3 * 37
    assert done(scenes[36]) == pytest.approx([1 / 8, 1 / 2, 1], abs=1e-3)  # the first arrives
    assert done(scenes[73]) == pytest.approx([1 / 4, 1, 1], abs=1e-3)
    assert done(scenes[73 + 19]) == pytest.approx([5 / 8, 1, 1], abs=0.02)  # half way to the last
    assert [w for w in words(scenes[-1]) if "·" in w] == ["3rd · 8 µs", "2nd · 2 µs", "1st · 1 µs"]
    assert "1 µs, played 1,500,000 times slower" in words(scenes[36])  # 1.5 s for 1 µs


def test_without_a_clock_only_the_last_programs_time_is_told():
    scenes = race_scenes(TIMES, clock=False)
    assert not any("µs" in word for scene in scenes[:-1] for word in words(scene))
    assert [w for w in words(scenes[-1]) if "µs" in w] == ["3rd · 8 µs"]
    assert scenes[36].alt == "1 of 3 have arrived"
