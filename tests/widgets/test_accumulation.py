"""Panels around sums.  Judge: the experiments' own numbers; set a control, read the words."""

from trainium_edu.numerics.long_sums import quick_test
from trainium_edu.widgets.accumulation import long_sums_explorer, quick_test_explorer


def test_the_quick_test_follows_format_and_seed():
    panel = quick_test_explorer(runs=100)
    fmt, seed = panel.children[0].children
    shown, words = panel.children[1:]
    assert "exact law: 2048 and 22.83" in words.value
    fmt.value = "bf16"
    assert "exact law: 2048 and 89.22" in words.value
    assert shown.alt in words.value
    seed.value = 3
    mean = quick_test("bf16", runs=100, seed=3).final.mean(dtype=float)
    assert f"mean {mean:.1f}" in words.value


def test_long_sums_follow_the_format():
    panel = long_sums_explorer()
    fmt, shown, words = panel.children
    before = words.value
    fmt.value = "fp16"
    assert words.value != before
    assert shown.png.startswith(b"\x89PNG")
    assert repr(panel) == repr(long_sums_explorer())
