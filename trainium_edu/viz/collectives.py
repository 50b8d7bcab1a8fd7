"""Collectives as curves: time and bus bandwidth against size, scaling, link use, learning."""

from collections.abc import Sequence

import numpy as np

from trainium_edu.fabric.selection import Selection
from trainium_edu.specs.signatures import Numbers, checked
from trainium_edu.viz.bars import short
from trainium_edu.viz.chart import Chart, powers_of_ten, round_steps, two_boxes
from trainium_edu.viz.colours import COLOURS, looks
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.units import size_text

__all__ = ["draw_bus_bandwidth", "draw_learning", "draw_link_use", "draw_scaling", "draw_times"]

_LOOKS = looks("algorithm")
_TALL = 260.0  # CSS pixels


def look_of(name, i=0) -> dict:
    """Return an algorithm's colour and dash, the same in every picture."""
    colour, dash = _LOOKS.get(name) or _LOOKS[str(i % 3)]
    return {"colour": colour, "dash": dash}


def _draw_curves(
    curves, names, title, label, x_ticks, y, y_ticks, unit, width, *, log="xy", key=0.08
):
    """Draw curves (xs, ys) with their key, which begins at a share of the height; return axes."""
    ends = [np.min(curves[0][0]), max(np.max(xs) for xs, _ in curves)]
    x = (ends[0] / 1.1, ends[1] * 1.1) if "x" in log else ends
    chart = Chart(Scene(width, _TALL + 76), (58, 28, width - 82, _TALL), x, y, log=log)
    chart.axes(title, label, x_ticks, y_ticks, unit=unit)
    for i, (name, curve) in enumerate(zip(names, curves, strict=True)):
        chart.series(*curve, words=name, width=2, **look_of(name, i))
    chart.legend(chart.left + 10, chart.top + key * _TALL)
    return chart


def _size_ticks(sizes):
    """Return powers of two between two sizes, in KiB, MiB, GiB."""
    powers = np.arange(np.ceil(np.log2(sizes[0])), np.floor(np.log2(sizes[-1])) + 1)
    return [(size, size_text(size)) for size in 2.0 ** powers[:: 1 + len(powers) // 7]]


@checked
def draw_times(
    selection: Selection, *, published: Sequence[tuple] = (), title: str = "", width: float = 890.0
) -> Scene:
    """Draw time against buffer size, one curve per algorithm, crossovers and published marks.

    Parameters
    ----------
    selection : fabric.Selection
    published : sequence of (bytes, text)
        Boundaries that a document names.
    title : str
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    sizes, names = selection.sizes, [line.name for line in selection.lines]
    curves = [(sizes, ns / 1e3) for ns in selection.times_ns]
    us = np.concatenate([ys for _, ys in curves])
    y = 10 ** np.floor(np.log10(us.min())), 10 ** np.ceil(np.log10(us.max()))
    ticks = [(v, short(v)) for v in powers_of_ten(*y)]
    axis = "buffer on each rank", _size_ticks(sizes), y
    chart = _draw_curves(curves, names, title, *axis, ticks, "µs", width, key=0.18)
    scene, bottom = chart.scene, chart.top + _TALL
    for i, (at, _, above) in enumerate(selection.crossovers):
        x = chart.to_x(at)
        scene.path([x, x], [chart.top, bottom], "muted", width=1, words="crossover")
        words, y = f"{at / 1e6:.1f} MB → {above}", bottom - 6 - 16 * i
        scene.beside(x, y, words, i > 0, size=11)
    for i, (at, text) in enumerate(published):
        x, top = chart.to_x(at), chart.top
        arrow = [x - 5, x + 5, x], [top, top, top + 9]
        scene.area(*arrow, COLOURS["red"], opacity=1, words=text)
        scene.beside(x, top + 14, text, i > 0, colour=COLOURS["red"], size=11)
    return scene


@checked
def draw_bus_bandwidth(
    selection: Selection, factor: float, limit: float, *, title: str = "", width: float = 890.0
) -> Scene:
    """Draw bus bandwidth as nccom-test defines it: bytes over time, times the collective's factor.

    Parameters
    ----------
    selection : fabric.Selection
    factor : float
        2 (r - 1) / r for an all-reduce over r ranks, (r - 1) / r for a gather or scatter.
    limit : float
        What the wires could carry, in decimal GB/s.
    title : str
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    sizes, names = selection.sizes, [line.name for line in selection.lines]
    curves = [(sizes, factor * sizes / ns) for ns in selection.times_ns]
    high = 1.05 * max(limit, *(np.max(ys) for _, ys in curves))
    axis = "buffer on each rank", _size_ticks(sizes), (0, high)
    chart = _draw_curves(curves, names, title, *axis, None, "GB/s", width, log="x", key=0.15)
    chart.curve(chart.x, [limit] * 2, "muted", words="all wires full", dash="dashed")
    chart.note(chart.x[0], limit, "all wires full", right=10, down=15, colour="muted")
    return chart.scene


@checked
def draw_scaling(
    ranks: Numbers,
    times_ns: Numbers,
    names: Sequence[str],
    *,
    title: str = "the same buffer on more ranks",
    width: float = 890.0,
) -> Scene:
    """Draw time against the number of ranks, both axes logarithmic.

    Parameters
    ----------
    ranks : int[points]
    times_ns : float[curves, points]
        NaN where a curve has no point.
    names : sequence of str
    title : str
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    x, ms = np.asarray(ranks), np.asarray(times_ns) / 1e6
    if x.ndim != 1 or not x.size or ms.shape != (len(names), x.size):
        raise ValueError(
            f"{len(names)} curves over {list(x.shape)} points have shape {list(ms.shape)}; "
            "they have [names, points], a row for each name"
        )
    if not (np.isfinite(x) & (x > 0)).all():
        raise ValueError("the x axis is logarithmic: all its places are finite and above 0")
    curves = [(x, row) for row in ms]
    y = np.nanmin(ms) / 1.3, np.nanmax(ms) * 1.3
    round_ms = (k * ten for ten in powers_of_ten(y[0] / 10, y[1]) for k in (1, 2, 5))
    ticks = [(v, short(v)) for v in round_ms if y[0] <= v <= y[1]]
    chart = _draw_curves(
        curves, names, title, "ranks", [(r, f"{r:,}") for r in ranks], y, ticks, "ms", width
    )
    for i, (name, (xs, ys)) in enumerate(zip(names, curves, strict=True)):
        shown = np.isfinite(ys)
        chart.dots(xs[shown], ys[shown], look_of(name, i)["colour"], size=6)
    return chart.scene


@checked
def draw_link_use(
    shares: Sequence[Numbers], names: Sequence[str], *, width: float = 890.0
) -> Scene:
    """Draw, per algorithm, how busy each directed link is over the whole collective, busiest first.

    Parameters
    ----------
    shares : sequence of float[links]
        Between 0 and 1.
    names : sequence of str
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    if len(shares) != len(names):
        raise ValueError(f"{len(names)} names for {len(shares)} lists of shares; give one for each")
    steps = [np.arange(len(share) + 1).repeat(2)[1:-1] for share in shares]
    percent = [100 * np.sort(share)[::-1].repeat(2) for share in shares]
    curves, label = list(zip(steps, percent, strict=True)), "directed links, busiest first"
    ticks = round_steps(0, max(map(len, shares))), (0, 105), round_steps(0, 100)
    look = {"log": "", "key": 1 - 0.08 * len(names)}
    title = "how busy the links are"
    return _draw_curves(curves, names, title, label, *ticks, "%", width, **look).scene


@checked
def draw_learning(
    loss: Numbers, accuracy: Numbers, *, title: str = "learning", width: float = 890.0
) -> Scene:
    """Draw loss per step and test accuracy of a run on many ranks.

    Parameters
    ----------
    loss : float[steps]
    accuracy : float[steps + 1], from 0 to 1
    title : str
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, *boxes = two_boxes(width, 186.0)
    ends = 0, len(loss)
    losses = Chart(scene, boxes[0], ends, (0, 1.05 * max(loss)))
    losses.axes(f"Loss: {title}", "step")
    losses.curve(np.arange(1, len(loss) + 1), loss, COLOURS["orange"], words="loss", width=2)
    right = Chart(scene, boxes[1], ends, (0, 100))
    right.axes("Test accuracy, %", "step")
    percent = 100 * np.asarray(accuracy)
    right.curve(range(len(percent)), percent, COLOURS["blue"], words="test accuracy", width=2)
    return scene
