"""An array before and after rounding: two pictures, the error, and where the sizes lie."""

from functools import cache
from math import isfinite, log2

import matplotlib
import numpy as np

from trainium_edu.viz.formats import colour_of, label_of, raised
from trainium_edu.viz.scene import Scene, linear

__all__ = ["draw_quantised"]

_LOW, _HIGH = -34, 20  # log2 of the sizes shown


def draw_quantised(x, quantised, *, title="", width=960.0) -> Scene:
    """Draw an array, what a format kept of it, the error, and a histogram of sizes.

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
    names = [f"{title}: FP32", label_of(quantised.fmt), f"error × {gain}" if gain > 1 else "error"]
    wide = width > 780
    side = (width * (0.68 if wide else 1.0) - 24) / 3
    tall = side * x.shape[0] / x.shape[1]
    below = 0 if wide else tall + 34
    height = max(tall + 30, 240) if wide else tall + 34 + 190
    scene = Scene(width, height)
    for i, (name, picture) in enumerate(zip(names, _pictures(x, quantised.values, gain * error),
                                            strict=True)):  # fmt: skip
        scene.text(i * (side + 12), 14, name, bold=True)
        scene.image(i * (side + 12), 22, side, tall, picture)
    start = 3 * (side + 12) + 10 if wide else 10
    _draw_sizes(scene, x, quantised, start, below, width - 10, height)
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
    counts, edges = np.histogram(np.clip(sizes, _LOW, _HIGH - 0.01), np.arange(_LOW, _HIGH + 1))
    to_x = linear(_LOW, _HIGH, left, right)
    base, full = bottom - 40, max(counts.max(initial=1), 1)
    tiny, end = (float(np.clip(log2(v), _LOW, _HIGH)) for v in (fmt.smallest_subnormal, fmt.max))
    has_normal = isfinite(fmt.smallest_normal) and fmt.exponent_bits
    normal = float(np.clip(log2(fmt.smallest_normal), _LOW, _HIGH)) if has_normal else tiny
    colour, room = colour_of(fmt), base - top - 24
    scene.rect(to_x(normal), top + 22, to_x(end) - to_x(normal), room + 2, colour, opacity=0.3)
    scene.rect(to_x(tiny), top + 22, to_x(normal) - to_x(tiny), room + 2, colour, outline=True)
    for count, start in zip(counts, edges[:-1], strict=True):
        tall = max((room - 4) * count / full, 1.0 * (count > 0))
        scene.rect(to_x(start) + 0.5, base - tall, to_x(1) - to_x(0) - 1, tall, "ink", opacity=0.7)
    scene.text(left, top + 14, f"sizes × 2{raised(power)}" if power else "sizes", bold=True)
    scene.axis(to_x, [(p, f"2{raised(p)}" if p else "1") for p in range(-32, 21, 8)], base,
               label="shaded: normal numbers; outlined: subnormal")  # fmt: skip
