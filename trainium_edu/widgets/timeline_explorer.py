"""The timeline explorer: a run's engines, queues, ports and memories, timed again by sliders."""

from collections.abc import Sequence

import traitlets

from trainium_edu.files import tables
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.core_listing import listing_of, listing_to_bytes
from trainium_edu.viz.core_timing import trace_of_core
from trainium_edu.viz.units import time_text
from trainium_edu.widgets.page_widget import PageWidget
from trainium_edu.widgets.retiming import Retiming, Settings, core_of

__all__ = ["TimelineExplorer", "timeline_explorer"]

_PANELS = ("source", "timeline", "memory")
_MOST_ROWS = 200_000
_BAND_ROWS = 2500  # more instructions than this: the band stays with the first timing
#: Sliders over factors, and their ends: a slider has nine steps of one ratio.
_FACTORS = {
    name: [2.0 ** (k / steps) for k in range(-4, 5)] for name, steps in (("dma", 2), ("clock", 4))
}
_SLIDERS, _SWITCHES = tables(__file__).values()


class TimelineExplorer(PageWidget, page="timeline_explorer"):
    """Zoom into a run, ask an instruction what it waited for, and time it again.

    State is a few traits: ``window`` (what is shown first, in ns), ``picked`` (a row of the run, -1
    for none), ``knobs`` (the sliders).  The program goes to the page once (``book``), a timing
    whenever a slider moves (``film``), both as bytes.

    Parameters
    ----------
    source : CoreTimeline, Run or Program
    panels : tuple of str
        Some of ``"source"``, ``"timeline"``, ``"memory"``.
    sliders : bool
        Whether parameters can be moved.
    window : (low, high), ns, optional
        What is shown first; default the whole run.  It may end behind the run, so that two runs
        stand below each other to one scale.

    Raises
    ------
    ValueError
        If there are more instructions than a page can hold.
    """

    book = traitlets.Bytes().tag(sync=True)
    film = traitlets.Bytes().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    panels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    colours = traitlets.Dict().tag(sync=True)
    sliders = traitlets.List().tag(sync=True)
    switches = traitlets.List().tag(sync=True)
    first = traitlets.Dict().tag(sync=True)
    knobs = traitlets.Dict().tag(sync=True)  #: set by the page, or by :meth:`set`
    window = traitlets.List([0.0, 0.0]).tag(sync=True)  #: ns; [0, 0] is the whole run
    picked = traitlets.Int(-1).tag(sync=True)
    picked_line = traitlets.Int(0).tag(sync=True)  #: number of a source line, 0 for none

    def __init__(self, source, *, panels=("timeline", "memory"), sliders=True, window=None):
        core = core_of(source)
        if core.rows > _MOST_ROWS:
            raise ValueError(
                f"this run has {core.rows} instructions, and a page shows at most {_MOST_ROWS}; "
                "time a part of it (fewer turns of a loop), which looks the same"
            )
        self._is_ready = False
        self._retiming, self._core = Retiming(core), core
        self._shown = self._trace(core, band=True)
        first = self._retiming.first
        knobs = {name: getattr(first, name) for name in _SLIDERS}
        knobs |= {name: row["cause"] in first.without for name, row in _SWITCHES.items()}
        window = list(map(float, (0, 0) if window is None else window))
        state = {"panels": [p for p in _PANELS if p in panels], "colours": ENGINE, "window": window}
        if sliders:
            state["sliders"] = self._sliders()
            state["switches"] = [{"name": name, **row} for name, row in _SWITCHES.items()]
        book, label = listing_to_bytes(listing_of(core.program)), f"timeline of {core.program.name}"
        film = self._shown.to_bytes(baseline=self._shown.makespan_ns)
        super().__init__(book=book, film=film, label=label, first=knobs, knobs=knobs, **state)
        self._is_ready = True

    # -- settings and timings -------------------------------------------------------------------

    @property
    def core(self) -> CoreTimeline:
        """The timing that is shown."""
        return self._core

    @property
    def makespan_ns(self) -> float:
        """How long the run takes under the present settings."""
        return self._shown.makespan_ns

    def set(self, **knobs):
        """Move sliders from Python: ``dma``, ``clock`` (factors), ``buffers``, ``no_ports`` ...

        Raises
        ------
        ValueError
            If there is no such slider, or it does not take that value.
        """
        for name, value in knobs.items():
            if name not in self.first:
                raise ValueError(f"no slider {name!r}; there are {', '.join(self.first)}")
            if not self._fits(name, value):
                takes = _SLIDERS.get(name, {}).get("takes", "it takes True or False")
                raise ValueError(f"{name} does not take {str(value)[:40]}; {takes}")
        self.knobs = {**self.knobs, **knobs}

    def _sliders(self):
        options = {n: [[x, f"{x:.3g} ×"] for x in factors] for n, factors in _FACTORS.items()}
        given = [[-1, "as given"]] if self._retiming.first.buffers == -1 else []
        options["buffers"] = [*given, [0, "as fits"], *([b, str(b)] for b in range(1, 9))]
        return [{"name": n, "options": options[n], **row} for n, row in _SLIDERS.items()]

    def _fits(self, name, value):
        if name in _SWITCHES:
            return isinstance(value, bool)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if name in _FACTORS:
            return _FACTORS[name][0] <= value <= _FACTORS[name][-1]
        return value in (*range(9), self._retiming.first.buffers)

    @traitlets.observe("knobs")
    def _retime(self, change):
        if not self._is_ready:
            return
        asked = {n: v for n, v in change["new"].items() if n in self.first}
        knobs = self.first | {n: v for n, v in asked.items() if self._fits(n, v)}
        without = frozenset(row["cause"] for n, row in _SWITCHES.items() if knobs[n])
        settings = Settings(**{n: knobs[n] for n in _SLIDERS}, without=without)
        ask = {"ask": change["new"].get("ask", 0)}
        try:
            core = self._retiming.time(settings)
        except NkiValidationError as error:
            self.film = self._shown.to_bytes(refused=str(error).split("\n")[0], **ask)
            return
        self._core = core
        self._shown = self._trace(core, band=core.rows <= _BAND_ROWS)
        self.film = self._shown.to_bytes(**ask)

    def _trace(self, core, *, band):
        return trace_of_core(core, band=self._retiming.times(core).ends() if band else None)

    def __repr__(self):
        name, rows = self._core.program.name, self._core.rows
        took = time_text(self.makespan_ns)
        return f"{type(self).__name__}({name!r}, {rows} instructions, {took})"


@checked
def timeline_explorer(
    source, *, memory: bool = True, sliders: bool = True, window: Sequence | None = None
):
    """Show when everything ran on a NeuronCore, and let sliders time it again.

    Parameters
    ----------
    source : CoreTimeline, Run or Program
        A Program is optimised, placed and timed first.
    memory : bool
        SBUF and PSUM below the engines.
    sliders : bool
        DMA bandwidth, clocks, buffers, and causes to take away.
    window : (low, high), ns, optional

    Returns
    -------
    TimelineExplorer

    Examples
    --------
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> timeline_explorer(NeuronCore(name="idle").program)
    TimelineExplorer('idle', 0 instructions, 0 ns)
    """
    panels = ("timeline", "memory") if memory else ("timeline",)
    return TimelineExplorer(source, panels=panels, sliders=sliders, window=window)
