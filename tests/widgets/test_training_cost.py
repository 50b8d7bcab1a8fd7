"""Panels around training.  Judge: the arithmetic's own numbers."""

from trainium_edu.training import step_share, stored_sweep
from trainium_edu.widgets.training_cost import accuracy_picture, faster_panel


def test_the_picture_says_every_mean():
    alt = accuracy_picture(stored_sweep()).page["scene"]["alt"]
    for row in stored_sweep():
        assert f"{row.mean:.1f} %" in alt


def test_the_panel_follows_its_assumption():
    panel = faster_panel()
    for optimizer, share in (("adam", 40), ("adam", 100), ("sgd", 10)):
        panel.set(optimizer=optimizer, share=share)
        gain = step_share(4096, optimizer=optimizer, utilisation=share / 100).faster_by
        (words,) = panel.page["said"]
        assert f"at 4096 tokens the gain is {100 * gain:.1f} %" in words
        assert panel.page["scene"]["alt"] == words
    assert "at 40 % of the peak" in repr(panel)  # what a stored notebook keeps does not move
