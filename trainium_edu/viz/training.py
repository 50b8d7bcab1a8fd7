"""Pictures of training: final accuracies, and what a faster step would require."""

from collections.abc import Mapping, Sequence

import numpy as np

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.chart import Chart, round_steps, two_boxes
from trainium_edu.viz.colours import COLOURS, looks
from trainium_edu.viz.scene import Scene

__all__ = ["ARM_STYLE", "draw_accuracies", "draw_faster", "draw_training"]

#: Colour, width, opacity and dash: arms often lie on top of each other; so all of them are seen.
ARM_STYLE = looks("arm")


@checked
def draw_accuracies(groups: Sequence, labels: Mapping, *, width: float = 890.0) -> Scene:
    """Draw final accuracies, one dot per seed: a chart for each learning rate.

    Parameters
    ----------
    groups : list of (str, dict of str to float[seeds])
        For each learning rate a title, and the accuracies in percent of each arm.
    labels : dict of str to str
        The arms' names for the picture.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    each = 34 + 150 + 46
    scene = Scene(width, each * len(groups))
    for row, (title, arms) in enumerate(groups):
        box = (44, 34 + each * row, width - 60, 150)
        chart = Chart(scene, box, (-0.6, len(arms) - 0.4), (36, 101))
        first, _, second = zip(*(labels[arm].partition(" ") for arm in arms), strict=True)
        chart.axes(title, "", [*enumerate(first)], round_steps(40, 100, 3), unit="%")
        for i, (arm, values) in enumerate(arms.items()):
            chart.note(i, 36, second[i], down=32, anchor="middle", colour="muted", size=11)
            spread = i + np.linspace(-0.22, 0.22, len(values))
            chart.dots(spread, values, ARM_STYLE[arm][0], opacity=0.85)
            mean = float(np.mean(values))
            chart.curve([i - 0.36, i + 0.36], [mean, mean], "ink", words=f"mean {mean:.1f} %")
            chart.note(i, min(values), f"{mean:.1f}", down=17, anchor="middle", bold=True)
    return scene


_LOSSES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)  # on an axis


def draw_training(
    curves: Mapping, labels: Mapping, epochs: int, *, width=960.0, told=False
) -> Scene:
    """Draw loss and accuracy of some arms, each as far as it is trained.

    Parameters
    ----------
    curves : dict of str to (float[n], float[n])
        Of each arm the loss, and the accuracy from 0 to 1.
    labels : dict of str to str
        The arms' names for the picture.
    epochs : int
        Where the axis ends.
    width : float, CSS pixels
    told : bool
        Whether pointing at an epoch tells its numbers.

    Returns
    -------
    Scene
    """
    scene, first, second = two_boxes(width, 186.0)
    seen = np.concatenate([[0.1, 3.0], *(loss for loss, _ in curves.values())])
    seen = seen[np.isfinite(seen) & (seen > 0)]
    ends = seen.min() / 1.15, seen.max() * 1.15
    steps = round_steps(0, epochs, 8)
    losses = Chart(scene, first, (0, epochs), ends, log="y")
    round_losses = [v for v in _LOSSES if ends[0] <= v <= ends[1]]
    losses.axes("Training loss", "epoch", steps, round_losses)
    shares = Chart(scene, second, (0, epochs), (0, 102))
    shares.axes("Accuracy on images never trained on, %", "epoch", steps, round_steps(0, 100))
    for name, (loss, accuracy) in curves.items():
        (colour, wide, opacity, dash), at = ARM_STYLE[name], np.arange(1, len(loss) + 1)
        for chart, values in ((losses, loss), (shares, 100 * accuracy)):
            chart.series(at, values, colour, labels[name], width=wide, dash=dash, opacity=opacity)
    shares.legend(second[0] + second[2] - 150, second[1] + second[3] - 68)
    for epoch in range(1, 1 + max((len(loss) for loss, _ in curves.values()), default=0) * told):
        lines, around = [f"epoch {epoch}"], [epoch - 0.5, epoch + 0.5]
        for name, (loss, accuracy) in curves.items():
            if epoch <= len(loss):
                found = f"loss {loss[epoch - 1]:.3g}, {accuracy[epoch - 1]:.1%}"
                lines.append(f"{labels[name]}: {found}")
        for chart in (losses, shares):
            low, high = ([end] * 2 for end in chart.y)
            chart.band(around, low, high, "ink", words="\n".join(lines), opacity=0)
    return scene


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
    ticks = [2**k for k in range(6, 15, every) if x[0] <= 2**k <= x[1]]
    title = "Arithmetic and weight update of one step, on paper"
    chart.axes(title, "tokens that one NeuronCore sees in one step", ticks, unit="%")
    said = f"“up to {100 * claimed:.0f} % faster”"
    chart.curve(x, [100 * claimed] * 2, "ink", width=1.8, dash="dotted", words=said)
    chart.note(x[1], 100 * claimed, said, down=-6, anchor="end")
    updates, gains = 100 * np.asarray(update_share), 100 * np.asarray(faster_by)
    chart.series(tokens, gains, COLOURS["blue"], "the step gets faster by", width=3.2)
    words = "share of the step that the update took before"
    chart.series(tokens, updates, COLOURS["orange"], words, width=2.8, dash="dashed")
    chart.legend(max(width - 36 - 330, 60), 46)
    return scene
