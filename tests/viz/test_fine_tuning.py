"""Judge: the figure's own artists hold every seed and every mean given."""

import numpy as np

from trainium_edu.training.fine_tuning import FineTuned
from trainium_edu.viz.fine_tuning import describe_curve, plot_curve

ROWS = [FineTuned(n, b, (10.0 * i + 40, 10.0 * i + 44))
        for i, n in enumerate((4, 16)) for b in ("pre-trained", "from scratch")]  # fmt: skip


def test_means_and_every_seed_are_drawn():
    (ax,) = plot_curve(ROWS).axes
    drawn = {line.get_label(): (line.get_xdata(), line.get_ydata()) for line in ax.lines}
    for name in ("pre-trained", "from scratch"):
        np.testing.assert_array_equal(drawn[f"{name}, mean"], ((4, 16), (42, 52)))
        np.testing.assert_array_equal(
            drawn[f"{name}, each seed"], ((4, 4, 16, 16), (40, 44, 50, 54))
        )
    assert [label.get_text() for label in ax.get_xticklabels()] == ["4", "16"]


def test_the_table_has_mean_and_spread():
    assert describe_curve(ROWS).splitlines()[1].split() == ["4", *["42", "±", "3", "%"] * 2]
