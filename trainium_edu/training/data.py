"""Real handwritten digits: the 1,797 images that scikit-learn bundles, with a fixed split.

Every fifth image is kept for the test, so all writers are on both sides.  The pixels are
integers from 0 to 16; divided by 16 they are exact in every format of the lessons, BF16 included.
"""

import functools
import gzip
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from trainium_edu.aside import load
from trainium_edu.numerics import draw_bits
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked

__all__ = ["BATCH", "CLASSES", "PIXELS", "Digits", "batches", "digits"]

PIXELS = 64  #: 8 × 8
CLASSES = 10
BATCH = 32
_SHUFFLES = 2**63  # steps of the generator from here up shuffle; those below round


@dataclass(frozen=True, slots=True, repr=False)
class Digits:
    """Images float32[n, 64] with values k/16, labels int64[n]; read-only."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    def __repr__(self):
        return f"Digits({len(self.train_labels)} to train on, {len(self.test_labels)} to test on)"


@functools.cache
def digits() -> Digits:
    """Load the digits; nothing is downloaded.

    Returns
    -------
    Digits
        1,437 images to train on and 360 to test on.

    Notes
    -----
    ``sklearn.datasets.load_digits``: 43 people wrote them, E. Alpaydin and C. Kaynak collected
    them, and the UCI Machine Learning Repository keeps them as "Optical Recognition of Handwritten
    Digits" (scikit-learn bundles its test part).

    Examples
    --------
    >>> digits()
    Digits(1437 to train on, 360 to test on)
    """
    table = _read_table()
    images = (table[:, :-1] / 16).astype(np.float32)
    labels = table[:, -1].astype(np.int64)
    held_out = np.arange(len(labels)) % 5 == 0
    parts = images[~held_out], labels[~held_out], images[held_out], labels[held_out]
    for part in parts:
        part.flags.writeable = False
    return Digits(*parts)


def _read_table():
    """Return float64[1797, 65], pixels and label: scikit-learn's own file, without its import.

    Importing scikit-learn takes over a second, which the first picture of a lesson can spare.
    """
    found = find_spec("sklearn")  # finds the folder, runs nothing
    path = Path(found.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    if not path.exists():  # moved, in some later scikit-learn
        bunch = load("sklearn.datasets").load_digits()
        return np.column_stack([bunch.data, bunch.target])
    with gzip.open(path, "rt", encoding="ascii") as lines:
        return np.loadtxt(lines, delimiter=",")


@checked
def batches(n: int, *, seed: int, epoch: int, batch: int = BATCH):
    """Deal `n` images into batches, in an order that depends on (seed, epoch) alone.

    Parameters
    ----------
    n : int
    seed, epoch : int
    batch : int, optional

    Returns
    -------
    int64[steps, batch]
        Image numbers.  What does not fill a batch sits this epoch out.

    Examples
    --------
    >>> batches(1437, seed=0, epoch=0).shape
    (44, 32)
    """
    steps = n // whole(batch, "batch", 1, 2**31)
    return shuffled(n, seed=seed, epoch=epoch)[: steps * batch].reshape(steps, batch)


def shuffled(n: int, *, seed: int, epoch: int):
    """Return int64[n], the numbers below `n` in an order that depends on (seed, epoch) alone."""
    epoch = whole(epoch, "epoch", 0, 2**32)
    cards = draw_bits(n, seed=seed, step=_SHUFFLES + 1 + epoch, n_random_bits=31)
    return np.argsort(cards, kind="stable")


@checked
def uniform(n: int, *, seed: int):
    """Return float32[n], uniform in (-1, 1), for the start of replica `seed`."""
    words = draw_bits(n, seed=seed, step=_SHUFFLES, n_random_bits=24)
    return ((words.astype(np.float64) + 0.5) / 2**23 - 1).astype(np.float32)
