"""Pictures of one bit.  Judge: the shapes hold what was explained; the toss's own arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu.training.follow import Explained, Future, Futures, Toss
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.follow import draw_futures, draw_toss

TOLD = Explained(
    step=3, name="layer.weight", index=(4, 5), before=0.5, after=0.50390625,
    shards=np.linspace(-1, 3, 32, dtype=np.float32), hops=(), total=32.0, scale=1 / 32,
    exact=0.50097656, toss=Toss(0.5, 0.50390625, 0.25, 60_000),
)  # fmt: skip


def shapes(scene, kind, *, colour=None):
    return [shape[1:] for shape in scene.shapes if shape[0] == kind and colour in (None, shape[5])]


def texts(scene):
    """Return where each text stands; a number of both axes, on the y axis, which is drawn first."""
    return {words: (x, y) for x, y, words, *_ in reversed(shapes(scene, "text"))}


@for_rows("width", 320.0, 560.0, 890.0)
def test_each_rank_has_its_bar_and_the_line_is_their_mean(width):
    scene = draw_toss(TOLD, width=width)
    zero, two = (texts(scene)[n][1] - 4 for n in ("0", "2"))
    bars = shapes(scene, "rect", colour=COLOURS["sky"])
    ends = [y if y + tall < zero + 0.2 else y + tall for _, y, _, tall, *_ in bars]
    np.testing.assert_allclose((np.array(ends) - zero) / (two - zero) * 2, TOLD.shards, atol=0.01)
    mean = next(ys for _, ys, *_, words in shapes(scene, "path") if words == "mean")
    np.testing.assert_allclose((np.array(mean) - zero) / (two - zero) * 2, 1.0, atol=0.01)
    assert min(size for *_, size, _ in shapes(scene, "text")) >= 11


@for_rows("bits, after", (60_000, 0.50390625), (1000, 0.5))
def test_the_random_bits_stand_in_the_part_that_leads_where_the_weight_went(bits, after):
    told = replace(TOLD, after=after, toss=replace(TOLD.toss, random_bits=bits))
    scene = draw_toss(told, width=1032.0)  # 1000 pixels of way
    parts = {name: (x, x + wide) for name, colour in (("up", "blue"), ("down", "orange"))
             for x, _, wide, tall, *_ in shapes(scene, "rect", colour=COLOURS[colour])
             if tall == 18}  # fmt: skip
    assert np.ptp(parts["up"]) == pytest.approx(1000 * TOLD.toss.share)
    at = shapes(scene, "line")[-1][0]
    assert at == pytest.approx(16 + 1000 * bits / 2**16, abs=0.1)
    went = "up" if bits + TOLD.toss.share * 2**16 >= 2**16 else "down"
    assert went == ("up" if after == TOLD.toss.high else "down")
    assert parts[went][0] <= at <= parts[went][1]
    assert any(words.endswith(f"25.0% of the way, and went {went}") for words in texts(scene))
    ((x, _, wide, *_),) = shapes(scene, "rect", colour=COLOURS["red"])
    assert x + wide / 2 == 16 + 250
    (bold,) = {words for *_, words, _, _, size, bold in shapes(scene, "text") if bold} & {
        "0.5",
        "0.50390625",
    }
    assert float(bold) == after


def test_to_nearest_no_bits_are_drawn_and_in_fp32_there_is_no_picture():
    nearest = replace(TOLD, after=0.5, toss=replace(TOLD.toss, random_bits=None))
    scene = draw_toss(nearest)
    assert not [words for words in texts(scene) if "random bits" in words]
    assert not [rect for rect in shapes(scene, "rect") if rect[3] == 18]
    raises(ValueError, "kept in FP32, so nothing was tossed", draw_toss, replace(TOLD, toss=None))


@for_rows("width", 320.0, 560.0, 890.0)
def test_two_futures_part_until_a_prediction_differs(width):
    after = tuple(
        Future(4 + i, 1.0, 1.0 + 0.01 * i, i**2, (7,) if i == 4 else ()) for i in range(5)
    )
    scene = draw_futures(Futures(TOLD, 0.5, after), width=width)
    at, paths = texts(scene), shapes(scene, "path")
    drawn = {words: (np.array(xs), np.array(ys)) for xs, ys, *_, words in paths}
    one, ten = at["1"][1] - 4, at["10"][1] - 4
    weights = 10 ** ((drawn["Weights that differ"][1] - one) / (ten - one))
    np.testing.assert_allclose(weights, [1, 4, 9, 16], rtol=0.01)  # none has no logarithm
    zero, high = at["0"][1] - 4, at["0.04"][1] - 4
    losses = (drawn["Difference of the two losses"][1] - zero) / (high - zero) * 0.04
    np.testing.assert_allclose(losses, [0, 0.01, 0.02, 0.03, 0.04], atol=1e-4)
    last = [x for x, _, words, *_ in shapes(scene, "text") if words == "8"][-1]
    assert drawn["a prediction differs"][0] == pytest.approx([last, last], abs=0.1)
    assert "test sample 7 is read differently" in at
    for passed in (1, 3):  # a single step too
        alike = draw_futures(Futures(TOLD, 0.5, after[:passed]), width=width)
        assert "all read alike" in texts(alike)
        assert "a prediction differs" not in [path[-1] for path in shapes(alike, "path")]
