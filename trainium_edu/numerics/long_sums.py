"""The experiments of lesson 02 on sums: AWS's quick test, long sums, many roundings.

Each returns plain data with theory's lines beside it; ``accumulation.py`` has the arithmetic.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from trainium_edu.numerics.accumulation import (
    Law,
    error_growth,
    exact_law,
    predicted_error_growth,
    predicted_sum_sd,
    running_sum,
)
from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.random_bits import draw_bits
from trainium_edu.specs.signatures import checked

__all__ = ["ErrorGrowth", "LongSums", "QuickTest", "long_sums", "many_roundings", "quick_test"]


@dataclass(frozen=True, slots=True, eq=False)
class QuickTest:
    """1024 + 0.5 + 0.5 + ..., 2,048 times: runs, and their exact law."""

    fmt: Format
    terms_added: np.ndarray  #: int64[k]
    nearest: np.ndarray  #: float32[k]
    runs: np.ndarray  #: float32[k, runs], stochastic
    sd: np.ndarray  #: float64[k], theory's standard deviation along the way
    law: Law  #: the law of the final sum

    @property
    def final(self) -> np.ndarray:
        """Final sums, float32[runs]."""
        return self.runs[-1]

    def table(self) -> str:
        """Return the test's numbers as text, measured ones beside exact ones."""
        law, runs = self.law, self.final.size
        within = 3 * law.sd / runs**0.5
        # a run that reaches the exact sum stays there, so its law tells who ever got there
        reached = exact_law(1024, 0.5, 2048, self.fmt, stop_at=2048).chance(2048, float("inf"))
        return "\n".join([
            f"nearest-even                    {self.nearest[-1]:g}",
            f"stochastic, mean of {runs} runs   {self.final.mean(dtype=float):.1f}   "
            f"exact {law.mean:g}; three standard errors are {within:.1f}",
            f"stochastic, standard deviation  {self.final.std(ddof=1, dtype=float):.1f}     "
            f"exact {law.sd:.2f}",
            f"95 % of runs end in             {law.quantile(0.025):g} to {law.quantile(0.975):g}",
            f"chance of exactly 2056          {100 * law.chance(2056):.1f} %",
            f"chance of 2056 or more          {100 * law.chance(2056, float('inf')):.1f} %",
            f"chance never to reach 2048      {100 * (1 - reached):.1f} %",
        ])  # fmt: skip

    def __repr__(self):
        return f"QuickTest({self.fmt.name}, {self.runs.shape[1]} runs, {self.law})"


@checked
def quick_test(fmt="fp16", *, runs: int = 2000, seed: int = 0) -> QuickTest:
    """Run AWS's documented test: add 0.5 to 1024, 2,048 times, rounding the sum at each step.

    Parameters
    ----------
    fmt : Format or str
        At most 16 bits.
    runs : int
        Stochastic runs side by side.
    seed : int

    Returns
    -------
    QuickTest

    Examples
    --------
    >>> test = quick_test(runs=100)
    >>> float(test.nearest[-1]), round(test.law.mean, 3)
    (1024.0, 2048.0)

    References
    ----------
    `aws-rounding-modes` in :data:`trainium_edu.specs.SOURCES`, section "Quick Tests".
    """
    terms = np.full(2048, 0.5)
    options = {"start": 1024.0, "every": 16}
    scattered = running_sum(terms, fmt, "stochastic", replicas=runs, seed=seed, **options)
    nearest = running_sum(terms, fmt, **options)
    sd = predicted_sum_sd(terms, fmt, start=1024.0)[scattered.terms_added - 1]
    fmt = get_format(fmt)
    law = _quick_law(fmt)
    return QuickTest(fmt, scattered.terms_added, nearest.values[:, 0], scattered.values, sd, law)


@cache
def _quick_law(fmt):
    """Return the law of the quick test, which no seed changes."""
    return exact_law(1024, 0.5, 2048, fmt)


@dataclass(frozen=True, slots=True, eq=False)
class LongSums:
    """Relative errors of sums of n positive terms, for growing n."""

    fmt: Format
    n: np.ndarray  #: int64[k]
    nearest: np.ndarray  #: float64[k], median over the replicas
    stochastic: np.ndarray  #: float64[k], median over the replicas
    spread: np.ndarray  #: float64[k], theory: standard deviation / sum
    saturation: float  #: where the spread settles, sqrt(epsilon / 3)

    def table(self) -> str:
        """Return median relative errors as text, for a few lengths."""
        lines = ["terms added   nearest-even   stochastic   theory"]
        for wanted in (100, 1_000, 10_000, 100_000):
            i = int(np.abs(self.n - wanted).argmin())
            lines.append(
                f"{self.n[i]:11d}   {self.nearest[i]:12.4f}   {self.stochastic[i]:10.4f}   "
                f"{0.6745 * self.spread[i]:6.4f}"
            )
        return "\n".join(lines)

    def __repr__(self):
        return f"LongSums({self.fmt.name}, n to {self.n[-1]})"


@checked
def long_sums(fmt="bf16", *, n: int = 100_000, replicas: int = 64, seed: int = 0) -> LongSums:
    """Add up to n numbers drawn from 0 to 1, rounding the sum at each step.

    Parameters
    ----------
    fmt : Format or str
        With room for n / 2: FP16 ends at 65,504.
    n, replicas, seed : int
        Every replica has its own terms and its own random bits.

    Returns
    -------
    LongSums

    Examples
    --------
    >>> sums = long_sums(n=10_000, replicas=16)
    >>> bool(sums.nearest[-1] > 0.9), bool(sums.stochastic[-1] < 0.1)
    (True, True)
    """
    fmt = get_format(fmt)
    drawn = draw_bits(n * replicas, seed=seed, step=2**62, n_random_bits=24)
    terms = ((drawn + 0.5) / 2**24).astype(np.float32).reshape(n, replicas)
    at = np.unique(np.geomspace(10, n, 60).astype(int))
    exact = np.cumsum(terms, axis=0, dtype=np.float64)[at - 1]

    def median_error(rounding):
        sums = running_sum(terms, fmt, rounding, seed=seed).values[at - 1]
        return np.median(np.abs(sums - exact) / exact, axis=1)

    few = range(min(4, replicas))
    sd = np.mean([predicted_sum_sd(terms[:, r], fmt)[at - 1] for r in few], axis=0)
    return LongSums(
        fmt, at, median_error("nearest"), median_error("stochastic"),
        sd / exact.mean(axis=1), float(np.sqrt(fmt.epsilon / 3)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ErrorGrowth:
    """The sum of the errors of n independent roundings of one number."""

    fmt: Format
    value: float
    n: np.ndarray  #: int64[k]
    nearest: np.ndarray  #: float64[k], size of the summed error
    stochastic: np.ndarray  #: float64[k], root mean square over the replicas
    bias_line: np.ndarray  #: float64[k], theory: grows as n
    sd_line: np.ndarray  #: float64[k], theory: grows as sqrt(n)

    def table(self) -> str:
        """Return summed errors in the format's epsilon as text, for a few lengths."""
        lines = ["  roundings   nearest-even   stochastic   theory n   theory √n"]
        for wanted in (100, 1_000, 10_000, 100_000):
            i = int(np.abs(self.n - wanted).argmin())
            values = (self.nearest, self.stochastic, self.bias_line, self.sd_line)
            a, b, c, d = (v[i] / self.fmt.epsilon for v in values)
            lines.append(f"{self.n[i]:11d}   {a:12.1f}   {b:10.1f}   {c:8.1f}   {d:9.1f}")
        return "\n".join(lines)

    def __repr__(self):
        return f"ErrorGrowth({self.fmt.name}, {self.value:g} rounded {self.n[-1]} times)"


@checked
def many_roundings(
    fmt="bf16", *, value: float = 1.001, n: int = 100_000, replicas: int = 64, seed: int = 0
) -> ErrorGrowth:
    """Round one number n times and add up the errors: a bias against random errors.

    Parameters
    ----------
    fmt : Format or str
    value : float
        Not a number of the format, or there is no error to add up.
    n, replicas, seed : int

    Returns
    -------
    ErrorGrowth

    Examples
    --------
    >>> growth = many_roundings(n=10_000)
    >>> bool(growth.nearest[-1] > 9), bool(growth.stochastic[-1] < 1)
    (True, True)
    """
    fmt = get_format(fmt)
    values = np.full(n, value, np.float32)
    at = np.unique(np.geomspace(1, n, 60).astype(int))
    scattered = error_growth(values, fmt, "stochastic", replicas=replicas, seed=seed)[at - 1]
    nearest = error_growth(values, fmt)[at - 1, 0]
    bias, sd = predicted_error_growth(values, fmt)
    return ErrorGrowth(
        fmt, float(values[0]), at, np.abs(nearest), np.sqrt((scattered**2).mean(axis=1)),
        np.abs(bias[at - 1]), sd[at - 1],
    )  # fmt: skip
