"""What a DMA moves per second, against the length of its rows."""

import numpy as np

from trainium_edu.specs import TRN1, Record
from trainium_edu.viz.chart import Chart
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.units import size_text

__all__ = ["describe_payload", "draw_payload"]

_STREAM, _ONE, _FACT = COLOURS["blue"], COLOURS["orange"], COLOURS["green"]


def draw_payload(curve, *, spec: Record = TRN1, width: float = 890.0) -> Scene:
    """Draw rates against row length, with what is published.

    Parameters
    ----------
    curve : PayloadCurve
        ``row_bytes``; GB/s of one transfer ``alone``, and of many in flight, ``stream``, with its
        band: ``low``, ``high``.
    spec : Record
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    row_bytes = curve.row_bytes
    sustained = float(spec.dma.bytes_per_s) / 1e9
    top = max(sustained, *curve.stream, *curve.high) * 1.08
    box, ends = (46, 34, width - 62, 260), (row_bytes[0] / 1.2, row_bytes[-1] * 1.2)
    chart = Chart(Scene(width, 1), box, ends, (0, top), log="x")
    ticks = [(b, size_text(b)) for b in row_bytes[:: 2 if width > 500 else 4]]
    label = "bytes per row: contiguous in HBM and in one partition"
    chart.axes("What a DMA moves per second", label, ticks, unit="GB/s")
    chart.curve(chart.x, [sustained] * 2, "muted", dash="dashed", words="documented")
    words = f"documented: {sustained:.0f} GB/s sustained"
    chart.note(row_bytes[0], sustained, words, down=-6, colour="muted")
    chart.curve([256, 256], [0, 0.55 * top], "muted", dash="dotted", words="very poor below")
    for row, words in enumerate(("documented: under 256 B", "“very poor”, no figure")):
        chart.note(256, 0.5 * top, words, right=-7, down=16 * row, colour="muted", anchor="end")
    words = "the band of many in flight"
    chart.band(row_bytes, curve.low, curve.high, _STREAM, words=words)
    facts = {1024: spec.dma.rate_1kib_rows, 4096: spec.dma.rate_sustained}
    rates = {at: float(np.mean(fact.value)) / 1e9 for at, fact in facts.items()}
    told = ", ".join(f"{facts[at].kind} about {rate:.0f}" for at, rate in rates.items())
    chart.series(row_bytes, curve.stream, _STREAM, "many in flight", dots=7)
    chart.series(row_bytes, curve.alone, _ONE, "one alone", dots=7)
    chart.dots([*rates], [*rates.values()], _FACT, size=11)
    chart.said.append((told, _FACT))
    chart.key_below()
    return chart.scene


def describe_payload(curve) -> str:
    """Say the curve in a sentence, for screen readers."""
    rows = zip(curve.row_bytes, curve.stream, strict=True)
    pairs = ", ".join(f"{size_text(nbytes)}: {rate:.0f}" for nbytes, rate in rows)
    return f"GB/s of many transfers in flight by row length: {pairs}"
