"""Why looking up rows is slow: a descriptor's bytes against its time, and against DMA's rate."""

from collections.abc import Sequence

import numpy as np

from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.signatures import checked
from trainium_edu.training.lookups import Pace
from trainium_edu.viz.style import COLOURS, figure, ink
from trainium_edu.viz.units import size_text

__all__ = ["describe_paces", "plot_paces"]


@checked
def plot_paces(paces: Sequence[Pace], *, spec: Record = TRN1):
    """Plot time per row, and the share of DMA's rate, against the width of an embedding.

    Parameters
    ----------
    paces : sequence of training.Pace
        In order of their widths.
    spec : Record
        Whose documented sizes are marked.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from trainium_edu.training import lookup_paces
    >>> [ax.get_ylabel() for ax in plot_paces(lookup_paces([64, 128])).axes]
    ['ns', '% of 272 GB/s']
    """
    if len(paces) == 0:
        raise ValueError("paces is empty; a curve needs the pace of one width or more")
    fig = figure(9, 3.5, margins=(0.7, 0.2, 0.74, 0.35))
    time, share = fig.subplots(1, 2, gridspec_kw={"wspace": 0.28})
    widths = [one.width for one in paces]
    rate = float(spec.dma.bytes_per_s) / 1e9
    time.plot(widths, [one.row_bytes / rate for one in paces], color=ink("muted"),
              linestyle=(0, (4, 3)), label="its bytes at the documented rate")  # fmt: skip
    time.plot(widths, [one.ns_per_row for one in paces], color=COLOURS["blue"], marker="o",
              markersize=4, label="a lookup on our clock")  # fmt: skip
    time.set(yscale="log", ylabel="ns", title="Time per row")
    time.yaxis.set_major_formatter(lambda value, place: f"{value:g}")
    low, middle, high = 100 * np.array([one.descriptors_alone for one in paces]).T
    share.fill_between(widths, low, high, color=COLOURS["orange"], alpha=0.2, linewidth=0)
    share.plot(widths, middle, color=COLOURS["orange"], label="descriptors alone, from the facts")
    share.plot(widths, [100 * one.share for one in paces], color=COLOURS["blue"], marker="o",
               markersize=4, label="a lookup on our clock")  # fmt: skip
    share.set(ylim=(0, 118), ylabel=f"% of {rate:.0f} GB/s", title="How much of DMA's rate is used")
    size = paces[0].row_bytes / paces[0].width
    marks = {"very poor below": spec.dma.very_poor_below_bytes, "good": spec.dma.good_from_bytes,
             "best": spec.dma.saturated_from_bytes}  # fmt: skip
    for words, fact in marks.items():
        width = float(fact) / size
        if not widths[0] <= width <= widths[-1]:
            continue
        share.axvline(width, color=ink("muted"), linewidth=0.8, linestyle=":")
        side = "left" if words == "best" else "right"
        share.annotate(words, (width, 104 if words == "good" else 111), fontsize=8, ha=side,
                       xytext=(3 if side == "left" else -3, 0), textcoords="offset points",
                       color=ink("muted"), va="center")  # fmt: skip
    names = [f"{one.width}\n{size_text(one.row_bytes)}" for one in paces]
    if len(names) > 6:
        names[1::2] = [""] * (len(names) // 2)  # all of them run into each other
    for ax in (time, share):
        ax.set_xscale("log", base=2)
        ax.set_xticks(widths, names, fontsize=8)
        ax.minorticks_off()
        ax.set_xlabel("numbers in a row, and bytes of its descriptor")
        ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, 0.88 if ax is share else 1))
    return fig


@checked
def describe_paces(paces: Sequence[Pace]) -> str:
    """Say both curves in a table, for readers and for screen readers.

    Examples
    --------
    >>> from trainium_edu.training import lookup_paces
    >>> describe_paces(lookup_paces([64])).split()[:4]
    ['numbers', 'in', 'a', 'row']
    """
    lines = ["numbers in a row   bytes   ns per row   of DMA's rate"]
    lines += [f"{one.width:16,}{one.row_bytes:8,}{one.ns_per_row:13.1f}{one.share:15.1%}"
              for one in paces]  # fmt: skip
    return "\n".join(lines)
