"""A kernel's source beside its time: a line, its instructions and its tiles light up together."""

from collections.abc import Sequence

from trainium_edu.specs.signatures import checked
from trainium_edu.widgets.timeline_explorer import TimelineExplorer

__all__ = ["KernelView", "kernel_view"]


class KernelView(TimelineExplorer):
    """Source lines with their share of the critical path, engines, and memories."""


@checked
def kernel_view(
    run, *, memory: bool = True, sliders: bool = True, window: Sequence | None = None
) -> KernelView:
    """Show which line of a kernel took which time, and where its data lay.

    Parameters
    ----------
    run : Run, CoreTimeline or Program
    memory : bool
        SBUF and PSUM below the engines.
    sliders : bool
        DMA bandwidth, clocks, buffers.
    window : (low, high), ns, optional

    Returns
    -------
    KernelView
        Without source lines (a program loaded from a file elsewhere) only time and memory.

    Raises
    ------
    TypeError
        If there is no timed program in `run`.
    """
    panels = ("source", "timeline", "memory") if memory else ("source", "timeline")
    return KernelView(run, panels=panels, sliders=sliders, window=window)
