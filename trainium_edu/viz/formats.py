"""How formats are written and coloured; range against precision; code points on a log axis."""

from math import ceil, floor, isfinite, log2, log10

import numpy as np

from trainium_edu.numerics import all_values, get_format, range_of
from trainium_edu.numerics.grid import number_text
from trainium_edu.viz.colours import COLOURS, FORMAT
from trainium_edu.viz.scene import Scene, linear
from trainium_edu.viz.units import raised

__all__ = ["colour_of", "draw_code_points", "draw_range_precision", "label_of"]


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
    return fmt.name.upper() if "_" not in fmt.name else fmt.name


def colour_of(fmt) -> str:
    """Return a format's colour, the same in every picture; grey if it has none of its own."""
    return FORMAT.get(get_format(fmt).name, COLOURS["grey"])


def draw_range_precision(formats, *, values=None, label="", power=0, width=960.0) -> Scene:
    """Draw each format as a bar: how far it reaches, at the height of its precision.

    Parameters
    ----------
    formats : sequence of Format or str
    values : array, optional
        Data whose sizes are drawn below as a histogram, on the same axis.
    label : str, optional
        What the data are.
    power : int, optional
        The data are drawn multiplied by ``2**power``.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    formats = [get_format(f) for f in formats]
    per_bit, top, left, right = 13.0, 34, 46, width - 14
    base = top + 26 * per_bit
    bottom = base + (96 if values is not None else 0)
    scene = Scene(width, bottom + 46)
    to_x, to_y = linear(-48, 42, left, right), linear(0, 26, base, top)
    step = 6 if width > 620 else 12
    ticks = [(e, f"10{raised(e)}" if e else "1") for e in range(-48, 43, step)]
    scene.axis(to_x, ticks, bottom, label="size of a number", grid_top=top)
    for bits in range(0, 25, 4):
        scene.line(left, to_y(bits), right, to_y(bits), "grid", width=0.7)
        scene.text(left - 8, to_y(bits) + 4, bits, anchor="end", colour="muted", size=11)
    scene.text(4, 16, "↑ significant bits: how finely a format counts", colour="muted")
    scene.text(right, 16, "→ how far it reaches", anchor="end", colour="muted")
    if values is not None:
        _draw_histogram(scene, to_x, values, label, power, base + 12, bottom)
    drawn = set()
    for fmt in formats:
        bits = fmt.mantissa_bits + (fmt.exponent_bits > 0)
        _draw_reach(scene, to_x, to_y(bits) - 14 * (bits in drawn), fmt)
        drawn.add(bits)
    scene.alt = "; ".join(_say_reach(f) for f in formats)
    return scene


def _draw_reach(scene, to_x, y, fmt):
    """Draw one format's bar: normal numbers solid, subnormal ones as an outline."""
    colour = colour_of(fmt)
    end, tiny = to_x(log10(fmt.max)), to_x(log10(fmt.smallest_subnormal))
    normal = to_x(log10(fmt.smallest_normal)) if fmt.exponent_bits else tiny
    scene.rect(normal, y - 4.5, end - normal, 9, colour)
    scene.rect(tiny, y - 4.5, normal - tiny, 9, colour, outline=True)
    room = scene.width - end > 90
    at, look = (y + 4 if room else y - 7), {"size": 11, "bold": True}
    scene.beside(end, at, label_of(fmt), room, off=5 * room, **look)


def _say_reach(fmt) -> str:
    precision = range_of(fmt)
    bits = fmt.mantissa_bits + (fmt.exponent_bits > 0)
    low, high = (number_text(float(f"{v:.2g}")) for v in (precision.smallest_subnormal, fmt.max))
    return f"{label_of(fmt)}: {bits} significant bits, from {low} to {high}"


def _draw_histogram(scene, to_x, values, label, power, top, bottom):
    """Draw how often each size occurs in data, zeros left out but counted."""
    values = np.asarray(values, np.float64)
    zeros = int((values == 0).sum())
    sizes = np.log10(np.abs(values[values != 0])) + power * log10(2)
    histogram(scene, to_x, sizes, np.arange(-48, 42.01, 0.5), bottom, bottom - top, "muted")
    note = f"{label}{f' × 2{raised(power)}' if power else ''}"
    scene.text(to_x(-48) + 6, top + 12, f"{note}, {zeros} zeros not drawn" if zeros else note)
    if sizes.size:
        for edge in (sizes.min(), sizes.max()):
            scene.line(to_x(edge), 34, to_x(edge), bottom, "ink", dashed=True)


def histogram(scene, to_x, sizes, edges, bottom, tall, colour, *, gap=0.0, opacity=1.0):
    """Draw how many sizes lie between edges as bars, each that has any a pixel high at least."""
    counts, _ = np.histogram(np.clip(sizes, edges[0], edges[-1] - 0.01), edges)
    wide, full = to_x(edges[1]) - to_x(edges[0]), max(counts.max(initial=1), 1)
    for count, start in zip(counts, edges[:-1], strict=True):
        high = max(tall * count / full, 1.0 * (count > 0))
        scene.rect(to_x(start) + gap, bottom - high, wide - 2 * gap, high, colour, opacity=opacity)


def draw_code_points(fmt, compared=None, *, width=960.0) -> Scene:
    """Draw every positive number of a small format on a log axis.

    Parameters
    ----------
    fmt : Format or str
        Of at most 16 bits.
    compared : Format or str, optional
        Drawn below, to compare.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    rows = [get_format(fmt)] + ([get_format(compared)] if compared is not None else [])
    height = 66
    scene = Scene(width, 14 + height * len(rows) + 46)
    low = floor(log2(min(row.smallest_subnormal for row in rows))) - 1
    high = ceil(log2(max(row.max for row in rows))) + 1
    low, high = min(low, -12), max(high, 10)
    to_x = linear(low, high, 16, width - 16)
    step = next(s for s in (1, 2, 4, 8, 16, 32, 64) if (high - low) / s * 44 < width)
    ticks = [(p, f"2{raised(p)}") for p in range(ceil(low / step) * step, high + 1, step)]
    scene.axis(to_x, ticks, scene.height - 44, label="value", grid_top=10)
    for i, row in enumerate(rows):
        _draw_codes(scene, to_x, row, 10 + height * i, colour_of(row) if i else "#0072B2")
    scene.alt = "; ".join(
        f"{label_of(row)}: {all_values(row).size} numbers up to {number_text(row.max)}"
        for row in rows
    )
    return scene


def _draw_codes(scene, to_x, fmt, top, colour):
    """Draw one row of code points: subnormal ones shorter and paler, ends named."""
    values = all_values(fmt)
    values = values[values > 0]
    if values.size > 1000:
        values = values[:: values.size // 1000]
    normal = values >= (fmt.smallest_normal if isfinite(fmt.smallest_normal) else np.inf)
    xs = to_x(np.log2(values))
    scene.ticks(xs[normal], top + 22, top + 50, colour)
    scene.ticks(xs[~normal], top + 34, top + 50, colour, opacity=0.75)
    ends = f"{number_text(values[0], fmt)} … {number_text(fmt.max, fmt)}"
    count = all_values(fmt).size
    scene.text(16, top + 14, f"{label_of(fmt)}: {count} numbers, {ends}", bold=True)
