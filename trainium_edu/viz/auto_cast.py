"""What narrow dtypes do to four computations, as bars."""

from collections.abc import Mapping

import numpy as np

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.style import COLOURS, figure, ink

__all__ = ["plot_auto_cast"]

_LOOKS = {"matmult": ("blue", ""), "all": ("orange", "//")}
_LEAST = 1e-4  # an error of nothing is drawn as none


def _per_cent(value) -> str:
    return f"{100 * value:.0f} %" if value >= 1 else f"{100 * value:.2g} %"


@checked
def plot_auto_cast(errors: Mapping):
    """Draw the errors of each computation under ``matmult`` and ``all``, on a logarithmic axis.

    Parameters
    ----------
    errors : dict of str to dict of str to float
        case → setting → error, in spreads of the result.

    Returns
    -------
    Figure
    """
    fig = figure(7.6, 3.1, margins=(2.75, 0.75, 0.55, 0.4))
    ax = fig.subplots()
    for i, (mode, (colour, hatch)) in enumerate(_LOOKS.items()):
        values = np.array([of[mode] for of in errors.values()])
        y = np.arange(len(values)) + (i - 0.5) * 0.36
        ax.barh(y, values, 0.34, color=COLOURS[colour], hatch=hatch, edgecolor=ink("paper"),
                label=f"--auto-cast {mode}")  # fmt: skip
        for at, value in zip(y, values, strict=True):
            text = f" {_per_cent(value)}" if value > _LEAST else " exact"
            ax.text(max(value, _LEAST), at, text, va="center", size=8.5)
    ax.set_xscale("log")
    ax.set_xlim(_LEAST, 10)
    ax.set_xticks([1e-4, 1e-3, 1e-2, 1e-1, 1, 10], ["0.01 %", "0.1 %", "1 %", "10 %", "100 %", ""])
    ax.minorticks_off()
    ax.set_yticks(range(len(errors)), list(errors))
    ax.invert_yaxis()
    ax.set(xlabel="error, in spreads of the FP32 result")
    ax.set_title("Rounded to BF16 by a flag")
    ax.legend(fontsize=9, loc="upper right")
    ax.grid(axis="y", visible=False)
    return fig
