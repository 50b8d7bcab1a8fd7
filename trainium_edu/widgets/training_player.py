"""Watch a network learn: a recorded run to play, with every test digit that it still misreads."""

import numpy as np
import traitlets

from trainium_edu.specs.arguments import whole
from trainium_edu.training import FRAMES_PER_PASS, digits, train_in_frames
from trainium_edu.widgets.page_widget import PageWidget
from trainium_edu.widgets.training import RATES, offered_rate

__all__ = ["TrainingPlayer", "first_training_run"]

_MOST_PASSES = 60


def first_training_run(learning_rate: float = 0.1, *, passes: int = 20):
    """Train a network to read digits, and show how it learned.

    Parameters
    ----------
    learning_rate : float
        One of :data:`~trainium_edu.widgets.training.RATES`, where the control stands first.
    passes : int
        Over the training images, 1 to 60.

    Returns
    -------
    TrainingPlayer
        Weights in BF16, rounded stochastically.

    Raises
    ------
    ValueError
        If the learning rate is not offered, or the number of passes is out of range.

    Examples
    --------
    >>> first_training_run(0.1, passes=1)
    TrainingPlayer(learning rate 0.1: reads 64 of 360 new images before training, 280 after 1 pass)
    """
    return TrainingPlayer(learning_rate, passes)


class TrainingPlayer(PageWidget, page="training_film"):
    """State: the learning rate; the page plays, Python trains anew when the rate changes."""

    rate = traitlets.Float().tag(sync=True)
    offer = traitlets.Dict().tag(sync=True)  # rates, passes, frames of a pass
    images = traitlets.Bytes().tag(sync=True)  # uint8[360, 64], sorted by digit
    labels = traitlets.Bytes().tag(sync=True)  # uint8[360]
    loss = traitlets.Bytes().tag(sync=True)  # float32[frames]
    guesses = traitlets.Bytes().tag(sync=True)  # uint8[frames, 360]
    words = traitlets.Unicode().tag(sync=True)

    def __init__(self, learning_rate, passes):
        learning_rate = offered_rate(learning_rate)
        passes = whole(passes, "passes", 1, _MOST_PASSES)
        data = digits()
        self._order = np.argsort(data.test_labels, kind="stable")
        super().__init__(
            offer={"rates": list(RATES), "passes": passes, "per_pass": FRAMES_PER_PASS},
            images=(255 * data.test_images[self._order]).astype(np.uint8).tobytes(),
            labels=data.test_labels[self._order].astype(np.uint8).tobytes(),
        )
        self.rate = learning_rate

    @traitlets.validate("rate")
    def _offered_rate(self, proposal):
        """Keep the last good rate where something impossible is asked for."""
        return proposal["value"] if proposal["value"] in RATES else self.rate

    @traitlets.observe("rate")
    def _train(self, _change):
        passes = self.offer["passes"]
        self.run = train_in_frames(learning_rate=self.rate, passes=passes)  #: what is shown
        with self.hold_sync():
            self.loss = self.run.loss.astype(np.float32).tobytes()
            self.words = self.summary()
            self.guesses = self.run.guesses[:, self._order].tobytes()

    def summary(self) -> str:
        """Return the run's numbers in a sentence."""
        right, passes = self.run.right, self.run.passes
        return (
            f"learning rate {self.rate:g}: reads {right[0]} of {len(self.run.labels)} new images "
            f"before training, {right[-1]} after {passes} pass{'es' if passes > 1 else ''}"
        )

    def __repr__(self):
        return f"TrainingPlayer({self.summary()})"
