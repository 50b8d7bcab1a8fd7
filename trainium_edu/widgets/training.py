"""Train a small network live: choose learning rate and rounding, watch loss and accuracy."""

from numbers import Real

import anywidget
import numpy as np
import traitlets

from trainium_edu.specs.arguments import whole
from trainium_edu.training import ARMS, epochs
from trainium_edu.viz import training as picture
from trainium_edu.widgets.live import LiveRun
from trainium_edu.widgets.static import load

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


class WithRate(anywidget.AnyWidget):
    """A widget whose learning rate the page sets."""

    rate = traitlets.Float().tag(sync=True)

    @traitlets.validate("rate")
    def _offered_rate(self, proposal):
        """Keep the last good rate where something impossible is asked for."""
        return proposal["value"] if proposal["value"] in RATES else self.rate


class TrainingExplorer(WithRate):
    """State: learning rate, epochs and arms; see :func:`training_explorer`.

    A change of any of them trains anew, in slices, so that the next change, or "stop", is heard.
    """

    _esm = load("training.js")
    _css = load("shared/common.css", "training.css")
    offer = traitlets.Dict().tag(sync=True)  # what the controls offer
    epochs = traitlets.Int().tag(sync=True)
    shown = traitlets.List(traitlets.Unicode()).tag(sync=True)
    running = traitlets.Bool(False).tag(sync=True)
    curve_arms = traitlets.List(traitlets.Unicode()).tag(sync=True)
    curves = traitlets.Bytes().tag(sync=True)  # float32[arms, (loss, accuracy), epochs]
    done = traitlets.List(traitlets.Int()).tag(sync=True)  # epochs done by each arm
    words = traitlets.Unicode().tag(sync=True)

    def __init__(self, learning_rate, count):
        learning_rate = offered_rate(learning_rate)
        count = whole(count, "epochs", 5, _MOST_EPOCHS)
        self._values = np.empty((0, 2, 0), np.float32)
        self._counts: list[int] = []
        self.live = LiveRun(self._show)  #: the training under way
        self._started = False
        super().__init__(
            offer={
                "rates": list(RATES),
                "most_epochs": _MOST_EPOCHS,
                "arms": [_describe(name) for name in ARMS],
            },
            rate=learning_rate,
            epochs=count,
            shown=list(ARMS),
        )
        self.on_msg(self._receive)
        self._started = True
        self.start(at_once=True)

    @traitlets.validate("epochs")
    def _possible_epochs(self, proposal):
        return min(max(proposal["value"], 5), _MOST_EPOCHS)

    @traitlets.validate("shown")
    def _known_arms(self, proposal):
        return [name for name in ARMS if name in proposal["value"]]

    @traitlets.observe("rate", "epochs", "shown")
    def _changed(self, _change):
        if self._started:
            self.start()

    def _receive(self, _widget, content, _buffers):
        """Start or stop, as the button says."""
        match content:
            case {"do": "start"}:
                self.start()
            case {"do": "stop"}:
                self.live.stop()
                self._show()

    def start(self, *, at_once: bool = False):
        """Train anew with the present controls."""
        self._values = np.full((len(self.shown), 2, self.epochs), np.nan, np.float32)
        self._counts = [0] * len(self.shown)
        self.live.start(self._work(), at_once=at_once)

    def _work(self):
        """Train the arms side by side, one epoch each in turn."""
        runs = [
            epochs(name, learning_rate=self.rate, epochs=self.epochs, seeds=[0], rounding_seed=0)
            for name in self.shown
        ]
        values, counts = self._values, self._counts
        for number in range(self.epochs):
            for i, run in enumerate(runs):
                done = next(run)
                values[i, :, number] = done.loss[0], done.accuracy[0]
                counts[i] = number + 1
                yield

    def _show(self):
        """Send what there is to the page."""
        with self.hold_sync():
            self.running = self.live.running
            self.curve_arms = list(self.shown)
            self.done = list(self._counts)
            self.curves = self._values.tobytes()
            self.words = self.summary()

    def summary(self) -> str:
        """Say the picture's numbers in a sentence."""
        if not self._counts:
            return "No arm chosen: tick at least one."
        if not min(self._counts):
            return "Training …"
        parts = [
            f"{ARMS[name].short} {100 * self._values[i, 1, n - 1]:.1f} %"
            for i, (name, n) in enumerate(zip(self.shown, self._counts, strict=True))
        ]
        return (
            f"Test accuracy at learning rate {self.rate:g} after epoch {min(self._counts)}: "
            f"{', '.join(parts)}."
        )

    def __repr__(self):
        return f"TrainingExplorer({self.summary()})"


def _describe(name) -> dict:
    """Return what the page needs to draw an arm."""
    arm, look = ARMS[name], picture.ARM_STYLE[name]
    return {
        "name": name, "label": arm.label, "short": arm.short, "colour": look["color"],
        "width": look["lw"], "dash": look["dash"], "opacity": look.get("alpha", 1),
    }  # fmt: skip
