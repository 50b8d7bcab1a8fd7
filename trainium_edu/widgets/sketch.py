"""Controls over a picture that is redrawn while they move: values in, shapes and words out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite

import traitlets

from trainium_edu.files import tables
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.svg import to_svg
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["Page", "Sketch", "buttons_of", "control", "controls_of", "say", "sketch", "slider"]

#: Names, controls, buttons and sentences of the sketches, by their keys.
RECIPES = tables(__file__, "sketches.toml")

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


def control(name, kind, text, **more) -> dict:
    """Describe a control: a ``range``, ``choice`` or ``check``, or a ``seal`` to open.

    A range has ``min`` and ``max`` (whole numbers), a choice ``options`` (a dict of values to what
    the learner reads); a click on a seal shows what the page's `outputs` say of it.
    """
    made = {"name": name, "kind": kind, "text": text, "help": "", **more}
    return made | {"options": list(made["options"].items())} if "options" in made else made


def slider(name, text, low, high, value, *, help=""):
    """Describe a slider over whole numbers."""
    return control(name, "range", text, min=low, max=high, value=value, help=help)


def controls_of(key, **changes) -> list[dict]:
    """Return a recipe's controls; `changes` are other first values, or dicts of other fields."""
    made = []
    for name, row in RECIPES[key].get("controls", {}).items():
        change = changes.get(name, {})
        row = row | (change if isinstance(change, dict) else {"value": change})
        made.append(control(name, **row))
    return made


def buttons_of(key, controls, press) -> dict:
    """Return a recipe's buttons; without a change in `press` or the recipe they begin again."""
    made = {}
    for name, (text, help, *change) in RECIPES[key].get("press", {}).items():
        made[name] = text, help, press.get(name) or [*change, _values(controls)][0]
    return made


def say(key, part="said", **numbers) -> list[str]:
    """Return sentences of a recipe with their numbers."""
    return [text.format(**numbers) for text in RECIPES[key][part]]


def _values(controls) -> dict:
    return {control["name"]: control["value"] for control in controls}


class Sketch(PageWidget, page="sketch"):
    """State: the values of the controls; ``values`` may be set, ``page`` is what is shown.

    Parameters
    ----------
    controls : list of dict
        From :func:`control` or :func:`controls_of`.
    draw : callable
        Takes the values (a dict that has ``width`` too), returns a :class:`Page`.
    name : str
        Its fixed ``repr`` and accessible name.
    press : dict of str to (text, help, change), optional
        Buttons: the values to change, or a callable that takes all and returns those.
    words : list of str, optional
        What the fixed ``repr`` says behind the name: numbers that a stored notebook should keep;
        None for what the first page says.
    """

    controls = traitlets.List().tag(sync=True)
    buttons = traitlets.List().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)  # set by the page, or by hand
    page = traitlets.Dict().tag(sync=True)
    pixels = traitlets.Bytes().tag(sync=True)

    def __init__(self, controls, draw: Callable, name: str, *, press=None, words=()):
        self._draw, self._press = draw, press or {}
        self._kinds = {control["name"]: control for control in controls}
        self.scene = Scene(_WIDTH[0], 1)  #: the picture that is shown
        self._ranges: dict[str, tuple] = {}
        super().__init__()
        self.controls, self.label = controls, name
        self.buttons = [[key, text, help] for key, (text, help, _) in self._press.items()]
        self.on_msg(self._on_request)
        self.values = {"width": _FIRST_WIDTH, **_values(controls), "ask": 0}
        words = _plain(self.page["said"] if words is None else words)
        self._name = f"{name}; {words}" if words else name

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
        page = {name: getattr(shown, name) for name in ("said", "outputs", "pressed", "rate")}
        page |= {"scene": _sent(shown.scene), "film": list(map(_sent, shown.film))}
        page["ranges"] = {name: list(ends) for name, ends in shown.ranges.items()}
        page["table"] = {"head": shown.head, "rows": shown.rows} if shown.rows else None
        with self.hold_sync():
            self.pixels = shown.scene.pixels()
            self.page = page | {"ask": self.values["ask"]}

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
        return f"{type(self).__name__}({self._name!r})"


def sketch(key, draw: Callable, *, press=None, words=None, named=None, more=(), **changes):
    """Return the :class:`Sketch` of a recipe.

    Parameters
    ----------
    key : str
        Of ``sketches.toml``.
    draw, words
        As for :class:`Sketch`.
    press : dict of str to callable, optional
        What buttons change, where the recipe does not say it.
    named : dict, optional
        Words for the recipe's name.
    more : sequence of dict, optional
        Controls behind those of the recipe.
    **changes
        As for :func:`controls_of`.
    """
    controls = [*controls_of(key, **changes), *more]
    buttons = buttons_of(key, controls, press or {}) if controls else {}
    name = RECIPES[key]["name"].format(**(named or {}))
    return Sketch(controls, draw, name, press=buttons, words=words)


def _sent(scene) -> dict:
    return {**scene.data(), "svg": to_svg(scene, over_images=True)}


def _plain(said) -> str:
    """Return sentences without the marks of what is bold."""
    return " ".join(said).replace("**", "")


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
