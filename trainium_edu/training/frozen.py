"""Why nearest-even stops: the share of weights that an update cannot move.

A weight moves only if ``learning rate x gradient`` passes half the distance to its neighbour.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.numerics import round_to
from trainium_edu.specs.arguments import number
from trainium_edu.training.data import batches, digits
from trainium_edu.training.reference import epochs, gradient, update

__all__ = ["Frozen", "frozen_weights"]


@dataclass(frozen=True, slots=True)
class Frozen:
    """The effect of one update of BF16 weights under nearest-even."""

    learning_rate: float
    pulled: int  #: weights with a gradient that is not zero
    frozen: int  #: of these, how many stay where they are

    @property
    def share(self) -> float:
        """Share of the pulled weights that stay."""
        return self.frozen / self.pulled

    def __repr__(self):
        return (
            f"learning rate {self.learning_rate:g}: {self.frozen} of {self.pulled} weights with a "
            f"gradient stay where they are, {100 * self.share:.1f} %"
        )


def frozen_weights(learning_rate: float, *, after_epochs: int = 20, seed: int = 0) -> Frozen:
    """Count the BF16 weights that one nearest-even update leaves where they are.

    Parameters
    ----------
    learning_rate : float
    after_epochs : int
        The weights are those of an FP32 run at learning rate 0.03 after this many epochs, rounded:
        the same network for every learning rate asked about.
    seed : int

    Returns
    -------
    Frozen

    Examples
    --------
    >>> frozen_weights(0.003).share > frozen_weights(0.1).share
    True
    """
    learning_rate = number(learning_rate, "learning_rate", above=0)
    for state in epochs("fp32", learning_rate=0.03, epochs=after_epochs, seeds=[seed]):
        weights = state.weights
    weights = round_to(weights, "bf16")
    data = digits()
    picked = batches(len(data.train_labels), seed=seed, epoch=after_epochs)[:1]
    grad, _ = gradient(weights, data.train_images[picked], data.train_labels[picked], bf16=True)
    moved = update(weights, grad, learning_rate, "nearest")
    pulled = grad != 0
    return Frozen(
        learning_rate, int(np.count_nonzero(pulled)),
        int(np.count_nonzero(pulled & (moved == weights))),
    )  # fmt: skip
