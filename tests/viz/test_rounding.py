"""The still of the rounding explorer.  Judge: its bars and texts."""

from trainium_edu.viz.rounding import plot_throws


def test_bars_are_counts_inside_exact_odds():
    fig = plot_throws(1.0, 2.0, 1.25, 1.0, 30, 100, ("1", "2", "1.25"))
    heights = [bar.get_height() for bar in fig.axes[0].patches]
    assert heights == [0.7, 0.75, 0.3, 0.25]
    texts = [t.get_text() for t in fig.axes[0].texts]
    assert "30 of 100 throws\nexact odds 25.00 %" in texts
    assert "x = 1.25" in texts


def test_without_throws_only_the_odds_stand_there():
    fig = plot_throws(1.0, 2.0, 1.25, 1.0, 0, 0)
    assert [bar.get_height() for bar in fig.axes[0].patches] == [0.75, 0.25]
