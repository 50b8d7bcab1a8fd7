"""Pictures of one bit.  Judge: the artists hold what was explained; the toss's own arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu.training.follow import Explained, Future, Futures, Toss
from trainium_edu.viz import style
from trainium_edu.viz.follow import plot_futures, plot_toss

TOLD = Explained(
    step=3, name="layer.weight", index=(4, 5), before=0.5, after=0.50390625,
    shards=np.linspace(-1, 3, 32, dtype=np.float32), hops=(), total=32.0, scale=1 / 32,
    exact=0.50097656, toss=Toss(0.5, 0.50390625, 0.25, 60_000),
)  # fmt: skip


def test_each_rank_has_its_bar_and_the_line_is_their_mean():
    grads = plot_toss(TOLD).axes[0]
    np.testing.assert_allclose([bar.get_height() for bar in grads.patches], TOLD.shards)
    assert grads.lines[0].get_ydata()[0] == 1.0


@for_rows("bits, after", (60_000, 0.50390625), (1000, 0.5))
def test_the_random_bits_stand_in_the_part_that_leads_where_the_weight_went(bits, after):
    ax = plot_toss(replace(TOLD, after=after, toss=replace(TOLD.toss, random_bits=bits))).axes[1]
    parts = {c.get_label(): c.get_paths()[0].vertices[:, 0] for c in ax.collections}
    assert np.ptp(parts["up"]) == pytest.approx(TOLD.toss.share)
    at = ax.lines[-1].get_xdata()[0]
    went = "up" if bits + TOLD.toss.share * 2**16 >= 2**16 else "down"
    assert went == ("up" if after == TOLD.toss.high else "down")
    assert parts[went].min() <= at <= parts[went].max()
    assert ax.get_title().endswith(f"25.0% of the way, and went {went}")
    assert next(line for line in ax.lines if line.get_marker() == "D").get_xdata()[0] == 0.25


def test_to_nearest_no_bits_are_drawn_and_in_fp32_there_is_no_picture():
    nearest = replace(TOLD, after=0.5, toss=replace(TOLD.toss, random_bits=None))
    assert not plot_toss(nearest).axes[1].collections
    raises(ValueError, "kept in FP32, so nothing was tossed", plot_toss, replace(TOLD, toss=None))


def test_two_futures_part_until_a_prediction_differs():
    after = tuple(
        Future(4 + i, 1.0, 1.0 + 0.01 * i, i**2, (7,) if i == 4 else ()) for i in range(5)
    )
    fig = plot_futures(Futures(TOLD, 0.5, after))
    weights, losses = fig.axes
    assert weights.lines[0].get_ydata().tolist() == [0, 1, 4, 9, 16]
    np.testing.assert_allclose(losses.lines[0].get_ydata(), [0, 0.01, 0.02, 0.03, 0.04])
    assert losses.lines[1].get_xdata()[0] == 8
    assert fig.texts[0].get_text() == "test sample 7 is read differently"
    alike = plot_futures(Futures(TOLD, 0.5, after[:3]))
    assert (len(alike.axes[0].lines), alike.texts[0].get_text()) == (1, "all read alike")


@for_rows("dark", False, True)
def test_both_themes_draw(dark):
    with style.theme(dark):
        assert style.to_png(plot_toss(TOLD)).startswith(b"\x89PNG")
