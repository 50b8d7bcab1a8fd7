"""One number between two neighbours, and what random bits make of it.

``gap`` finds the two numbers of a format around a number; ``round_repeatedly`` rounds it
many times with :func:`~trainium_edu.numerics.cast` and counts.  The bits are those of the FP32 word
that the rounding starts from: a part that is kept, and a part that is dropped.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from trainium_edu.numerics.codes import ulp
from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.random_bits import draw_bits
from trainium_edu.numerics.rounding import round_to
from trainium_edu.specs.arguments import short, whole
from trainium_edu.specs.signatures import checked

__all__ = ["Gap", "Trials", "gap", "round_repeatedly"]

MAX_TRIALS = 10_000_000
_CHUNK = 1 << 17
_REMEMBERED = 10
N_RANDOM_BITS = 16


@dataclass(frozen=True, slots=True)
class Gap:
    """A positive FP32 number and the format's numbers on both sides."""

    fmt: Format
    x: float
    lower: float
    upper: float

    @property
    def spacing(self) -> float:
        """Distance between the neighbours."""
        return self.upper - self.lower

    @property
    def p_up(self) -> Fraction:
        """Exact probability of rounding up: the distance from the lower neighbour, in spacings."""
        return Fraction(self.x - self.lower) / Fraction(self.spacing)

    @property
    def nearest(self) -> float:
        """The neighbour to which nearest-even always rounds x."""
        return float(round_to(self.x, self.fmt))

    @property
    def is_tie(self) -> bool:
        """Whether x is as far from one neighbour as from the other."""
        return self.p_up == Fraction(1, 2)

    @property
    def dropped_bits(self) -> int:
        """How many of FP32's 23 mantissa bits the format does not keep."""
        return 23 - self.fmt.mantissa_bits

    @property
    def word(self) -> int:
        """The FP32 bits of x, read as an unsigned number."""
        return int(np.float32(self.x).view(np.uint32))


@dataclass(frozen=True, slots=True)
class Trials:
    """The count of roundings up, and the first few random bits."""

    n: int
    up: int
    random_bits: tuple[int, ...]  #: the bits of the first ten roundings, each below 2**16
    went_up: tuple[bool, ...]  #: what became of them

    @property
    def down(self) -> int:
        """The count of roundings down."""
        return self.n - self.up


def gap(x, fmt="bf16") -> Gap:
    """Find the two neighbours of a number.

    Parameters
    ----------
    x : float
        Positive, rounded to FP32 first; within the format's normal numbers, below its largest.
    fmt : Format or str
        With at most 22 mantissa bits.

    Returns
    -------
    Gap
        ``lower <= x < upper``.

    Raises
    ------
    TypeError, ValueError
        For another kind of value; outside that range; for an unknown format.

    Examples
    --------
    >>> between = gap(1.001953125, "bf16")
    >>> between.lower, between.upper, between.p_up
    (1.0, 1.0078125, Fraction(1, 4))
    """
    fmt = get_format(fmt)
    if fmt.is_integer or not 1 <= 23 - fmt.mantissa_bits <= 22:
        raise ValueError(f"{fmt.name} drops no bits of an FP32 number; try bf16, fp16 or fp8_e4m3")
    if isinstance(x, bool | np.bool_):
        raise TypeError(f"x is {x}; it must be one positive number")
    try:
        x = float(x)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"x is {short(x)}; it must be one positive number") from None
    smallest, largest = fmt.smallest_normal, fmt.max
    with np.errstate(over="ignore"):
        x = float(np.float32(x)) if isfinite(x) else x
    if not smallest <= x < largest:
        raise ValueError(
            f"x is {x:g}; stochastic rounding is shown for numbers from {smallest:.3g} to below "
            f"{largest:.3g}, the normal numbers of {fmt.name}"
        )
    step = ulp(x, fmt)
    lower = np.floor(x / step) * step
    return Gap(fmt, x, float(lower), float(lower + step))


@checked
def round_repeatedly(where: Gap, n: int, *, seed: int = 0, step: int = 0) -> Trials:
    """Round the number stochastically n times, each time with its own random bits.

    Parameters
    ----------
    where : Gap
    n : int
        1 to 10,000,000.
    seed, step : int, optional
        Of the random bits; trial i is element i.

    Returns
    -------
    Trials

    Examples
    --------
    >>> trials = round_repeatedly(gap(1.001953125), 10_000)
    >>> trials.n, 2300 < trials.up < 2700
    (10000, True)
    """
    n = whole(n, "n", 1, MAX_TRIALS)
    up = 0
    for first in range(0, n, _CHUNK):
        count = min(_CHUNK, n - first)
        landed = round_to(
            np.full(count, where.x, np.float32), where.fmt, "stochastic",
            seed=seed, step=step, offset=first, n_random_bits=N_RANDOM_BITS,
        )  # fmt: skip
        if first == 0:
            went_up = tuple((landed[:_REMEMBERED] > where.lower).tolist())
        up += int(np.count_nonzero(landed > where.lower))
    words = draw_bits(min(n, _REMEMBERED), seed=seed, step=step, n_random_bits=N_RANDOM_BITS)
    return Trials(n, up, tuple(words.tolist()), went_up)
