"""Pictures of one bit: the gradients behind a weight, the toss that rounded it, and two futures."""

import numpy as np

from trainium_edu.viz import style

__all__ = ["plot_futures", "plot_toss"]

_UP, _DOWN = style.COLOURS["blue"], style.COLOURS["orange"]
_TOSSES = 2**16


def plot_toss(explained):
    """Draw what each rank wanted of a weight, and between which neighbours the update was tossed.

    Parameters
    ----------
    explained : training.Explained
        Of a weight in BF16.

    Returns
    -------
    matplotlib.figure.Figure

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
    fig = style.figure(9, 4.2, margins=(0.75, 0.3, 0.1, 0.4))
    grads, line = fig.subplots(2, 1, gridspec_kw={"hspace": 0.75, "height_ratios": [1, 1.15]})
    _draw_shards(grads, explained)
    _draw_line(line, explained)
    return fig


def _draw_shards(ax, told):
    """Draw each rank's gradient, and the mean that all get."""
    ranks = np.arange(len(told.shards))
    ax.bar(ranks, told.shards, 0.75, color=style.COLOURS["sky"])
    ax.axhline(told.total * told.scale, color=style.ink(), linewidth=1.6)
    ax.axhline(0, color=style.ink("muted"), linewidth=0.8)
    ax.set(title=f"gradients of the ranks; the line is their mean, {told.total * told.scale:.4g}",
           xlabel="rank", xlim=(-0.7, len(ranks) - 0.3))  # fmt: skip
    ax.set_xticks(ranks[:: max(1, len(ranks) // 16)])
    ax.grid(axis="x", visible=False)


def _draw_line(ax, told):
    """Draw the way from one neighbour to the other, and which random bits lead where."""
    toss = told.toss
    went_up = told.after == toss.high
    colour = _UP if went_up else _DOWN
    ax.plot([0, 1], [0, 0], color=style.ink("muted"), linewidth=2)
    for at, value in ((0, toss.low), (1, toss.high)):
        taken = value == told.after
        ax.plot(at, 0, "o", markersize=11 if taken else 8, color=colour if taken else
                style.ink("paper"), markeredgecolor=style.ink("muted"))  # fmt: skip
        ax.text(at, 0.22, f"{value:.9g}", ha="left" if at == 0 else "right", va="bottom",
                weight="bold" if taken else "normal")  # fmt: skip
    ax.plot(toss.share, 0, "D", markersize=7, color=style.COLOURS["red"])
    side = "left" if toss.share < 0.2 else "right" if toss.share > 0.8 else "center"
    ax.text(toss.share, 0.62, f"in FP32: {told.exact:.9g}", ha=side, va="bottom",
            color=style.COLOURS["red"])  # fmt: skip
    if toss.random_bits is not None:
        ax.broken_barh([(0, 1 - toss.share)], (-0.85, 0.35), color=_DOWN, alpha=0.55, label="down")
        ax.broken_barh([(1 - toss.share, toss.share)], (-0.85, 0.35), color=_UP, alpha=0.55,
                       label="up")  # fmt: skip
        for x, side, words in ((0.005, "left", "down"), (0.995, "right", "up")):
            ax.text(x, -0.675, words, ha=side, va="center")
        at = toss.random_bits / _TOSSES
        ax.plot([at, at], [-0.95, -0.4], color=style.ink(), linewidth=2.2)
        ax.text(at, -1.05, f"random bits {toss.random_bits:,} of 65,536", va="top",
                ha="left" if at < 0.5 else "right")  # fmt: skip
    how = "to the nearer" if toss.random_bits is None else "up" if went_up else "down"
    ax.set(title=f"step {told.step}: {told.name}[{', '.join(map(str, told.index))}] lies "
           f"{toss.share:.1%} of the way, and went {how}",
           xlim=(-0.03, 1.03), ylim=(-1.35, 1.1), xticks=[], yticks=[])  # fmt: skip
    ax.spines[:].set_visible(False)
    ax.grid(visible=False)


def plot_futures(futures):
    """Draw how far two runs have drifted apart since one toss fell the other way.

    Parameters
    ----------
    futures : training.Futures

    Returns
    -------
    matplotlib.figure.Figure
    """
    steps = [one.step for one in futures.after]
    fig = style.figure(9, 3.4, margins=(0.8, 0.2, 0.55, 0.65))
    weights, losses = fig.subplots(1, 2, gridspec_kw={"wspace": 0.28})
    weights.plot(steps, [one.weights for one in futures.after], color=_UP, marker="o", ms=3.5)
    weights.set(title="weights that differ", yscale="symlog", ylim=(0, None))
    apart = [abs(one.loss - one.loss_if) for one in futures.after]
    losses.plot(steps, apart, color=_DOWN, marker="o", ms=3.5)
    losses.set(title="difference of the two losses", ylim=(0, None))
    losses.yaxis.set_major_formatter("{x:g}")  # a factor above the axis would hide the title
    first = futures.first
    for ax in (weights, losses):
        ax.set_xlabel("after step")
        if first:
            ax.axvline(first.step, color=style.COLOURS["red"], linestyle=(0, (4, 3)))
    told = f"test sample {first.images[0]} is read differently" if first else "all read alike"
    fig.text(0.99, 0.98, told, color=style.COLOURS["red"], ha="right", va="top", fontsize=9)
    return fig
