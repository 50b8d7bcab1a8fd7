"""Train a small network live: choose learning rate and rounding, watch loss and accuracy."""

import ipywidgets
import numpy as np

from trainium_edu.training import ARMS, Arm, digits, epochs, predict
from trainium_edu.viz import training as picture
from trainium_edu.widgets.live import LiveRun
from trainium_edu.widgets.picture import Panel, Picture

__all__ = ["RATES", "first_training_run", "training_explorer"]

#: Learning rates offered, from the largest to the smallest.
RATES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_WIDE = {"description_width": "initial"}
_SHOWN = slice(0, 360, 30)  # test images shown with their guesses


class _Trainer:
    """One or more arms trained live: controls' state in, curves out."""

    def __init__(self, show):
        self.curves: dict[str, tuple[list, list]] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.live = LiveRun(show)

    def start(self, arms, rate, count, *, seed=0, at_once=False):
        """Train the arms side by side for `count` epochs."""
        self.curves = {arm.name: ([], []) for arm in arms}
        self.live.start(self._work(arms, rate, count, seed), at_once=at_once)

    def _work(self, arms, rate, count, seed):
        runs = {
            arm.name: epochs(arm, learning_rate=rate, epochs=count, seeds=[seed], rounding_seed=0)
            for arm in arms
        }
        curves = self.curves
        for _ in range(count):
            for name, run in runs.items():
                done = next(run)
                curves[name][0].append(float(done.loss[0]))
                curves[name][1].append(float(done.accuracy[0]))
                self.weights[name] = done.weights
                yield

    @property
    def epoch(self) -> int:
        """The number of epochs that all arms have done."""
        return min((len(loss) for loss, _ in self.curves.values()), default=0)


def training_explorer(learning_rate: float = 0.01, *, epochs: int = 60):
    """Train the digits network in four arms, live, and compare them.

    Parameters
    ----------
    learning_rate : float
        One of :data:`RATES`, where the control stands first.
    epochs : int
        5 to 200.

    Returns
    -------
    Panel

    Raises
    ------
    ValueError
        If the learning rate is not offered, or the number of epochs is out of range.
    """
    rate = _rate_slider(learning_rate)
    count = _epoch_slider(epochs, 200)
    boxes = {
        name: ipywidgets.Checkbox(
            True, description=arm.label, indent=False, layout={"width": "auto"}
        )
        for name, arm in ARMS.items()
    }
    button = ipywidgets.Button(description="Train again", icon="play")
    words = ipywidgets.HTML()

    def chosen() -> list[Arm]:
        return [ARMS[name] for name, box in boxes.items() if box.value]

    def show():
        button.description = "Stop" if trainer.live.running else "Train again"
        button.icon = "stop" if trainer.live.running else "play"
        words.value = f"<span aria-live='polite'>{_summary(trainer, rate.value)}</span>"
        if picture_widget is not None:
            picture_widget.redraw()

    def draw():
        curves = {name: (ARMS[name].short, *curve) for name, curve in trainer.curves.items()}
        return picture.plot_runs(curves, count.value, title=f"learning rate {rate.value:g}")

    picture_widget = None
    trainer = _Trainer(show)
    trainer.start(chosen(), rate.value, count.value, at_once=True)
    picture_widget = Picture(draw, alt=lambda: _summary(trainer, rate.value))
    _connect(trainer, button, [rate, count, *boxes.values()],
             lambda: trainer.start(chosen(), rate.value, count.value), show)  # fmt: skip
    controls = ipywidgets.HBox([rate, count, button], layout={"flex_flow": "row wrap"})
    arms = ipywidgets.HBox(list(boxes.values()), layout={"flex_flow": "row wrap"})
    return Panel(
        [controls, arms, picture_widget, words],
        f"training in four arms; learning rate, epochs and arms to choose: "
        f"{_summary(trainer, rate.value)}",
    )


def first_training_run(learning_rate: float = 0.1, *, epochs: int = 20):
    """Train a network to read digits, live: a first training run with its picture.

    Parameters
    ----------
    learning_rate : float
        One of :data:`RATES`.
    epochs : int
        5 to 60.

    Returns
    -------
    Panel

    Raises
    ------
    ValueError
        If the learning rate is not offered, or the number of epochs is out of range.
    """
    data = digits()
    rate = _rate_slider(learning_rate)
    count = _epoch_slider(epochs, 60)
    button = ipywidgets.Button(description="Train again", icon="play")
    words = ipywidgets.HTML()
    arm = ARMS["stochastic"]

    def show():
        button.description = "Stop" if trainer.live.running else "Train again"
        button.icon = "stop" if trainer.live.running else "play"
        words.value = f"<span aria-live='polite'>{sentence()}</span>"
        if picture_widget is not None:
            picture_widget.redraw()

    def sentence():
        loss, accuracy = trainer.curves[arm.name]
        if not loss:
            return "Training …"
        right = round(accuracy[-1] * len(data.test_labels))
        return (
            f"Learning rate {rate.value:g}, after epoch {len(loss)} of {count.value}: loss "
            f"{_digits3(loss[-1])}; reads {right} of {len(data.test_labels)} new images "
            f"correctly, {100 * accuracy[-1]:.1f} %."
        )

    def draw():
        images = data.test_images[_SHOWN]
        named = predict(trainer.weights[arm.name], images, bf16=True)[0]
        loss, accuracy = trainer.curves[arm.name]
        return picture.plot_first_run(
            loss, accuracy, count.value, images, data.test_labels[_SHOWN], named
        )

    picture_widget = None
    trainer = _Trainer(show)
    trainer.start([arm], rate.value, count.value, at_once=True)
    picture_widget = Picture(draw, alt=sentence)
    _connect(trainer, button, [rate, count],
             lambda: trainer.start([arm], rate.value, count.value), show)  # fmt: skip
    controls = ipywidgets.HBox([rate, count, button], layout={"flex_flow": "row wrap"})
    return Panel([controls, picture_widget, words], f"a first training run: {sentence()}")


def _connect(trainer, button, controls, start, show):
    """Let the button start and stop, and any other control begin anew."""

    def click(_button):
        if trainer.live.running:
            trainer.live.stop()
            show()
        else:
            start()

    button.on_click(click)
    for control in controls:
        control.observe(lambda _change: start(), "value")


def _rate_slider(value):
    if value not in RATES:
        raise ValueError(
            f"learning_rate is {str(value)[:40]}; the control offers "
            f"{', '.join(f'{rate:g}' for rate in RATES)} (trainium_edu.training.train takes any)"
        )
    return ipywidgets.SelectionSlider(
        options=[(f"{rate:g}", rate) for rate in reversed(RATES)], value=value,
        description="learning rate", style=_WIDE, continuous_update=False,
    )  # fmt: skip


def _epoch_slider(value, most):
    if isinstance(value, bool) or not isinstance(value, int) or not 5 <= value <= most:
        raise ValueError(f"epochs is {str(value)[:40]}; the control goes from 5 to {most}")
    return ipywidgets.IntSlider(
        value, 5, most, 5, description="epochs", style=_WIDE, continuous_update=False
    )


def _summary(trainer, rate) -> str:
    """Say the numbers of the picture."""
    if not trainer.curves:
        return "No arm chosen: tick at least one."
    if not trainer.epoch:
        return "Training …"
    parts = [
        f"{ARMS[name].short} {100 * accuracy[-1]:.1f} %"
        for name, (_, accuracy) in trainer.curves.items()
    ]
    return (
        f"Test accuracy at learning rate {rate:g} after epoch {trainer.epoch}: {'; '.join(parts)}."
    )


def _digits3(value: float) -> str:
    """Return a loss to three digits; a run that diverged has none."""
    return f"{value:.3g}" if np.isfinite(value) else "no number any more (it diverged)"
