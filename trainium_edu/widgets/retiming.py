"""One program, timed again with other buffers, bandwidths and clocks; it is not run again."""

from dataclasses import dataclass
from functools import lru_cache

from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.bands import Times
from trainium_edu.neuroncore.timing.measure import measure
from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.neuroncore.timing.scheduler import schedule
from trainium_edu.neuroncore.timing.timeline import CoreTimeline

__all__ = ["Retiming", "core_of"]

_CLOCKS = tuple(f"{e}_clock_hz" for e in ("tensor", "vector", "scalar", "gpsimd"))
_MOST_KEPT = 6  # placements
_DMA = ("packet", "far_packet", "buffer", "row", "turnaround", "burst_turnaround")
_DMA_TIMES = tuple(f"dma_{name}_ns" for name in _DMA)


def core_of(source) -> CoreTimeline:
    """Return the CoreTimeline in what was given.

    Parameters
    ----------
    source : CoreTimeline, Run or Program
        A Run has a CoreTimeline as ``.timeline``; a Program is optimised, placed and timed.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if isinstance(source, Program):
        return measure(source)
    for found in (source, getattr(source, "timeline", None)):
        if isinstance(found, CoreTimeline):
            return found
    raise TypeError(
        f"there is no timeline of a NeuronCore in a {type(source).__name__}; give a CoreTimeline, "
        "a run of a kernel, or a recorded Program"
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """What the sliders say; 1 is as recorded."""

    dma: float = 1.0  #: times the bandwidth of every queue
    clock: float = 1.0  #: times the clock of every engine
    buffers: int = 0  #: slots per site; 0: as many as fit, -1: as recorded
    without: frozenset = frozenset()  #: causes taken away, see ``neuroncore.timing.causes``


class Retiming:
    """Times one program under :class:`Settings`; the latest placements are kept.

    Parameters
    ----------
    core : CoreTimeline
    """

    def __init__(self, core: CoreTimeline):
        self.core = core
        self.first = Settings(buffers=self._buffers_of(core), without=frozenset(core.without))
        self._placed = lru_cache(_MOST_KEPT)(self._place)

    @staticmethod
    def _buffers_of(core):
        asked = core.placement.buffers
        if asked is None:
            return 0
        return asked if isinstance(asked, int) and 1 <= asked <= 8 else -1

    def time(self, settings: Settings) -> CoreTimeline:
        """Place and schedule under other settings.

        Raises
        ------
        NkiValidationError
            If the tiles do not fit.
        """
        core, without = self.core, settings.without
        if settings == self.first:
            return core
        placement = self._placed(settings.buffers, "buffers" in without)
        parameters = self._parameters(settings)
        return schedule(core.program, placement, core.spec, parameters=parameters, without=without)

    def _place(self, buffers, endless):
        """Return a placement with these buffers; that of the recorded timing is there already."""
        core, first = self.core, self.first
        if (buffers, endless) == (first.buffers, "buffers" in first.without):
            return core.placement
        asked = {0: None, -1: core.placement.buffers}.get(buffers, buffers)
        return place(core.program, core.spec, buffers=asked, endless=endless)

    def times(self, core: CoreTimeline) -> Times:
        """Return the ``Times`` of what ``time`` gave; its ``ends`` bound the makespan.

        As recorded they are the two numbers of its band; a parameter that a slider has multiplied
        keeps its doubt in proportion.
        """
        return Times(core, in_proportion=True)

    def _parameters(self, settings):
        values = dict(self.core.parameters)
        values["dma_bytes_per_s"] *= settings.dma
        for name in _DMA_TIMES:
            values[name] /= settings.dma
        for name in _CLOCKS:
            values[name] *= settings.clock
        return values
