"""One number as a row of bits, its fields in their colours."""

from trainium_edu.numerics.anatomy import Anatomy
from trainium_edu.numerics.grid import number_text
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import style

__all__ = ["plot_bits"]

_NAMES = {"sign": "sign", "exponent": "exponent", "mantissa": "mantissa"}


@checked
def plot_bits(anatomy: Anatomy, *, label: str | None = None, width: float = 8.6):
    """Draw the bits of one code and what they stand for.

    Parameters
    ----------
    anatomy : Anatomy
        From :func:`~trainium_edu.numerics.anatomy.dissect`.
    label : str, optional
        How the format is written; its name if not given.
    width : float, inches

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from trainium_edu.numerics.anatomy import dissect
    >>> len(plot_bits(dissect(0x4150, "bf16")).axes[0].patches)
    16
    """
    fig = style.figure(width, 1.75, margins=(0.2, 0.2, 0.15, 0.35))
    ax = fig.subplots()
    place = 0.0
    for kind in ("sign", "exponent", "mantissa"):
        text = getattr(anatomy, kind)
        if not text:
            continue
        name = "value" if anatomy.fmt.is_integer and kind == "mantissa" else _NAMES[kind]
        start = place
        for bit in text:
            filled = bit == "1"
            inside = style.FIELD[kind] if filled else "none"
            ax.bar(place + 0.45, 0.9, 0.9, edgecolor=style.FIELD[kind], lw=1.5, facecolor=inside)
            colour = style.ink("paper") if filled else style.ink()
            ax.text(place + 0.45, 0.43, bit, ha="center", va="center", color=colour, weight="bold")
            place += 1
        ax.plot([start, place - 0.1], [-0.12, -0.12], color=style.FIELD[kind], lw=3)
        ax.text((start + place - 0.1) / 2, -0.3, name, ha="center", va="top")
        place += 0.4
    title = f"{label or anatomy.fmt.name}: {number_text(anatomy.value)}, {anatomy.kind}"
    ax.set_title(title)
    ax.set(xlim=(-0.3, max(place, 18)), ylim=(-0.8, 1.05))
    ax.axis("off")
    return fig
