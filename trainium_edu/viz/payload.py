"""What a DMA moves per second, against the length of its rows."""

import numpy as np

from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.signatures import Numbers, checked
from trainium_edu.viz.style import COLOURS, figure, ink
from trainium_edu.viz.units import size_text

__all__ = ["describe_payload", "plot_payload"]


@checked
def plot_payload(
    row_bytes: Numbers,
    alone: Numbers,
    stream: Numbers,
    low: Numbers,
    high: Numbers,
    *,
    spec: Record = TRN1,
):
    """Plot rates against row length, with what is published.

    Parameters
    ----------
    row_bytes : sequence of int
        Contiguous bytes per partition.
    alone, stream : sequences of float
        GB/s of one transfer, and of many in flight.
    low, high : sequences of float
        The band of `stream`.
    spec : Record

    Returns
    -------
    Figure
    """
    fig = figure(5.6, 3.6, margins=(0.62, 0.2, 0.52, 0.3))
    ax = fig.add_subplot()
    ax.fill_between(row_bytes, low, high, color=COLOURS["blue"], alpha=0.18, linewidth=0)
    ax.plot(row_bytes, stream, color=COLOURS["blue"], marker="o", markersize=3.5)
    ax.plot(row_bytes, alone, color=COLOURS["orange"], marker="s", markersize=3.5)
    sustained = float(spec.dma.bytes_per_s) / 1e9
    ax.axhline(sustained, color=ink("muted"), linewidth=0.8, linestyle=(0, (4, 3)))
    ax.text(row_bytes[0], sustained + 5, f"documented: {sustained:.0f} GB/s sustained", fontsize=9,
            color=ink("muted"), va="bottom")  # fmt: skip
    points = [(1024, spec.dma.rate_1kib_rows), (4096, spec.dma.rate_sustained)]
    for (where, fact), (x, y, side) in zip(
        points, ((-9, 4, "right"), (-4, 32, "right")), strict=True
    ):
        rate = float(np.mean(fact.value)) / 1e9
        ax.plot(where, rate, "D", color=COLOURS["green"], markersize=6)
        ax.annotate(
            f"{fact.kind}: about {rate:.0f}", (where, rate), fontsize=9,
            xytext=(x, y), textcoords="offset points", color=COLOURS["green"], ha=side,
        )  # fmt: skip
    ax.axvline(256, color=ink("muted"), linewidth=0.8, linestyle=":")
    ax.text(248, sustained * 0.46, "documented: under 256 B\n“very poor”, no figure", fontsize=9,
            color=ink("muted"), ha="right")  # fmt: skip
    for name, rates, side, x in (
        ("many in flight", stream, "right", -10),
        ("one alone", alone, "left", 10),
    ):  # beside the steepest part
        k = max(range(1, len(rates)), key=lambda i: rates[i] - rates[i - 1])
        middle = (row_bytes[k] * row_bytes[k - 1]) ** 0.5, (rates[k] + rates[k - 1]) / 2
        ax.annotate(
            name, middle, xytext=(x, 0), textcoords="offset points",
            color=ink(), fontsize=9, ha=side, va="center",
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    ticks = [b for b in row_bytes if b.bit_length() % 2]
    ax.set_xticks(ticks, list(map(size_text, ticks)))
    ax.minorticks_off()
    ax.set_ylim(0, max(sustained, *stream, *high) * 1.08)
    ax.set_xlabel("bytes per row: contiguous in HBM and in one partition")
    ax.set_ylabel("GB/s")
    return fig


def describe_payload(row_bytes, stream) -> str:
    """Say the curve in a sentence, for screen readers."""
    pairs = ", ".join(f"{size_text(b)}: {r:.0f}" for b, r in zip(row_bytes, stream, strict=True))
    return f"GB/s of many transfers in flight by row length: {pairs}"
