"""Drag a number along the line and watch where each format puts it."""

from collections.abc import Sequence
from math import isfinite, nextafter

import traitlets

from trainium_edu.files import tables
from trainium_edu.numerics import FORMATS, bit_fields, from_bits, get_format
from trainium_edu.numerics.formats import Format
from trainium_edu.numerics.grid import Landing, Outcome, land, number_text, step_code, stretches
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.colours import FORMAT
from trainium_edu.viz.formats import colour_of, label_of
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["NumberLine", "number_line_explorer", "parse_number", "say_landing", "share_of"]

_SAYS = tables(__file__)
_LIMIT = 3.4e38
_PRESETS = ("0.1", "1/3", "pi", "257", "1000.5", "70000", "1e-7")
_NARROWEST_PX = 6  # binades below this are joined


@checked
def number_line_explorer(x=3.3, formats: str | Format | Sequence = ("fp8_e4m3", "bf16", "fp16")):
    """Show the numbers that formats have around x, and where x lands; drag x.

    Parameters
    ----------
    x : float, or str as one types it
        Where the needle stands first; finite, within FP32's range.
    formats : sequence of Format or str
        What is compared at first; the learner may switch others on.

    Returns
    -------
    NumberLine

    Raises
    ------
    TypeError, ValueError
        If `x` is no number or a format does not exist.

    Examples
    --------
    >>> line = number_line_explorer(3.3)
    >>> line.landing("fp8_e4m3").value
    3.25
    """
    return NumberLine(x, formats)


@checked
def parse_number(text) -> float:
    """Read a number as learners write it: ``0.1``, ``1/3``, ``-2e5``, ``pi``.

    Raises
    ------
    TypeError, ValueError
        If it is True or False; if it is no finite number within FP32's range.
    """
    if isinstance(text, bool):
        raise TypeError(f"x is {text}; it takes one finite number such as 13.0")
    shown = " ".join(str(text).split())[:24]
    named = {"pi": 3.141592653589793, "π": 3.141592653589793, "e": 2.718281828459045}
    above, slash, below = str(text).strip().replace("−", "-").partition("/")
    try:
        value = named[above] if above in named else float(above)
        value = value / float(below) if slash else value
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"“{shown}” is not a number; try 0.1, 1/3 or 6e4") from None
    if not isfinite(value) or abs(value) > _LIMIT:
        raise ValueError(f"“{shown}” is beyond FP32's range; stay within ±{_LIMIT:g}")
    return value


class NumberLine(PageWidget, page="number_line"):
    """State: x, the window and the formats shown; see :func:`number_line_explorer`."""

    formats = traitlets.List().tag(sync=True)  # what may be shown
    presets = traitlets.List().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)  # x, lo, hi, shown, width, ask
    answer = traitlets.Dict().tag(sync=True)  # what Python made of it

    def __init__(self, x, formats):
        first = [get_format(f) for f in formats]
        offered = [*first, *(FORMATS[name] for name in FORMAT), FORMATS["int8"]]
        self._formats = {f.name: f for f in offered}
        x = parse_number(x)
        lo, hi = _window_around(x, first[0] if first else FORMATS["bf16"])
        shown = [f.name for f in first]
        self._first = {"x": x, "lo": lo, "hi": hi, "shown": shown, "width": 900, "ask": 0}
        super().__init__()
        self.formats = [described(f, _about(f)) for f in self._formats.values()]
        self.presets = list(_PRESETS)
        self.on_msg(self._on_request)
        self.view = dict(self._first)

    @traitlets.validate("view")
    def _check_view(self, proposal):
        """Keep the last good view where the page (or a learner) asks for an impossible one."""
        new = {**self._first, **self.view, **proposal["value"]}
        try:
            x, lo, hi, width = (float(new[k]) for k in ("x", "lo", "hi", "width"))
            shown = [name for name in self._formats if name in list(new["shown"])]
        except (TypeError, ValueError, OverflowError):
            return self.view
        good = all(isfinite(v) and abs(v) <= 2 * _LIMIT for v in (x, lo, hi)) and hi - lo > 1e-44
        if not good or hi - lo < 1e-9 * max(abs(lo), abs(hi)):
            return self.view
        width = min(max(width, 200.0), 4000.0) if isfinite(width) else 900.0
        return {"x": x, "lo": lo, "hi": hi, "shown": shown, "width": width, "ask": new["ask"]}

    @traitlets.observe("view")
    def _answer(self, _change=None, message=""):
        v = self.view
        rows = [self._row(self._formats[name]) for name in v["shown"]]
        x = {"x": v["x"], "x_text": number_text(v["x"])}
        self.answer = {"ask": v["ask"], **x, "message": message, "rows": rows}

    @property
    def x(self) -> float:
        """Where the needle stands."""
        return self.view["x"]

    @x.setter
    def x(self, value):
        self._move(parse_number(value))

    def landing(self, fmt):
        """Return where x lands in a format, as a :class:`~trainium_edu.numerics.grid.Landing`."""
        return land(self.x, fmt)

    def _row(self, fmt) -> dict:
        """Return what the page draws for one format: places, and every text."""
        v, landing = self.view, self.landing(fmt)
        pixel = (v["hi"] - v["lo"]) / max(float(v["width"]), 100.0)
        found = stretches(fmt, v["lo"], v["hi"], narrowest=_NARROWEST_PX * pixel)
        joined = "over " * any(run.spacing is None for run in found)
        before, lands, error, _ = say_landing(landing, fmt)
        near = _near(landing, fmt)
        fields = zip(("sign", "exponent", "mantissa"), bit_fields(landing.code, fmt), strict=True)
        beyond = "NaN" if fmt.has_nan else "its last number"
        if fmt.has_infinities:
            beyond = "infinity"
        row = {
            "name": fmt.name,
            "x": landing.x,
            "labelled": fmt.bits <= 8,
            "way": 0,
            "before": before,
            "lands": lands,
            "error": error,
            "near": near,
            "sentence": f"{label_of(fmt)}: {before} {lands} {error}; {near}",
            "pieces": [[run.first, run.last, run.spacing, run.count] for run in found],
            "bits": [[kind, text] for kind, text in fields if text],
            "band_text": f"{joined}{sum(run.count or 0 for run in found):,} numbers here",
            "beyond": [[fmt.max, 1e39], [-1e39, fmt.min]],
            "beyond_text": f"no numbers here: x becomes {beyond}",
            "can_zoom": isfinite(landing.value) and landing.spacing < 8 * pixel,
        }
        if not isfinite(landing.value):
            row["way"] = 1 if landing.x > 0 else -1
        for side in ("value", "below", "above"):
            number = getattr(landing, side)
            row |= {
                side: number if isfinite(number) else None,
                f"{side}_text": number_text(number, fmt),
            }
        return row

    def _on_request(self, _widget, content, _buffers):
        """Answer what is more than a move: a typed number, a jump, a zoom to one format."""
        match content.get("do"):
            case "type":
                try:
                    self._move(parse_number(content.get("text", "")))
                except ValueError as error:
                    self._answer(message=str(error))
            case "neighbour":
                self._step(1 if content.get("way", 1) > 0 else -1)
            case "closer" if content.get("format") in self._formats:
                lo, hi = _window_around(self.x, self._formats[content["format"]])
                self.view = {**self.view, "lo": lo, "hi": hi}
            case "reset":
                self.view = {**self._first, "width": self.view["width"], "ask": self.view["ask"]}

    def _move(self, x):
        """Put x somewhere and show the numbers of the coarsest format around it."""
        shown = [self._formats[name] for name in self.view["shown"]] or [FORMATS["bf16"]]
        gone = (Outcome.VANISHED, Outcome.OVERFLOWED, Outcome.SATURATED)
        inside = [f for f in shown if land(x, f).outcome not in gone]
        widest = max(shown, key=lambda f: f.max / f.smallest_subnormal)
        coarsest = max(inside or [widest], key=lambda f: land(x, f).spacing)
        lo, hi = _window_around(x, coarsest)
        if lo < 0 < hi and x != 0:
            lo, hi = (0.0 - 0.1 * hi, hi) if x > 0 else (lo, 0.0 - 0.1 * lo)
        self.view = {**self.view, "x": x, "lo": lo, "hi": hi}

    def _step(self, way):
        """Go to the next number of the first format shown."""
        fmt = self._formats[next(iter(self.view["shown"]), "bf16")]
        landing = self.landing(fmt)
        x = landing.above if way > 0 else landing.below
        if x == landing.x:
            x = float(from_bits(step_code(landing.code, fmt, way), fmt))
        if not isfinite(x):
            return
        lo, hi = self.view["lo"], self.view["hi"]
        by = x - min(max(x, lo), hi)
        self.view = {**self.view, "x": x, "lo": lo + by, "hi": hi + by}

    def __repr__(self):
        shown = ", ".join(self.view["shown"])
        return f"NumberLine(x={self.x:g}, formats=[{shown}])"


def _window_around(x, fmt) -> tuple[float, float]:
    """Return a stretch of about 14 of a format's numbers around x."""
    x_in = min(max(x, fmt.min), fmt.max)
    half = 7 * max(land(x_in, fmt).spacing, nextafter(abs(x), 1e39) - abs(x), 1e-43)
    if x_in != x:
        half = max(half, 1.25 * abs(x - x_in))
    return x - half, x + half


def _about(fmt) -> str:
    split = f"{fmt.sign_bits} sign, {fmt.exponent_bits} exponent, {fmt.mantissa_bits} mantissa bits"
    return f"{fmt.bits} bits: {split}; largest {number_text(fmt.max)}"


def described(fmt, about) -> dict:
    """Return what the page needs to know about a format."""
    return {"name": fmt.name, "label": label_of(fmt), "colour": colour_of(fmt), "about": about}


@checked
def say_landing(landing: Landing, fmt: Format) -> tuple[str, str, str, str]:
    """Return (before, the value, after, all of it in a few words) saying what became of x."""
    share = _share(landing.relative_error) if landing.outcome is Outcome.ROUNDED else ""
    numbers = {"share": share, "tiny": short_number(fmt.smallest_subnormal)}
    numbers |= {"top": number_text(fmt.max), "end": number_text(landing.value)}
    before, after, words = (said.format(**numbers) for said in _SAYS[landing.outcome])
    text = "0" if landing.outcome is Outcome.VANISHED else number_text(landing.value, fmt)
    return before, text, after, words


@checked
def share_of(size: float) -> str:
    """Return a share without its sign as people say it: in per cent, or as one part in many.

    Examples
    --------
    >>> share_of(-0.0151), share_of(1.2e-8)
    ('1.5 %', '1 part in 83 million')
    """
    size = abs(size)
    if size < 1e-4:
        return f"1 part in {_rounded(1 / size)}"
    percent = 100 * size
    return f"{percent:.0f} %" if percent >= 99.5 else f"{percent:.2g} %"


def _share(error: float) -> str:
    """Return a relative error as people say it."""
    if abs(error) < 1e-4:
        return share_of(error)
    return ("+" if error > 0 else "−") + share_of(error)


def _rounded(count: float) -> str:
    """Return a count of a thousand or more in two digits and a word."""
    units = ((1e9, "billion"), (1e6, "million"), (1e3, "thousand"))
    unit, name = next(each for each in units if count >= each[0])
    return f"{float(f'{count / unit:.2g}'):g} {name}"


def short_number(value: float) -> str:
    """Return a number, to three digits if it is longer than seven letters."""
    exact = number_text(value)
    return exact if len(exact) <= 7 else number_text(float(f"{value:.3g}"))


def _near(landing, fmt) -> str:
    """Return the numbers beside x and how far apart they are."""
    spacing = short_number(landing.spacing)
    if landing.below != landing.above:
        pair = f"{number_text(landing.below, fmt)} and {number_text(landing.above, fmt)}"
        has_ends = isfinite(landing.below) and isfinite(landing.above)
        return f"between {pair}" + f", {spacing} apart" * has_ends
    if landing.outcome is Outcome.EXACT:
        return f"the next number is {spacing} away"
    return f"there, numbers are {spacing} apart"
