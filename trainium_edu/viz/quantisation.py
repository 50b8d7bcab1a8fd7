"""An array before and after rounding under one wipe, the error, and where the sizes lie."""

from functools import cache
from math import isfinite, log2

import matplotlib
import numpy as np

from trainium_edu.viz.formats import colour_of, histogram, label_of
from trainium_edu.viz.scene import Scene, linear
from trainium_edu.viz.units import raised

__all__ = ["draw_quantised"]

_LOW, _HIGH = -34, 20  # log2 of the sizes shown
_TALLEST = 400  # CSS pixels of the picture


def draw_quantised(x, quantised, *, title="", width=960.0) -> Scene:
    """Draw an array and what a format kept of it, under one wipe; the error; the sizes.

    Parameters
    ----------
    x : array [rows, columns] or [rows, columns, 3]
        The latter is a photograph in red, green, blue from 0 to 1.
    quantised : Quantised
        From :func:`~trainium_edu.numerics.quantisation.quantise`.
    title : str, optional
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    x = np.asarray(x)
    error = np.abs(np.nan_to_num(quantised.values - x, posinf=0, neginf=0))
    gain = _gain(error.max(), np.abs(x).max())
    before, after, wrong = _pictures(x, quantised.values, gain * error)
    shape, wide = x.shape[0] / x.shape[1], width > 780
    across = min(0.62 * width, _TALLEST / shape) if wide else min(width, _TALLEST / shape)
    tall = across * shape
    left, top = (across + 24, 0.0) if wide else (0.0, tall + 34)
    aside = min((width - left if wide else 0.4 * width) - 10, _TALLEST / 2 / shape)
    under = top + aside * shape + 34 if wide else top
    start = left if wide else aside + 24
    height = max(tall + 30, under + 180, top + aside * shape + 30)
    scene = Scene(width, height)
    scene.text(0, 14, f"{title}: FP32", bold=True)
    scene.text(across, 14, label_of(quantised.fmt), anchor="end", bold=True)
    scene.wipe(0, 22, across, tall, before, after)
    scene.text(left, top + 14, f"error × {gain}" if gain > 1 else "error", bold=True)
    scene.image(left, top + 22, aside, aside * shape, wrong)
    _draw_sizes(scene, x, quantised, start, under, width - 10, height)
    scene.alt = (
        f"{title} in FP32 and in {label_of(quantised.fmt)}: {quantised.vanished} of "
        f"{quantised.count} numbers vanished, {quantised.saturated} saturated"
    )
    return scene


def _gain(worst, top) -> int:
    """Return the power of two that makes the largest error visible."""
    return 2 ** int(np.clip(np.floor(log2(top / worst)), 0, 20)) if worst > 0 and top > 0 else 1


def _pictures(x, kept, error):
    """Return the three arrays as uint8[rows, columns, 3]."""
    if x.ndim == 3:
        return [
            (255 * np.clip(np.nan_to_num(p, nan=1.0, posinf=1.0), 0, 1) + 0.5).astype(np.uint8)
            for p in (x, kept, error)
        ]
    top = float(np.abs(x).max()) or 1.0
    look, low = ("RdBu_r", -top) if x.min() < 0 else ("viridis", 0.0)
    found = []
    for values, name, start in ((x, look, low), (kept, look, low), (error, "magma", 0.0)):
        shares = np.nan_to_num((values - start) / (top - start), nan=1.0, posinf=1.0, neginf=0.0)
        found.append(_colours(name)[(255 * np.clip(shares, 0, 1) + 0.5).astype(np.uint8)])
    return found


@cache
def _colours(name) -> np.ndarray:
    """Return a colour map as uint8[256, 3]."""
    return (255 * matplotlib.colormaps[name](np.arange(256))[:, :3] + 0.5).astype(np.uint8)


def _draw_sizes(scene, x, quantised, left, top, right, bottom):
    """Draw the sizes after scaling as a histogram, over the stretch the format holds."""
    fmt, power = quantised.fmt, quantised.power
    sizes = np.abs(np.asarray(x, np.float64)).ravel()
    sizes = np.log2(sizes[sizes > 0]) + power
    to_x = linear(_LOW, _HIGH, left, right)
    base = bottom - 40
    tiny, end = (float(np.clip(log2(v), _LOW, _HIGH)) for v in (fmt.smallest_subnormal, fmt.max))
    has_normal = isfinite(fmt.smallest_normal) and fmt.exponent_bits
    normal = float(np.clip(log2(fmt.smallest_normal), _LOW, _HIGH)) if has_normal else tiny
    colour, room = colour_of(fmt), base - top - 24
    scene.rect(to_x(normal), top + 22, to_x(end) - to_x(normal), room + 2, colour, opacity=0.3)
    scene.rect(to_x(tiny), top + 22, to_x(normal) - to_x(tiny), room + 2, colour, outline=True)
    edges = np.arange(_LOW, _HIGH + 1)
    histogram(scene, to_x, sizes, edges, base, room - 4, "ink", gap=0.5, opacity=0.7)
    scene.text(left, top + 14, f"sizes × 2{raised(power)}" if power else "sizes", bold=True)
    powers = [(p, f"2{raised(p)}" if p else "1") for p in range(-32, 21, 8)]
    scene.axis(to_x, powers, base, label="shaded: normal numbers; outlined: subnormal")
