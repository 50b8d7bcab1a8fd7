"""Sketches of sums.  Judge: the experiments' own numbers; set a control, read the words."""

from trainium_edu.numerics.long_sums import quick_test
from trainium_edu.widgets.accumulation import long_sums_explorer, quick_test_explorer


def test_the_quick_test_follows_format_and_seed():
    sketch = quick_test_explorer(runs=100)
    assert "exact law: 2048 and 22.83" in sketch.page["said"][0]
    sketch.set(format="bf16")
    assert "exact law: 2048 and 89.22" in sketch.page["said"][0]
    assert sketch.page["scene"]["alt"] == sketch.page["said"][0]
    sketch.set(seed=3)
    mean = quick_test("bf16", runs=100, seed=3).final.mean(dtype=float)
    assert f"mean {mean:.1f}" in sketch.page["said"][0]
    assert "22.83" in repr(sketch)  # what a stored notebook keeps does not move


def test_long_sums_follow_the_format():
    sketch = long_sums_explorer()
    before = sketch.page
    sketch.set(format="fp16")
    assert sketch.page["said"] != before["said"]
    assert sketch.page["scene"]["svg"] != before["scene"]["svg"]
    assert repr(sketch) == repr(long_sums_explorer())
