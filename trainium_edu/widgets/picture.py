"""A picture that follows JupyterLab's theme, and a panel of controls around pictures.

``ipywidgets.Image`` has no alternative text and does not know the page's theme; this widget adds
both, and a PNG in the notebook for readers without a kernel.
"""

import base64
from collections.abc import Callable

import anywidget
import ipywidgets
import traitlets

from trainium_edu.viz import style
from trainium_edu.widgets.static import load

__all__ = ["Panel", "Picture"]


class Picture(anywidget.AnyWidget):
    """Show the figure that ``draw()`` returns; call :meth:`redraw` when its data changed.

    Parameters
    ----------
    draw : callable
        Takes nothing, returns a ``matplotlib.figure.Figure``; called under the page's theme.
    alt : str or callable
        What the picture shows, in a sentence with its numbers, for screen readers.
    """

    _esm = load("picture.js")
    png = traitlets.Bytes().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    dark = traitlets.Bool(False).tag(sync=True)  # set by the page
    width = traitlets.Int().tag(sync=True)  # CSS pixels

    def __init__(self, draw: Callable, alt):
        self.draw, self._alt = draw, alt
        super().__init__()
        self.redraw()

    def redraw(self, _change=None):
        """Draw again, for the page's present theme."""
        self._render(self.dark)

    @traitlets.observe("dark")
    def _follow_theme(self, _change):
        self.redraw()

    def _render(self, dark):
        with style.theme(dark):
            fig = self.draw()
            png = style.to_png(fig)
        alt = self._alt() if callable(self._alt) else self._alt
        with self.hold_sync():
            self.width = round(fig.get_figwidth() * 100)
            self.alt = alt
            self.png = png

    def still(self) -> bytes:
        """Return the picture as PNG bytes for a light page."""
        if not self.dark:
            return self.png
        with style.theme(False):
            return style.to_png(self.draw())

    def _repr_mimebundle_(self, **kwargs):
        return _with_png(super()._repr_mimebundle_(**kwargs), self.still())

    def __repr__(self):
        return f"Picture({self.alt!r})"


class Panel(ipywidgets.VBox):
    """Stack controls and pictures; readers without a kernel see the first :class:`Picture` inside.

    Parameters
    ----------
    children : list of widgets
    name : str
        Its fixed ``repr``, which the stored notebook keeps.
    """

    def __init__(self, children, name: str):
        self._name = name
        super().__init__(children)

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        picture = next((w for w in _descendants(self) if isinstance(w, Picture)), None)
        return _with_png(bundle, picture.still()) if picture else bundle

    def __repr__(self):
        return f"Panel({self._name!r})"


def _with_png(bundle, png: bytes) -> tuple[dict, dict]:
    """Return a widget's MIME bundle (data, data with metadata, or None) with a PNG in it."""
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
    return {**data, "image/png": base64.b64encode(png).decode()}, metadata


def _descendants(widget):
    """Yield all widgets below one, in reading order."""
    for child in getattr(widget, "children", ()):
        yield child
        yield from _descendants(child)
