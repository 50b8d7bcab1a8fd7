"""How much labels teach: an encoder that has read before, beside one from scratch."""

from collections.abc import Sequence

from trainium_edu.specs.signatures import checked
from trainium_edu.training.fine_tuning import FineTuned
from trainium_edu.viz.style import COLOURS, figure, ink

__all__ = ["describe_curve", "plot_curve"]

_COLOURS = ("blue", "orange")
_MARKERS = ("o", "s")


def _by_beginning(rows):
    if len(rows) == 0:
        raise ValueError("rows is empty; a curve needs one result of fine-tuning or more")
    found: dict[str, list] = {}
    for row in rows:
        found.setdefault(row.beginning, []).append(row)
    return found


@checked
def plot_curve(rows: Sequence[FineTuned]):
    """Plot accuracy against the number of labelled passages, every seed a dot.

    Parameters
    ----------
    rows : sequence of training.FineTuned
        In order of their labels.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from trainium_edu.training import stored_fine_tuning
    >>> len(plot_curve(stored_fine_tuning()).axes)
    1
    """
    sides = _by_beginning(rows)
    fig = figure(7.2, 3.5, margins=(0.62, 0.2, 0.52, 0.3))
    ax = fig.add_subplot()
    for (name, of), colour, marker in zip(sides.items(), _COLOURS, _MARKERS, strict=False):
        labels = [row.per_author for row in of]
        ax.plot(labels, [row.mean for row in of], color=COLOURS[colour], marker=marker,
                markersize=5, label=f"{name}, mean")  # fmt: skip
        every = [(row.per_author, one) for row in of for one in row.accuracies]
        ax.plot(*zip(*every, strict=True), linestyle="", marker=".", color=COLOURS[colour],
                alpha=0.55, label=f"{name}, each seed")  # fmt: skip
    labels = sorted({row.per_author for row in rows})
    ax.axhline(100 / 3, color=ink("muted"), linewidth=0.8, linestyle=(0, (4, 3)))
    ax.text(labels[-1], 100 / 3 + 1, "one of three", fontsize=8, color=ink("muted"), ha="right")
    ax.set_xscale("log", base=2)
    ax.set_xticks(labels, [str(n) for n in labels])
    ax.minorticks_off()
    ax.set(ylim=(28, 100), xlabel="labelled passages of each author", ylabel="% of the test right")
    ax.legend(fontsize=8, loc="lower right", ncols=2, bbox_to_anchor=(1, 0.12))
    return fig


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
        here = {name: next((r for r in of if r.per_author == number), None)
                for name, of in sides.items()}  # fmt: skip
        told = (f"{row.mean:.0f} ± {row.spread:.0f} %" if row else "" for row in here.values())
        lines.append(f"{number:<16}" + "".join(f"{one:>18}" for one in told))
    return "\n".join(lines)
