"""What BF16 numbers shrink to, measured, and what that would do for DMA, *assumed*."""

from collections.abc import Mapping

import numpy as np

from trainium_edu.numerics.compression import Sizes, effective_bytes_per_s
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.chart import Chart
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.scene import Scene

__all__ = ["describe_sizes", "draw_sizes"]

_FIELDS = {"sign": "red", "exponent": "blue", "mantissa": "green"}  # as the bit editor has them
_CODERS = (("this code", "bits", "ink"), ("bzip2", "bzip2_bits", COLOURS["orange"]))
_WHOLE = 16


def _rows(sizes):
    if len(sizes) == 0:
        raise ValueError("sizes is empty; a picture needs one array or more")
    return list(sizes.values())


@checked
def draw_sizes(sizes: Mapping[str, Sizes], *, width: float = 890.0) -> Scene:
    """Draw each array's entropy by fields, and what coders make of it.

    Parameters
    ----------
    sizes : dict of str to numerics.compression.Sizes
        By the array's name, from the top.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    rows, at = _rows(sizes), np.arange(len(sizes))[::-1] + 0.5
    scene, tall = Scene(width, 1), 26.0 * len(rows)
    chart = Chart(scene, (84, 34, width - 108, tall), (0, 18), (0, len(rows)))
    title, label = "Measured: bits without loss", "bits per number (dashed: as it is)"
    chart.axes(title, label, range(0, 17, 4), zip(at, sizes, strict=True))
    start = np.zeros(len(rows))
    for field, colour in _FIELDS.items():
        end = start + [getattr(row.fields, field) for row in rows]
        for y, *ends in zip(at, start, end, strict=True):
            (left, right), (low, high) = chart.place(ends, [y - 0.3, y + 0.3])
            scene.rect(left, high, right - left, low - high, COLOURS[colour])
        chart.said.append((f"{field}, at least", COLOURS[colour]))
        start = end
    for name, field, colour in _CODERS:
        chart.dots([getattr(row, field) for row in rows], at, colour, size=9)
        chart.said.append((name, colour))
    chart.curve([_WHOLE] * 2, chart.y, "muted", dash="dashed", words="as it is")
    chart.key_below(84, 58)
    return scene


@checked
def describe_sizes(sizes: Mapping[str, Sizes]) -> str:
    """Say the same numbers in a table, for readers and for screen readers.

    Examples
    --------
    >>> from trainium_edu.numerics.compression import measure
    >>> describe_sizes({"ones": measure(np.full(100, 0x3F80, np.uint16))}).splitlines()[2]
    'ones              0.0     0.0      0.0      8.7     3.4       499'
    """
    lines = [
        f"{'bits per number':15}{'at least, for':^24}{'':11}{'':8}{'GB/s,':>8}",
        f"{'':13}{'sign':>8}{'exp.':>8}{'mant.':>9}{'code':>9}{'bzip2':>8}{'assumed':>10}",
    ]
    for name, row in zip(sizes, _rows(sizes), strict=True):
        f, rate = row.fields, effective_bytes_per_s(row.bits) / 1e9
        lines.append(
            f"{name:13}{f.sign:8.1f}{f.exponent:8.1f}{f.mantissa:9.1f}{row.bits:9.1f}"
            f"{row.bzip2_bits:8.1f}{rate:10.0f}"
        )
    return "\n".join(lines)
