"""Pictures of sums that are rounded at every step, with theory's lines."""

import numpy as np

from trainium_edu.viz.chart import Chart, round_steps, two_boxes
from trainium_edu.viz.colours import COLOURS, ROUNDING
from trainium_edu.viz.scene import Scene

__all__ = ["draw_long_sums", "draw_quick_test"]

_PATHS = 12  # runs drawn one by one; more would be a band
_TALL = 258.0
_BLUE, _RED = ROUNDING["stochastic"], ROUNDING["nearest"]
_TYPICAL = 0.6745  # the median size of a normal error, in standard deviations


def draw_quick_test(
    test, *, documented: float | None = None, guess: float | None = None, width: float = 960.0
) -> Scene:
    """Draw runs of the quick test on their way, and where they end beside the exact law.

    Parameters
    ----------
    test : QuickTest
    documented : float, optional
        The result that AWS prints, marked beside the law.
    guess : float, optional
        Where the learner lets nearest-even end, marked at its height; at an edge if beyond.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, first, second = two_boxes(width, _TALL)
    _draw_runs(scene, first, test, guess)
    _draw_ends(scene, second, test, documented)
    return scene


def _draw_runs(scene, box, test, guess):
    """Draw the sums on their way."""
    x, sd = np.append(0, test.terms_added), np.append(0, test.sd)
    mean = 1024 + 0.5 * x
    runs = np.vstack([np.full(_PATHS, 1024.0), test.runs[:, :_PATHS]])
    low, high = min(runs.min(), 1000.0), max(runs.max(), (mean + 2 * sd).max())
    chart = Chart(scene, box, (0, 2048), (low, high))
    chart.axes("The sum on its way", "additions of 0.5", range(0, 2049, 512))
    band, words = (mean - 2 * sd, mean + 2 * sd), "theory: two standard deviations"
    chart.band(x, *band, _BLUE, opacity=0.18, words=words)
    for run in runs.T:
        chart.curve(x, run, _BLUE, width=1.0, opacity=0.8, words="a stochastic run")
    chart.said.append((f"stochastic, {_PATHS} runs", _BLUE, 1.4, ""))
    chart.series(x, mean, "ink", "exact sum", width=1.6, dash="dashed")
    chart.series(x, np.append(1024, test.nearest), _RED, "nearest-even", width=3.2)
    chart.legend(box[0] + 12, box[1] + 14)
    if guess is not None:
        at_x, at_y = chart.place(2048, guess)
        corners = [at_x, at_x - 12, at_x - 12], [at_y, at_y - 6, at_y + 6]
        scene.area(*corners, COLOURS["orange"], opacity=1, words="your guess")
        scene.rect(at_x - 92, at_y - 9, 78, 18, "paper", opacity=0.85)  # over the curves
        scene.text(at_x - 16, at_y + 4, f"you: {guess:g}", anchor="end", size=12, bold=True)


def _draw_ends(scene, box, test, documented):
    """Draw where the sums end: shares of the runs as bars, the exact law as steps."""
    low, high = test.law.quantile(0.0005), test.law.quantile(0.9995)
    wide = 2.0 ** np.ceil(np.log2((high - low) / 24))
    edges = np.arange(low // wide * wide, high + wide, wide)
    runs = 100 * np.histogram(test.final, edges)[0] / test.final.size
    law = 100 * np.histogram(test.law.values, edges, weights=test.law.probabilities)[0]
    top = 1.45 * max(runs.max(), law.max())
    chart = Chart(scene, box, (edges[0], edges[-1]), (0, top))
    chart.axes("Where it ends, % of runs", "final sum", round_steps(edges[0], edges[-1], 6))
    for middle, share in zip(edges[:-1] + wide / 2, runs, strict=True):
        chart.bar(middle, share, 0.9 * wide, _BLUE)
    chart.said.append((f"{test.final.size} runs", _BLUE, 8, ""))
    steps = np.concatenate([[0], np.repeat(law, 2), [0]])
    chart.series(np.repeat(edges, 2), steps, "ink", "exact law", width=1.8)
    if documented is not None:
        look = COLOURS["orange"], f"AWS's page: {documented:g}"
        chart.series([documented] * 2, [0, top], *look, width=2.6)
    chart.legend(box[0] + 12, box[1] + 14)


def draw_long_sums(sums, growth, *, guess: float | None = None, width: float = 960.0) -> Scene:
    """Draw how the errors of long sums, and of many roundings of one number, grow.

    Parameters
    ----------
    sums : LongSums
    growth : ErrorGrowth
    guess : float, optional
        How many times larger the learner lets the stochastic error become from 1000 to 10,000.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, first, second = two_boxes(width, _TALL)
    _draw_relative_errors(scene, first, sums, guess)
    _draw_summed_errors(scene, second, growth)
    return scene


def _draw_relative_errors(scene, box, sums, guess):
    """Draw the relative error of sums of positive terms against their length."""
    low = max(min(sums.stochastic.min(), sums.nearest[sums.nearest > 0].min()), 1e-5) / 1.5
    x = (float(sums.n[0]), float(sums.n[-1]))
    chart = Chart(scene, box, x, (low, 1.6), log="xy")
    chart.axes("Sums of numbers from 0 to 1: relative error", "terms added")
    settled, words = _TYPICAL * sums.saturation, "where stochastic rounding settles"
    chart.curve(x, [settled] * 2, "muted", width=1.6, dash="dotted", words=words)
    near = f"settles near {100 * settled:.2g} %"
    chart.note(x[0], settled, near, right=6, down=-6, colour="muted", size=11)
    chart.series(sums.n, sums.nearest, _RED, "nearest-even", width=3.2)
    chart.series(sums.n, sums.stochastic, _BLUE, "stochastic", width=2.4)
    chart.series(sums.n, _TYPICAL * sums.spread, "ink", "theory", width=1.6, dash="dashed")
    if guess is not None:
        start = float(np.interp(1_000, sums.n, sums.stochastic))
        ends = (start, guess * start)
        chart.series((1_000, 10_000), ends, COLOURS["orange"], "your guess", width=3)
    chart.legend(box[0] + box[2] - 130, box[1] + box[3] + 4 - 18 * len(chart.said))


def _draw_summed_errors(scene, box, growth):
    """Draw how the errors of many roundings of one number add up."""
    step = growth.fmt.epsilon
    curves = (
        (growth.nearest / step, _RED, "nearest-even", 3.2, ""),
        (growth.stochastic / step, _BLUE, "stochastic (root mean square)", 2.4, ""),
        (growth.bias_line / step, "ink", "theory: n × bias", 1.6, "dashed"),
        (growth.sd_line / step, "ink", "theory: √n × spread", 1.8, "dotted"),
    )
    seen = np.concatenate([ys[ys > 0] for ys, *_ in curves])
    x, y = (float(growth.n[0]), float(growth.n[-1])), (seen.min() / 1.3, seen.max() * 1.3)
    chart = Chart(scene, box, x, y, log="xy")
    chart.axes(f"{growth.value:.4g} rounded n times: error in ε", "roundings")
    for ys, colour, words, wide, dash in curves:
        chart.series(growth.n, ys, colour, words, width=wide, dash=dash)
    chart.legend(box[0] + 12, box[1] + 14)
