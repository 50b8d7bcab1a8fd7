"""Pictures of a training run: loss and accuracy epoch by epoch, and digits read or misread."""

from collections.abc import Mapping, Sequence

import matplotlib.colors
import numpy as np

from trainium_edu.specs.signatures import checked
from trainium_edu.viz import style
from trainium_edu.viz.chart import Chart
from trainium_edu.viz.scene import Scene

__all__ = ["ARM_STYLE", "draw_faster", "plot_accuracies", "plot_film_end", "plot_runs"]

#: Arms often lie on top of each other; the widths let all of them be seen.
ARM_STYLE = {
    "fp32": {"color": style.ROUNDING["exact"], "lw": 6.5, "alpha": 0.5, "dash": ""},
    "master": {"color": style.COLOURS["green"], "lw": 3.6, "dash": "10 5"},
    "nearest": {"color": style.ROUNDING["nearest"], "lw": 2.2, "dash": "8 3 2 3"},
    "stochastic": {"color": style.ROUNDING["stochastic"], "lw": 1.6, "dash": ""},
}


@checked
def plot_runs(curves, epochs: int, *, title: str = ""):
    """Draw training loss and test accuracy of several arms.

    Parameters
    ----------
    curves : dict of str to (label, loss, accuracy)
        For each arm its label, and two float[n] of the n epochs done so far; accuracy from 0 to 1.
    epochs : int
        Where the horizontal axis ends.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 3.8, margins=(0.65, 0.2, 0.5, 0.75))
    left, right = fig.subplots(1, 2, gridspec_kw={"wspace": 0.2})
    for name, (label, loss, accuracy) in curves.items():
        x = np.arange(1, len(loss) + 1)
        mark = {"marker": "o", "ms": 3} if len(loss) < 2 else {}
        left.plot(x, loss, label=label, **_line(name), **mark)
        right.plot(x, 100 * np.asarray(accuracy), **_line(name), **mark)
    _loss_axis(left, epochs, [c[1] for c in curves.values()])
    right.set(xlim=(0, epochs), ylim=(0, 102), xlabel="epoch")
    right.set_title("Accuracy on images never trained on, %")
    if curves:
        fig.legend(loc="upper left", ncols=4, bbox_to_anchor=(0.06, 1.01), columnspacing=1.6)
    if title:
        left.text(0.98, 0.94, title, transform=left.transAxes, ha="right", va="top")
    return fig


def plot_film_end(loss, right, per_pass: int, images, labels, named, *, per_row: int = 36):
    """Draw a filmed run's loss and count, and below all test images, misread ones filled.

    Parameters
    ----------
    loss, right : float[frames], int[frames]
        Frame 0 is before training, and has no loss.
    per_pass : int
        Frames of a pass.
    images : float32[m, 64]
    labels, named : int[m]
        The right digit and the network's guess.
    per_row : int, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 5.0, margins=(0.65, 0.2, 0.1, 0.45))
    grid = fig.add_gridspec(2, 2, height_ratios=[1, 1.25], hspace=0.42, wspace=0.2)
    left, middle, wall = (fig.add_subplot(grid[at]) for at in ((0, 0), (0, 1), (1, slice(None))))
    x = np.arange(len(loss)) / per_pass
    left.plot(x, loss, color=style.COLOURS["orange"], lw=2)
    middle.plot(x, right, color=style.COLOURS["blue"], lw=2)
    _loss_axis(left, x[-1], [loss])
    left.set_xlabel("pass")
    middle.set(xlim=(0, x[-1]), ylim=(0, len(labels)), xlabel="pass")
    middle.set_title(f"New images read correctly, of {len(labels)}")
    wrong = np.asarray(labels) != np.asarray(named)
    _wall(wall, images, wrong, per_row)
    wall.set_title(f"At the end {wrong.sum()} of {len(labels)} are misread (filled)")
    return fig


@checked
def plot_accuracies(groups: Sequence, labels: Mapping):
    """Draw final accuracies, one dot per seed, arms beside each other at each learning rate.

    Parameters
    ----------
    groups : list of (str, dict of str to float[seeds])
        For each learning rate a title, and the accuracies in percent of each arm.
    labels : dict of str to str
        The arms' names for the picture.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 3.5, margins=(0.6, 0.15, 0.75, 0.4))
    row = fig.subplots(1, len(groups), sharey=True, squeeze=False, gridspec_kw={"wspace": 0.08})[0]
    for ax, (title, arms) in zip(row, groups, strict=True):
        for i, (name, values) in enumerate(arms.items()):
            spread = np.linspace(-0.22, 0.22, len(values))
            colour = ARM_STYLE[name]["color"]
            ax.plot(i + spread, values, "o", ms=4.5, color=colour, alpha=0.85)
            mean = float(np.mean(values))
            ax.plot([i - 0.36, i + 0.36], [mean, mean], color=style.ink(), lw=1.6)
            ax.text(i, min(values) - 2, f"{mean:.1f}", ha="center", va="top", weight="bold")
        ax.set_xticks(range(len(arms)), [labels[a].replace(" ", "\n") for a in arms], fontsize=9)
        ax.set(title=title, xlim=(-0.6, len(arms) - 0.4), ylim=(36, 101))
        ax.grid(axis="x", visible=False)
    fig.axes[0].set_ylabel("test accuracy, %")
    return fig


def draw_faster(tokens, faster_by, update_share, claimed: float, *, width=960.0) -> Scene:
    """Draw by how much a step gets faster when its weight update shrinks.

    Parameters
    ----------
    tokens : float[n]
        Tokens that one NeuronCore sees in a step.
    faster_by, update_share : float[n]
        0.3 is 30 %.
    claimed : float
        The gain that the sources name.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene = Scene(width, 340)
    x = (float(tokens[0]), float(tokens[-1]))
    chart = Chart(scene, (48, 34, width - 84, 248), x, (0, 100), log="x")
    every = 1 if width > 600 else 2
    ticks = [(2**k, str(2**k)) for k in range(6, 15, every) if x[0] <= 2**k <= x[1]]
    chart.axes("Arithmetic and weight update of one step, on paper",
               "tokens that one NeuronCore sees in one step", ticks,
               [(v, str(v)) for v in range(0, 101, 20)], unit="%")  # fmt: skip
    said = f"“up to {100 * claimed:.0f} % faster”"
    chart.curve(x, [100 * claimed] * 2, "ink", width=1.8, dash="dotted", words=said)
    end_x, end_y = chart.place(x[1], 100 * claimed)
    scene.text(end_x, end_y - 6, said, anchor="end")
    gain, share = style.COLOURS["blue"], style.COLOURS["orange"]
    before = "share of the step that the update took before"
    chart.curve(tokens, 100 * np.asarray(update_share), share, width=2.8, dash="dashed",
                words=before)  # fmt: skip
    chart.curve(tokens, 100 * np.asarray(faster_by), gain, width=3.2,
                words="the step gets faster by")  # fmt: skip
    chart.legend(max(width - 36 - 330, 60), 46, ("the step gets faster by", gain, 3.2, ""),
                 (before, share, 2.8, "dashed"))  # fmt: skip
    return scene


def _line(name) -> dict:
    """Return Matplotlib's words for an arm's line."""
    look = dict(ARM_STYLE[name])
    dash = look.pop("dash")
    if dash:  # Matplotlib counts dashes in line widths, a page in pixels
        look["ls"] = (0, tuple(float(d) / look["lw"] for d in dash.split()))
    return look


def _loss_axis(ax, epochs, losses):
    """Set up the axis of the loss: logarithmic, with few marks."""
    finite = [v for loss in losses for v in loss if np.isfinite(v) and v > 0]
    low = min([0.05, *finite])
    low, high = low * 0.8, max([3.0, *finite]) * 1.2
    ax.set(yscale="log", xlabel="epoch", title="Training loss")
    ticks = [t for t in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30) if low <= t <= high]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_yticks([], minor=True)
    ax.set(xlim=(0, epochs), ylim=(low, high))


def _wall(ax, images, wrong, per_row):
    """Draw images in rows; those read wrongly are filled."""
    rows, tile = -(-len(images) // per_row), 10
    paper = np.array(matplotlib.colors.to_rgb(style.ink("paper")))
    ink = np.array(matplotlib.colors.to_rgb(style.ink()))
    fill = np.array(matplotlib.colors.to_rgb(style.COLOURS["red"]))
    canvas = np.tile(paper, (rows * tile, per_row * tile, 1))
    for i, image in enumerate(images):
        y, x = (tile * k for k in divmod(i, per_row))
        ground, pen = (fill, np.ones(3)) if wrong[i] else (paper, ink)
        square = canvas[y : y + tile - 1, x : x + tile - 1]
        square[:] = ground
        strength = np.reshape(image, (8, 8))[..., None]
        square[:8, :8] = ground + strength * (pen - ground)
    ax.imshow(canvas, aspect="equal", interpolation="nearest")
    ax.set_axis_off()
