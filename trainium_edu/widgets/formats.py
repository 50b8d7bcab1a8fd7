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
from trainium_edu.viz.formats import colour_of, draw_code_points, draw_range_precision, label_of
from trainium_edu.viz.units import raised
from trainium_edu.widgets.number_line import short_number
from trainium_edu.widgets.quantisation import ratio_text
from trainium_edu.widgets.sketch import RECIPES, Page, say, sketch

__all__ = ["cfp8", "cfp8_explorer", "range_explorer"]

_FLOATS = ("fp32", "tf32", "bf16", "fp16", "fp8_e3m4", "fp8_e4m3", "fp8_e5m2")
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
        words = [f"of {np.count_nonzero(sample(data))} {data} become zero: {lost}"]
    return sketch("range", lambda v: _range_page(formats, v), words=words, data=offered)


def _range_page(formats, values) -> Page:
    """Draw the formats, the data, and the table of what each format would lose."""
    power, name = int(values["power"]), values["data"]
    x = None if name == "none" else sample(name)
    scene = draw_range_precision(formats, values=x, label=name, power=power, width=values["width"])
    head, (rows, lost) = RECIPES["range"]["head"], ([], [])
    for fmt in formats:
        reach = range_of(fmt)
        cells = [label_of(fmt), str(fmt.mantissa_bits + (fmt.exponent_bits > 0))]
        cells += [_short(v) for v in (fmt.max, reach.smallest_normal, reach.smallest_subnormal)]
        if x is not None:
            q = quantise(x, fmt, power=power)
            cells += [f"{q.vanished}", f"{q.subnormal}", f"{q.saturated}"]
            if q.vanished or q.saturated:
                lost.append(label_of(fmt))
        rows.append({"cells": cells, "colour": colour_of(fmt)})
    said = []
    if x is not None:
        head = [*head, *RECIPES["range"]["head_of_data"]]
        sizes = np.ldexp(np.abs(x[x != 0].astype(float)), power)
        (fate,) = say("range", "lost" if lost else "held", lost=", ".join(lost))
        times = f", multiplied by 2{raised(power)}," if power else ""
        said = say("range", count=np.count_nonzero(x), data=name, times=times, fate=fate,
                   low=_short(sizes.min()), high=_short(sizes.max()))  # fmt: skip
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
    named = {n: label_of(n) for n in ("fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn", "fp8_e3m4")}
    return sketch("cfp8", _cfp8_page, words=(), data={"options": _OFFERED, "value": data},
                  compared={"options": {"none": "nothing", **named}})  # fmt: skip


def _cfp8_page(values) -> Page:
    """Draw the code points of the configured format, and its table."""
    exponent, shift = int(values["exponent"]), int(values["shift"])
    flags = {"infinities": values["infinities"], "nan": values["nan"]}
    fmt = cfp8(exponent, shift, **flags)
    compared = None if values["compared"] == "none" else FORMATS[values["compared"]]
    scene = draw_code_points(fmt, compared, width=values["width"])
    formats = [fmt] + ([compared] if compared else [])
    head, said = RECIPES["cfp8"]["head"], []
    if values["data"] != "none":
        found = [quantise(sample(values["data"]), f) for f in formats]
        head = [*head, *RECIPES["cfp8"]["head_of_data"]]
        ratios = [ratio_text(f, "exact", " dB") for f in found]
        said = say("cfp8", q=found[0], data=values["data"], ratio=ratios[0])
    rows = []
    for i, f in enumerate(formats):
        reach, holds_one = range_of(f), f.smallest_normal <= 1 <= f.max
        cells = [f"1-{f.exponent_bits}-{f.mantissa_bits}, bias {f.bias}" if i == 0 else label_of(f),
                 str(reach.finite_values), _short(f.max), _short(f.smallest_normal),
                 _short(f.smallest_subnormal),
                 number_text(f.epsilon) if holds_one else "—", f"{reach.binades:.1f}",
                 _specials(f)]  # fmt: skip
        if values["data"] != "none":
            cells += [ratios[i], str(found[i].vanished), str(found[i].saturated)]
        rows.append({"cells": cells, "colour": colour_of(f) if i else "#0072B2", "marked": i == 0})
    outputs = {"exponent": f"{exponent} (mantissa {7 - exponent})", "shift": f"{fmt.bias}"}
    return Page(scene, said, outputs, head=head, rows=rows)


def _specials(fmt) -> str:
    """Count the codes that stand for no finite number."""
    codes = (1 << fmt.bits) - 2 * (fmt.max_code + 1)
    infinite = 2 if fmt.has_infinities else 0
    parts = [f"{infinite} ∞"] if infinite else []
    parts += [f"{codes - infinite} NaN"] if codes - infinite else []
    return ", ".join(parts) or "none"


def _short(value: float) -> str:
    """Return a number in about three digits, or a dash for none."""
    return short_number(value) if isfinite(value) else "—"
