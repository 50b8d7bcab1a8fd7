"""A run of a NeuronCore as a still picture: engines, DMA queues at work, the critical path."""

from collections.abc import Sequence

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.ticker import FuncFormatter, MaxNLocator

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.core_film import CoreFilm
from trainium_edu.viz.memory_map import draw_memories
from trainium_edu.viz.style import figure, ink

__all__ = ["describe_core_timeline", "plot_core_timeline", "time_axis"]

_LETTERS = {"vector": "#000000", "dma": "#000000"}  # on the light colours; white elsewhere
_LABEL_SHARE = 0.05  # of the picture's width: a span this wide gets its name
_LANE = 0.30  # inches


@checked
def plot_core_timeline(
    film: CoreFilm,
    *,
    window: Sequence | None = None,
    queues: bool = False,
    memory: bool = False,
):
    """Draw what stood on which engine when, and which of it the run's length rests on.

    Parameters
    ----------
    film : CoreFilm
    window : (low, high), ns, optional
        Default the whole run.
    queues : bool
        Every DMA queue on a line of its own, instead of how many were at work.
    memory : bool
        SBUF and PSUM below, over the same time.

    Returns
    -------
    Figure
    """
    low, high = _window(film, window)
    lanes = _lanes(film, queues)
    with_path = len(film.pieces["start"]) > 0
    tall = sum(lane.height for lane in lanes) + (1.25 if with_path else 0)
    memories = film.words.get("memories", []) if memory else []
    inches = [0.42 + _LANE * tall, *(1.25 for _ in memories)]
    fig = figure(8.8, sum(inches) + 0.62, margins=(1.32, 0.2, 0.45, 0.32))
    panels = np.atleast_1d(
        fig.subplots(
            len(inches), 1, sharex=True, gridspec_kw={"height_ratios": inches, "hspace": 0.12}
        )
    )
    ax = panels[0]
    y, ticks = 0.0, []
    if with_path:
        _draw_path(ax, film, low, high)
        ticks.append((0.45, "Critical path"))
        y = 1.25
    for lane in lanes:
        lane.draw(ax, film, y, low, high)
        ticks.append((y + lane.height / 2 - 0.06, lane.name))
        y += lane.height
    ax.set(ylim=(y, -0.1))
    ax.set_yticks([t for t, _ in ticks], [name for _, name in ticks])
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.set_title(f"{film.title}: {time_text(film.makespan_ns)}")
    if memories:
        draw_memories(panels[1:], film, low, high)
    time_axis(panels[-1], low, high)
    return fig


def _window(film, window):
    if window is None:
        return 0.0, max(film.makespan_ns, 1e-3)
    low, high = map(float, window)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"window is {window!r}; it is (from, to) in ns, from before to")
    return low, high


class _Lane:
    """One engine, or one queue."""

    def __init__(self, track, name, key, height):
        self.track, self.name, self.key, self.height = track, name, key, height

    def draw(self, ax, film, y, low, high):
        on = np.flatnonzero((film.spans["track"] == self.track) & (film.spans["end"] >= low)
                            & (film.spans["start"] <= high))  # fmt: skip
        start, end = film.spans["start"][on], film.spans["end"][on]
        deep = self.height - 0.2 if self.height >= 1 else self.height * 0.85
        colour = ENGINE[self.key]
        edge = 0.3 if len(on) and (high - low) / max(len(on), 1) > (high - low) / 300 else 0
        _boxes(ax, start, end, y, deep, colour, edge)
        if self.height < 1:
            return
        rows = film.spans["row"][on]
        path = film.rows["critical"][rows].astype(bool)
        _boxes(ax, start[path], end[path], y + deep - 0.02, 0.12, ink(), 0)
        for k in np.flatnonzero(end - start > _LABEL_SHARE * (high - low))[:60]:
            text = film.name_of(int(rows[k]))
            room = int((min(end[k], high) - max(start[k], low)) / (high - low) * 105)
            ax.text((max(start[k], low) + min(end[k], high)) / 2, y + deep / 2,
                    text if len(text) <= room else text[: max(1, room - 1)] + "…", size=7.5,
                    ha="center", va="center", color=_LETTERS.get(self.key, "#ffffff"))  # fmt: skip


class _Load:
    """How many DMA queues were at work."""

    name, height, key = "DMA queues\nat work", 1.7, "dma"

    def draw(self, ax, film, y, low, high):
        when, level = film.dma_load()
        most = max(int(level.max(initial=1)), sum(t.kind == "queue" for t in film.tracks))
        base = y + self.height - 0.15
        ax.fill_between(when, base - (self.height - 0.3) * level / most, base, step="post",
                        color=ENGINE["dma"], lw=0)  # fmt: skip
        queues = np.array([t.kind == "queue" for t in film.tracks])
        rows = film.rows["critical"].astype(bool) & queues[film.rows["lane"]]
        _boxes(ax, film.rows["start"][rows], film.rows["end"][rows], base, 0.12, ink(), 0)


def _lanes(film, queues):
    lanes = [
        _Lane(i, t.name.replace(" Engine", ""), t.key, 1.0)
        for i, t in enumerate(film.tracks)
        if t.kind in ("engine", "other")
    ]
    mine = [i for i, t in enumerate(film.tracks) if t.kind == "queue"]
    if queues:
        return lanes + [
            _Lane(i, film.tracks[i].name.replace("DMA ", "") if k % 4 == 0 else "", "dma", 0.36)
            for k, i in enumerate(mine)
        ]
    return [*lanes, _Load()] if mine else lanes


def _draw_path(ax, film, low, high):
    """Draw the critical path's pieces; what is no work is hatched."""
    start, end = film.pieces["start"], film.pieces["end"]
    shown = (end >= low) & (start <= high)
    whats = film.words["whats"]
    for k, what in enumerate(whats):
        mine = np.flatnonzero(shown & (film.pieces["what"] == k))
        if not len(mine):
            continue
        keys = np.array([t.key for t in film.tracks])
        for key in np.unique(keys[film.rows["lane"][film.pieces["row"][mine]]]):
            of = mine[keys[film.rows["lane"][film.pieces["row"][mine]]] == key]
            colour = what.get("colour") or ENGINE[key]
            work = what["style"] == "work"
            boxes = _boxes(ax, start[of], end[of], 0.0, 0.9, colour, 0)
            if not work:
                boxes.set(alpha=0.5, hatch="////", edgecolor=colour, linewidth=0)


def _boxes(ax, start, end, y, deep, colour, edge):
    """Draw rectangles of one colour at once."""
    corners = np.empty((len(start), 4, 2))
    corners[:, (0, 3), 0] = np.asarray(start)[:, None]
    corners[:, (1, 2), 0] = np.asarray(end)[:, None]
    corners[:, :2, 1] = y
    corners[:, 2:, 1] = y + deep
    boxes = PolyCollection(corners, facecolors=colour, edgecolors=ink("paper"), linewidths=edge)
    return ax.add_collection(boxes, autolim=False)


def time_axis(ax, low, high):
    """Give an axis in nanoseconds ticks with a unit that people read."""
    scale, unit = (1e6, "ms") if high >= 2e6 else (1e3, "µs") if high >= 2e3 else (1, "ns")
    ax.set(xlim=(low, high), xlabel=f"time, {unit}")
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ns, _: f"{ns / scale:g}"))


def time_text(ns: float) -> str:
    """Write a time as people read it.

    Examples
    --------
    >>> time_text(1234.5), time_text(88.0), time_text(2_340_000)
    ('1.234 µs', '88 ns', '2.34 ms')
    """
    scale, unit = (1e6, "ms") if ns >= 999_500 else (1e3, "µs") if ns >= 999.5 else (1, "ns")
    return f"{ns / scale:.4g} {unit}"


def describe_core_timeline(film: CoreFilm) -> str:
    """Say what `plot_core_timeline` shows, with its numbers."""
    busy = ", ".join(
        f"{t.name} {film.busy_ns(i) / film.makespan_ns:.0%}"
        for i, t in enumerate(film.tracks)
        if t.kind in ("engine", "other") and film.makespan_ns
    )
    said = [f"{film.title}: {time_text(film.makespan_ns)}."]
    if busy:
        said.append(f"Busy: {busy}.")
    causes = film.words.get("causes", [])[:3]
    if causes:
        said.append("Critical path: " + ", ".join(f"{c['name']} {c['share']:.0%}" for c in causes)
                    + ".")  # fmt: skip
    return " ".join(said)
