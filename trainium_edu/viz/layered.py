"""A figure in two layers: a ground that is drawn once, and over it what a slider moves.

Matplotlib draws a picture with two axes, a legend and thirty numbers in a tenth of a second, nearly
all of it for what stays.  A `Layered` figure keeps the pixels of what stays.
"""

from collections.abc import Callable, Hashable

from trainium_edu.viz import style

__all__ = ["Layered"]

_GROUNDS_MOST = 12


class Layered:
    """Figures by what their ground shows, newest last; one of these belongs to one picture."""

    def __init__(self):
        self._figures: dict = {}

    def figure(self, shows: Hashable, ground: Callable, over: Callable):
        """Return the figure for a ground, with other artists over it.

        Parameters
        ----------
        shows : hashable
            All that the ground depends on, but for the page's theme.
        ground : callable
            Takes nothing, returns a Figure; called when there is none yet for `shows`.
        over : callable
            Takes the Figure, adds artists to its axes, and returns them in the order of drawing.

        Returns
        -------
        matplotlib.figure.Figure
            Complete in itself; :func:`trainium_edu.viz.style.to_png` draws only what is over.
        """
        key = (style.ink("paper"), shows)
        fig = self._figures.pop(key, None) or ground()
        self._figures[key] = fig
        while len(self._figures) > _GROUNDS_MOST:
            del self._figures[next(iter(self._figures))]
        for artist in getattr(fig, "moving", ()):
            artist.remove()
        fig.moving = over(fig)
        return fig
