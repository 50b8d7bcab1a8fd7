"""Judge: the scene's shapes hold every seed and every mean given."""

import numpy as np

from tests.for_each import for_rows
from trainium_edu.training.fine_tuning import FineTuned
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.fine_tuning import describe_curve, draw_curve

ROWS = [FineTuned(n, b, (10.0 * i + 40, 10.0 * i + 44))
        for i, n in enumerate((4, 16)) for b in ("pre-trained", "from scratch")]  # fmt: skip


@for_rows("width", 320.0, 560.0, 890.0)
def test_means_and_every_seed_are_drawn(width):
    scene = draw_curve(ROWS, width=width)
    texts = {shape[3]: (shape[1], shape[2] - 4) for shape in scene.shapes if shape[0] == "text"}
    base, pixels = texts["40"][1], (texts["60"][1] - texts["40"][1]) / 20
    for name, colour in (("pre-trained", "blue"), ("from scratch", "orange")):
        xs, ys = next(
            shape[1:3] for shape in scene.shapes if shape[-1] == f"{name}: mean, and each seed"
        )
        np.testing.assert_allclose(xs, [texts[n][0] for n in ("4", "16")], atol=0.2)
        np.testing.assert_allclose((np.array(ys) - base) / pixels + 40, (42, 52), atol=0.1)
        dots = [shape for shape in scene.shapes if shape[0] == "rect" and shape[3] == 5]
        drawn = [y + 2.5 for _, _, y, _, _, filled, *_ in dots if filled == COLOURS[colour]]
        np.testing.assert_allclose(
            (np.array(drawn) - base) / pixels + 40, (40, 44, 50, 54), atol=0.1
        )
    assert min(shape[6] for shape in scene.shapes if shape[0] == "text") >= 11


def test_the_table_has_mean_and_spread():
    assert describe_curve(ROWS).splitlines()[1].split() == ["4", *["42", "±", "3", "%"] * 2]
