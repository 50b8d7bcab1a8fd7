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

COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "pink": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#C9B800",
    "grey": "#8C8C8C",
}
#: One colour per engine, the same in every picture.
ENGINE = {
    "tensor": COLOURS["blue"],
    "vector": COLOURS["orange"],
    "scalar": COLOURS["green"],
    "gpsimd": COLOURS["pink"],
    "dma": COLOURS["sky"],
    "sync": COLOURS["grey"],
}
#: One colour per rounding mode, the same in every picture.
ROUNDING = {
    "exact": COLOURS["grey"],
    "nearest": COLOURS["red"],
    "stochastic": COLOURS["blue"],
    "toward_zero": COLOURS["pink"],
}
#: One colour per number format, the same in every picture.
FORMAT = {
    "fp32": "#6E7781",
    "tf32": COLOURS["pink"],
    "bf16": COLOURS["blue"],
    "fp16": COLOURS["orange"],
    "fp8_e5m2": COLOURS["red"],
    "fp8_e4m3": COLOURS["green"],
    "fp8_e4m3fn": COLOURS["yellow"],
    "fp8_e3m4": COLOURS["sky"],
}
#: One colour per field of a number.
FIELD = {"sign": COLOURS["red"], "exponent": COLOURS["blue"], "mantissa": COLOURS["green"]}
#: A second, colour-free mark for the same things, for bars and areas.
HATCH = {"nearest": "//", "stochastic": "", "toward_zero": "..", "exact": "xx"}

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
    canvas = fig.canvas
    canvas.draw()
    out = io.BytesIO()
    pixels = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
    pixels.convert("RGB").save(out, "png", compress_level=1)
    return out.getvalue()
