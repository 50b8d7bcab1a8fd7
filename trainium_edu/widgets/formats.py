"""Range against precision with real data below; an eight-bit float of your own, by sliders."""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from trainium_edu.numerics import FORMATS, configure, get_format, range_of
from trainium_edu.numerics.grid import number_text
from trainium_edu.numerics.quantisation import quantise
from trainium_edu.specs import arguments
from trainium_edu.specs.signatures import checked
from trainium_edu.training.samples import SAMPLES, sample
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.formats import colour_of, draw_code_points, draw_range_precision, label_of
from trainium_edu.viz.units import raised
from trainium_edu.widgets.number_line import short_number
from trainium_edu.widgets.quantisation import ratio_text
from trainium_edu.widgets.sketch import RECIPES, Page, say, sketch

__all__ = ["cfp8", "cfp8_explorer", "range_explorer"]

_FLOATS = ("fp32", "tf32", "bf16", "fp16", "fp8_e3m4", "fp8_e4m3", "fp8_e5m2")
_COMPARED = ("fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4")
_OFFERED = {"none": "no data", **{k: k for k in SAMPLES if k != "digit"}}


@checked
def range_explorer(data: str = "gradients", *, formats: Sequence = _FLOATS):
    """Show how far formats reach and how finely they count, and whether real data fit.

    Parameters
    ----------
    data : {"none", "weights", "gradients", "activations", "photo"}
        What the histogram shows first.
    formats : sequence of Format or str

    Returns
    -------
    Sketch
        Values ``data`` and ``power`` (the data are multiplied by ``2**power``).

    Examples
    --------
    >>> range_explorer("gradients", formats=["bf16", "fp16"])
    Sketch('Range against precision; of 3134 gradients become zero: BF16 0, FP16 18')
    """
    formats = [get_format(f) for f in formats]
    arguments.choice(data, "data", _OFFERED)
    offered = {"options": _OFFERED, "value": data, "help": "; ".join(SAMPLES.values())}
    words = []
    if data != "none":
        lost = ", ".join(f"{label_of(f)} {quantise(sample(data), f).vanished}" for f in formats)
        words = say("range", "words", count=np.count_nonzero(sample(data)), data=data, lost=lost)
    return sketch("range", lambda v: _range_page(formats, v), words=words, data=offered)


def _range_page(formats, values) -> Page:
    """Draw the formats, the data, and the table of what each format would lose."""
    power, name = int(values["power"]), values["data"]
    x = None if name == "none" else sample(name)
    scene = draw_range_precision(formats, values=x, label=name, power=power, width=values["width"])
    rows, lost, said, recipe = [], [], [], RECIPES["range"]
    for fmt in formats:
        cells = [label_of(fmt), str(fmt.mantissa_bits + (fmt.exponent_bits > 0)), *_ends(fmt)]
        if x is not None:
            q = quantise(x, fmt, power=power)
            cells += map(str, (q.vanished, q.subnormal, q.saturated))
            if q.vanished or q.saturated:
                lost.append(label_of(fmt))
        rows.append({"cells": cells, "colour": colour_of(fmt)})
    if x is not None:
        sizes = np.ldexp(np.abs(x[x != 0].astype(float)), power)
        (fate,) = say("range", "lost" if lost else "held", lost=", ".join(lost))
        times = f", multiplied by 2{raised(power)}," if power else ""
        ends = [_short(sizes.min()), _short(sizes.max())]
        said = say("range", count=sizes.size, data=name, times=times, fate=fate, ends=ends)
    head = recipe["head"] + recipe["head_of_data"] * (x is not None)
    return Page(scene, said, {"power": f"2{raised(power)}"}, head=head, rows=rows)


@checked
def cfp8(exponent_bits: int, shift: int = 0, *, infinities: bool = True, nan: bool = True):
    """Configure an eight-bit float: sign, `exponent_bits`, and what is left for the mantissa.

    Parameters
    ----------
    exponent_bits : int
        1 to 6.
    shift : int, optional
        Added to IEEE 754's bias ``2^(exponent_bits - 1) - 1``; each step halves all numbers.
    infinities, nan : bool, optional
        As in :func:`~trainium_edu.numerics.configure`; infinities bring NaN with them.

    Returns
    -------
    Format

    Examples
    --------
    >>> cfp8(4, 4, infinities=False).max
    28.0
    """
    exponent_bits = arguments.whole(exponent_bits, "exponent_bits", 1, 6)
    bias = 2 ** (exponent_bits - 1) - 1 + shift
    return configure(
        exponent_bits, 7 - exponent_bits, bias=bias, infinities=infinities, nan=nan or infinities
    )


@checked
def cfp8_explorer(data: str = "weights"):
    """Split eight bits your own way and see what numbers come out.

    Parameters
    ----------
    data : {"none", "weights", "gradients", "activations", "photo"}
        Real data whose error in the format is shown.

    Returns
    -------
    Sketch
        Values ``exponent``, ``shift``, ``infinities``, ``nan``, ``compared`` and ``data``.

    Examples
    --------
    >>> cfp8_explorer()
    Sketch('Configurable FP8')
    """
    arguments.choice(data, "data", _OFFERED)
    compared = {"none": "nothing", **{name: label_of(name) for name in _COMPARED}}
    offers = {"data": {"options": _OFFERED, "value": data}, "compared": {"options": compared}}
    return sketch("cfp8", _cfp8_page, words=(), **offers)


def _cfp8_page(values) -> Page:
    """Draw the code points of the configured format, and its table."""
    exponent, shift, data = values["exponent"], values["shift"], values["data"]
    fmt = cfp8(exponent, shift, infinities=values["infinities"], nan=values["nan"])
    compared = None if values["compared"] == "none" else FORMATS[values["compared"]]
    scene = draw_code_points(fmt, compared, width=values["width"])
    said, rows, recipe = [], [], RECIPES["cfp8"]
    for f in [fmt, compared] if compared else [fmt]:
        is_own = f is fmt
        name = f"1-{f.exponent_bits}-{f.mantissa_bits}, bias {f.bias}" if is_own else label_of(f)
        ulp = number_text(f.epsilon) if f.smallest_normal <= 1 <= f.max else "—"
        reach = range_of(f)
        cells = [name, str(reach.finite_values), *_ends(f), ulp]
        cells += [f"{reach.binades:.1f}", _specials(f)]
        if data != "none":
            q = quantise(sample(data), f)
            cells += [ratio_text(q, "exact", " dB"), str(q.vanished), str(q.saturated)]
            said = said or say("cfp8", q=q, data=data, ratio=cells[-3])
        colour = COLOURS["blue"] if is_own else colour_of(f)
        rows.append({"cells": cells, "colour": colour, "marked": is_own})
    outputs = {"exponent": f"{exponent} (mantissa {7 - exponent})", "shift": f"{fmt.bias}"}
    head = recipe["head"] + recipe["head_of_data"] * (data != "none")
    return Page(scene, said, outputs, head=head, rows=rows)


def _specials(fmt) -> str:
    """Count the codes that stand for no finite number."""
    infinite = 2 if fmt.has_infinities else 0
    rest = (1 << fmt.bits) - 2 * (fmt.max_code + 1) - infinite
    counts = ((infinite, "∞"), (rest, "NaN"))
    return ", ".join(f"{count} {name}" for count, name in counts if count) or "none"


def _ends(fmt) -> list[str]:
    """Return the largest number, the smallest normal one, and the smallest at all."""
    return [_short(v) for v in (fmt.max, fmt.smallest_normal, fmt.smallest_subnormal)]


def _short(value: float) -> str:
    """Return a number in about three digits, or a dash for none."""
    return short_number(value) if isfinite(value) else "—"
