"""Why looking up rows is slow: a descriptor's bytes against its time, and against DMA's rate."""

from collections.abc import Sequence

import numpy as np

from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.signatures import checked
from trainium_edu.training.lookups import Pace
from trainium_edu.viz.chart import Chart, powers_of_ten, round_steps, two_boxes
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.units import size_text

__all__ = ["describe_paces", "draw_paces"]

_OURS, _ALONE = COLOURS["blue"], COLOURS["orange"]
_LOOKUP, _BYTES = "a lookup on our clock", "its bytes at the documented rate"
_DESCRIPTORS = "descriptors alone, from the facts"


@checked
def draw_paces(paces: Sequence[Pace], *, spec: Record = TRN1, width: float = 890.0) -> Scene:
    """Draw time per row, and the share of DMA's rate, against the width of an embedding.

    Parameters
    ----------
    paces : sequence of training.Pace
        In order of their widths.
    spec : Record
        Whose documented sizes are marked.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    if len(paces) == 0:
        raise ValueError("paces is empty; a curve needs the pace of one width or more")
    widths, rate = [one.width for one in paces], float(spec.dma.bytes_per_s) / 1e9
    bytes_ns, ns = [one.row_bytes / rate for one in paces], [one.ns_per_row for one in paces]
    scene, first, second = two_boxes(width, 230.0)
    ends, low = (widths[0] / 1.2, widths[-1] * 1.2), min(*bytes_ns, *ns) / 1.5
    time = Chart(scene, first, ends, (low, max(*bytes_ns, *ns) * 1.5), log="xy")
    share = Chart(scene, second, ends, (0, 118), log="x")
    ticks = [(one.width, size_text(one.row_bytes)) for one in paces[:: 1 + len(paces) // 5]]
    label = "bytes of a row: one descriptor"
    time.axes("Time per row", label, ticks, powers_of_ten(*time.y), unit="ns")
    title = f"Share of {rate:.0f} GB/s that is used"
    share.axes(title, label, ticks, round_steps(0, 100), unit="%")
    time.curve(widths, bytes_ns, "muted", dash="dashed", words=_BYTES)
    lowest, middle, highest = 100 * np.array([one.descriptors_alone for one in paces]).T
    share.band(widths, lowest, highest, _ALONE, words="the band of the facts")
    share.curve(widths, middle, _ALONE, words=_DESCRIPTORS)
    for chart, ours in ((time, ns), (share, [100 * one.share for one in paces])):
        chart.series(widths, ours, _OURS, _LOOKUP, dots=7)
    marks = {
        "very poor below": spec.dma.very_poor_below_bytes,
        "good": spec.dma.good_from_bytes,
        "best": spec.dma.saturated_from_bytes,
    }
    for down, (words, fact) in enumerate(marks.items()):
        at = float(fact) * paces[0].width / paces[0].row_bytes
        if widths[0] <= at <= widths[-1]:
            share.curve([at, at], share.y, "muted", dash="dotted", words=words)
            look = {"anchor": "end", "colour": "muted", "size": 11}
            share.note(at, 118, words, right=-4, down=12 + 13 * (down % 2), **look)
    key = ((_LOOKUP, _OURS), (_BYTES, "muted"), (_DESCRIPTORS, _ALONE))
    scene.height = scene.key(12, scene.height, key) + 10
    return scene


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
    lines += [
        f"{one.width:16,}{one.row_bytes:8,}{one.ns_per_row:13.1f}{one.share:15.1%}" for one in paces
    ]
    return "\n".join(lines)
