"""A training run in frames: the state after every quarter of a pass, and what it reads then."""

from dataclasses import dataclass

import numpy as np

from trainium_edu.training import reference
from trainium_edu.training.data import digits

__all__ = ["FRAMES_PER_PASS", "TrainingFrames", "train_in_frames"]

FRAMES_PER_PASS = 4  #: a pass has 44 batches; a frame is taken after every eleventh


@dataclass(frozen=True, slots=True, repr=False)
class TrainingFrames:
    """A run of one replica, frame by frame; frame 0 is before training."""

    learning_rate: float
    passes: int
    loss: np.ndarray  #: float64[frames], mean over the batches since the frame before; 0 has none
    guesses: np.ndarray  #: uint8[frames, test images], the digit read on each
    labels: np.ndarray  #: int64[test images], the digit that is there

    @property
    def right(self) -> np.ndarray:
        """How many test images are read correctly in each frame, int64[frames]."""
        return (self.guesses == self.labels).sum(axis=1)

    def __repr__(self):
        return (
            f"TrainingFrames({len(self.guesses)} frames, {self.right[0]} to {self.right[-1]} read)"
        )


def train_in_frames(
    arm="stochastic", *, learning_rate: float = 0.1, passes: int = 20, seed: int = 0
):
    """Train as :func:`~trainium_edu.training.train` does, bit for bit, and keep every frame.

    Parameters
    ----------
    arm : {"fp32", "master", "nearest", "stochastic"} or Arm, optional
    learning_rate : float, optional
    passes : int, optional
        Over the 1,437 training images.
    seed : int, optional
        Start and shuffling; the rounding has seed 0.

    Returns
    -------
    TrainingFrames

    Raises
    ------
    TypeError, ValueError
        As :func:`~trainium_edu.training.train` does.

    Examples
    --------
    >>> train_in_frames(passes=1)
    TrainingFrames(5 frames, 64 to 280 read)
    """
    plan = reference._plan(arm, learning_rate, passes, [seed], None, 0)
    data, narrow = digits(), plan.arm.compute == "bf16"

    def read(weights):
        return reference.predict(weights, data.test_images, bf16=narrow)[0].astype(np.uint8)

    start = reference.initial_weights(plan.seeds, narrow=plan.arm.weights == "bf16")
    loss, guesses = [np.nan], [read(start)]
    for part in reference._run(plan, fast=True, parts=FRAMES_PER_PASS):
        loss.append(part.loss[0])
        guesses.append(read(part.weights))
    return TrainingFrames(
        plan.learning_rate, plan.epochs, np.array(loss), np.stack(guesses), data.test_labels
    )
