"""Pictures of the array: judged by the frames and counts they were given."""

import numpy as np
import pytest

from trainium_edu.neuroncore.systolic_array import (
    SystolicArray,
    choice_cycles,
    count_machines,
    frames_of_run,
    run,
    run_dataflow,
    tile_cycles,
)
from trainium_edu.viz import style
from trainium_edu.viz import systolic_array as picture

W, X = np.arange(12.0).reshape(3, 4), np.arange(15.0).reshape(3, 5)


@pytest.fixture(scope="module")
def frames():
    return frames_of_run(run(W, X, array=SystolicArray(4, 4), fmt="bf16", record=True))


@pytest.mark.parametrize("dark", [False, True])
def test_the_array_shows_every_sum_of_its_cycle_and_all_utilisations(frames, dark):
    cycle = 5
    with style.theme(dark):
        fig = picture.plot_array(frames, cycle)
    top, below = fig.axes
    texts = {t.get_text() for t in top.texts}
    for value in frames.down[cycle][frames.down_valid[cycle]]:
        assert f"{value:.3g}" in texts
    heights = [bar.get_height() for bar in below.patches]
    np.testing.assert_allclose(heights, frames.utilisation * 100)
    assert f"cycle {cycle}" in top.get_title(loc="left")


def test_large_arrays_become_heat_maps_without_numbers():
    draw = np.random.default_rng(0)
    w, x = draw.standard_normal((40, 40)), draw.standard_normal((40, 8))
    large = frames_of_run(run(w, x, array=SystolicArray(40, 40), fmt="bf16", record=True))
    fig = picture.plot_array(large, 60)
    assert not fig.axes[0].texts
    shown = fig.axes[0].images[0].get_array()
    np.testing.assert_array_equal(~np.ma.getmaskarray(shown), large.down_valid[60])


def test_output_stationary_shows_the_sums_that_stay():
    _, frames = run_dataflow(
        "output-stationary", W, X[:, :4], array=SystolicArray(4, 4), fmt="bf16"
    )
    shown = picture.plot_array(frames, 4).axes[0].images[0].get_array()
    np.testing.assert_array_equal(~np.ma.getmaskarray(shown), frames.stays_valid[4])


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


def test_the_picture_of_a_small_product_has_its_matrices_and_the_results_so_far(frames):
    """Judge: W.T @ X, and the cycles at which results leave."""
    cycle = 6
    matrices = picture.plot_array(frames, cycle, operands=(W, X)).axes[2]
    texts = [t.get_text() for t in matrices.texts]
    dst = W.T @ X
    left = [(m, n) for t, _, m, n, _ in frames.results if t <= cycle]
    assert 0 < len(left) < dst.size
    wanted = [f"{v:.3g}" for v in (*W.ravel(), *X.ravel(), *(dst[e] for e in left))]
    shown = [t for t in texts if "[" not in t and t != "·"]
    assert sorted(shown) == sorted(wanted)
    assert texts.count("·") == dst.size - len(left)


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
        assert not legend.overlaps(fig.axes[0]._left_title.get_window_extent())
        assert fig.bbox.y0 <= legend.y0
        assert fig.bbox.x0 <= legend.x0 < legend.x1 <= fig.bbox.x1
