"""Pictures of one bit: the gradients behind a weight, the toss that rounded it, and two futures."""

from trainium_edu.viz.chart import Chart, powers_of_ten, round_steps, two_boxes
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.scene import Scene, linear

__all__ = ["draw_futures", "draw_toss"]

_UP, _DOWN, _EXACT = COLOURS["blue"], COLOURS["orange"], COLOURS["red"]
_TOSSES = 2**16


def draw_toss(explained, *, width: float = 890.0) -> Scene:
    """Draw what each rank wanted of a weight, and between which neighbours the update was tossed.

    Parameters
    ----------
    explained : training.Explained
        Of a weight in BF16.
    width : float, CSS pixels

    Returns
    -------
    Scene

    Raises
    ------
    ValueError
        For a weight in FP32, where nothing is tossed.
    """
    toss = explained.toss
    if toss is None:
        raise ValueError(
            f"{explained.name} is kept in FP32, so nothing was tossed; explain a weight of a run "
            "in BF16"
        )
    shards, mean = explained.shards, explained.total * explained.scale
    ranks, scene = len(shards), Scene(width, 340)
    ends = 1.05 * min(0, *shards, mean), 1.05 * max(0, *shards, mean)
    chart = Chart(scene, (56, 34, width - 72, 110), (-0.7, ranks - 0.3), ends)
    title = f"Gradients of the ranks; the line is their mean, {mean:.4g}"
    chart.axes(title, "rank", range(0, ranks, max(1, ranks // 16)), round_steps(*ends, 3))
    for rank, gradient in enumerate(shards):
        chart.bar(rank, gradient, 0.75, COLOURS["sky"], opacity=1)
    chart.curve(chart.x, [mean, mean], "ink", width=1.6, words="mean")
    _draw_line(scene, explained)
    return scene


def _draw_line(scene, told):
    """Draw the way from one neighbour to the other, and which random bits lead where."""
    toss, y, to_x = told.toss, 276, linear(0, 1, 16, scene.width - 16)
    went_up = told.after == toss.high
    how, way_colour = ("up", _UP) if went_up else ("down", _DOWN)
    if toss.random_bits is None:
        how = "to the nearer"
    place = f"step {told.step}: {told.name}[{', '.join(map(str, told.index))}]"
    scene.text(16, 220, f"{place} lies {toss.share:.1%} of the way, and went {how}", bold=True)
    scene.line(to_x(0), y, to_x(1), y, width=2)
    for at, value, side in ((0, toss.low, "start"), (1, toss.high, "end")):
        taken = value == told.after
        colour = way_colour if taken else "muted"
        scene.rect(to_x(at) - 6, y - 6, 12, 12, colour, outline=not taken)
        scene.text(to_x(at), y - 12, f"{value:.9g}", anchor=side, bold=taken)
    _mark(scene, to_x(toss.share), y - 30, f"in FP32: {told.exact:.9g}", _EXACT)
    scene.rect(to_x(toss.share) - 4, y - 4, 8, 8, _EXACT)
    if toss.random_bits is not None:
        parts = ((0, 1 - toss.share, "start", "down", _DOWN), (1 - toss.share, 1, "end", "up", _UP))
        for start, end, side, words, colour in parts:
            left, right = to_x(start), to_x(end)
            scene.rect(left, y + 16, right - left, 18, colour, opacity=0.55)
            scene.text(left + 4 if side == "start" else right - 4, y + 29, words, anchor=side)
        x = to_x(toss.random_bits / _TOSSES)
        scene.line(x, y + 12, x, y + 38, "ink", width=2.2)
        _mark(scene, x, y + 52, f"random bits {toss.random_bits:,} of 65,536", "ink")


def _mark(scene, x, y, words, colour):
    """Write words above or below a place, within the scene."""
    room = 3.4 * len(words)  # half of what they take
    scene.text(min(max(x, room), scene.width - room), y, words, anchor="middle", colour=colour)


def draw_futures(futures, *, width: float = 890.0) -> Scene:
    """Draw how far two runs have drifted apart since one toss fell the other way.

    Parameters
    ----------
    futures : training.Futures
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    steps, first = [one.step for one in futures.after], futures.first
    weights = [one.weights for one in futures.after]
    apart = [abs(one.loss - one.loss_if) for one in futures.after]
    scene, left, right = two_boxes(width, 200.0)
    x, ends = (steps[0] - 0.5, steps[-1] + 0.5), (0.7, 2 * max(1, *weights, 1))
    most = 1.1 * max(apart) or 1.0
    powers = [(v, f"{v:,.0f}") for v in powers_of_ten(*ends)]
    for box, title, y, ticks, values, colour, log in (
        (left, "Weights that differ", ends, powers, weights, _UP, "y"),
        (right, "Difference of the two losses", (0, most), None, apart, _DOWN, ""),
    ):
        chart = Chart(scene, box, x, y, log=log)
        chart.axes(title, "after step", steps[:: 1 + len(steps) // 8], ticks)
        chart.series(steps, values, colour, title, dots=7)
        if first:
            chart.curve([first.step] * 2, y, _EXACT, dash="dashed", words="a prediction differs")
    told = f"test sample {first.images[0]} is read differently" if first else "all read alike"
    scene.text(12, scene.height, told, colour=_EXACT)
    scene.height += 10
    return scene
