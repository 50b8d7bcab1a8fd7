"""SBUF and PSUM over time: a tile is as high as its bytes and as long as its life."""

from collections.abc import Sequence

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.core_film import CoreFilm
from trainium_edu.viz.style import figure, ink

__all__ = ["SITES", "describe_memory_map", "draw_memories", "plot_memory_map"]

#: Colours of the lines that allocate, in order of first use; the page has the same list.
SITES = tuple(
    COLOURS[n] for n in ("blue", "orange", "green", "pink", "sky", "red", "yellow", "grey")
)


@checked
def plot_memory_map(film: CoreFilm, *, window: Sequence | None = None):
    """Draw what lies where in SBUF and PSUM from when to when.

    Parameters
    ----------
    film : CoreFilm
    window : (low, high), ns, optional
        Default the whole run.

    Returns
    -------
    Figure
    """
    from trainium_edu.viz.core_timeline import time_axis

    low, high = window or (0.0, max(film.makespan_ns, 1e-3))
    memories = film.words.get("memories", [])
    fig = figure(8.8, 1.0 + 1.75 * max(1, len(memories)), margins=(1.32, 0.2, 0.48, 0.32))
    panels = np.atleast_1d(fig.subplots(max(1, len(memories)), 1, sharex=True))
    draw_memories(panels, film, low, high)
    panels[0].set_title(f"{film.title}: tiles in memory")
    time_axis(panels[-1], low, high)
    return fig


def draw_memories(axes, film: CoreFilm, low: float, high: float) -> None:
    """Draw one memory on each axes: tiles, the high-water mark, the capacity where it is near."""
    tiles = film.tiles
    site = np.array([a["site"] for a in film.allocations], int)
    for number, (ax, memory) in enumerate(zip(axes, film.words.get("memories", []), strict=False)):
        mine = np.flatnonzero(
            (tiles["memory"] == number) & (tiles["end"] >= low) & (tiles["start"] <= high)
        )
        x0, x1 = tiles["start"][mine], np.maximum(tiles["end"][mine], tiles["start"][mine])
        y0 = tiles["address"][mine].astype(float)
        y1 = y0 + tiles["bytes"][mine]
        corners = np.stack(
            [np.stack([x, y], axis=1) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], axis=1
        )
        colours = [
            to_rgba(SITES[site[a] % len(SITES)], 0.62 if slot % 2 else 0.92)
            for a, slot in zip(tiles["allocation"][mine], tiles["slot"][mine], strict=True)
        ]
        ax.add_collection(
            PolyCollection(corners, facecolors=colours, edgecolors=ink("paper"),
                           linewidths=0.4 if len(mine) < 400 else 0), autolim=False)  # fmt: skip
        _scale(ax, memory)
        _names(ax, film, mine, low, high)


def _scale(ax, memory):
    """Set a memory's axis: PSUM by banks, SBUF as far as it is used."""
    capacity, high = memory["capacity"], memory["high"]
    whole = bool(memory.get("banks")) or high > capacity / 2
    top = capacity if whole else _nice_top(high)
    ax.set(ylim=(0, top * 1.001))
    if memory.get("banks"):
        bank = capacity / memory["banks"]
        ax.set_yticks(
            np.arange(memory["banks"]) * bank + bank / 2,
            [f"bank {k}" for k in range(memory["banks"])],
        )
        ax.set_yticks(np.arange(memory["banks"] + 1) * bank, minor=True)
        ax.grid(axis="y", visible=False)
        ax.grid(axis="y", which="minor", visible=True)
        ax.tick_params(axis="y", length=0, labelsize=7.5, which="both")
    else:
        marks = np.linspace(0, top, 5)[:-1]
        ax.set_yticks(marks, [_bytes(m) for m in marks])
    ax.set_ylabel(f"{memory['name']},\nper partition", size=9)
    if high:
        ax.axhline(high, color=ink(), lw=1.2, ls="--")
        below = high > 0.93 * top
        ax.annotate(f"high water {_bytes(high)} of {_bytes(capacity)}", (1, high),
                    xycoords=("axes fraction", "data"), xytext=(-3, -3 if below else 2), size=8.5,
                    textcoords="offset points", ha="right", va="top" if below else "bottom",
                    bbox={"facecolor": ink("paper"), "alpha": 0.75, "lw": 0, "pad": 1})  # fmt: skip
    if whole:
        ax.axhline(capacity, color=COLOURS["red"], lw=1.6)


def _nice_top(used) -> float:
    """Return the end of an axis that holds `used` bytes and divides into quarters of round size."""
    step = 2.0 ** np.floor(np.log2(max(used, 64) / 4))
    while 4 * step < used * 1.12:
        step += 2.0 ** np.floor(np.log2(step)) / 4
    return 4 * step


def _names(ax, film, mine, low, high):
    """Write the names of tiles that are large enough."""
    tiles, allocations = film.tiles, film.allocations
    top = ax.get_ylim()[1]
    large = (tiles["end"][mine] - tiles["start"][mine] > 0.05 * (high - low)) & (
        tiles["bytes"][mine] > 0.09 * top
    )
    for i in mine[large][:60]:
        x = (max(low, tiles["start"][i]) + min(high, tiles["end"][i])) / 2
        ax.text(x, tiles["address"][i] + tiles["bytes"][i] / 2,
                allocations[tiles["allocation"][i]]["name"][:14], size=7.5, ha="center",
                va="center", color="#000000")  # fmt: skip


def _bytes(number) -> str:
    """Write bytes as people read them."""
    return f"{number / 1024:.4g} KiB" if number >= 1024 else f"{number:.0f} B"


def describe_memory_map(film: CoreFilm) -> str:
    """Say what `plot_memory_map` shows, with its numbers."""
    said = [
        f"{m['name']}: {int((film.tiles['memory'] == k).sum())} tiles, high water "
        f"{_bytes(m['high'])} of {_bytes(m['capacity'])} in each partition"
        for k, m in enumerate(film.words.get("memories", []))
    ]
    return f"{film.title}. " + "; ".join(said) + "."
