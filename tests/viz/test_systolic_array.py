"""Pictures of the array: judged by the counts they were given."""

import pytest
from matplotlib.text import Text

from tests.for_each import for_rows
from trainium_edu.viz import style
from trainium_edu.viz import systolic_array as picture


def test_reuse_marks_the_closed_forms():
    shares = picture.reuse_shares(16)
    fig = picture.plot_reuse(16)
    marks = [line.get_ydata()[0] for line in fig.axes[0].lines if len(line.get_xdata()) == 1]
    assert sorted(marks) == pytest.approx(sorted(100 * s for s in shares.values()))
    assert fig.axes[1].get_ylim()[1] == pytest.approx(1.04 * 183.5, rel=1e-3)
    assert "N = 16" in picture.describe_reuse(16)


@for_rows("dark", False, True)
def test_no_legend_covers_a_title_or_a_curve(dark):
    with style.theme(dark):
        figures = [picture.plot_reuse(64, guess=128)]
    for fig in figures:
        fig.canvas.draw()
        legend = fig.axes[0].get_legend().get_window_extent()
        assert not legend.overlaps(fig.axes[0].get_window_extent())
        words = fig.findobj(lambda a: isinstance(a, Text) and a.get_text())
        outside = [w for w in words if w not in fig.axes[0].get_legend().get_texts()]
        assert outside
        assert not any(legend.overlaps(word.get_window_extent()) for word in outside)
        assert fig.bbox.y0 <= legend.y0
        assert fig.bbox.x0 <= legend.x0 < legend.x1 <= fig.bbox.x1
