"""A picture as a short list of shapes, written as SVG (``svg.py``) while a slider moves.

A Matplotlib redraw of a busy picture takes longer than a blink.  A `Scene` is plain data in CSS
pixels, which a page shows in a few milliseconds (``widgets/sketch.py``).  Colours are written in
hexadecimal, or with a word (``ink``, ``muted``, ``grid``, ``paper``) that follows the page's theme.
"""

import numpy as np

__all__ = ["Scene", "linear"]


LETTER = 6.6  #: CSS pixels of a letter at size 12, on average


def told(ticks) -> list[tuple]:
    """Return ticks as (value, text); a number alone is its own text."""
    return [tick if isinstance(tick, tuple) else (tick, f"{tick:g}") for tick in ticks]


def linear(low, high, start, end):
    """Return the map that takes [low, high] to [start, end].

    Examples
    --------
    >>> linear(0, 10, 100, 200)(5)
    150.0
    """
    slope = (end - start) / (high - low)
    return lambda value: (
        start + (np.asarray(value, float) - low) * slope
        if np.ndim(value)
        else (float(start + (value - low) * slope))
    )


class Scene:
    """Shapes in the order of drawing; x to the right, y down, in CSS pixels.

    Parameters
    ----------
    width, height : float
    alt : str
        What the picture shows, for screen readers.
    """

    def __init__(self, width, height, alt=""):
        self.width, self.height, self.alt = float(width), float(height), alt
        self.shapes: list[list] = []
        self._images: list[tuple] = []
        self._glides: list[int] = []  # places among the shapes
        self._wipe = None  # the place among the images of one that is drawn over the one before

    def rect(self, x, y, width, height, colour, *, opacity=1.0, outline=False, glides=False):
        """Add a rectangle, filled or as an outline; one that `glides` moves from scene to scene.

        The page lets the first of them begin where the scene before has its first, and so on.
        """
        if width > 0 and height > 0:
            self._glides += [len(self.shapes)] * glides
            self.shapes.append(["rect", *_px(x, y, width, height), colour, opacity, outline])

    def line(self, x1, y1, x2, y2, colour="muted", *, width=1.0, dashed=False):
        """Add a straight line."""
        self.shapes.append(["line", *_px(x1, y1, x2, y2), colour, width, dashed])

    def ticks(self, xs, top, bottom, colour="muted", *, width=1.3, opacity=1.0):
        """Add vertical lines of one kind at many places."""
        self.shapes.append(["ticks", _px(*xs), *_px(top, bottom), colour, width, opacity])

    def path(self, xs, ys, colour, *, width=1.5, dash="", opacity=1.0, words=""):
        """Add a line through many points; dash ``""``, ``dashed``, ``dotted``, or as SVG has it.

        `words` say what it is, to who points at it.
        """
        self.shapes.append(["path", _px(*xs), _px(*ys), colour, width, dash, opacity, words])

    def area(self, xs, ys, colour, *, opacity=0.2, words=""):
        """Add a filled outline."""
        self.shapes.append(["area", _px(*xs), _px(*ys), colour, opacity, words])

    def text(self, x, y, words, *, anchor="start", colour="ink", size=12, bold=False):
        """Add one line of text; y is its base line, anchor ``start``, ``middle`` or ``end``."""
        self.shapes.append(["text", *_px(x, y), str(words), anchor, colour, size, bold])

    def beside(self, x, y, words, after, *, off=7.0, **look):
        """Add text to the right of a place, or else to its left."""
        side = (x + off, "start") if after else (x - off, "end")
        self.text(side[0], y, words, anchor=side[1], **look)

    def image(self, x, y, width, height, pixels):
        """Add a picture: uint8[rows, columns, 3]."""
        pixels = np.asarray(pixels, np.uint8)
        opaque = np.full((*pixels.shape[:2], 1), 255, np.uint8)
        self._images.append((_px(x, y, width, height), np.concatenate([pixels, opaque], axis=2)))

    def wipe(self, x, y, width, height, before, after):
        """Add two pictures in one place, uint8[rows, columns, 3] each, with a handle to drag.

        Left of the handle is `before`, right of it `after`; a scene has at most one such pair.
        """
        self.image(x, y, width, height, before)
        self.image(x, y, width, height, after)
        self._wipe = len(self._images) - 1

    def axis(self, to_x, ticks, y, *, label="", grid_top=None):
        """Add a horizontal axis: `to_x` maps values, `ticks` are those, or (value, text)."""
        ticks = told(ticks)
        xs = [to_x(value) for value, _ in ticks]
        if grid_top is not None:
            self.ticks(xs, grid_top, y, "grid", width=0.7)
        self.line(min(xs), y, max(xs), y)
        self.ticks(xs, y, y + 5, "muted", width=1)
        for x, (_, words) in zip(xs, ticks, strict=True):
            self.text(x, y + 18, words, anchor="middle", colour="muted", size=11)
        if label:
            self.text((min(xs) + max(xs)) / 2, y + 36, label, anchor="middle", colour="muted")

    def key(self, x, y, entries, right=0.0) -> float:
        """Say what is what in rows from (x, y): words, colour, True if pale; return the last y."""
        at, right = x, right or self.width
        for words, colour, *pale in entries:
            wide = 18 + LETTER * len(words)
            if at + wide > right and at > x:
                at, y = x, y + 18
            self.rect(at, y - 10, 12, 12, colour, opacity=0.35 if any(pale) else 1.0)
            self.text(at + 17, y, words.rstrip())
            at += wide + 16
        return y

    def data(self) -> dict:
        """Return all but the shapes as plain data for the page."""
        places, offset = [], 0
        for box, pixels in self._images:
            rows, columns = pixels.shape[:2]
            places.append([*box, columns, rows, offset])
            offset += pixels.size
        page = {"width": self.width, "height": self.height, "alt": self.alt}
        return page | {"images": places, "wipe": self._wipe, "glides": self._glides}

    def pixels(self) -> bytes:
        """Return the images' bytes, RGBA, one after the other."""
        return b"".join(pixels.tobytes() for _, pixels in self._images)


def _px(*numbers) -> list[float]:
    """Round places to a tenth of a pixel."""
    return [round(float(n), 1) for n in numbers]
