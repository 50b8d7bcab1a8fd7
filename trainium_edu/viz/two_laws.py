"""Pictures of how rounding errors add up: a walk that grows as √n, a square a third covered."""

import numpy as np

from trainium_edu.viz.chart import Chart, two_boxes
from trainium_edu.viz.colours import COLOURS, ROUNDING
from trainium_edu.viz.scene import Scene

__all__ = ["draw_doublings", "draw_walks"]

_PATHS = 8
_TALL = 236.0
_BLUE, _RED, _NEW = ROUNDING["stochastic"], ROUNDING["nearest"], COLOURS["orange"]


def draw_walks(walks, n: int, *, width: float = 960.0) -> Scene:
    """Draw the summed errors of the first n roundings, and their mean square.

    Parameters
    ----------
    walks : Walks
    n : int
        From 1 to the number of roundings there are.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, first, second = two_boxes(width, _TALL)
    end = len(walks.nearest)
    x = np.arange(n + 1)
    ticks = [end * i // 4 for i in range(5)]
    reach = 3.3 * (walks.one * end) ** 0.5
    low = min(walks.nearest[-1], -reach)
    chart = Chart(scene, first, (0, end), (low, reach))
    chart.axes("Summed error, in gaps", "roundings", ticks)
    spread = (walks.one * x) ** 0.5
    chart.band(x, -spread, spread, _BLUE, opacity=0.22, words="theory: ± √n × one rounding's")
    for run in walks.runs[:n, :_PATHS].T:
        chart.curve(x, np.append(0, run), _BLUE, width=1.2, opacity=0.85, words="a run with dice")
    chart.said.append((f"dice, {_PATHS} runs", _BLUE, 1.4, ""))
    chart.series(x, np.append(0, walks.nearest[:n]), _RED, "nearest-even", width=3.2)
    left, base = first[0] + 12, first[1] + first[3] - 50
    chart.legend(left, base)
    scene.rect(left, base + 30, 26, 12, _BLUE, opacity=0.22)
    scene.text(left + 32, base + 40, "± √n × one rounding's", size=12)

    top = 1.15 * walks.one * end
    chart = Chart(scene, second, (0, end), (0, top))
    chart.axes("Mean of its square over all runs", "roundings", ticks)
    found, words = np.append(0, walks.mean_square[:n]), f"mean over {walks.runs.shape[1]} runs"
    chart.series(x, found, _BLUE, words, width=3)
    theory = (0, end), (0, walks.one * end)
    chart.series(*theory, "ink", "theory: n × one rounding's", width=1.6, dash="dashed")
    chart.dots([n], walks.mean_square[n - 1 : n], _BLUE, size=8)
    chart.legend(second[0] + 12, second[1] + 14)
    return scene


def draw_doublings(doublings, k: int, *, width: float = 960.0) -> Scene:
    """Draw the square on a sum that has doubled k times, and the runs' scatter beside it.

    Each doubling covers a quarter of the square on the sum it leads to: the variance that it adds,
    over epsilon.

    Parameters
    ----------
    doublings : Doublings
    k : int
        From 0 to the number of doublings there are.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, first, second = two_boxes(width, _TALL, 0.4)
    _draw_square(scene, first, doublings, k)
    _draw_relative(scene, second, doublings, k)
    return scene


def _draw_square(scene, box, doublings, k):
    """Draw the square on the present sum; each earlier sum's square is a quarter of the next."""
    left, top, width, tall = box
    side = min(width, tall)
    bottom = top + side
    scene.text(left, top - 10, f"The square on the sum {doublings.sums[k]:g}", bold=True, size=13)
    for j in range(k, 0, -1):  # from the whole square inwards, to its lower left quarter
        half = side / 2 ** (k - j) / 2
        colour = _NEW if j == k else _BLUE
        scene.rect(left + half, bottom - half, half, half, colour, opacity=0.5)
        scene.line(left, bottom - half, left + 2 * half, bottom - half, "muted")
        scene.line(left + half, bottom - 2 * half, left + half, bottom, "muted")
        if half > 36:
            before, gap, middle = doublings.sums[j - 1], doublings.gaps[j - 1], left + 1.5 * half
            y, look = bottom - half / 2, {"size": 13 if half > 80 else 11, "bold": True}
            scene.text(middle, y - 2, f"{before:g} × {gap:g}", anchor="middle", **look)
            if half > 80:
                scene.text(middle, y + 14, f"= {before:g}² × ε", anchor="middle", size=12)
    scene.rect(left, top, side, side, "ink", outline=True)
    scene.text(left + side / 2, bottom + 18, f"covered: {_share(k)} of it", anchor="middle")
    for row, (words, colour) in enumerate(
        (("variance of the last doubling", _NEW), ("of the doublings before", _BLUE))[: min(k, 2)]
    ):
        scene.rect(left, bottom + 26 + 17 * row, 12, 12, colour, opacity=0.5)
        scene.text(left + 18, bottom + 36 + 17 * row, words, size=12)


def _share(k) -> str:
    if k == 0:
        return "nothing"
    parts = " + ".join(f"1/{4**j}" for j in range(1, min(k, 3) + 1))
    return parts + (" + …" if k > 3 else "")


def _draw_relative(scene, box, doublings, k):
    """Draw scatter over sum after each doubling up to the present one."""
    last = doublings.sums.size - 1
    percent = 100 * doublings.saturation
    chart = Chart(scene, box, (0, last), (0, 1.35 * percent))
    chart.axes("Scatter of the runs, % of the sum", "doublings", range(last + 1))
    if k >= 2:  # after the squares suggest it
        words = "a third of the square"
        chart.curve((0, last), (percent, percent), "muted", width=1.6, dash="dotted", words=words)
        settled = f"√(ε/3) = {percent:.1f} %"
        chart.note(last, percent, settled, down=-8, anchor="end", colour="muted")
    steps = np.arange(k + 1)
    theory = 100 * doublings.sd[: k + 1] / doublings.sums[: k + 1]
    found = 100 * doublings.scatter[: k + 1] / doublings.sums[: k + 1]
    chart.curve(steps, theory, "ink", width=1.6, dash="dashed", words="theory")
    chart.dots(steps[:k], found[:k], _BLUE, size=8)
    chart.dots(steps[k:], found[k:], _NEW if k else _BLUE, size=8)
    runs = doublings.runs.shape[1]
    x, y = box[0] + box[2] - 170, box[1] + box[3] - 34
    scene.rect(x + 9, y - 4, 8, 8, _BLUE)
    scene.text(x + 32, y + 4, f"{runs} runs", size=12)
    chart.legend(x, y + 18, ("theory", "ink", 1.6, "dashed"))
