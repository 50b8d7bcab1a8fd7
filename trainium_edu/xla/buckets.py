"""Buckets: a few lengths to which every sequence is padded, so that few graphs are compiled.

A compiled graph has fixed shapes, so each new length is another graph.  With buckets there are as
many graphs as buckets; the price is work on padding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trainium_edu.specs.arguments import number, whole
from trainium_edu.specs.signatures import checked

__all__ = ["Bill", "bill", "bucket_of", "pad_to_bucket"]


@dataclass(frozen=True, slots=True)
class Bill:
    """What a choice of buckets costs for some sequences.

    Attributes
    ----------
    compiles : int
        Buckets that are used: each is a graph of its own.
    tokens : int
        In the sequences themselves.
    padded_tokens : int
        With padding: what the chip computes.
    steps_ns : float or None
        Time of all sequences, one a step; None if nobody said what a step takes.
    """

    compiles: int
    tokens: int
    padded_tokens: int
    steps_ns: float | None = None

    @property
    def waste(self) -> float:
        """The share of the computed tokens that is padding."""
        return 1 - self.tokens / self.padded_tokens

    def __str__(self):
        took = "" if self.steps_ns is None else f", {self.steps_ns / 1e6:.2f} ms"
        return f"{self.compiles} compiles, {self.waste:.1%} of the tokens are padding{took}"


@checked
def bucket_of(length: int, buckets: Sequence[int]) -> int:
    """Return the smallest bucket that holds a length.

    Raises
    ------
    ValueError
        If none does.
    """
    fits = [b for b in buckets if b >= length]
    if not fits:
        raise ValueError(
            f"a sequence has {length} tokens and the largest bucket {max(buckets, default=0)}; cut "
            "the sequence, or add a bucket"
        )
    return min(fits)


@checked
def pad_to_bucket(array: np.ndarray, buckets: Sequence[int], axis: int = -1, value: float = 0.0):
    """Pad an array along one axis to the smallest bucket that holds it; a loader calls this.

    Parameters
    ----------
    array : ndarray
    buckets : sequence of int
    axis : int
    value : float
        What the padding holds; a mask keeps it out of sums.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If no bucket holds it.

    Examples
    --------
    >>> pad_to_bucket(np.array([[5, 6, 7]]), [4, 8]).tolist()
    [[5, 6, 7, 0]]
    """
    axis = whole(axis, "axis", -array.ndim, array.ndim - 1)
    length = array.shape[axis]
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, bucket_of(length, buckets) - length)
    return np.pad(array, widths, constant_values=number(value, "value"))


@checked
def bill(lengths: Sequence[int], buckets: Sequence[int] | None = None,
         step_ns: Callable[[int], float] | None = None) -> Bill:  # fmt: skip
    """Return what buckets cost for sequences of these lengths.

    Parameters
    ----------
    lengths : sequence of int
    buckets : sequence of int, optional
        Default: none, so that each length is a shape of its own.
    step_ns : callable (int) -> float, optional
        What a step takes at a length, for example the compiled graph's ``makespan_ns``.

    Returns
    -------
    Bill

    Examples
    --------
    >>> print(bill([3, 5, 5, 8]))
    3 compiles, 0.0% of the tokens are padding
    >>> print(bill([3, 5, 5, 8], [8]))
    1 compiles, 34.4% of the tokens are padding
    """
    padded = [n if buckets is None else bucket_of(n, buckets) for n in lengths]
    used = sorted(set(padded))
    times = {n: step_ns(n) for n in used} if step_ns else None
    took = sum(times[n] for n in padded) if times else None
    return Bill(len(used), int(sum(lengths)), int(sum(padded)), took)
