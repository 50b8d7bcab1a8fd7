"""Buckets: a few lengths to which every sequence is padded, so that few graphs are compiled.

A compiled graph has fixed shapes, so each new length is another graph.  With buckets there are as
many graphs as buckets; the price is work on padding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainium_edu.specs.signatures import checked
from trainium_edu.xla.refusals import sentence

__all__ = ["Bill", "bill", "bucket_of"]


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of a choice of buckets for some sequences.

    Attributes
    ----------
    compiles : int
        Buckets that are used: each is a graph of its own.
    tokens : int
        In the sequences themselves.
    padded_tokens : int
        With padding: what the chip computes.
    steps_ns : float or None
        Time of all sequences, one a step; None if the time of a step is unknown.
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
        graphs = f"{self.compiles} graph{'s' if self.compiles > 1 else ''}"
        return f"{graphs:>9}, {self.waste:5.1%} padding{took}"


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
        raise ValueError(sentence("buckets.too_long", most=max(buckets, default=0), length=length))
    return min(fits)


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
     3 graphs,  0.0% padding
    >>> print(bill([3, 5, 5, 8], [8]))
      1 graph, 34.4% padding
    """
    padded = [n if buckets is None else bucket_of(n, buckets) for n in lengths]
    used = sorted(set(padded))
    times = {n: step_ns(n) for n in used} if step_ns else None
    took = sum(times[n] for n in padded) if times else None
    return Bill(len(used), int(sum(lengths)), int(sum(padded)), took)
