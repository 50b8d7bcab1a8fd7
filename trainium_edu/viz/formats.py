"""How formats are written and coloured; range against precision; code points on a log axis."""

import numpy as np

from trainium_edu.numerics import all_values, from_bits, get_format, range_of
from trainium_edu.numerics.grid import number_text
from trainium_edu.viz import style

__all__ = [
    "colour_of",
    "label_of",
    "plot_code_points",
    "plot_range_precision",
    "sorted_for_reading",
]


def label_of(fmt) -> str:
    """Return a format's name as people write it.

    Examples
    --------
    >>> label_of("fp8_e4m3fn"), label_of("bf16")
    ('FP8 E4M3 FN', 'BF16')
    """
    fmt = get_format(fmt)
    family, _, split = fmt.name.partition("_")
    if family == "fp8":
        return f"FP8 {split.upper().replace('FN', ' FN')}"
    if family.startswith(("cfp", "ucfp")) and not split:
        return fmt.name
    return fmt.name.upper() if "_" not in fmt.name else fmt.name


def colour_of(fmt) -> str:
    """Return a format's colour, the same in every picture; grey if it has none of its own."""
    return style.FORMAT.get(get_format(fmt).name, style.COLOURS["grey"])


def sorted_for_reading(formats) -> list:
    """Return formats from the most precise to the least, and by range among equals."""
    ranked = [get_format(f) for f in formats]
    return sorted(ranked, key=lambda f: (-f.mantissa_bits, -range_of(f).binades))


def plot_range_precision(formats, *, values=None, values_label="data", width=8.6, height=4.4):
    """Draw each format as a bar: how far it reaches, at the height of its precision.

    Parameters
    ----------
    formats : sequence of Format or str
        Floating-point formats, or integers (their numbers are evenly spaced).
    values : array, optional
        Data whose sizes are drawn below as a histogram, on the same axis.
    values_label : str, optional
    width, height : float, inches

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(width, height, margins=(0.85, 0.3, 0.5, 0.4))
    shares = {"height_ratios": [3, 1], "hspace": 0.08}
    axes = fig.subplots(2, 1, sharex=True, gridspec_kw=shares) if values is not None else None
    ax = fig.subplots() if axes is None else axes[0]
    levels = {}
    for fmt in sorted_for_reading(formats):
        precision = fmt.mantissa_bits + (fmt.exponent_bits > 0)
        y = precision + levels.get(precision, 0.0)
        levels[precision] = levels.get(precision, 0.0) + 1.15
        _draw_reach(ax, fmt, y)
    ax.set(ylabel="significant bits", ylim=(0, max(26.5, ax.get_ylim()[1])))
    ax.set_title("how far each format reaches (→) and how finely it counts (↑)")
    ax.set_yticks([0, 4, 8, 12, 16, 20, 24])
    bottom = ax
    if axes is not None:
        bottom = axes[1]
        _draw_sizes(bottom, values, values_label)
    exponents = np.arange(-48, 49, 6)
    bottom.set(xlim=(-48, 43), xlabel="size of a number, log₁₀ |x|")
    bottom.set_xticks(exponents, [f"10{_raised(e)}" for e in exponents])
    return fig


def _draw_reach(ax, fmt, y):
    """Draw one format's bar: normal numbers solid, subnormal ones hatched."""
    colour = colour_of(fmt)
    top, tiny = np.log10(fmt.max), np.log10(fmt.smallest_subnormal)
    normal = np.log10(fmt.smallest_normal) if fmt.exponent_bits else tiny
    ax.barh(y, top - normal, 0.85, normal, color=colour)
    if normal > tiny:
        ax.barh(y, normal - tiny, 0.85, tiny, facecolor="none", edgecolor=colour, hatch="////")
    ax.text(top + 0.5, y, label_of(fmt), va="center", ha="left", fontsize=9, clip_on=True)


def _draw_sizes(ax, values, label):
    """Draw how often each size occurs in data, zeros left out but counted."""
    sizes = np.abs(np.asarray(values, np.float64)).ravel()
    zeros = int((sizes == 0).sum())
    sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
    if sizes.size:
        ax.hist(np.log10(sizes), bins=np.arange(-48, 43.1, 0.5), color=style.COLOURS["grey"])
    ax.set(yticks=[], ylabel="data")
    note = f"{label} ({zeros} zeros not drawn)" if zeros else label
    ax.text(0.01, 0.9, note, transform=ax.transAxes, va="top", fontsize=9)


def plot_code_points(fmt, compared=None, *, width=8.6):
    """Draw every positive number of a small format on a log axis.

    Parameters
    ----------
    fmt : Format or str
        Of at most 16 bits.
    compared : Format or str, optional
        Drawn below, to compare.
    width : float, inches

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = [get_format(fmt)] + ([get_format(compared)] if compared is not None else [])
    fig = style.figure(width, 0.95 + 0.75 * len(rows), margins=(0.3, 0.3, 0.5, 0.3))
    ax = fig.subplots()
    for i, row in enumerate(rows):
        _draw_codes(ax, row, -1.5 * i, style.COLOURS["blue"] if i == 0 else colour_of(row))
    reaches = [e for row in rows for e in (row.smallest_subnormal, row.max)]
    low, high = np.floor(np.log2(min(reaches))) - 1, np.ceil(np.log2(max(reaches))) + 1
    step = max(1, int((high - low) // 12))
    at = np.arange(np.ceil(low / step) * step, high + 1, step).astype(int)
    ax.set_xticks(2.0**at, [f"2{_raised(e)}" for e in at])
    ax.set(xlim=(2.0**low, 2.0**high), xlabel="value", yticks=[], ylim=(-1.5 * len(rows) + 0.6, 1))
    ax.spines["left"].set_visible(False)
    return fig


def _draw_codes(ax, fmt, y, colour):
    """Draw one row of code points: subnormal ones pale, landmarks named."""
    ax.set_xscale("log", base=2)
    values = all_values(fmt)
    values = values[values > 0]
    if values.size > 600:
        values = values[:: values.size // 600]
    start = float(from_bits(1 << fmt.mantissa_bits, fmt)) if fmt.exponent_bits else values[0]
    normal = values >= start
    ax.vlines(values[normal], y, y + 0.55, color=colour, lw=1.2)
    ax.vlines(values[~normal], y, y + 0.3, color=colour, lw=1.2, alpha=0.65)
    ends = f"{number_text(values[0], fmt)} … {number_text(fmt.max, fmt)}"
    ax.text(values[0], y + 0.62, f"{label_of(fmt)}: {ends}", fontsize=9, va="bottom")


def _raised(number) -> str:
    """Return a whole number as an exponent."""
    return str(int(number)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
