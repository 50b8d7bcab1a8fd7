"""Pictures to step through.  Judge: √n and √(ε/3) in closed form; press a button, read."""

from tests.widgets.page import send
from trainium_edu.widgets.two_laws import doubling_steps, walk_steps


def press(sketch, key):
    send(sketch, {"press": key})


def test_four_times_as_many_roundings_double_the_theory():
    sketch = walk_steps(4)
    assert "√4 times that: **0.97**" in sketch.page["said"][0]
    press(sketch, "four")
    assert sketch.values["n"] == 16
    assert "√16 times that: **1.94**" in sketch.page["said"][0]
    assert "off by **6** gaps" in sketch.page["said"][0]
    press(sketch, "four")
    press(sketch, "more")
    assert sketch.values["n"] == 64  # no rounding beyond the last
    press(sketch, "four")
    assert sketch.values["n"] == 1
    assert sketch.page["scene"]["alt"].startswith("After 1 rounding nearest-even")
    assert "24 gaps" in repr(sketch)  # what a stored notebook keeps does not move


def test_each_doubling_names_its_square_and_then_the_third():
    sketch = doubling_steps(0)
    assert "ε is the gap above 1, 128 of which make 1" in sketch.page["said"][0]
    for k in range(1, 6):
        press(sketch, "again")
        assert sketch.values["k"] == k
        before = 128 * 2 ** (k - 1)
        said = " ".join(sketch.page["said"])
        assert f"**{before * (before // 128)}**" in said
        assert ("**√(ε/3)**, 5.1 %" in said) is (k >= 2)
    assert "stands at 128" in said
    press(sketch, "again")
    assert sketch.values["k"] == 0
    assert "√(ε/3), 5.1 %" in repr(sketch)
