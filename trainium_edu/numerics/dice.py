"""One number between two neighbours, and what the dice make of it.

``gap`` says where a number lies between the two numbers of a format around it; ``throw`` rounds it
many times with :func:`~trainium_edu.numerics.cast` and counts.  The bits are shown as the FP32 word
that the rounding starts from: a part that is kept, and a part that is dropped.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from trainium_edu.numerics.codes import ulp
from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.random_bits import check_count, tosses
from trainium_edu.numerics.rounding import round_to
from trainium_edu.specs.arguments import short
from trainium_edu.specs.signatures import checked

__all__ = ["Gap", "Throws", "gap", "throw"]

MAX_THROWS = 10_000_000
_CHUNK = 1 << 17
_REMEMBERED = 10
TOSS_BITS = 16


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
        """Where nearest-even puts x, every time."""
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
class Throws:
    """How often x went up, and the first few tosses."""

    n: int
    up: int
    tosses: tuple[int, ...]  #: the first ten, each below 2**16
    went_up: tuple[bool, ...]  #: what became of them

    @property
    def down(self) -> int:
        """How often x went down."""
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
        For what is no such number, or no such format.

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
        raise TypeError(f"x is {x}; it takes one positive number")
    try:
        x = float(x)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"x is {short(x)}; it takes one positive number") from None
    smallest, largest = fmt.smallest_normal, fmt.max
    with np.errstate(over="ignore"):
        x = float(np.float32(x)) if isfinite(x) else x
    if not smallest <= x < largest:
        raise ValueError(
            f"x is {x:g}; the dice of this picture take numbers from {smallest:.3g} to below "
            f"{largest:.3g}, the normal numbers of {fmt.name}"
        )
    step = ulp(x, fmt)
    lower = np.floor(x / step) * step
    return Gap(fmt, x, float(lower), float(lower + step))


@checked
def throw(where: Gap, n: int, *, seed: int = 0, step: int = 0) -> Throws:
    """Round the number stochastically n times, each time with its own toss.

    Parameters
    ----------
    where : Gap
    n : int
        1 to 10 000 000.
    seed, step : int, optional
        Of the tosses; toss i is element i.

    Returns
    -------
    Throws

    Examples
    --------
    >>> thrown = throw(gap(1.001953125), 10_000)
    >>> thrown.n, 2300 < thrown.up < 2700
    (10000, True)
    """
    n = check_count(n, "n")
    if not 1 <= n <= MAX_THROWS:
        raise ValueError(f"n is {n}; it takes 1 to {MAX_THROWS} throws")
    up = 0
    for first in range(0, n, _CHUNK):
        count = min(_CHUNK, n - first)
        landed = round_to(
            np.full(count, where.x, np.float32), where.fmt, "stochastic",
            seed=seed, step=step, offset=first, toss_bits=TOSS_BITS,
        )  # fmt: skip
        if first == 0:
            went_up = tuple((landed[:_REMEMBERED] > where.lower).tolist())
        up += int(np.count_nonzero(landed > where.lower))
    words = tosses(min(n, _REMEMBERED), seed=seed, step=step, toss_bits=TOSS_BITS)
    return Throws(n, up, tuple(words.tolist()), went_up)
