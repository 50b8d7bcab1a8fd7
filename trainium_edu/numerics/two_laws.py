"""The two laws of rounding errors, step by step: √n for equal gaps, √(ε/3) for gaps that grow.

``walks`` rounds one number again and again and adds up the errors: each rounding adds the same
to their mean square.  ``doublings`` lets a sum grow and looks each time that it has doubled: the
gap doubles with it.  Theory's lines are drawn beside the runs.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.numerics.accumulation import error_growth, predicted_sum_sd, running_sum
from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.gaps import Gap, gap

__all__ = ["Doublings", "Walks", "doublings", "walks"]


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """Summed errors of 1, 2, ..., n roundings of one number, in gaps."""

    between: Gap
    nearest: np.ndarray  #: float64[n]
    runs: np.ndarray  #: float64[n, runs], stochastic

    @property
    def mean_square(self) -> np.ndarray:
        """Mean square over the runs, float64[n]."""
        return (self.runs**2).mean(axis=1)

    @property
    def one(self) -> float:
        """Theory: mean square of the error of one rounding, f (1 - f) in squared gaps."""
        up = float(self.between.p_up)
        return up * (1 - up)

    def __repr__(self):
        return f"Walks({self.between.fmt.name}, {self.between.x:g}, {len(self.nearest)} roundings)"


def walks(x=1 + 3 / 1024, fmt="bf16", *, n: int = 64, runs: int = 2000, seed: int = 0) -> Walks:
    """Round one number n times and add up the errors, in many runs.

    Parameters
    ----------
    x : float
        Positive, within the format's normal numbers.
    fmt : Format or str
    n, runs, seed : int

    Returns
    -------
    Walks

    Examples
    --------
    >>> found = walks(runs=500)
    >>> float(found.nearest[-1]), found.one
    (-24.0, 0.234375)
    """
    between = gap(x, fmt)
    values = np.full(n, between.x, np.float32)
    scattered = error_growth(values, fmt, "stochastic", replicas=runs, seed=seed)
    nearest = error_growth(values, fmt)[:, 0]
    return Walks(between, nearest / between.spacing, scattered / between.spacing)


@dataclass(frozen=True, slots=True, eq=False)
class Doublings:
    """A growing sum of equal terms, each time that it has doubled; [k + 1] with the start."""

    fmt: Format
    term: float
    sums: np.ndarray  #: float64[k + 1], the exact sum
    terms_added: np.ndarray  #: int64[k + 1]
    runs: np.ndarray  #: float64[k + 1, runs], what the stochastic runs hold
    sd: np.ndarray  #: float64[k + 1], theory's standard deviation
    nearest: np.ndarray  #: float64[k + 1], where nearest-even stands

    @property
    def gaps(self) -> np.ndarray:
        """Gap of the format on the way to each later sum, float64[k]."""
        return self.sums[:-1] * self.fmt.epsilon

    @property
    def scatter(self) -> np.ndarray:
        """Standard deviation of the runs, float64[k + 1]."""
        return self.runs.std(axis=1)

    @property
    def covered(self) -> np.ndarray:
        """Share of the square on each sum that its doublings cover: 0, 1/4, 1/4 + 1/16, ..."""
        return (1 - 0.25 ** np.arange(self.sums.size)) / 3

    @property
    def saturation(self) -> float:
        """The value to which scatter / sum tends, sqrt(epsilon / 3)."""
        return float(np.sqrt(self.fmt.epsilon / 3))

    def __repr__(self):
        return f"Doublings({self.fmt.name}, {self.sums[0]:g} to {self.sums[-1]:g})"


def doublings(
    fmt="bf16", *, start: float = 128.0, term: float = 0.125, count: int = 5, runs: int = 400,
    seed: int = 0,
) -> Doublings:  # fmt: skip
    """Add equal terms to a sum until it has doubled `count` times, in many runs.

    Parameters
    ----------
    fmt : Format or str
    start : float
        A power of two.
    term : float
        Divides `start`; small beside the gap there, or the first doublings scatter less.
    count, runs, seed : int

    Returns
    -------
    Doublings

    Examples
    --------
    >>> found = doublings(count=2, runs=10)
    >>> found.sums, found.gaps
    (array([128., 256., 512.]), array([1., 2.]))
    """
    fmt = get_format(fmt)
    sums = start * 2.0 ** np.arange(count + 1)
    added = ((sums - start) / term).astype(np.int64)
    terms = np.full(int(added[-1]), term, np.float32)
    every = int(added[1])
    scattered = running_sum(terms, fmt, "stochastic", start=start, replicas=runs, every=every,
                         seed=seed)  # fmt: skip
    nearest = running_sum(terms, fmt, start=start, every=every).values[:, 0]
    rows = np.searchsorted(scattered.terms_added, added[1:])
    sd = predicted_sum_sd(terms, fmt, start=start)[added[1:] - 1]
    return Doublings(
        fmt, term, sums, added,
        np.vstack([np.full(runs, start), scattered.values[rows].astype(np.float64)]),
        np.append(0.0, sd), np.append(start, nearest[rows].astype(np.float64)),
    )  # fmt: skip
