"""One look for every picture: colours, themes, and a figure without pyplot's hidden state.

Plots are drawn inside ``with theme(dark=...)`` (the ``Picture`` widget does that), so a plot
function says *what* a colour means and never which background it stands on.  Data colours are
those of Okabe and Ito's colour-blind-safe set, mid-toned so that they read on white and on dark.
"""

import struct
import zlib
from contextlib import contextmanager

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trainium_edu.specs.arguments import number
from trainium_edu.viz.colours import COLOURS, ENGINE, FORMAT, ROUNDING, TABLES

__all__ = ["COLOURS", "ENGINE", "FORMAT", "ROUNDING", "figure", "ink", "theme", "to_png"]

_CSS_PIXELS_PER_INCH = 100
_THEMES = {False: TABLES["light"], True: TABLES["dark"]}
_dark = False


@contextmanager
def theme(dark: bool = False):
    """Draw what follows for a light (default) or a dark page."""
    global _dark
    before, _dark = _dark, bool(dark)
    tones = {name: ink(tone) for name, tone in TABLES["toned"].items()}
    try:
        with matplotlib.rc_context(TABLES["figure"] | tones):
            yield
    finally:
        _dark = before


def ink(tone: str = "ink") -> str:
    """Return the current theme's colour for ``ink``, ``muted``, ``grid`` or ``paper``."""
    return _THEMES[_dark][tone]


def figure(width: float = 7.2, height: float = 3.4, *, margins=None) -> Figure:
    """Make an empty figure, in inches; one inch is 100 CSS pixels on the page.

    Parameters
    ----------
    width, height : float, inches
    margins : (left, right, bottom, top) in inches, optional
        Where the axes stand.  Without it matplotlib finds a layout, which doubles the time of a
        redraw: pictures behind a slider state their margins.
    """
    width, height = number(width, "width", 0.1, 100), number(height, "height", 0.1, 100)
    fig = Figure(figsize=(width, height), layout=None if margins else "constrained")
    FigureCanvasAgg(fig)
    if margins:
        left, right, bottom, top = margins
        fig.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
    return fig


def to_png(fig: Figure, scale: float = 1.5) -> bytes:
    """Render to PNG bytes at ``scale`` image pixels per CSS pixel, the same bytes every time."""
    fig.set_dpi(_CSS_PIXELS_PER_INCH * scale)
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    return _png(np.asarray(canvas.buffer_rgba())[:, :, :3])


def _png(pixels) -> bytes:
    """Write uint8[rows, columns, 3] as PNG, without trying filters, which takes long."""
    rows, columns, _ = pixels.shape
    lines = np.zeros((rows, 1 + 3 * columns), np.uint8)  # each line begins with "no filter"
    lines[:, 1:] = pixels.reshape(rows, -1)
    head = struct.pack(">2I5B", columns, rows, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
