"""An invented shop: baskets, one more item for each, and whether it is taken.

Data to train a recommender on whose best reachable score is known, because we know how they are
made.  Each item has hidden traits.  How likely it is taken depends on how well its traits fit the
mean of those in the basket, through the logistic function, and a coin of just that bias decides.
So no model can know more than the bias: the least mean loss is the coins' mean entropy, and the
most that can be right is the mean of max(p, 1 - p).  Items are drawn unevenly, as in any shop:
item r with weight 1 / sqrt(r + 1).

>>> shop = baskets()
>>> shop
Baskets(65536 to train on, 8192 to test on, best loss 0.3719, best accuracy 82.7 %)
"""

import functools
from dataclasses import dataclass

import numpy as np

from trainium_edu.numerics import draw_bits
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import Numbers, checked

__all__ = ["BASKET", "ITEMS", "Baskets", "baskets", "expected_loss"]

ITEMS = 128
BASKET = 8  #: items in one
_TRAITS, _SHARPNESS = 4, 4.0
_TRAIN, _TEST = 2**16, 2**13
_TRAITS_OF, _DRAWS, _COINS = 0, 1, 2  # steps of the generator


@dataclass(frozen=True, slots=True, repr=False)
class Baskets:
    """Samples, and what is known of them.

    Attributes
    ----------
    inputs, test_inputs : int32[n, 1 + BASKET]
        The offered item first, then the basket.
    labels, test_labels : int32[n]
        1 where the item was taken.
    probability : float64[test samples]
        That it is taken, as the process has it.
    """

    inputs: np.ndarray
    labels: np.ndarray
    test_inputs: np.ndarray
    test_labels: np.ndarray
    probability: np.ndarray

    @property
    def best_loss(self) -> float:
        """The least mean loss in nats that a model of the test samples can expect."""
        return expected_loss(self.probability, self.probability)

    @property
    def best_accuracy(self) -> float:
        """The largest share of test samples that a model can expect to name right."""
        return float(np.maximum(self.probability, 1 - self.probability).mean())

    def __repr__(self):
        return (f"Baskets({len(self.labels)} to train on, {len(self.test_labels)} to test on, "
                f"best loss {self.best_loss:.4f}, best accuracy {self.best_accuracy:.1%})"
                ).replace("%)", " %)")  # fmt: skip


@functools.lru_cache(maxsize=4)
@checked
def baskets(seed: int = 0) -> Baskets:
    """Make the shop's samples: the same ones for the same seed, anywhere.

    Parameters
    ----------
    seed : int
        Of traits, baskets and coins.

    Returns
    -------
    Baskets

    Examples
    --------
    >>> baskets().inputs.shape
    (65536, 9)

    Notes
    -----
    ``p = 1 / (1 + exp(-4 mean(v of the basket) . v of the item))``, four traits v for each item,
    uniform with variance 1.
    """
    whole(seed, "seed", 0)
    traits = _uniform(ITEMS * _TRAITS, seed, _TRAITS_OF).reshape(ITEMS, _TRAITS)
    traits = (2 * traits - 1) * 3**0.5
    weights = np.arange(1, ITEMS + 1) ** -0.5
    edges = np.cumsum(weights / weights.sum())
    draws = _uniform((_TRAIN + _TEST) * (1 + BASKET), seed, _DRAWS)
    chosen = np.minimum(np.searchsorted(edges, draws), ITEMS - 1).reshape(-1, 1 + BASKET)
    fit = (traits[chosen[:, 1:]].mean(axis=1) * traits[chosen[:, 0]]).sum(axis=1)
    probability = 1 / (1 + np.exp(-_SHARPNESS * fit))
    taken = _uniform(len(chosen), seed, _COINS) < probability
    inputs, labels = chosen.astype(np.int32), taken.astype(np.int32)
    parts = (inputs[:_TRAIN], labels[:_TRAIN], inputs[_TRAIN:], labels[_TRAIN:],
             probability[_TRAIN:])  # fmt: skip
    for part in parts:
        part.flags.writeable = False
    return Baskets(*parts)


def _uniform(n, seed, step):
    """Return float64[n], uniform in (0, 1)."""
    return (draw_bits(n, seed=seed, step=step, n_random_bits=24) + 0.5) / 2**24


@checked
def expected_loss(probability: Numbers, said: Numbers) -> float:
    """Return the mean loss, in nats, of what a model says, over the coins that are yet to fall.

    Parameters
    ----------
    probability : array of float
        Of each sample's label 1, as the process has it.
    said : array of float
        As a model has it.

    Returns
    -------
    float
        The coins' entropy plus the divergence of both; by Gibbs' inequality never below the
        entropy, which is reached where both are equal.

    Examples
    --------
    >>> round(expected_loss([0.5], [0.5]), 4), expected_loss([0.5], [0.9]) > 0.7
    (0.6931, True)
    """
    p, q = np.asarray(probability, np.float64), np.asarray(said, np.float64)
    if p.shape != q.shape or not p.size:
        raise ValueError(f"probability has shape {p.shape} and said {q.shape}; give one of each "
                         "for every sample")  # fmt: skip
    for name, values in (("probability", p), ("said", q)):
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"{name} has {values[~((values >= 0) & (values <= 1))][0]:g}; "
                             "probabilities lie from 0 to 1")  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(a > 0, -a * np.log(b), 0) for a, b in ((p, q), (1 - p, 1 - q))]
    return float((terms[0] + terms[1]).mean())
