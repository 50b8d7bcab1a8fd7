"""Train a small network live: choose learning rate and rounding, watch loss and accuracy."""

from numbers import Real

import numpy as np
import traitlets

from trainium_edu.specs.arguments import whole
from trainium_edu.training import ARMS, epochs
from trainium_edu.viz import training as picture
from trainium_edu.widgets.live import LiveRun
from trainium_edu.widgets.sketch import RECIPES, Page, Sketch, buttons_of, control, controls_of, say

__all__ = ["RATES", "TrainingExplorer", "offered_rate", "training_explorer"]

#: Learning rates offered, from the smallest to the largest.
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_MOST_EPOCHS = 200


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
    TrainingExplorer

    Raises
    ------
    ValueError
        If the learning rate is not offered, or the number of epochs is out of range.

    Examples
    --------
    >>> training_explorer(0.1, epochs=5).done
    [5, 5, 5, 5]
    """
    return TrainingExplorer(learning_rate, epochs)


def offered_rate(learning_rate) -> float:
    """Return a learning rate that the controls offer, or raise ValueError with a sentence."""
    if not isinstance(learning_rate, Real) or learning_rate not in RATES:
        offered = ", ".join(f"{rate:g}" for rate in RATES)
        raise ValueError(
            f"learning_rate is {str(learning_rate)[:40]}; the control offers {offered} "
            "(trainium_edu.training.train takes any)"
        )
    return float(learning_rate)


class TrainingExplorer(Sketch):
    """Values: ``rate`` (a place in RATES), ``epochs``, and one for each arm, by its name.

    Buttons: ``train`` and ``stop``.  A change of any value trains anew, in slices, so that the next
    change, or "stop", is heard.
    """

    running = traitlets.Bool(False)
    done = traitlets.List(traitlets.Int())  #: epochs done by each arm

    def __init__(self, learning_rate, count):
        rate = RATES.index(offered_rate(learning_rate))
        count = whole(count, "epochs", 5, _MOST_EPOCHS)
        arms = (control(n, "check", a.short, value=True, help=a.label) for n, a in ARMS.items())
        controls = [*controls_of("training", rate=rate, epochs=count), *arms]
        press = {"train": lambda _: self.start(), "stop": lambda _: self._stop()}
        press = buttons_of("training", controls, press)
        self._trained: tuple = ()  # rate, epochs and arms of the last training
        self.curves: dict[str, list] = {}  #: (loss, accuracy) of each epoch done, by arm
        self.live = LiveRun(self._show)  #: the training under way
        super().__init__(controls, self._page, RECIPES["training"]["name"], press=press)

    @property
    def rate(self) -> float:
        """The learning rate."""
        return RATES[self.values["rate"]]

    @property
    def shown(self) -> list[str]:
        """The arms that are trained."""
        return [name for name in ARMS if self.values[name]]

    @traitlets.observe("values")
    def _moved(self, _change):
        if self._trained != (self.rate, self.values["epochs"], self.shown):
            self.start(at_once=not self._trained)

    def start(self, *, at_once: bool = False) -> dict:
        """Train anew with the present values, of which none changes."""
        self._trained = self.rate, self.values["epochs"], self.shown
        self.curves = {name: [] for name in self.shown}
        self.live.start(self._work(), at_once=at_once)
        return {}

    def _stop(self) -> dict:
        self.live.stop()
        self._show()
        return {}

    def _work(self):
        """Train the arms side by side, one epoch each in turn."""
        rate, count, shown = self._trained
        how: dict = {"learning_rate": rate, "epochs": count, "seeds": [0], "rounding_seed": 0}
        curves, runs = self.curves, {name: epochs(name, **how) for name in shown}
        for _ in range(count):
            for name, run in runs.items():
                one = next(run)
                curves[name].append((one.loss[0], one.accuracy[0]))
                yield

    def _show(self):
        """Show what there is."""
        with self.hold_sync():
            self.running, self.done = self.live.running, list(map(len, self.curves.values()))
            self._redraw()

    def _page(self, values) -> Page:
        outputs = {"rate": f"{RATES[values['rate']]:g}"}
        curves = {name: np.array(done, np.float32).T for name, done in self.curves.items() if done}
        labels = {name: ARMS[name].short for name in curves}
        count = self._trained[1] if self._trained else values["epochs"]
        told, width = not self.running, values["width"]
        scene = picture.draw_training(curves, labels, count, width=width, told=told)
        rows = []
        for name, (loss, accuracy) in curves.items():
            cells = [labels[name], f"{loss[-1]:.3g}", f"{100 * accuracy[-1]:.1f} %"]
            rows.append({"cells": cells, "colour": picture.ARM_STYLE[name][0]})
        said, pressed = ("Training …", "train") if self.running else (self.summary(), "")
        head = ["", "loss", "accuracy"]
        return Page(scene, [said], outputs, head=head, rows=rows, pressed=pressed)

    def summary(self) -> str:
        """Say the picture's numbers in a sentence."""
        if not self.curves:
            return "No arm chosen: tick at least one."
        if not all(self.curves.values()):
            return "Training …"
        ends = {ARMS[name].short: done[-1][1] for name, done in self.curves.items()}
        parts = (f"{name} {100 * accuracy:.1f} %" for name, accuracy in ends.items())
        least = min(map(len, self.curves.values()))
        return say("training", rate=self.rate, epoch=least, arms=", ".join(parts))[0]

    def __repr__(self):
        return f"TrainingExplorer({self.summary()})"
