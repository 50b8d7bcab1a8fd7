"""How much labels teach: an encoder that has read before, beside one from scratch."""

from collections.abc import Sequence

from trainium_edu.specs.signatures import checked
from trainium_edu.training.fine_tuning import FineTuned
from trainium_edu.viz.chart import Chart
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.scene import Scene

__all__ = ["describe_curve", "draw_curve"]

_COLOURS = (COLOURS["blue"], COLOURS["orange"])


def _by_beginning(rows):
    if len(rows) == 0:
        raise ValueError("rows is empty; a curve needs one result of fine-tuning or more")
    beginnings = dict.fromkeys(row.beginning for row in rows)
    return {name: [row for row in rows if row.beginning == name] for name in beginnings}


@checked
def draw_curve(rows: Sequence[FineTuned], *, width: float = 890.0) -> Scene:
    """Draw accuracy against the number of labelled passages, every seed a dot.

    Parameters
    ----------
    rows : sequence of training.FineTuned
        In order of their labels.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    sides = _by_beginning(rows)
    labels = sorted({row.per_author for row in rows})
    box, ends = (46, 34, width - 62, 250), (labels[0] / 1.2, labels[-1] * 1.2)
    chart = Chart(Scene(width, 1), box, ends, (28, 100), log="x")
    chart.axes("Of the test right", "labelled passages of each author", labels, unit="%")
    chart.curve(chart.x, [100 / 3] * 2, "muted", dash="dashed", words="one of three")
    chart.note(labels[-1], 100 / 3, "one of three", down=-5, anchor="end", colour="muted")
    for (name, of), colour in zip(sides.items(), _COLOURS, strict=False):
        for row in of:
            each = row.accuracies
            chart.dots([row.per_author] * len(each), each, colour, size=5, opacity=0.5)
        means = [row.per_author for row in of], [row.mean for row in of]
        chart.series(*means, colour, f"{name}: mean, and each seed", width=2, dots=9)
    chart.key_below()
    return chart.scene


@checked
def describe_curve(rows: Sequence[FineTuned]) -> str:
    """Say mean and spread of both in a table, for readers and for screen readers.

    Examples
    --------
    >>> from trainium_edu.training import stored_fine_tuning
    >>> describe_curve(stored_fine_tuning()).split()[:3]
    ['labels', 'of', 'each']
    """
    sides = _by_beginning(rows)
    lines = [f"{'labels of each':16}" + "".join(f"{name:>18}" for name in sides)]
    for number in sorted({row.per_author for row in rows}):
        line = f"{number:<16}"
        for of in sides.values():
            here = (f"{r.mean:.0f} ± {r.spread:.0f} %" for r in of if r.per_author == number)
            line += f"{next(here, ''):>18}"
        lines.append(line)
    return "\n".join(lines)
