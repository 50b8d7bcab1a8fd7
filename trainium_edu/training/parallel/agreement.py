"""Do all replicas still hold the same model?  Bit for bit, every weight, after every step.

Replicas that start alike and add the same gradients stay alike for ever; one flipped bit, or one
rank that tosses coins of its own, and they drift apart without any error.  So the check looks at
bits, and not at how near two numbers are: a difference in the last place is the first sign.
"""

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

import numpy as np

from trainium_edu.fabric.executor import RanksDisagree, check_agreement

__all__ = ["RanksDisagree", "check_replicas", "odd_ranks"]

_WIDTH = 2**14  # columns that are compared at a time: they stay in a cache


def check_replicas(named: Iterable[tuple[str, np.ndarray]]) -> None:
    """Raise unless every replica holds the same bits.

    Parameters
    ----------
    named : iterable of (str, array [replicas, ...])
        Each parameter under its name; its first axis counts replicas.

    Raises
    ------
    RanksDisagree
        Naming the first parameter, rank and element that differ from rank 0, and both values.

    Examples
    --------
    >>> check_replicas([("weight", np.ones((4, 2, 3), np.float32))])
    """
    for name, array in named:
        if len(array) < 2 or _are_alike(array):
            continue
        try:
            check_agreement(list(array))
        except RanksDisagree as difference:
            raise RanksDisagree(f"parameter {name}: {difference}") from None


def odd_ranks(arrays: Iterable[np.ndarray]) -> list[int]:
    """Return the ranks whose bits are not those that most ranks hold.

    Parameters
    ----------
    arrays : iterable of array [replicas, ...]

    Examples
    --------
    >>> weights = np.ones((4, 2), np.float32)
    >>> weights[2, 1] += 1e-6
    >>> odd_ranks([weights])
    [2]
    """
    held = [b"".join(rows) for rows in zip(*map(_digests, arrays), strict=True)]
    ((most, _),) = Counter(held).most_common(1)
    return [rank for rank, bits in enumerate(held) if bits != most]


def _digests(array) -> list[bytes]:
    return [sha256(row.tobytes()).digest() for row in array]


def _are_alike(array: np.ndarray) -> bool:
    """Return whether all rows hold the same bits."""
    if not array.strides[0]:
        return True  # one row that stands for all
    rows = np.ascontiguousarray(array).reshape(len(array), -1)
    words = rows.view(f"u{rows.itemsize}")
    blocks = (words[:, begin : begin + _WIDTH] for begin in range(0, words.shape[1], _WIDTH))
    return not any((block[1:] != block[0]).any() for block in blocks)
