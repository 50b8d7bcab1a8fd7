"""Long sums that are rounded at every step, and what theory says about their error.

The order is always the same: from the first term to the last, ``sum = round(sum + term)``, with
the addition itself in FP32.  Replicas are independent runs of the same sum side by side; only
their random bits differ: term ``i`` of replica ``r`` gets those of (seed, step + i, element r), the
one that ``cast`` would give.

Two regimes are worth telling apart.  A sum of positive terms *stagnates* under nearest-even once a
term is less than half the spacing; stochastic rounding goes on, with a relative error that settles
near the square root of the spacing (:func:`predicted_sum_sd`).  Many roundings of numbers of one
size (:func:`error_growth`) show the other law: a bias grows as ``n``, random errors as ``sqrt(n)``.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.numerics import _loops
from trainium_edu.numerics.codes import all_values
from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.launch import launch
from trainium_edu.numerics.random_bits import check_count, check_n_random_bits
from trainium_edu.numerics.rounding import ROUNDINGS, cast, loop_layout, round_to
from trainium_edu.numerics.widen import as_numbers
from trainium_edu.specs.arguments import choice, flag, number, short, whole
from trainium_edu.specs.signatures import checked

__all__ = [
    "Law", "Trajectory", "dot", "error_growth", "exact_law", "predicted_error_growth",
    "predicted_sum_sd", "running_sum",
]  # fmt: skip

ROUNDINGS_PER_CALL = 1 << 22  # well under 0.2 s
_MAX_KEPT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """The course of a sum: ``values[i, r]`` after ``terms_added[i]`` terms in replica ``r``."""

    terms_added: np.ndarray  #: int64[k]
    values: np.ndarray  #: float32[k, replicas]

    @property
    def final(self) -> np.ndarray:
        """The last value of every replica, float32[replicas]."""
        return self.values[-1]

    def __repr__(self):
        steps, replicas = self.values.shape
        return f"Trajectory({steps} steps kept of {replicas} replicas)"


def running_sum(
    terms, fmt, rounding="nearest", *, start=0.0, replicas=1, every=1, seed=0, step=0,
    n_random_bits=16,
) -> Trajectory:  # fmt: skip
    """Add terms from first to last, rounding the sum to a format after each.

    Parameters
    ----------
    terms : float[n] or float[n, replicas]
        Taken as FP32; not rounded to `fmt` themselves.
    fmt : Format or str
        A floating-point format.
    rounding : {"nearest", "stochastic", "toward_zero"}
    start : float
        Where the sum begins; rounded to nearest.
    replicas : int
        Independent runs, where `terms` has one dimension.
    every : int
        Keep each `every`-th value (and the last).
    seed, step, n_random_bits : int
        As in :func:`~trainium_edu.numerics.cast`.

    Returns
    -------
    Trajectory
        ``values`` float32[k, replicas], without the start.

    Examples
    --------
    >>> running_sum(np.full(2048, 0.5), "fp16", start=1024).final
    array([1024.], dtype=float32)
    """
    fmt = get_format(fmt)
    if fmt.is_integer:
        raise ValueError(f"{fmt.name} is an integer format; sums are kept in a float such as bf16")
    choice(rounding, "rounding", ROUNDINGS)
    replicas, every = _check_positive(replicas, "replicas"), _check_positive(every, "every")
    seed, step = check_count(seed, "seed"), check_count(step, "step")
    n_random_bits = check_n_random_bits(n_random_bits)
    terms = as_numbers(terms)
    if terms.ndim not in (1, 2):
        raise ValueError(f"terms have shape {terms.shape}; give [n] or [n, replicas]")
    if terms.ndim == 2:
        if replicas not in (1, terms.shape[1]):
            raise ValueError(
                f"terms have {terms.shape[1]} columns and replicas is {replicas}; leave it out"
            )
        replicas = terms.shape[1]
    if len(terms) == 0:
        raise ValueError("terms are empty; a sum needs at least one")
    if step + len(terms) > 2**64:
        raise ValueError(f"step {step} and {len(terms)} terms pass 2**64, where counting ends")
    counts = np.arange(every, len(terms) + 1, every)
    if counts.size == 0 or counts[-1] != len(terms):
        counts = np.append(counts, len(terms))
    if counts.size * replicas * 4 > _MAX_KEPT_BYTES:
        raise MemoryError(
            f"{counts.size} values of {replicas} replicas take {counts.size * replicas >> 28} GiB; "
            "keep fewer with every="
        )
    with np.errstate(over="ignore"):
        terms = np.ascontiguousarray(terms.astype(np.float32).reshape(len(terms), -1))
    if not fmt.has_nan and np.isnan(terms).any():
        raise ValueError(f"terms hold NaN, and {fmt.name} has no code for it")
    state = np.full(replicas, _check_start(start, fmt), np.float32)
    values = np.empty((counts.size, replicas), np.float32)
    _run(terms, state, values, fmt, rounding, seed, step, n_random_bits, every)
    values[-1] = state
    return Trajectory(counts, values)


def _run(terms, state, values, fmt: Format, rounding, seed, step, n_random_bits, every):
    """Add all terms in the loop, some at a time, so that Ctrl-C works in between."""
    drawn = np.empty(_loops.DRAW // 2, np.uint32)
    random_bits = drawn.view(np.uint16) if n_random_bits <= 16 else drawn
    layout = loop_layout(fmt, rounding, "infinity")
    n_random_bits = np.uint32(n_random_bits if rounding == "stochastic" else 0)
    rows = max(ROUNDINGS_PER_CALL // max(state.size, 64) // every, 1) * every
    for first in range(0, len(terms), rows):
        with np.errstate(over="ignore", invalid="ignore"):
            launch(
                _loops.running_sum, state, state.view(np.uint32), terms[first : first + rows],
                rounding == "nearest", np.uint64(seed), np.uint64(step + first), random_bits.size,
                n_random_bits, drawn, random_bits, layout, np.uint32(1 << fmt.mantissa_bits),
                np.float32(fmt.smallest_subnormal), every, values[first // every :],
            )  # fmt: skip


def dot(
    a, b, fmt, rounding="nearest", *, replicas=1, every=1, round_products=False, seed=0, step=0,
    n_random_bits=16,
) -> Trajectory:  # fmt: skip
    """Multiply two vectors element by element in FP32 and add the products in a format.

    Parameters
    ----------
    a, b : float[n]
    fmt, rounding, replicas, every, seed, step, n_random_bits
        As in :func:`running_sum`.
    round_products : bool
        Round each product to `fmt` too, as hardware without a wide accumulator does.  The random
        bits are those of (seed, 2**63 + step, element ``i * replicas + r``).

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> dot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], "bf16").final
    array([32.], dtype=float32)
    """
    a, b = as_numbers(a), as_numbers(b)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"a and b have shapes {a.shape} and {b.shape}; give two [n]")
    flag(round_products, "round_products")
    with np.errstate(over="ignore", invalid="ignore"):
        products = a.astype(np.float32) * b.astype(np.float32)
    if round_products:
        replicas, step = _check_positive(replicas, "replicas"), check_count(step, "step")
        if step >= 2**63:
            raise ValueError(f"step is {step}; with round_products it stays below 2**63")
        products = round_to(
            np.broadcast_to(products[:, None], (a.size, replicas)), fmt, rounding,
            seed=seed, step=2**63 + step, n_random_bits=n_random_bits,
        )  # fmt: skip
    return running_sum(
        products, fmt, rounding,
        replicas=replicas, every=every, seed=seed, step=step, n_random_bits=n_random_bits,
    )  # fmt: skip


def predicted_sum_sd(terms, fmt, *, start=0.0) -> np.ndarray:
    """Return theory's standard deviation of a stochastically rounded sum, after each term.

    A sum on a grid of spacing ``d`` plus a term ``t`` lies a fraction ``f = t / d mod 1`` above a
    grid point, and its random choice adds the variance ``d^2 f (1 - f)``.  Spacings are taken at
    the true partial sums, which makes this a first-order result: runs that stray into the next
    binade have another spacing.

    Parameters
    ----------
    terms : float[n]
    fmt : Format or str
    start : float

    Returns
    -------
    float64[n]

    Notes
    -----
    For equal positive terms far below the spacing the variances ``t d`` add up to
    ``epsilon S^2 / 3`` at each power of two ``S``.  The relative error settles at
    ``sqrt(epsilon / 3)``, 5.1 % for BF16, however long the sum.

    Examples
    --------
    >>> round(float(predicted_sum_sd(np.full(2048, 0.5), "fp16", start=1024)[-1]), 3)
    22.627

    References
    ----------
    `connolly-2021`, `croci-2022` in :data:`trainium_edu.specs.SOURCES`.
    """
    fmt = get_format(fmt)
    terms = np.asarray(as_numbers(terms), np.float64)
    if terms.ndim != 1:
        raise ValueError(f"terms have shape {terms.shape}; give [n]")
    before = _check_start(start, fmt) + np.concatenate([[0.0], np.cumsum(terms)[:-1]])
    spacing = _spacing(np.nextafter(before + terms, before), fmt)
    fraction = np.mod(terms / spacing, 1.0)
    return np.sqrt(np.cumsum(spacing**2 * fraction * (1 - fraction)))


def error_growth(
    values, fmt, rounding="nearest", *, replicas=1, seed=0, step=0, n_random_bits=16
) -> np.ndarray:
    """Round many numbers and return how their errors add up (nothing stagnates here).

    Parameters
    ----------
    values : float[n]
        FP32 numbers, say all of one size.
    fmt, rounding, seed, step, n_random_bits
        As in :func:`~trainium_edu.numerics.cast`; replica ``r`` of value ``i`` is element
        ``i * replicas + r``.
    replicas : int

    Returns
    -------
    float64[n, replicas]
        ``sum of (rounded - exact)`` over the first 1, 2, ..., n values.

    Examples
    --------
    >>> growth = error_growth(np.full(1000, 1.001), "bf16")
    >>> round(float(growth[-1, 0]), 3)
    -1.0
    """
    values, replicas = _fp32(values, "values"), _check_positive(replicas, "replicas")
    if values.ndim != 1:
        raise ValueError(f"values have shape {values.shape}; give [n]")
    if values.size * replicas > _MAX_KEPT_BYTES:
        raise MemoryError(
            f"{values.size} values in {replicas} replicas take over 8 GiB; take fewer replicas"
        )
    wide = np.broadcast_to(values[:, None], (values.size, replicas))
    rounded = round_to(wide, fmt, rounding, seed=seed, step=step, n_random_bits=n_random_bits)
    return np.cumsum(rounded.astype(np.float64) - wide, axis=0)


def predicted_error_growth(values, fmt) -> tuple[np.ndarray, np.ndarray]:
    """Return theory's two lines for :func:`error_growth`.

    Returns
    -------
    bias : float64[n]
        Nearest-even: the errors added up, which grows as ``n`` where they share a sign.
    sd : float64[n]
        Stochastic: ``sqrt(sum of d^2 f (1 - f))``, which grows as ``sqrt(n)``; the mean is zero.

    Examples
    --------
    >>> bias, sd = predicted_error_growth(np.full(1000, 1.001), "bf16")
    >>> round(float(bias[-1]), 3), round(float(sd[-1]), 4)
    (-1.0, 0.0825)
    """
    fmt = get_format(fmt)
    values = _fp32(values, "values").astype(np.float64)
    bias = np.cumsum(round_to(values, fmt).astype(np.float64) - values)
    spacing = _spacing(values, fmt)
    fraction = np.mod(np.abs(values) / spacing, 1.0)
    return bias, np.sqrt(np.cumsum(spacing**2 * fraction * (1 - fraction)))


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """The exact distribution of a stochastically rounded sum."""

    values: np.ndarray  #: float64[k], ascending, every value with a chance
    probabilities: np.ndarray  #: float64[k]

    @property
    def mean(self) -> float:
        """The expected value of the sum."""
        return float(self.values @ self.probabilities)

    @property
    def sd(self) -> float:
        """The standard deviation of the sum."""
        return float(np.sqrt((self.values - self.mean) ** 2 @ self.probabilities))

    def quantile(self, q: float) -> float:
        """Return the smallest value that at least a share `q` of all runs does not exceed."""
        q = number(q, "q", 0, 1)
        at = int(np.searchsorted(np.cumsum(self.probabilities), q - 1e-12))
        return float(self.values[min(at, self.values.size - 1)])

    @checked
    def chance(self, low: float, high: float | None = None) -> float:
        """Return the probability of a value from `low` to `high` (of exactly `low` without it)."""
        high = low if high is None else high
        inside = (self.values >= low) & (self.values <= high)
        return float(self.probabilities[inside].sum())

    def __repr__(self):
        return f"Law(mean {self.mean:.6g}, sd {self.sd:.6g}, {self.values.size} values)"


@checked
def exact_law(
    start, term, n, fmt, *, n_random_bits: int | None = None, stop_at: float | None = None
) -> Law:
    """Return the exact law of ``start + term + ... + term`` (n terms), rounded stochastically.

    Carries the probability of every number of the format through all n steps.

    Parameters
    ----------
    start, term : float
        `start` must be a number of the format.
    n : int
        Number of additions, up to a million.
    fmt : Format or str
        At most 16 bits.
    n_random_bits : int, optional
        How many bits are drawn; ideal, real-valued random numbers if not given.
    stop_at : float, optional
        Runs that reach this value stay where they are, so that ``law.chance(stop_at, inf)`` is the
        chance ever to reach it.

    Returns
    -------
    Law

    Examples
    --------
    >>> exact_law(1024, 0.5, 2048, "fp16")
    Law(mean 2048, sd 22.826, 309 values)

    References
    ----------
    `aws-rounding-modes` in :data:`trainium_edu.specs.SOURCES` (the experiment, without its law).
    """
    fmt = get_format(fmt)
    grid = all_values(fmt)
    n = whole(n, "n", 0, 1_000_000)
    start, term = _check_start(start, fmt, exactly=True), _check_start(term, None)
    if n_random_bits is not None:
        n_random_bits = check_n_random_bits(n_random_bits)
    target = grid + term
    below = np.clip(np.searchsorted(grid, target, side="right") - 1, 0, grid.size - 2)
    gap = grid[below + 1] - grid[below]
    up = np.clip((target - grid[below]) / gap, 0.0, 1.0)
    if n_random_bits is not None:  # cut on the side of zero, as the dropped bits are
        away = np.where(target < 0, 1 - up, up)
        away = np.floor(away * 2**n_random_bits) / 2**n_random_bits
        up = np.where(target < 0, 1 - away, away)
    leaves = (target > grid[-1]) | (target < grid[0])
    if stop_at is not None:
        stays = grid >= stop_at if term >= 0 else grid <= stop_at
        index = np.arange(grid.size)
        below, up = np.where(stays, index, below), np.where(stays, 0.0, up)
        leaves &= ~stays
    chances = np.zeros(grid.size + 1)
    chances[np.searchsorted(grid, start)] = 1.0
    low = high = int(np.argmax(chances))
    for _ in range(n):
        part = slice(low, high + 1)
        if leaves[part].any() and chances[part][leaves[part]].any():
            raise ValueError(
                f"the sum passes the largest number of {fmt.name}, {fmt.max:g}, where its law ends"
            )
        mass, to, share = chances[part], below[part], up[part]
        first, last = int(to.min()), int(to.max()) + 1
        moved = np.bincount(to - first, mass * (1 - share), last - first + 1)
        moved += np.bincount(to + 1 - first, mass * share, last - first + 1)
        chances[part] = 0.0
        chances[first : last + 1] = moved
        alive = np.flatnonzero(moved)
        low, high = first + int(alive[0]), first + int(alive[-1])
    possible = np.flatnonzero(chances[:-1] > 1e-18)
    return Law(grid[possible], chances[possible])


def _fp32(x, what: str) -> np.ndarray:
    """Return numbers as FP32, to nearest."""
    return cast(as_numbers(x, what), "fp32")


def _spacing(x: np.ndarray, fmt: Format) -> np.ndarray:
    """Return the spacing of a format at many numbers."""
    exponent = np.frexp(np.where(x == 0, fmt.smallest_subnormal, np.abs(x)))[1] - 1
    if fmt.exponent_bits == 0:
        exponent = np.full_like(exponent, fmt.min_exponent)
    return np.ldexp(1.0, np.maximum(exponent, fmt.min_exponent) - fmt.mantissa_bits)


def _check_positive(value, what: str) -> int:
    return whole(value, what, 1, 2**31)


def _check_start(value, fmt: Format | None, *, exactly=False) -> float:
    """Return a finite number, rounded to nearest in `fmt`, or raise why it is not one."""
    what = "term" if fmt is None else "start"
    value = number(value, what)
    if fmt is None:
        return value
    held = float(round_to(value, fmt))
    if exactly and held != value:
        raise ValueError(f"start is {short(value)}, which {fmt.name} cannot hold; {held} is near")
    return held
