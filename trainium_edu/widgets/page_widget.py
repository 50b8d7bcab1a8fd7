"""The base of widgets that the page draws with a script of ``static``."""

import anywidget

from trainium_edu.widgets.static import load

__all__ = ["PageWidget"]


class PageWidget(anywidget.AnyWidget):
    """A widget whose class names its half in the browser: ``page="zoom"`` for ``zoom.js``.

    The style sheet of the same name stands behind ``shared/common.css``.
    """

    def __init_subclass__(cls, page: str = ""):
        super().__init_subclass__()
        if page:
            cls._esm = load(f"{page}.js")
            cls._css = load("shared/common.css", f"{page}.css")
