"""Round a whole array to a format, and count what is lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isfinite, log2, log10

import numpy as np

from trainium_edu.numerics.codes import from_bits
from trainium_edu.numerics.formats import Format, get_format
from trainium_edu.numerics.rounding import cast_to_bits
from trainium_edu.numerics.widen import as_numbers
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked

__all__ = ["Quantised", "best_power", "error_table", "fitted_table", "lost_table", "quantise"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quantised:
    """An array as a format keeps it, and the error that this made."""

    fmt: Format
    power: int  #: the array was multiplied by 2^power before rounding, and divided after
    values: np.ndarray  #: float64, scaled back
    snr_db: float  #: 10 log10(Σx² / Σ(x − q)²); infinite if nothing changed
    max_relative_error: float  #: over the numbers that are not zero; 1 where one became zero
    vanished: int  #: not zero before, zero after
    saturated: int  #: beyond the largest number: stopped there, or became infinity or NaN
    subnormal: int  #: kept, with fewer than the full number of significant bits
    exact: int  #: unchanged
    count: int

    def __repr__(self):
        return f"Quantised({self.fmt.name}, {_decibel(self.snr_db)} dB)"


def quantise(x, fmt, *, power: int = 0, overflow: str = "saturate", rounding="nearest", **options):
    """Round an array to a format and measure the error.

    Parameters
    ----------
    x : array of finite real numbers
    fmt : Format or str
    power : int, optional
        Multiply by ``2**power`` first and divide afterwards (a scale per tensor; powers of two
        cost no error of their own), -200 to 200.
    overflow : {"saturate", "infinity"}, optional
        As in :func:`~trainium_edu.numerics.cast`; with ``"infinity"`` one number too large makes
        the error infinite.
    rounding, **options
        As in :func:`~trainium_edu.numerics.cast`.

    Returns
    -------
    Quantised

    Raises
    ------
    TypeError, ValueError
        If `x` is empty or not finite, or `power` is not an integer in range.

    Examples
    --------
    >>> import numpy as np
    >>> q = quantise(np.float32([1.0, 0.3, 1e-9, 300.0]), "fp8_e4m3")
    >>> q.values.tolist(), q.vanished, q.saturated, q.exact
    ([1.0, 0.3125, 0.0, 240.0], 1, 1, 1)
    """
    fmt = get_format(fmt)
    power = whole(power, "power", -200, 200)
    x = as_numbers(x).astype(np.float64)
    if x.size == 0 or not np.isfinite(x).all():
        what = "empty" if x.size == 0 else f"not finite in {(~np.isfinite(x)).sum()} places"
        raise ValueError(f"x is {what}; an error can be measured on finite numbers only")
    scaled = np.ldexp(x, power)
    rounded = from_bits(cast_to_bits(scaled, fmt, rounding, overflow=overflow, **options), fmt)
    size, kept_size = np.abs(scaled), np.abs(rounded)
    beyond = (scaled > fmt.max) | (scaled < fmt.min)
    tiny = fmt.smallest_normal if isfinite(fmt.smallest_normal) else np.inf
    values = np.ldexp(rounded, -power)
    error = values - x
    signal, noise = float((x * x).sum()), float((error * error).sum())
    with np.errstate(invalid="ignore"):
        relative = np.nan_to_num(
            np.abs(error[x != 0]) / np.abs(x[x != 0]), nan=np.inf, posinf=np.inf
        )
    if noise == 0:
        snr_db = float("inf")
    else:
        snr_db = 10 * log10(signal / noise) if signal and isfinite(noise) else -float("inf")
    subnormal = (kept_size > 0) & (kept_size < tiny) & (not fmt.is_integer)
    return Quantised(
        fmt=fmt,
        power=power,
        values=values,
        snr_db=snr_db,
        max_relative_error=float(relative.max()) if relative.size else 0.0,
        vanished=int(((size > 0) & (rounded == 0)).sum()),
        saturated=int((beyond & (rounded != scaled) & (rounded != 0)).sum()),
        subnormal=int(subnormal.sum()),
        exact=int((rounded == scaled).sum()),
        count=x.size,
    )


def best_power(x, fmt) -> int:
    """Return the largest power of two by which an array fits without saturating.

    Parameters
    ----------
    x : array of finite real numbers, not all zero
    fmt : Format or str

    Returns
    -------
    int

    Examples
    --------
    >>> best_power([0.5, -0.1], "fp8_e4m3")
    8
    """
    fmt = get_format(fmt)
    largest = float(np.abs(as_numbers(x).astype(np.float64)).max(initial=0.0))
    if not 0 < largest < float("inf"):
        raise ValueError(f"the largest size in x is {largest}; it must be finite and above zero")
    return floor(log2(fmt.max / largest))


@checked
def error_table(found: Sequence[Quantised]) -> str:
    """Return quantised arrays as a table in plain text, one row each.

    Parameters
    ----------
    found : sequence of Quantised

    Returns
    -------
    str

    Examples
    --------
    >>> print(error_table([quantise([0.1, 0.7], "bf16")]))
    format        SNR/dB  max error  vanished  saturated  subnormal  exact
    bf16            59.1    0.1116%         0          0          0      0
    """
    head = "format        SNR/dB  max error  vanished  saturated  subnormal  exact"
    rows = [
        f"{q.fmt.name:12s} {_decibel(q.snr_db):>7s} {100 * q.max_relative_error:9.4g}% "
        f"{q.vanished:9d} {q.saturated:10d} {q.subnormal:10d} {q.exact:6d}"
        for q in found
    ]
    return "\n".join([head, *rows])


@checked
def lost_table(x, formats: Sequence, powers: Sequence) -> str:
    """Return how many numbers formats lose of an array, multiplied by powers of two.

    Parameters
    ----------
    x : array of finite real numbers
    formats : sequence of Format or str
    powers : sequence of int

    Returns
    -------
    str
        In each place: those that become zero + those too large.

    Examples
    --------
    >>> print(lost_table([1e-9, 0.5], ["fp8_e4m3"], [0, 20]))
    format             x 2^0      x 2^20
    fp8_e4m3           1 + 0       0 + 1
    """
    rows = ["format      " + "".join(f"{f'x 2^{p}':>12s}" for p in powers)]
    for fmt in map(get_format, formats):
        found = (quantise(x, fmt, power=p) for p in powers)
        cells = "".join(f"{f'{q.vanished} + {q.saturated}':>12s}" for q in found)
        rows.append(f"{fmt.name:12s}" + cells)
    return "\n".join(rows)


@checked
def fitted_table(x, formats: Sequence) -> str:
    """Return signal-to-noise ratios of an array as it is, and fitted by :func:`best_power`.

    Parameters
    ----------
    x : array of finite real numbers, not all zero
    formats : sequence of Format or str

    Returns
    -------
    str

    Examples
    --------
    >>> print(fitted_table([0.3, 0.1], ["int8"]))
    format      as it is   fitted     (SNR in dB)
    int8             0.0     45.2     x 2^8
    """
    rows = ["format      as it is   fitted     (SNR in dB)"]
    for fmt in map(get_format, formats):
        power = best_power(x, fmt)
        plain, best = (_decibel(quantise(x, fmt, power=p).snr_db) for p in (0, power))
        rows.append(f"{fmt.name:12s}{plain:>8s} {best:>8s}     x 2^{power}")
    return "\n".join(rows)


def _decibel(snr_db) -> str:
    """Return a ratio to one decimal, or a word."""
    return f"{snr_db:.1f}" if isfinite(snr_db) else "exact" if snr_db > 0 else "none"
