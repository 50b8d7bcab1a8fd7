"""The timeline explorer: a run's engines, queues, ports and memories, timed again by sliders."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import anywidget
import traitlets

from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.neuroncore.timing.why import why
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.core_listing import listing_of, listing_to_bytes
from trainium_edu.viz.core_timing import trace_of_core
from trainium_edu.viz.core_trace import trace_of_timeline
from trainium_edu.viz.units import time_text
from trainium_edu.widgets.retiming import Retiming, Settings, core_of
from trainium_edu.widgets.static import load

__all__ = ["TimelineExplorer", "timeline_explorer"]

_PANELS = ("source", "timeline", "memory")
_MOST_ROWS = 200_000
_BAND_ROWS = 2500  # more instructions than this: the band stays with the first timing
_DMA = [(2.0 ** (k / 2), f"{2.0 ** (k / 2):.3g} ×") for k in range(-4, 5)]
_CLOCK = [(2.0 ** (k / 4), f"{2.0 ** (k / 4):.3g} ×") for k in range(-4, 5)]
_SLIDERS, _SWITCHES = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
).values()


class TimelineExplorer(anywidget.AnyWidget):
    """Zoom into a run, ask an instruction what it waited for, and time it again.

    State is a few traits: ``window`` (what is shown first, in ns), ``picked`` (a row of the run, -1
    for none), ``knobs`` (the sliders).  The program goes to the page once (``book``), a timing
    whenever a slider moves (``film``), both as bytes.

    Parameters
    ----------
    source : CoreTimeline, Run, Program or Timeline
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

    _esm = load("timeline_explorer.js")
    _css = load("shared/common.css", "timeline_explorer.css")
    book = traitlets.Bytes().tag(sync=True)
    film = traitlets.Bytes().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    panels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    colours = traitlets.Dict().tag(sync=True)
    ports = traitlets.Bool(False).tag(sync=True)
    sliders = traitlets.List().tag(sync=True)
    switches = traitlets.List().tag(sync=True)
    first = traitlets.Dict().tag(sync=True)
    knobs = traitlets.Dict().tag(sync=True)  #: set by the page, or by :meth:`set`
    window = traitlets.List([0.0, 0.0]).tag(sync=True)  #: ns; [0, 0] is the whole run
    picked = traitlets.Int(-1).tag(sync=True)
    picked_line = traitlets.Int(0).tag(sync=True)  #: number of a source line, 0 for none

    def __init__(self, source, *, panels=("timeline", "memory"), sliders=True, buffers=None,
                 ports=False, window=None):  # fmt: skip
        core = core_of(source, buffers=buffers)
        self._is_ready = False
        self._retiming = Retiming(core) if isinstance(core, CoreTimeline) else None
        self._core = core if self._retiming else None
        self._check_size(core)
        if self._retiming:
            self._listing = listing_of(core.program)
            self._shown = self._trace(core, band=True)
        else:
            panels, self._listing = ("timeline",), None
            self._shown = trace_of_timeline(core)
        knobs = self._knobs_of(self._retiming.first) if self._retiming else {}
        super().__init__(
            book=listing_to_bytes(self._listing) if self._listing else b"",
            film=self._shown.to_bytes(baseline=self._shown.makespan_ns),
            label=f"timeline of {core.program.name}" if self._retiming else "timeline",
            panels=[p for p in _PANELS if p in panels], colours=ENGINE, ports=ports,
            sliders=self._sliders() if sliders and self._retiming else [],
            switches=[{"name": n, "text": text, "help": said}
                      for n, (_, text, said) in _SWITCHES.items()] if sliders else [],
            first=knobs, knobs=knobs, window=list(map(float, (0, 0) if window is None else window)),
        )  # fmt: skip
        self._is_ready = True

    @staticmethod
    def _check_size(core):
        rows = core.rows if isinstance(core, CoreTimeline) else len(core)
        if rows > _MOST_ROWS:
            raise ValueError(
                f"this run has {rows} instructions, and a page shows at most {_MOST_ROWS}; time a "
                "part of it (fewer turns of a loop), which looks the same"
            )

    # -- settings and timings -------------------------------------------------------------------

    @property
    def core(self) -> CoreTimeline | None:
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
                raise ValueError(f"no slider {name!r}; there are {', '.join(self.first) or 'none'}")
            if not self._fits(name, value):
                raise ValueError(f"{name} does not take {str(value)[:40]}; {self._takes(name)}")
        self.knobs = {**self.knobs, **knobs}

    def _sliders(self):
        buffers = [(0, "as fits"), *((b, str(b)) for b in range(1, 9))]
        if self._retiming.first.buffers == -1:
            buffers.insert(0, (-1, "as given"))
        options = {"dma": _DMA, "clock": _CLOCK, "buffers": buffers}
        return [
            {"name": n, "text": text, "options": list(map(list, options[n])), "help": more}
            for n, (text, more, _) in _SLIDERS.items()
        ]

    @staticmethod
    def _knobs_of(settings: Settings) -> dict:
        switches = {n: cause in settings.without for n, (cause, *_) in _SWITCHES.items()}
        dma, clock, buffers = settings.dma, settings.clock, settings.buffers
        return {"dma": dma, "clock": clock, "buffers": buffers, **switches}

    def _fits(self, name, value):
        if name in _SWITCHES:
            return isinstance(value, bool)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        options = {"dma": _DMA, "clock": _CLOCK}.get(name)
        if options:
            return options[0][0] <= value <= options[-1][0]
        return value in range(1, 9) or value in (0, self._retiming.first.buffers)

    def _takes(self, name):
        return _SLIDERS[name][2] if name in _SLIDERS else "it takes True or False"

    @traitlets.observe("knobs")
    def _retime(self, change):
        if self._retiming is None or not self._is_ready:
            return
        knobs = {n: change["new"].get(n, v) for n, v in self.first.items()}
        knobs = {n: v if self._fits(n, v) else self.first[n] for n, v in knobs.items()}
        without = frozenset(c for n, (c, *_) in _SWITCHES.items() if knobs[n])
        settings = Settings(knobs["dma"], knobs["clock"], knobs["buffers"], without)
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
        times = self._retiming.times(core)
        bounds = times.ends() if band else None
        return trace_of_core(core, why=why(core), band=bounds)

    def __repr__(self):
        name = self._core.program.name if self._core is not None else "timeline"
        rows = len(self._shown.rows["start"])
        return (
            f"{type(self).__name__}({name!r}, {rows} instructions, {time_text(self.makespan_ns)})"
        )


@checked
def timeline_explorer(
    source,
    *,
    memory: bool = True,
    sliders: bool = True,
    buffers=None,
    window: Sequence | None = None,
):
    """Show when everything ran on a NeuronCore, and let sliders time it again.

    Parameters
    ----------
    source : CoreTimeline, Run, Program or Timeline
        A Program is optimised, placed and timed first.
    memory : bool
        SBUF and PSUM below the engines.
    sliders : bool
        DMA bandwidth, clocks, buffers, and causes to take away.
    buffers : int or dict, optional
        With a Program: see :func:`trainium_edu.neuroncore.place`.
    window : (low, high), ns, optional

    Returns
    -------
    TimelineExplorer

    Examples
    --------
    >>> from trainium_edu.timeline import Span, Timeline
    >>> timeline_explorer(Timeline([Span("Vector Engine", "tensor_copy", 0.0, 600.0)]))
    TimelineExplorer('timeline', 1 instructions, 600 ns)
    """
    panels = ("timeline", "memory") if memory else ("timeline",)
    return TimelineExplorer(source, panels=panels, sliders=sliders, buffers=buffers, window=window)
