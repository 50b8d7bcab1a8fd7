"""Flip the bits of one number in any format and read what they stand for."""

from math import copysign, frexp, isfinite, isnan, log2

import traitlets

from trainium_edu.files import tables
from trainium_edu.numerics import FORMATS, cast_to_bits, from_bits, get_format
from trainium_edu.numerics.anatomy import Kind, dissect, landmarks
from trainium_edu.numerics.grid import Outcome, land, number_text, step_code
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.formats import label_of
from trainium_edu.viz.scene import linear
from trainium_edu.viz.units import raised
from trainium_edu.widgets.number_line import described, parse_number, say_landing, share_of
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["BitEditor", "bit_editor"]

_SAYS = tables(__file__)


@checked
def bit_editor(x: float | int | str = 13.0, fmt="bf16"):
    """Show one number as bits that can be flipped.

    Parameters
    ----------
    x : float, or str as one types it
        The number shown first; encoded to nearest.
    fmt : Format or str
        The format shown first; the learner may choose another.

    Returns
    -------
    BitEditor
        Its ``code``, ``value`` and ``anatomy`` can be read in the next cell.

    Raises
    ------
    TypeError, ValueError
        If `x` is no number or the format does not exist.

    Examples
    --------
    >>> editor = bit_editor(13.0, "bf16")
    >>> editor.flip(0)
    >>> editor.value
    13.0625
    """
    return BitEditor(parse_number(x), get_format(fmt))


class BitEditor(PageWidget, page="bit_editor"):
    """State: a format and a code; see :func:`bit_editor`."""

    formats = traitlets.List().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)  # format, code
    answer = traitlets.Dict().tag(sync=True)  # what the page shows

    def __init__(self, x, fmt):
        self._formats = {f.name: f for f in (*FORMATS.values(), fmt)}
        super().__init__()
        self.formats = [described(f, f.note) for f in self._formats.values()]
        self.on_msg(self._on_request)
        self.state = {"format": fmt.name, "code": int(cast_to_bits(x, fmt))}

    @traitlets.validate("state")
    def _check_state(self, proposal):
        """Keep the last good state where an impossible one is asked for."""
        new = proposal["value"]
        fmt, code = self._formats.get(new.get("format")), new.get("code")
        whole = isinstance(code, int) and not isinstance(code, bool)
        if fmt is None or not whole or not 0 <= code < 1 << fmt.bits:
            return self.state
        return {"format": fmt.name, "code": code}

    @traitlets.observe("state")
    def _answer(self, _change=None, message=""):
        self.answer = {**_page(self.anatomy), "message": message}

    @property
    def anatomy(self):
        """The present code, taken apart."""
        return dissect(self.state["code"], self._formats[self.state["format"]])

    @property
    def code(self) -> int:
        """The bits, read as an unsigned number."""
        return self.state["code"]

    @property
    def value(self) -> float:
        """What the bits stand for."""
        return self.anatomy.value

    def flip(self, bit: int):
        """Flip one bit, counted from the right, from 0."""
        fmt = self.anatomy.fmt
        bit = whole(bit, "bit", 0, fmt.bits - 1, f"; the rightmost bit of {fmt.name} is 0")
        self._go(self.code ^ (1 << bit))

    def _go(self, code):
        self.state = {**self.state, "code": int(code)}

    def _on_request(self, _widget, content, _buffers):
        """Answer a click or a key on the page."""
        now = self.anatomy
        match content.get("do"):
            case "flip" if content.get("bit") in range(now.fmt.bits):
                self.flip(content["bit"])
            case "step" if now.kind is not Kind.NAN:
                self._go(step_code(now.code, now.fmt, 1 if content.get("way", 1) > 0 else -1))
            case "landmark" if content.get("name") in landmarks(now.fmt):
                self._go(landmarks(now.fmt)[content["name"]])
            case "format" if content.get("format") in self._formats:
                self._change_format(self._formats[content["format"]])
            case "type":
                try:
                    x = parse_number(content.get("text", ""))
                    self._go(cast_to_bits(x, now.fmt))
                except ValueError as error:
                    self._answer(message=str(error))

    def _change_format(self, fmt):
        """Keep the value as far as the new format can hold it."""
        try:
            code = int(cast_to_bits(self.value, fmt))
        except ValueError:  # NaN into a format without NaN
            code = 0
        self.state = {"format": fmt.name, "code": code}

    def __repr__(self):
        now = self.anatomy
        return f"BitEditor({now.fmt.name}, {now.hex} = {number_text(now.value)})"


def _page(now) -> dict:
    """Return everything the page shows for one code."""
    fmt, text = now.fmt, number_text(now.value)
    facts = [["hexadecimal", f"{now.hex}  (code {now.code} of {2**fmt.bits - 1})"]]
    if isfinite(now.value):
        facts.insert(0, ["exact decimal value", now.decimal])
        size = number_text(now.spacing)
        share = f", {share_of(now.spacing / now.value)} of it" if now.value else ""
        facts.append(["gap to the next number", f"{_power_of_two(now.spacing)}{size}{share}"])
    return {
        "format": fmt.name,
        "shape": f"{fmt.name} {fmt.sign_bits}-{fmt.exponent_bits}-{fmt.mantissa_bits}",
        "fields": [{"kind": kind, "label": label} for kind, label, _ in _fields(now)],
        "places": _places(now),
        "landmarks": list(landmarks(fmt)),
        "value_text": text,
        "kind_text": _kind_text(now),
        "formula": _formula(now),
        "facts": facts,
        "below_text": "" if now.below is None else number_text(now.below, fmt),
        "above_text": "" if now.above is None else number_text(now.above, fmt),
        "range": _range_map(now),
        "close": _close(now),
        "close_caption": _SAYS["captions"]["close"],
        "others": [_other(now, FORMATS[n]) for n in _SAYS["compared"] if n != fmt.name],
        "others_caption": f"What the other formats make of {text}:",
        "sentence": f"{label_of(fmt)} {now.hex}: {text}, {_kind_text(now)}",
    }


def _fields(now) -> list[tuple[str, str, str]]:
    """Return (kind, label, bits) of the fields that the format has."""
    found = []
    for kind in ("sign", "exponent", "mantissa"):
        label = "value" if kind == "mantissa" and now.fmt.is_integer else kind
        if bits := getattr(now, kind):
            found.append((kind, label + f", {len(bits)} bits" * (len(bits) > 1), bits))
    return found


def _places(now) -> list[dict]:
    """Return kind, digit, worth and a sentence for each bit, from the left."""
    places = []
    for kind, label, bits in _fields(now):
        for i, bit in enumerate(bits):
            right = len(bits) - 1 - i
            if kind == "sign":
                worth = f"−2{raised(now.fmt.bits - 1)}" if now.fmt.is_integer else "±"
            elif kind == "exponent" or now.fmt.is_integer:
                worth = str(1 << right) if right < 10 else f"2{raised(right)}"
            else:
                worth = f"2{raised(-1 - i)}"
            name = label.partition(",")[0]
            where = "sign bit" if kind == "sign" else f"{name} bit {right}, worth {worth}"
            places.append({"kind": kind, "bit": bit, "worth": worth, "say": f"{where}, is {bit}"})
    return places


def _formula(now) -> list[list]:
    """Return the value as a product, each part with the field it comes from."""
    fmt = now.fmt
    if now.kind in (Kind.NAN, Kind.INFINITY):
        ones = [["exponent", "exponent field"], ["", " all ones"], ["", ": no number but a signal"]]
        return ones if fmt.has_infinities else [["", "the one code kept for NaN"]]
    if fmt.is_integer:
        if not fmt.sign_bits:
            return [["mantissa", f"{int(now.mantissa, 2):,}"]]
        weight = f"{int(now.sign)} × −2{raised(fmt.bits - 1)}"
        return [["sign", weight], ["", " + "], ["mantissa", str(int(now.mantissa, 2))]]
    sign = [["sign", "−" if now.sign == "1" else "+"]] if fmt.sign_bits else []
    field, hidden = now.exponent_field, int(now.exponent_field > 0)
    power, fraction = f"2^({field or 1} − {fmt.bias})", number_text(now.significand - hidden)
    end = f")  =  2{raised(now.power)} × {number_text(now.significand)}"
    product = [["", " "], ["exponent", power], ["", f" × ({hidden} + "], ["mantissa", fraction]]
    return [*sign, *product, ["", end]]


def _kind_text(now) -> str:
    kind, more = _SAYS["kinds"][now.kind]
    return kind + more * bool(now.fmt.sign_bits if now.kind is Kind.INTEGER else now.sign == "1")


def _other(now, fmt) -> dict:
    """Return what another format makes of the present value."""
    if isfinite(now.value):
        landing = land(now.value, fmt)
        code, outcome = landing.code, str(landing.outcome)
        said = "exact" if landing.outcome is Outcome.EXACT else say_landing(landing, fmt)[3]
    else:
        try:
            code = int(cast_to_bits(now.value, fmt))
        except ValueError:
            return {"format": fmt.name, **_SAYS["refused"]}
        value = from_bits(code, fmt)
        same = isnan(value) == isnan(now.value) and not isfinite(value)
        outcome, said = ("exact", "the same") if same else ("saturated", "has no infinity")
    there = dissect(code, fmt)
    told = {"outcome": outcome, "said": said}
    return {"format": fmt.name, "value": number_text(there.value, fmt), "hex": there.hex, **told}


def _range_map(now) -> dict:
    """Return the format's whole range as shares of a line: ticks, names, and where we are."""
    fmt, value, captions = now.fmt, now.value, _SAYS["captions"]
    if not fmt.exponent_bits:
        low, wide = fmt.min, fmt.max - fmt.min
        marks = [[(v - low) / wide, number_text(v)] for v in sorted({low, 0.0, fmt.max})]
        places = {"marks": marks, "here": (value - low) / wide if isfinite(value) else None}
        return {"ticks": [i / 16 for i in range(17)], "caption": captions["even"], **places}
    tiny, top = log2(fmt.smallest_subnormal), log2(fmt.max)
    centre, half = (0.5, 0.47) if fmt.sign_bits else (0.02, 0.95)

    def share(v):
        if not isfinite(v):
            return None if isnan(v) else float(v > 0)
        if v == 0:
            return centre
        along = 0.06 + 0.94 * (log2(abs(v)) - tiny) / max(top - tiny, 1e-9)
        return centre + copysign(half * along, v)

    step = next(s for s in (1, 2, 4, 8, 16) if s * 45 >= top - tiny)
    powers = range(frexp(fmt.smallest_subnormal)[1] - 1, frexp(fmt.max)[1], step)
    signs = (1, -1) if fmt.sign_bits else (1,)
    ticks = [centre, *(share(sign * 2.0**p) for p in powers if 2.0**p <= fmt.max for sign in signs)]
    end = float("inf") if fmt.has_infinities else fmt.max
    ends = [(s * end, number_text(s * end, fmt).replace("infinity", "∞")) for s in signs]
    marks = [[centre, "0"], *([share(v), words] for v, words in ends)]
    least = fmt.smallest_subnormal
    named = [v for v in (1.0, fmt.smallest_normal, least, fmt.max) if least <= v <= fmt.max]
    marks += [[share(s * v), number_text(s * float(f"{v:.3g}"))] for v in named for s in signs]
    normal, zone = fmt.smallest_normal, None
    if isfinite(normal):
        zone = [share(-normal if fmt.sign_bits else 0), share(normal)]
    each = "each tick a power of two" if step == 1 else f"ticks: factors of 2{raised(step)}"
    caption = captions["powers"].format(each=each)
    return {"ticks": ticks, "marks": marks, "here": share(value), "zone": zone, "caption": caption}


def _close(now) -> list:
    """Return the nine numbers around the present one, as (share of the line, text, is it)."""
    if not isfinite(now.value):
        return []
    codes = (step_code(now.code, now.fmt, k) for k in range(-4, 5))
    around = sorted(set(filter(isfinite, (float(from_bits(code, now.fmt)) for code in codes))))
    place = linear(around[0], around[-1], 0.05, 0.95)
    return [[place(v), number_text(v, now.fmt), v == now.value] for v in around]


def _power_of_two(value) -> str:
    """Return ``2^-5 = `` for powers of two that read better so, else nothing."""
    mantissa, exponent = frexp(value)
    return f"2{raised(exponent - 1)} = " if mantissa == 0.5 and not 0 < exponent < 6 else ""
