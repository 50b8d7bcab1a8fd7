"""Round a real weight matrix or a real image to any format and see what is left."""

from collections.abc import Sequence
from functools import lru_cache, partial
from math import isfinite

from trainium_edu.numerics import get_format
from trainium_edu.numerics.quantisation import best_power, quantise
from trainium_edu.specs import arguments
from trainium_edu.specs.signatures import checked
from trainium_edu.training.samples import SAMPLES, sample
from trainium_edu.viz.formats import colour_of, label_of
from trainium_edu.viz.quantisation import draw_quantised
from trainium_edu.viz.units import raised
from trainium_edu.widgets.number_line import share_of
from trainium_edu.widgets.sketch import RECIPES, Page, say, sketch

__all__ = ["quantise_explorer"]

_FORMATS = ("tf32", "fp16", "bf16", "fp8_e3m4", "fp8_e4m3", "fp8_e5m2", "int8")
_POWERS = 20


@checked
def quantise_explorer(data: str = "weights", fmt="fp8_e4m3", *, formats: Sequence = _FORMATS):
    """Show a real array before and after rounding under a wipe, and its error in every format.

    Parameters
    ----------
    data : {"weights", "gradients", "activations", "digit", "photo"}
    fmt : Format or str
        The format shown first.
    formats : sequence of Format or str
        Those offered and listed in the table.

    Returns
    -------
    Sketch
        Values ``data``, ``format``, ``power`` and ``infinity``; the button "fit" chooses the
        largest power of two with which nothing is too large.

    Examples
    --------
    >>> quantise_explorer("digit", "fp8_e5m2", formats=["bf16"])
    Sketch('Quantise real data; digit, SNR in dB: BF16 exact, FP8 E5M2 27.8')
    """
    offered = {f.name: f for f in (*map(get_format, formats), get_format(fmt))}
    arguments.choice(data, "data", SAMPLES)
    labels = {name: label_of(each) for name, each in offered.items()}

    def fit(values):
        best = best_power(sample(values["data"]), offered[values["format"]])
        return {"power": max(-_POWERS, min(_POWERS, best))}

    found = (_quantised(data, f, 0, "saturate") for f in offered.values())
    first = ", ".join(f"{label_of(q.fmt)} {ratio_text(q, 'exact')}" for q in found)
    draw, words = partial(_page, offered), [f"{data}, SNR in dB: {first}"]
    samples = {"options": dict(zip(SAMPLES, SAMPLES, strict=True)), "value": data}
    samples["help"] = "; ".join(SAMPLES.values())
    chosen = {"options": labels, "value": get_format(fmt).name}
    return sketch("quantise", draw, press={"fit": fit}, words=words, data=samples, format=chosen)


@lru_cache(maxsize=512)
def _quantised(name, fmt, power, overflow):
    """Quantise once per setting; a table of all formats is asked for again and again."""
    return quantise(sample(name), fmt, power=power, overflow=overflow)


def _page(offered, values) -> Page:
    """Draw one format's result, and the table of all."""
    name, power = values["data"], values["power"]
    overflow = "infinity" if values["infinity"] else "saturate"
    found = {k: _quantised(name, f, power, overflow) for k, f in offered.items()}
    q = found[values["format"]]
    scene = draw_quantised(sample(name), q, title=name, width=values["width"])
    ratio = ratio_text(q, "no error", " dB")
    said = say("quantise", label=label_of(q.fmt), ratio=ratio, worst=_worst(q), q=q)
    rows = []
    for key, r in found.items():
        counts = map(str, (r.vanished, r.subnormal, r.saturated, r.exact))
        cells = [label_of(r.fmt), str(r.fmt.bits), ratio_text(r, "exact"), _worst(r), *counts]
        marked = key == values["format"]
        rows.append({"cells": cells, "colour": colour_of(r.fmt), "marked": marked})
    outputs = {"power": f"2{raised(power)}"}
    return Page(scene, said, outputs, head=RECIPES["quantise"]["head"], rows=rows)


def ratio_text(q, no_error, unit="") -> str:
    """Return a signal-to-noise ratio to a tenth, or a word."""
    if isfinite(q.snr_db):
        return f"{q.snr_db:.1f}{unit}"
    return no_error if q.snr_db > 0 else "none"


def _worst(q) -> str:
    worst = q.max_relative_error
    if worst == 0:
        return "0"
    return share_of(worst) if isfinite(worst) else "infinite"
