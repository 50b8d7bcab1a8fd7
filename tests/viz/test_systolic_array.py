"""Pictures of the array: judged by the counts they were given."""

import pytest
from matplotlib.text import Text

from trainium_edu.neuroncore.systolic_array import (
    choice_cycles,
    count_machines,
    tile_cycles,
)
from trainium_edu.viz import style
from trainium_edu.viz import systolic_array as picture


def test_reuse_marks_the_closed_forms():
    shares = picture.reuse_shares(16)
    fig = picture.plot_reuse(16)
    marks = [line.get_ydata()[0] for line in fig.axes[0].lines if len(line.get_xdata()) == 1]
    assert sorted(marks) == pytest.approx(sorted(100 * s for s in shares.values()))
    assert fig.axes[1].get_ylim()[1] == pytest.approx(1.04 * 183.5, rel=1e-3)
    assert "N = 16" in picture.describe_reuse(16)


def test_choice_bars_are_the_counts():
    prices = choice_cycles(128, 1, 4096)
    widths = sorted(bar.get_width() for bar in picture.plot_choice(128, 1, 4096).axes[0].patches)
    assert widths == sorted(v for p in prices.values() for v in p.values())
    assert str(prices["W stays"]["array"]) in picture.describe_choice(128, 1, 4096)


def test_machines_bars_are_the_counts():
    counts = count_machines(128, 128, 512)
    widths = [bar.get_width() for bar in picture.plot_machines(counts).axes[0].patches]
    assert widths[:3] == [c.memory_per_mac for c in counts]
    assert widths[6:] == [c.handed_on / c.macs for c in counts]


@pytest.mark.parametrize("guess", [None, 544, 8_000_000, 1])
def test_a_tiles_bar_adds_up_to_the_closed_form_and_keeps_any_guess_inside(guess):
    fig = picture.plot_tile_cycles(128, 512, guess=guess)
    (ax,) = fig.axes
    assert sum(bar.get_width() for bar in ax.patches) == tile_cycles(128, 512)
    assert all(line.get_xdata()[0] <= ax.get_xlim()[1] for line in ax.lines)


@pytest.mark.parametrize("dark", [False, True])
def test_no_legend_covers_a_title_or_a_curve(dark):
    with style.theme(dark):
        figures = [
            picture.plot_reuse(64, guess=128),
            picture.plot_choice(128, 1, 4096),
            picture.plot_choice(128, 512, 8192),
        ]
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
