"""Two axes on a scene: curves, areas and bars in the units of the data, drawn by the page."""

from math import ceil, floor, log10

import numpy as np

from trainium_edu.viz.scene import Scene, linear, told
from trainium_edu.viz.units import raised

__all__ = ["Chart", "powers_of_ten", "round_steps", "two_boxes"]

_ABOVE, _BELOW, _BESIDE = 34.0, 58.0, 56.0  # a chart's title, its axis, its numbers; CSS pixels


def round_steps(low, high, about=5) -> list[float]:
    """Return about `about` round numbers from `low` to `high`.

    Examples
    --------
    >>> round_steps(0, 87)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    rough = (high - low) / about
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough * 0.99)
    return [step * k for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def powers_of_ten(low, high) -> list[float]:
    """Return the powers of ten from `low` to `high`.

    Examples
    --------
    >>> powers_of_ten(0.02, 150)
    [0.1, 1.0, 10.0, 100.0]
    """
    return [10.0**k for k in range(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)]


def two_boxes(width, tall, share=0.5):
    """Return a scene and two boxes for charts: side by side, or one below the other if narrow."""
    beside, one = width > 700, _ABOVE + tall + _BELOW
    scene = Scene(width, one if beside else 2 * one)
    if not beside:
        each = width - _BESIDE - 22
        return scene, (_BESIDE, _ABOVE, each, tall), (_BESIDE, one + _ABOVE, each, tall)
    middle = share * width
    return (
        scene,
        (_BESIDE, _ABOVE, middle - _BESIDE - 22, tall),
        (middle + _BESIDE, _ABOVE, width - middle - _BESIDE - 22, tall),
    )


class Chart:
    """Axes in a box of a scene; everything is added in the order of drawing.

    Parameters
    ----------
    scene : Scene
    box : (left, top, width, height), CSS pixels
        Where the data go; titles and numbers stand around it.
    x, y : (low, high)
    log : str, optional
        The axes that are logarithmic: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
    """

    def __init__(self, scene: Scene, box, x, y, *, log=""):
        self.scene, self.log, self.x, self.y = scene, log, x, y
        self.said: list[tuple] = []  # of what is drawn: words, colour, width and dash
        self.left, self.top, self.width, self.height = box
        right, bottom = self.left + self.width, self.top + self.height
        (x0, x1), (y0, y1) = self._scaled("x", x), self._scaled("y", y)
        self._to_x = linear(x0, x1, self.left, right)
        self._to_y = linear(y0, y1, bottom, self.top)

    def _scaled(self, axis, values):
        return np.log10(values) if axis in self.log else np.asarray(values, float)

    def _round(self, axis, ends):
        if axis not in self.log:
            return round_steps(*ends)
        return [(v, f"10{raised(round(log10(v)))}") for v in powers_of_ten(*ends)]

    def place(self, xs, ys):
        """Return pixels of points; what lies beyond the axes is moved to their ends."""
        xs, ys = np.clip(xs, *self.x), np.clip(ys, *self.y)
        return self._to_x(self._scaled("x", xs)), self._to_y(self._scaled("y", ys))

    def to_x(self, value) -> float:
        """Return the pixel of a value of x."""
        return float(self.place(value, self.y[0])[0])

    def axes(self, title, label, x_ticks=None, y_ticks=None, *, unit=""):
        """Add grid, numbers and titles; ticks are numbers or (value, text), by default round."""
        x_ticks = self._round("x", self.x) if x_ticks is None else x_ticks
        y_ticks = self._round("y", self.y) if y_ticks is None else y_ticks
        right, bottom = self.left + self.width, self.top + self.height
        for value, words in told(y_ticks):
            (_, y) = self.place(self.x[0], value)
            self.scene.line(self.left, y, right, y, "grid", width=0.7)
            self.scene.text(self.left - 6, y + 4, words, anchor="end", colour="muted", size=11)
        self.scene.axis(self.to_x, x_ticks, bottom, label=label, grid_top=self.top)
        self.scene.text(self.left, self.top - 10, title, bold=True, size=13)
        if unit:
            self.scene.text(self.left - 6, self.top - 10, unit, anchor="end", colour="muted")

    def curve(self, xs, ys, colour, *, words, **look):
        """Add a curve; points that a logarithmic axis cannot show are left out."""
        xs, ys = np.asarray(xs, float), np.asarray(ys, float)
        shown = np.isfinite(ys) & (ys > 0 if "y" in self.log else True)
        self.scene.path(*self.place(xs[shown], ys[shown]), colour, words=words, **look)

    def series(self, xs, ys, colour, words, *, width=1.5, dash="", opacity=1.0, dots=0.0):
        """Add a curve, with dots of a size if it has any, and say in the key what it is."""
        self.curve(xs, ys, colour, words=words, width=width, dash=dash, opacity=opacity)
        if dots:
            self.dots(xs, ys, colour, size=dots)
        self.said.append((words, colour, width, dash))

    def dots(self, xs, ys, colour, *, size=7.0, opacity=1.0):
        """Add a square at each point."""
        for x, y in zip(*self.place(xs, ys), strict=True):
            self.scene.rect(x - size / 2, y - size / 2, size, size, colour, opacity=opacity)

    def note(self, x, y, words, *, right=0.0, down=0.0, **look):
        """Add text beside a point."""
        at_x, at_y = self.place(x, y)
        self.scene.text(at_x + right, at_y + down, words, **look)

    def band(self, xs, low, high, colour, *, words, opacity=0.2):
        """Fill between two curves."""
        xs = np.concatenate([xs, np.asarray(xs)[::-1]])
        ys = np.concatenate([low, np.asarray(high)[::-1]])
        self.scene.area(*self.place(xs, ys), colour, opacity=opacity, words=words)

    def bar(self, middle, height, width, colour, *, opacity=0.7):
        """Add a bar from zero."""
        (x0, x1), (y1, y0) = self.place([middle - width / 2, middle + width / 2], [height, 0])
        self.scene.rect(x0, min(y0, y1), x1 - x0, abs(y0 - y1), colour, opacity=opacity)

    def legend(self, x, y, *entries):
        """Draw a key downwards from (x, y), of what was said or of (words, colour, width, dash)."""
        for row, (words, colour, width, dash) in enumerate(entries or self.said):
            base = y + 18 * row
            self.scene.path([x, x + 26], [base, base], colour, width=width, dash=dash)
            self.scene.text(x + 32, base + 4, words, size=12)

    def key_below(self, left=12.0, down=62.0):
        """Draw a key in rows below the axis, of what was said, and make room for it."""
        entries = [entry[:2] for entry in self.said]
        right = self.left + self.width + 16
        y = self.scene.key(left, self.top + self.height + down, entries, right)
        self.scene.height = max(self.scene.height, y + 10)
