"""Where a format's numbers lie, and where one number lands among them: plain data for pictures.

Between two powers of two the numbers of a format are evenly spaced, so a stretch of the number
line is a short list of evenly spaced runs, even where it holds a million numbers.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil, floor, frexp, isfinite

import numpy as np

from trainium_edu.numerics.codes import check_code, from_bits, neighbours, ulp
from trainium_edu.numerics.formats import get_format
from trainium_edu.numerics.rounding import cast_to_bits
from trainium_edu.specs.arguments import short, whole
from trainium_edu.specs.signatures import checked

__all__ = ["Landing", "Outcome", "Stretch", "land", "number_text", "step_code", "stretches"]


class Outcome(StrEnum):
    """The effect of a cast on one number."""

    EXACT = "exact"  #: the format holds it
    ROUNDED = "rounded"  #: a neighbour took its place
    VANISHED = "vanished"  #: not zero, and became zero
    OVERFLOWED = "overflowed"  #: beyond the largest number: infinity, or NaN where there is none
    SATURATED = "saturated"  #: beyond the largest number: stopped there


@dataclass(frozen=True, slots=True)
class Landing:
    """One number and the place that a format gives it."""

    x: float
    code: int  #: bits of the result, read as an unsigned number
    value: float  #: what the code stands for; may be infinite or NaN
    below: float  #: largest number not above `x`
    above: float  #: smallest number not below `x`
    spacing: float  #: distance between the format's numbers around `x`
    outcome: Outcome

    @property
    def relative_error(self) -> float:
        """(value - x) / x; NaN where there is no finite value, 0 for x = 0."""
        if self.outcome is Outcome.EXACT:
            return 0.0
        return (self.value - self.x) / self.x if isfinite(self.value) else float("nan")


def land(x: float, fmt, rounding: str = "nearest", **options) -> Landing:
    """Round one finite number and return where it lands.

    Parameters
    ----------
    x : float
    fmt : Format or str
    rounding, **options
        As in :func:`~trainium_edu.numerics.cast`.

    Returns
    -------
    Landing

    Raises
    ------
    TypeError, ValueError
        If `x` is not a finite number.

    Examples
    --------
    >>> land(3.3, "fp8_e4m3").value, str(land(70_000, "fp16").outcome)
    (3.25, 'overflowed')
    """
    fmt = get_format(fmt)
    below, above = neighbours(x, fmt)
    x = float(x)
    code = int(cast_to_bits(x, fmt, rounding, **options))
    value = float(from_bits(code, fmt))
    if value == x:
        outcome = Outcome.EXACT
    elif not isfinite(value):
        outcome = Outcome.OVERFLOWED
    elif not fmt.min <= x <= fmt.max:
        outcome = Outcome.SATURATED if abs(x) > 0.5 else Outcome.VANISHED
    else:
        outcome = Outcome.VANISHED if value == 0 else Outcome.ROUNDED
    return Landing(x, code, value, below, above, ulp(x, fmt), outcome)


def step_code(code: int, fmt, steps: int) -> int:
    """Walk along the number line from one number to the next, by codes.

    Parameters
    ----------
    code : int
        Of a finite number or an infinity.
    fmt : Format or str
    steps : int
        How many numbers to walk, negative for downwards; stops at the ends (infinity where the
        format has one).  Both zeros count as one.

    Returns
    -------
    int
        A code; the positive zero's for zero.

    Raises
    ------
    ValueError
        If the code is NaN, which has no neighbours.

    Examples
    --------
    >>> step_code(0x3C00, "fp16", 1), step_code(0x0000, "fp16", -1)
    (15361, 32769)
    """
    fmt = get_format(fmt)
    code, steps = check_code(code, fmt), whole(steps, "steps")
    if np.isnan(from_bits(code, fmt)):
        raise ValueError(f"code {short(code)} of {fmt.name} is NaN, which has no neighbours")
    end = fmt.max_code + fmt.has_infinities
    if fmt.twos_complement:
        value = int(from_bits(code, fmt)) + steps
        return min(max(value, int(fmt.min)), int(fmt.max)) % (1 << fmt.bits)
    magnitude = code & ~fmt.sign_mask
    place = (-magnitude if code & fmt.sign_mask else magnitude) + steps
    place = min(max(place, -end if fmt.sign_bits else 0), end)
    return -place | fmt.sign_mask if place < 0 else place


@dataclass(frozen=True, slots=True)
class Stretch:
    """Numbers of a format between two places; evenly spaced unless `spacing` is None."""

    first: float
    last: float
    spacing: float | None  #: None: several runs too narrow to be told apart
    count: int | None  #: None where `spacing` is


@checked
def stretches(fmt, low: float, high: float, *, narrowest: float = 0.0) -> list[Stretch]:
    """List a format's numbers in a window as evenly spaced runs, from left to right.

    Parameters
    ----------
    fmt : Format or str
    low, high : float
        The window; both ends belong to it.
    narrowest : float, optional
        Binades narrower than this are joined into one run without a spacing (around zero they
        become narrower without end).

    Returns
    -------
    list of Stretch

    Raises
    ------
    ValueError
        If the window is empty or not finite.

    Examples
    --------
    >>> [(r.first, r.last, r.spacing) for r in stretches("fp8_e4m3", 3.0, 5.0)]
    [(3.0, 3.75, 0.25), (4.0, 5.0, 0.5)]
    """
    fmt = get_format(fmt)
    low, high = float(low), float(high)
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(f"a window from {low} to {high} holds nothing; give low < high, finite")
    runs: list[Stretch | None] = []
    if fmt.is_integer:
        runs = [_evenly(fmt.min, fmt.max, 1.0, low, high)]
    else:
        if low < 0 and fmt.sign_bits:
            mirrored = _positive(fmt, max(-high, 0.0), -low, narrowest)
            runs = [_mirror(run) for run in reversed(mirrored) if run.last > 0]
        if high >= 0:
            runs += _positive(fmt, max(low, 0.0), high, narrowest)
    return [run for run in runs if run is not None]


def _positive(fmt, low, high, narrowest) -> list[Stretch]:
    """List the runs of a window without negative numbers, from left to right."""
    high = min(high, fmt.max)
    if high < low:
        return []
    runs: list[Stretch] = []
    exponent = max(frexp(high)[1] - 1, fmt.min_exponent) if high else fmt.min_exponent
    if not fmt.exponent_bits:
        only = _evenly(0.0, fmt.max, fmt.smallest_subnormal, low, high)
        return [only] if only else []
    while True:
        lowest = exponent <= fmt.min_exponent
        start = 0.0 if lowest else 2.0**exponent
        spacing = 2.0 ** (max(exponent, fmt.min_exponent) - fmt.mantissa_bits)
        end = 2.0 ** (exponent + 1)
        if end < narrowest and not lowest:
            if low < end:
                runs.append(Stretch(max(low, 0.0), min(high, end), None, None))
            break
        run = _evenly(start, end - spacing, spacing, low, high)
        if run is not None:
            runs.append(run)
        if lowest or start <= low:
            break
        exponent -= 1
    return runs[::-1]


def _mirror(run) -> Stretch:
    """Return the negative twin of a run, without zero."""
    if run.spacing and run.first == 0:
        return Stretch(-run.last, -run.spacing, run.spacing, run.count - 1)
    return Stretch(-run.last, -run.first, run.spacing, run.count)


def _evenly(start, end, spacing, low, high) -> Stretch | None:
    """Return the part of an evenly spaced run that lies in the window, or None."""
    first = ceil(max(start, low) / spacing) * spacing
    last = floor(min(end, high) / spacing) * spacing
    if last < first:
        return None
    return Stretch(first, last, spacing, round((last - first) / spacing) + 1)


def number_text(value: float, fmt=None) -> str:
    """Return a value as text: exact if that is short, else with the digits that single it out.

    Examples
    --------
    >>> number_text(240.0), number_text(0.10009765625, "bf16"), number_text(float("inf"))
    ('240', '0.1001', 'infinity')
    """
    value = float(value)
    if not isfinite(value):
        return "NaN" if value != value else "infinity" if value > 0 else "−infinity"
    exact = _tidy(repr(value))
    if len(exact.lstrip("−").replace(".", "")) <= 8:
        return exact
    digits = 9
    if fmt is not None:
        fmt = get_format(fmt)
        digits = ceil(1 + (fmt.mantissa_bits + 1) * 0.30103)
    return min(exact, _tidy(f"{value:.{max(digits, 4)}g}"), key=len)


def _tidy(text: str) -> str:
    """Drop what Python writes and people do not: '.0', 'e-07', the hyphen as minus."""
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0").replace("-", "−")
    return f"{mantissa}e{int(exponent)}".replace("e-", "e−") if exponent else mantissa
