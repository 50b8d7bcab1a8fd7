"""One look for every picture: colours, themes, and a figure without pyplot's hidden state.

Plots are drawn inside ``with theme(dark=...)`` (the ``Picture`` widget does that), so a plot
function says *what* a colour means and never which background it stands on.  Data colours are
those of Okabe and Ito's colour-blind-safe set, mid-toned so that they read on white and on dark.
"""

import io
from contextlib import contextmanager

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trainium_edu.viz.colours import COLOURS, ENGINE, FIELD, FORMAT, HATCH, ROUNDING

__all__ = [
    "COLOURS",
    "ENGINE",
    "FIELD",
    "FORMAT",
    "HATCH",
    "ROUNDING",
    "figure",
    "ink",
    "theme",
    "to_png",
]

_CSS_PIXELS_PER_INCH = 100
_THEMES = {
    False: {"ink": "#1f2328", "muted": "#6e7781", "grid": "#d0d7de", "paper": "#ffffff"},
    True: {"ink": "#e6edf3", "muted": "#9aa4af", "grid": "#3d444d", "paper": "#111111"},
}
_dark = False


@contextmanager
def theme(dark: bool = False):
    """Draw what follows for a light (default) or a dark page."""
    global _dark
    before, _dark = _dark, bool(dark)
    tones = _THEMES[_dark]
    settings = {
        "figure.facecolor": tones["paper"],
        "axes.facecolor": tones["paper"],
        "savefig.facecolor": tones["paper"],
        "text.color": tones["ink"],
        "axes.labelcolor": tones["ink"],
        "axes.titlecolor": tones["ink"],
        "xtick.color": tones["ink"],
        "ytick.color": tones["ink"],
        "axes.edgecolor": tones["muted"],
        "grid.color": tones["grid"],
        "legend.frameon": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.linewidth": 0.6,
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "font.family": "DejaVu Sans",
        "svg.hashsalt": "trainium_edu",
    }
    try:
        with matplotlib.rc_context(settings):
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
    fig = Figure(figsize=(width, height), layout=None if margins else "constrained")
    FigureCanvasAgg(fig)
    if margins:
        left, right, bottom, top = margins
        fig.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
    return fig


def to_png(fig: Figure, scale: float = 1.5) -> bytes:
    """Render to PNG bytes at ``scale`` image pixels per CSS pixel, the same bytes every time."""
    from PIL import Image  # comes with matplotlib; its fast setting saves a third of a redraw

    fig.set_dpi(_CSS_PIXELS_PER_INCH * scale)
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    out = io.BytesIO()
    pixels = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
    pixels.convert("RGB").save(out, "png", compress_level=1)
    return out.getvalue()
