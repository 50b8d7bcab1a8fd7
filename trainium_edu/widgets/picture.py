"""A picture without controls, and a panel of what belongs together."""

from collections.abc import Callable

import ipywidgets

from trainium_edu.widgets.sketch import Page, Sketch

__all__ = ["Panel", "Picture"]


class Picture(Sketch):
    """A scene as wide as the page has room for, without controls.

    Parameters
    ----------
    draw : callable
        Takes ``width=`` in CSS pixels, returns a :class:`~trainium_edu.viz.scene.Scene`.
    alt : str
        What it shows, in a sentence with its numbers, for screen readers.
    """

    def __init__(self, draw: Callable, alt: str):
        def page(values) -> Page:
            scene = draw(width=values["width"])
            scene.alt = alt
            return Page(scene)

        super().__init__([], page, alt)


class Panel(ipywidgets.VBox):
    """Stack controls and pictures.

    Parameters
    ----------
    children : list of widgets
    name : str
        Its fixed ``repr``, which the stored notebook keeps.
    """

    def __init__(self, children, name: str):
        self._name = name
        super().__init__(children)

    def __repr__(self):
        return f"Panel({self._name!r})"
