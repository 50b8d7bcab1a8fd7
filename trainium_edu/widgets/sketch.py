"""Controls over a picture that is redrawn while they move: values in, shapes and words out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite

import anywidget
import traitlets

from trainium_edu.viz.scene import Scene
from trainium_edu.viz.svg import to_svg
from trainium_edu.widgets.static import load

__all__ = ["Page", "Sketch", "check", "choice", "first", "seal", "slider"]

_WIDTH = (320, 1400)  # CSS pixels a page may ask for
_FIRST_WIDTH = 890  # inside a stored picture, which is 900 wide


@dataclass(slots=True)
class Page:
    """What a sketch shows for one set of values."""

    scene: Scene
    said: list[str] = field(default_factory=list)  #: sentences below; ``**bold**``
    outputs: dict[str, str] = field(default_factory=dict)  #: beside a slider, under a seal
    ranges: dict[str, tuple] = field(default_factory=dict)  #: new ends of sliders, of seals
    head: list[str] = field(default_factory=list)  #: of a table below
    rows: list[dict] = field(default_factory=list)  #: ``{"cells": [...], "colour":, "marked":}``
    pressed: str = ""  #: the button that is marked
    film: list[Scene] = field(default_factory=list)  #: scenes to play; `scene` is the last of them
    rate: float = 24.0  #: scenes a second


def slider(name, text, low, high, value, *, help=""):
    """Describe a slider over whole numbers."""
    return {"name": name, "kind": "range", "text": text, "min": low, "max": high, "value": value,
            "help": help}  # fmt: skip


def choice(name, text, options, value, *, help=""):
    """Describe a drop-down list; `options` maps values to what the learner reads."""
    return {"name": name, "kind": "choice", "text": text, "options": list(options.items()),
            "value": value, "help": help}  # fmt: skip


def check(name, text, value, *, help=""):
    """Describe a box to tick."""
    return {"name": name, "kind": "check", "text": text, "value": bool(value), "help": help}


def seal(name, text, *, help=""):
    """Describe a seal to open: a click shows what the page's `outputs` say of it."""
    return {**check(name, text, False, help=help), "kind": "seal"}


def first(controls) -> dict:
    """Return the values that controls begin with, as a drawing function takes them."""
    return {"width": _FIRST_WIDTH, **{control["name"]: control["value"] for control in controls}}


class Sketch(anywidget.AnyWidget):
    """State: the values of the controls; ``values`` may be set, ``page`` is what is shown.

    Parameters
    ----------
    controls : list of dict
        From :func:`slider`, :func:`choice`, :func:`check`, :func:`seal`.
    draw : callable
        Takes the values (a dict that has ``width`` too), returns a :class:`Page`.
    name : str
        Its fixed ``repr`` and accessible name.
    press : dict of str to (text, help, change), optional
        Buttons: the values to change, or a callable that takes all and returns those.
    words : list of str, optional
        What the fixed ``repr`` says behind the name: numbers that a stored notebook should keep.
    """

    _esm = load("sketch.js")
    _css = load("shared/common.css", "sketch.css")
    controls = traitlets.List().tag(sync=True)
    buttons = traitlets.List().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)  # set by the page, or by hand
    page = traitlets.Dict().tag(sync=True)
    pixels = traitlets.Bytes().tag(sync=True)

    def __init__(self, controls, draw: Callable, name: str, *, press=None, words=()):
        self._draw, self._press = draw, press or {}
        self._name = f"{name}; {_plain(words)}" if words else name
        self._kinds = {control["name"]: control for control in controls}
        self.scene = Scene(_WIDTH[0], 1)  #: the picture that is shown
        self._ranges: dict[str, tuple] = {}
        super().__init__()
        self.controls, self.label = controls, name
        self.buttons = [[key, text, help] for key, (text, help, _) in self._press.items()]
        self.on_msg(self._on_request)
        self.values = {**first(controls), "ask": 0}

    @traitlets.validate("values")
    def _check_values(self, proposal):
        """Keep the last good value of every control that is asked for something impossible."""
        asked, kept = proposal["value"], dict(self.values)
        for name, value in asked.items():
            if name in self._kinds and self._fits(name, value):
                kept[name] = value
            elif name == "ask" and _is_number(value):
                kept[name] = int(min(max(value, 0), 2**31))
            elif name == "width" and _is_number(value):
                kept[name] = min(max(float(value), _WIDTH[0]), _WIDTH[1])
        return kept

    def _fits(self, name, value) -> bool:
        control = self._kinds[name]
        match control["kind"]:
            case "range":
                low, high = self._ranges.get(name, (control["min"], control["max"]))
                return _is_number(value) and int(value) == value and low <= value <= high
            case "choice":
                return value in [option for option, _ in control["options"]]
        return isinstance(value, bool) and value <= self._ranges.get(name, (False, True))[1]

    @traitlets.observe("values")
    def _redraw(self, _change=None):
        shown = self._draw(dict(self.values))
        self.scene, self._ranges = shown.scene, shown.ranges
        shown.scene.alt = shown.scene.alt or _plain(shown.said)
        page = {"scene": _sent(shown.scene), "said": shown.said, "outputs": shown.outputs,
                "ranges": {k: list(v) for k, v in shown.ranges.items()}, "pressed": shown.pressed,
                "table": {"head": shown.head, "rows": shown.rows} if shown.rows else None,
                "film": list(map(_sent, shown.film)), "rate": shown.rate,
                "ask": self.values["ask"]}  # fmt: skip
        with self.hold_sync():
            self.pixels = shown.scene.pixels()
            self.page = page

    def set(self, **values):
        """Move controls from Python, as a learner would; what is impossible is refused.

        Raises
        ------
        ValueError
            If a control does not exist or does not take the value.
        """
        for name, value in values.items():
            if name not in self._kinds:
                raise ValueError(
                    f"there is no control {name!r}; there are {', '.join(self._kinds)}"
                )
            if not self._fits(name, value):
                raise ValueError(f"{name} does not take {str(value)[:40]}")
        self.values = {**self.values, **values}

    def _on_request(self, _widget, content, _buffers):
        """Answer a button."""
        key = content.get("press")
        if key in self._press:
            change = self._press[key][2]
            change = change(dict(self.values)) if callable(change) else change
            self.values = {**self.values, **change}

    def __repr__(self):
        return f"Sketch({self._name!r})"


def _sent(scene) -> dict:
    return {**scene.data(), "svg": to_svg(scene, over_images=True)}


def _plain(said) -> str:
    """Return sentences without the marks of what is bold."""
    return " ".join(said).replace("**", "")


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
