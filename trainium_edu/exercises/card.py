"""The card below a check: what was found, and buttons for a hint, a solution, a next challenge.

It knows nothing of exercises: it is handed what can be asked for, and shows what comes back below
the buttons, so that neither they nor the page move.
"""

import anywidget
import ipywidgets
import traitlets

from trainium_edu.widgets.static import load

__all__ = ["Card"]


class Below(anywidget.AnyWidget):
    """What was asked for."""

    _esm = load("card.js")
    html = traitlets.Unicode().tag(sync=True)


class Card(ipywidgets.VBox):
    """A result with its buttons.

    Parameters
    ----------
    result : str
        HTML.
    about : str
        What the buttons are about; screen readers and tooltips say it.
    offers : callable
        Returns what can be asked for now: (text of a button, function that returns what displays
        as HTML), always as many, with an empty text where a button is to be hidden.
    """

    def __init__(self, result: str, about: str, offers):
        self._about, self._offers = about, offers
        self._asked: set[str] = set()
        self._below = Below()
        self.buttons = [ipywidgets.Button(layout={"width": "auto"}) for _ in offers()]
        for place, button in enumerate(self.buttons):
            button.on_click(lambda _, place=place: self._ask(place))
        row = ipywidgets.HBox(self.buttons, layout={"flex_flow": "row wrap"})
        super().__init__([ipywidgets.HTML(result), row, self._below])
        self._show_offers()

    def _ask(self, place):
        text, give = self._offers()[place]
        self._asked.add(text)
        self._below.html = give()._repr_html_() + self._below.html  # the newest next to its button
        self._show_offers()
        shown = [button for button in self.buttons if button.layout.display != "none"]
        if shown and self.buttons[place] not in shown:  # for who pressed it by keyboard
            shown[0].focus()

    def _show_offers(self):
        for button, (text, _) in zip(self.buttons, self._offers(), strict=True):
            button.description, button.tooltip = text, f"{text}: {self._about}"
            button.layout.display = "none" if not text or text in self._asked else ""
