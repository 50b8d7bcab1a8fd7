"""The utilisation of the systolic array, as a picture."""

from functools import lru_cache

import numpy as np

from trainium_edu.neuroncore.systolic_array import (
    TRN1_ARRAY,
    SystolicArray,
    documented_issue_cycles,
    load_cycles,
    utilisation,
)
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.chart import Chart, round_steps
from trainium_edu.viz.colours import looks
from trainium_edu.viz.scene import Scene, told

__all__ = ["describe_reuse", "draw_reuse", "reuse_shares"]

_N = np.unique(np.round(np.geomspace(1, 512, 80)).astype(int))


def reuse_shares(n: int, *, m: int = 128, array: SystolicArray = TRN1_ARRAY) -> dict[str, float]:
    """Return the utilisation with N moving vectors in four situations.

    Parameters
    ----------
    n, m : int
    array : SystolicArray

    Returns
    -------
    dict of float
        ``alone`` (one tile, from first weight to last result), ``new weights`` and ``same
        weights`` (a long stream), ``documented`` (the guide's price of a moving tile).
    """
    k = array.rows
    return {
        "alone": utilisation(k, m, n, array, tiles=1),
        "new weights": utilisation(k, m, n, array),
        "same weights": utilisation(k, m, n, array, reuse=True),
        "documented": k * m * n / (array.pes * documented_issue_cycles(n, array=array)),
    }


_LOOKS = looks("reuse")


@checked
def draw_reuse(
    n: int,
    *,
    m: int = 128,
    array: SystolicArray = TRN1_ARRAY,
    guess: float | None = None,
    width: float = 890.0,
) -> Scene:
    """Draw utilisation against the number of moving vectors, and the TFLOPS of a chip beside it.

    Parameters
    ----------
    n, m : int
    array : SystolicArray
    guess : float, optional
        A learner's N, drawn where it lies.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    columns = 2 if width > 540 else 1
    scene = Scene(width, 352 + 36 * (3 - columns), describe_reuse(n, m=m, array=array))
    scene.text(4, 16, f"N = {n}", bold=True, size=13)
    chart = Chart(scene, (44, 50, width - 88, 250), (1, 530), (0, 104), log="x")
    ticks = (1, 4, 16, 64, 128, 512)
    chart.axes("utilisation, %", "N, moving vectors per tile", ticks, round_steps(0, 100))
    peak = array.peak_flops * int(array.chip.cores) / 1e12
    right, bottom = chart.left + chart.width, chart.top + chart.height
    words = "TFLOPS per chip, BF16"
    scene.text(right + 40, chart.top - 10, words, bold=True, size=13, anchor="end")
    for value, words in told(round_steps(0, peak)):
        chart.note(chart.x[1], 100 * value / peak, words, right=6, down=4, colour="muted", size=11)
    load = load_cycles(m, array)
    chart.curve([load] * 2, chart.y, "muted", dash="dotted", words="a load ends")
    chart.note(load, 30, f"a load ends: {load}", right=5, size=11)
    chart.curve([n] * 2, chart.y, "muted", width=1, words=f"N = {n}")
    here, curves = reuse_shares(n, m=m, array=array), _curves(m, array)
    for name, (colour, dash, words) in _LOOKS.items():
        chart.series(_N, curves[name], colour, words, width=2, dash=dash)
        chart.dots([n], [100 * here[name]], colour, size=9)
    if guess is not None and 1 <= guess <= 512:
        x = chart.to_x(guess)
        arrow = [x - 6, x + 6, x], [bottom, bottom, bottom - 11]
        scene.area(*arrow, "ink", opacity=1, words="your guess")
        scene.beside(x, bottom - 5, "your guess", guess < 64, off=9, size=11)
    for column in range(columns):
        left = chart.left + column * 0.5 * chart.width
        chart.legend(left, bottom + 60, *chart.said[column::columns])
    return scene


@lru_cache(maxsize=16)
def _curves(m, array):
    """Return in percent what does not depend on the slider's N."""
    rows = [reuse_shares(int(n), m=m, array=array) for n in _N]
    return {name: [100 * row[name] for row in rows] for name in _LOOKS}


def describe_reuse(n: int, *, m: int = 128, array: SystolicArray = TRN1_ARRAY) -> str:
    """Say what `draw_reuse` shows, with its numbers."""
    shares = ", ".join(f"{k} {v:.1%}" for k, v in reuse_shares(n, m=m, array=array).items())
    return f"Utilisation of the array with N = {n} moving vectors per tile: {shares}."
