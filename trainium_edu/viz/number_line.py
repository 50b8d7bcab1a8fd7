"""Formats as combs over one stretch of the number line, and where x lands on each."""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from trainium_edu.numerics.grid import number_text
from trainium_edu.specs.arguments import number
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import style

__all__ = ["plot_number_line"]

_FINEST = 0.004  # of the window: numbers closer than this become a band


@checked
def plot_number_line(rows: Sequence[tuple], low: float, high: float, *, width: float = 8.6):
    """Draw one comb per format and the place where x lands on it.

    Parameters
    ----------
    rows : list of (str, str, Landing, list of Stretch)
        Label, colour, what :func:`~trainium_edu.numerics.grid.land` and
        :func:`~trainium_edu.numerics.grid.stretches` gave for the window.
    low, high : float
        The window.
    width : float, inches

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from trainium_edu.numerics.grid import land, stretches
    >>> rows = [("BF16", "#0072B2", land(3.3, "bf16"), stretches("bf16", 3.0, 4.0))]
    >>> len(plot_number_line(rows, 3.0, 4.0).axes)
    1
    """
    low, high = number(low, "low"), number(high, "high")
    fig = style.figure(width, 0.9 + 0.72 * max(len(rows), 1), margins=(1.05, 0.25, 0.45, 0.35))
    ax = fig.subplots()
    for i, (label, colour, landing, found) in enumerate(rows):
        _draw_comb(ax, -i, colour, found, high - low)
        ax.text(-0.01, -i, label, transform=ax.get_yaxis_transform(), ha="right", va="center",
                fontweight="bold")  # fmt: skip
        if isfinite(landing.value):
            ax.plot([landing.value], [-i], "o", ms=8, color=colour, mec=style.ink(), mew=1.5,
                    zorder=5)  # fmt: skip
            text = f"lands on {number_text(landing.value)}"
        else:
            text = f"becomes {number_text(landing.value)}"
        ax.text(0.995, -i + 0.3, text, transform=ax.get_yaxis_transform(), ha="right", va="bottom")
    if rows:
        x = rows[0][2].x
        ax.axvline(x, color=style.ink(), lw=1.2, ls=(0, (4, 3)))
        ax.set_title(f"x = {number_text(x)}")
    ax.set(xlim=(low, high), ylim=(-max(len(rows), 1) + 0.4, 0.75), yticks=[])
    ax.spines["left"].set_visible(False)
    ax.grid(False)
    return fig


def _draw_comb(ax, y, colour, found, width):
    """Draw runs as ticks, or as a band where they stand too close."""
    ax.axhline(y, color=style.ink("muted"), lw=0.8, zorder=1)
    for run in found:
        if run.spacing is not None and run.spacing >= _FINEST * width:
            at = run.first + np.arange(run.count) * run.spacing
            ax.vlines(at, y - 0.18, y + 0.22, color=colour, lw=1.4)
        else:
            ax.fill_between([run.first, run.last], y - 0.18, y + 0.22, color=colour, alpha=0.45,
                            lw=0)  # fmt: skip
