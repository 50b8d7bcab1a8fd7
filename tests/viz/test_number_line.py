"""Judges: the landings themselves, and matplotlib's own artists."""

from matplotlib.collections import LineCollection

from trainium_edu.numerics.grid import land, stretches
from trainium_edu.viz.number_line import plot_number_line


def _rows(x, names, low, high):
    return [(n, "#0072B2", land(x, n), stretches(n, low, high, narrowest=0.01)) for n in names]


def test_one_comb_and_one_dot_per_format():
    fig = plot_number_line(_rows(3.3, ["fp8_e4m3", "fp8_e5m2"], 2.0, 4.0), 2.0, 4.0)
    (ax,) = fig.axes
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert dots == [3.25, 3.5]
    combs = [c for c in ax.collections if isinstance(c, LineCollection)]
    ticks = [sorted({seg[0][0] for seg in c.get_segments()}) for c in combs]
    assert ticks[0] == [2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75]


def test_numbers_too_close_become_a_band_and_infinity_is_said():
    fig = plot_number_line(
        _rows(70_000.0, ["fp16", "fp32"], 60_000.0, 80_000.0), 60_000.0, 80_000.0
    )
    (ax,) = fig.axes
    assert not [c for c in ax.collections if isinstance(c, LineCollection)]
    texts = [t.get_text() for t in ax.texts]
    assert "becomes infinity" in texts
    assert "lands on 70000" in texts


def test_no_format_is_an_empty_line():
    assert len(plot_number_line([], 0.0, 1.0).axes) == 1
