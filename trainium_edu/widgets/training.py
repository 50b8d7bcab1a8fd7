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
        arms = [control(name, "check", arm.short, value=True, help=arm.label)
                for name, arm in ARMS.items()]  # fmt: skip
        controls = [*controls_of("training", rate=rate, epochs=count), *arms]
        press = {"train": lambda _: self.start(), "stop": lambda _: self._stop()}
        press = buttons_of("training", controls, press)
        self._trained: tuple = ()  # rate, epochs and arms of the last training
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
        self.curves = np.full((len(self.shown), 2, self.values["epochs"]), np.nan, np.float32)
        self._counts = [0] * len(self.shown)
        self.live.start(self._work(), at_once=at_once)
        return {}

    def _stop(self) -> dict:
        self.live.stop()
        self._show()
        return {}

    def _work(self):
        """Train the arms side by side, one epoch each in turn."""
        rate, count, shown = self._trained
        runs = [epochs(name, learning_rate=rate, epochs=count, seeds=[0], rounding_seed=0)
                for name in shown]  # fmt: skip
        values, counts = self.curves, self._counts
        for number in range(count):
            for i, run in enumerate(runs):
                one = next(run)
                values[i, :, number] = one.loss[0], one.accuracy[0]
                counts[i] = number + 1
                yield

    def _show(self):
        """Show what there is."""
        with self.hold_sync():
            self.running, self.done = self.live.running, list(self._counts)
            self._redraw()

    def _page(self, values) -> Page:
        outputs = {"rate": f"{RATES[values['rate']]:g}"}
        if not self._trained:  # before the first training
            return Page(picture.draw_training({}, {}, values["epochs"]), outputs=outputs)
        curves = self._trained_curves()
        labels = {name: ARMS[name].short for name in curves}
        scene = picture.draw_training(
            curves, labels, self._trained[1], width=values["width"], told=not self.running
        )
        rows = [{"cells": [labels[name], f"{loss[-1]:.3g}", f"{100 * accuracy[-1]:.1f} %"],
                 "colour": picture.ARM_STYLE[name][0]}
                for name, (loss, accuracy) in curves.items()]  # fmt: skip
        said = "Training …" if self.running else self.summary()
        return Page(scene, [said], outputs, head=["", "loss", "accuracy"], rows=rows,
                    pressed="train" if self.running else "")  # fmt: skip

    def _trained_curves(self) -> dict:
        """Return loss and accuracy of each arm, as far as it is trained."""
        names = zip(self._trained[2], self.curves, self._counts, strict=True)
        return {name: curves[:, :n] for name, curves, n in names if n}

    def summary(self) -> str:
        """Say the picture's numbers in a sentence."""
        if not self._counts:
            return "No arm chosen: tick at least one."
        if not min(self._counts):
            return "Training …"
        ends = {name: accuracy[-1] for name, (_, accuracy) in self._trained_curves().items()}
        parts = [f"{ARMS[name].short} {100 * end:.1f} %" for name, end in ends.items()]
        return say("training", rate=self.rate, epoch=min(self._counts), arms=", ".join(parts))[0]

    def __repr__(self):
        return f"TrainingExplorer({self.summary()})"
