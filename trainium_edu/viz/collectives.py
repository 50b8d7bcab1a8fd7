"""Collectives as curves: time and bus bandwidth against size, scaling, link use, learning."""

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from trainium_edu.specs.signatures import Numbers, checked
from trainium_edu.viz import style
from trainium_edu.viz.colours import TABLES
from trainium_edu.viz.layered import Layered
from trainium_edu.viz.units import size_text

__all__ = ["ALGORITHM", "plot_bus_bandwidth", "plot_learning", "plot_link_use", "plot_scaling",
           "plot_times"]  # fmt: skip

#: One colour and one dash per algorithm, the same in every picture.
ALGORITHM = {name: (colour, (0, tuple(dash)) if dash else "-")
             for name, (colour, dash) in TABLES["algorithm"].items()}  # fmt: skip
_OTHERS = (("red", "-"), ("sky", (0, (2, 1))), ("green", (0, (4, 2))))


def look_of(name, i=0):
    colour, dash = ALGORITHM.get(name, _OTHERS[i % len(_OTHERS)])
    return {"color": style.COLOURS[colour], "linestyle": dash, "linewidth": 2}


def _size_axis(ax, low, high):
    """Label a logarithmic axis of bytes in KiB, MiB, GiB."""
    powers = np.arange(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1)
    every = 1 + len(powers) // 7
    ticks = 2.0 ** powers[::every]
    ax.set_xscale("log")
    ax.set_xticks(ticks, [size_text(t).replace(" ", "\n") for t in ticks])
    ax.minorticks_off()
    ax.set_xlim(low, high)


def _settle(ax, title, *, left=0.5, below=0.55):
    """Write the title and place the labels, in inches: finding places costs a third of a redraw."""
    width, height = ax.figure.get_size_inches()
    box = ax.get_position()
    ax.set_title(title, y=1.02)
    ax.xaxis.set_label_coords(0.5, -below / (box.height * height))
    ax.yaxis.set_label_coords(-left / (box.width * width), 0.5)


def _draw_curves(ax, x, curves, names, **look) -> list:
    return [ax.plot(x, row, label=name, **look_of(name, i), **look)[0]
            for i, (name, row) in enumerate(zip(names, curves, strict=True))]  # fmt: skip


def _check_curves(x, curves, names):
    """Refuse curves that are not one row per name and one point per place on the x axis."""
    x, curves = np.asarray(x), np.asarray(curves)
    if x.ndim != 1 or not x.size or curves.shape != (len(names), x.size):
        raise ValueError(
            f"{len(names)} curves over {list(x.shape)} points have shape {list(curves.shape)}; "
            "they have [names, points], a row for each name"
        )
    if not (np.isfinite(x) & (x > 0)).all():
        raise ValueError("the x axis is logarithmic: all its places are finite and above 0")


@checked
def plot_times(
    sizes: Numbers,
    times_ns: Numbers,
    names: Sequence[str],
    *,
    crossovers: Sequence[tuple] = (),
    published: Sequence[tuple] = (),
    title: str = "",
    layered: Layered | None = None,
):
    """Draw time against buffer size, one curve per algorithm, crossovers and published marks.

    Parameters
    ----------
    sizes : float[points], bytes of the whole buffer
    times_ns : float[algorithms, points]
    names : sequence of str
    crossovers : sequence of (bytes, below, above)
        Where the fastest changes.
    published : sequence of (bytes, text)
        Boundaries that a document names.
    title : str
    layered : Layered, optional
        Keeps axes, legend and published marks while the curves move.

    Returns
    -------
    fig : matplotlib.figure.Figure
    """
    _check_curves(sizes, times_ns, names)
    times_us = np.asarray(times_ns) / 1e3
    low = 10 ** np.floor(np.log10(times_us.min()))
    high = 10 ** np.ceil(np.log10(times_us.max()))
    shows = (float(sizes[0]), float(sizes[-1]), low, high, *names, title, tuple(published))

    def over(fig):
        ax = fig.axes[0]
        artists = _draw_curves(ax, sizes, times_us, names)
        for i, (at, _, above) in enumerate(crossovers):
            artists.append(
                ax.axvline(at, color=style.ink("muted"), linewidth=1, label="_crossover")
            )
            artists.append(ax.annotate(
                f"{at / 1e6:.1f} MB\n→ {above}", (at, low), xytext=(3, 4 + 26 * i),
                textcoords="offset points", fontsize=8,
            ))  # fmt: skip
        return artists

    layered = Layered() if layered is None else layered
    return layered.figure(
        shows, lambda: _times_ground(sizes, names, published, low, high, title), over
    )


def _times_ground(sizes, names, published, low, high, title):
    """Draw what does not depend on the times: axes, legend, published marks."""
    ax = style.figure(7.4, 3.9, margins=(0.9, 0.2, 0.75, 0.4)).subplots()
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.minorticks_off()
    ax.set(ylabel="time (µs)", xlabel="buffer on each rank")
    _size_axis(ax, sizes[0], sizes[-1])
    for i, (at, text) in enumerate(published):
        ax.plot([at], [high], marker="v", markersize=8, clip_on=False, linestyle="none",
                color=style.COLOURS["red"], label="_published")  # fmt: skip
        ax.annotate(text, (at, high), xytext=(-6 if i == 0 else 6, -10),
                    ha="right" if i == 0 else "left", textcoords="offset points", fontsize=8,
                    color=style.COLOURS["red"])  # fmt: skip
    ax.set_ylim(low, high)
    looks = [Line2D([], [], **look_of(name, i)) for i, name in enumerate(names)]
    ax.legend(looks, names, loc="upper left", bbox_to_anchor=(0.02, 0.88), fontsize=9)
    _settle(ax, title or "time of an all-reduce")
    return ax.figure


@checked
def plot_bus_bandwidth(
    sizes: Numbers,
    times_ns: Numbers,
    names: Sequence[str],
    factor: float,
    *,
    limit: float | None = None,
    title: str = "",
):
    """Draw bus bandwidth as nccom-test defines it: bytes over time, times the collective's factor.

    Parameters
    ----------
    sizes : float[points], bytes
    times_ns : float[algorithms, points]
    names : sequence of str
    factor : float
        2 (r - 1) / r for an all-reduce over r ranks, (r - 1) / r for a gather or scatter.
    limit : float, optional
        What the wires could carry, in decimal GB/s.
    title : str

    Returns
    -------
    fig : matplotlib.figure.Figure
    """
    _check_curves(sizes, times_ns, names)
    ax = style.figure(7.4, 3.6, margins=(0.75, 0.2, 0.75, 0.4)).subplots()
    _draw_curves(ax, sizes, factor * np.asarray(sizes) / np.asarray(times_ns), names)
    if limit is not None:
        ax.axhline(limit, color=style.ink("muted"), linestyle=(0, (6, 3)), label="all wires full")
    ax.set(ylabel="bus bandwidth (GB/s)", xlabel="buffer on each rank")
    ax.set_ylim(bottom=0)
    _size_axis(ax, sizes[0], sizes[-1])
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0.9), fontsize=9)
    _settle(ax, title or "bus bandwidth")
    return ax.figure


@checked
def plot_scaling(ranks: Numbers, times_ns: Numbers, names: Sequence[str], *, title: str = ""):
    """Draw time against the number of ranks, both axes logarithmic.

    Parameters
    ----------
    ranks : int[points]
    times_ns : float[curves, points]
        NaN where a curve has no point.
    names : sequence of str
    title : str

    Returns
    -------
    fig : matplotlib.figure.Figure
    """
    _check_curves(ranks, times_ns, names)
    ax = style.figure(7.4, 3.6, margins=(0.75, 0.2, 0.6, 0.4)).subplots()
    _draw_curves(ax, ranks, np.asarray(times_ns) / 1e6, names, marker="o", markersize=4)
    ax.set(xscale="log", yscale="log", xlabel="ranks", ylabel="time (ms)")
    ax.set_xticks(list(ranks), [f"{r:,}" for r in ranks])
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.minorticks_off()
    ax.legend(loc="upper left", fontsize=9)
    _settle(ax, title or "the same buffer on more ranks", below=0.38)
    return ax.figure


@checked
def plot_link_use(shares: Sequence[Numbers], names: Sequence[str], *, title: str = ""):
    """Draw, per algorithm, how busy each directed link is over the whole collective, busiest first.

    Parameters
    ----------
    shares : sequence of float[links]
        Between 0 and 1.
    names : sequence of str
    title : str

    Returns
    -------
    fig : matplotlib.figure.Figure
    """
    if len(shares) != len(names):
        raise ValueError(f"{len(names)} names for {len(shares)} lists of shares; give one for each")
    ax = style.figure(7.4, 3.0, margins=(0.75, 0.2, 0.6, 0.4)).subplots()
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        ax.step(np.arange(len(share)), 100 * np.sort(share)[::-1], where="mid", label=name,
                **look_of(name, i))  # fmt: skip
    ax.set(ylim=(0, 105), xlabel="directed links, busiest first", ylabel="busy (% of the time)")
    ax.legend(loc="lower left", fontsize=9)
    _settle(ax, title or "how busy the links are", below=0.38)
    return ax.figure


@checked
def plot_learning(loss: Numbers, accuracy: Numbers, *, title: str = ""):
    """Draw loss per step and test accuracy of a run on many ranks.

    Parameters
    ----------
    loss : float[steps]
    accuracy : float[steps + 1], from 0 to 1
    title : str

    Returns
    -------
    fig : matplotlib.figure.Figure
    """
    ax = style.figure(7.4, 3.2, margins=(0.65, 0.75, 0.55, 0.4)).subplots()
    steps = np.arange(1, len(loss) + 1)
    ax.plot(steps, loss, color=style.COLOURS["orange"], linewidth=2, linestyle=(0, (4, 1)))
    ax.set(xlabel="step", ylabel="loss (dashed)", ylim=(0, None))
    right = ax.twinx()
    right.plot(np.arange(len(accuracy)), 100 * np.asarray(accuracy), color=style.COLOURS["blue"],
               linewidth=2)  # fmt: skip
    right.set(ylabel="test accuracy, % (solid)", ylim=(0, 100))
    right.grid(visible=False)
    ax.set_title(title or "learning")
    return ax.figure
