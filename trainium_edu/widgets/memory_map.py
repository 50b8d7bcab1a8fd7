"""SBUF and PSUM over time: what lies where, from its first to its last access."""

from collections.abc import Sequence

from trainium_edu.specs.signatures import checked
from trainium_edu.widgets.timeline_explorer import TimelineExplorer

__all__ = ["MemoryMap", "memory_map"]


class MemoryMap(TimelineExplorer):
    """The memories of a run; ``link(explorer, map)`` gives it the explorer's clock."""


@checked
def memory_map(
    source, *, sliders: bool = False, buffers=None, window: Sequence | None = None
) -> MemoryMap:
    """Show SBUF and PSUM over time, tile by tile.

    Parameters
    ----------
    source : CoreTimeline, Run or Program
    sliders : bool
        DMA bandwidth, clocks, buffers.
    buffers : int or dict, optional
        With a Program.
    window : (low, high), ns, optional

    Returns
    -------
    MemoryMap

    Raises
    ------
    TypeError
        If there is no timed program in `source`.
    """
    shown = MemoryMap(source, panels=("memory",), sliders=sliders, buffers=buffers, window=window)
    if shown.core is None:
        raise TypeError("a plain Timeline has no memories; give the timed program behind it")
    return shown
