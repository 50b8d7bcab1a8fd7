"""First light: one network, many ranks, plain NumPy gradients, and the caller's all-reduce.

The smallest honest data-parallel training: every rank keeps a copy of the weights, looks at its own
images, and all copies stay equal because every rank adds the same sum.

A program of lesson 08, and a judge of the trainer, which repeats its numbers on the same images.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trainium_edu.specs.arguments import number, whole
from trainium_edu.training.data import digits
from trainium_edu.training.reference import gradient, initial_weights, predict
from trainium_edu.training.refusals import sentence

__all__ = ["FirstLight", "first_light"]

_MOST_STEPS = 2000


@dataclass(frozen=True, slots=True, repr=False)
class FirstLight:
    """The record of a run on many ranks."""

    ranks: int
    loss: np.ndarray  #: float64[steps], mean over all images of the step
    accuracy: np.ndarray  #: float64[steps + 1], on the test images; the first is untrained
    weights: np.ndarray  #: float32[ranks, 4810], every rank's copy
    gradient_bytes: int  #: what one all-reduce carries

    @property
    def ranks_agree(self) -> bool:
        """Whether all copies of the weights are equal, bit for bit."""
        return all(row.tobytes() == self.weights[0].tobytes() for row in self.weights)

    def __repr__(self):
        return (
            f"FirstLight({self.ranks} ranks, {len(self.loss)} steps, "
            f"accuracy {100 * self.accuracy[-1]:.1f} %)"
        )


def first_light(all_reduce: Callable, ranks: int = 32, *, steps: int = 60,
                images_per_rank: int = 8, learning_rate: float = 0.5,
                seed: int = 0) -> FirstLight:  # fmt: skip
    """Train the digits network on many ranks, summing gradients with a function of the caller's.

    Parameters
    ----------
    all_reduce : callable
        Takes float32[ranks, 4810], returns one float32[4810] for each rank: the sum.
    ranks : int
    steps : int
    images_per_rank : int
        How many images each rank looks at in a step.
    learning_rate : float
    seed : int
        Of the weights and of who gets which images.

    Returns
    -------
    FirstLight

    Raises
    ------
    ValueError
        For counts or a learning rate that cannot be, or an all-reduce that does not return one sum
        for each rank.

    Examples
    --------
    >>> first_light(lambda g: [g.sum(axis=0)] * len(g), 4, steps=2)
    FirstLight(4 ranks, 2 steps, accuracy ... %)
    """
    for name, value, most in (("ranks", ranks, 1024), ("steps", steps, _MOST_STEPS),
                              ("images_per_rank", images_per_rank, 1437)):  # fmt: skip
        whole(value, name, 1, most)
    number(learning_rate, "learning_rate", above=0)
    data = digits()
    rng = np.random.default_rng(seed)
    weights = np.repeat(initial_weights([seed]), ranks, axis=0)
    loss, accuracy = np.empty(steps), np.empty(steps + 1)
    accuracy[0] = _accuracy(weights, data)
    for step in range(steps):
        mine = rng.integers(len(data.train_labels), size=(ranks, images_per_rank))
        grads, chosen = gradient(weights, data.train_images[mine], data.train_labels[mine])
        weights -= np.float32(learning_rate / ranks) * _sums(all_reduce(grads), grads)
        loss[step] = -np.log(chosen.astype(np.float64)).mean()
        accuracy[step + 1] = _accuracy(weights, data)
    return FirstLight(ranks, loss, accuracy, weights, weights[0].nbytes)


def _sums(returned, grads):
    """Return what the all-reduce gave as one array, or raise what is wrong with it."""
    sums = np.stack([np.asarray(x) for x in returned]) if len(returned) == len(grads) else None
    if sums is None or sums.shape != grads.shape:
        raise ValueError(sentence("first_light.all_reduce", returned=len(returned), grads=grads))
    return sums.astype(np.float32, copy=False)


def _accuracy(weights, data):
    """Return the share of test images that rank 0 names right."""
    return float((predict(weights[:1], data.test_images)[0] == data.test_labels).mean())
