"""Panels around training.  Judge: the arithmetic's own numbers."""

from trainium_edu.training import step_share, stored_sweep
from trainium_edu.widgets.training_cost import accuracy_picture, faster_panel


def test_the_picture_says_every_mean():
    alt = accuracy_picture(stored_sweep()).alt
    for row in stored_sweep():
        assert f"{row.mean:.1f} %" in alt


def test_the_panel_follows_its_assumption():
    panel = faster_panel()
    kind, share = panel.children[0].children
    words = panel.children[2]
    gain = step_share(4096, optimizer="adam", utilisation=0.4).faster_by
    assert f"at 4096 tokens the gain is {100 * gain:.1f} %" in words.value
    share.value = 1.0
    gain = step_share(4096, optimizer="adam", utilisation=1.0).faster_by
    assert f"at 4096 tokens the gain is {100 * gain:.1f} %" in words.value
    kind.value = "sgd"
    share.value = 0.1
    assert "at no size shown" in words.value or "up to" in words.value
