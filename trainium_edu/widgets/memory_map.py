"""SBUF and PSUM over time: what lies where, from its first to its last access."""

from collections.abc import Sequence

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.memory_map import plot_memory_map
from trainium_edu.widgets.timeline_explorer import TimelineExplorer

__all__ = ["MemoryMap", "memory_map"]


class MemoryMap(TimelineExplorer):
    """The memories of a run; ``link(explorer, map)`` gives it the explorer's clock."""

    def _figure(self):
        window = self.window if self.window[1] > self.window[0] else None
        return plot_memory_map(self._shown, window=window)


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
