"""Runs side by side: bytes, arithmetic, time with its band, and how much of the peak that is."""

import textwrap
from collections.abc import Mapping

from trainium_edu.neuroncore.timing.bands import compare

__all__ = ["advice", "compare", "scoreboard"]


def scoreboard(runs: Mapping) -> str:
    """Return a table with one line per run.

    Parameters
    ----------
    runs : dict of str to Run, or to a tuple of Runs that follow one another
        In the order in which the lines shall stand.  Kernels that follow one another add up.

    Returns
    -------
    str
        Columns: instructions, HBM traffic (MB), time (µs) with its band (µs), the Tensor Engine's
        TFLOP/s and MFU.  The last is how many times faster than the first line it is, with the
        range of that ratio ("tie" where it holds 1, see
        :func:`~trainium_edu.neuroncore.timing.bands.compare`).

    Raises
    ------
    TypeError
        If it is not a dict of runs.
    ValueError
        If there is nothing to compare.
    """
    _check("scoreboard", runs, "band")
    lines = [
        f"{'kernel':<24} {'instr.':>7} {'HBM MB':>8} {'time µs':>9} {'band µs':>17}"
        f" {'TFLOP/s':>8} {'MFU':>6}  faster"
    ]
    first = None
    for name, entry in runs.items():
        several = entry if isinstance(entry, tuple) else (entry,)
        timelines, bands = [run.timeline for run in several], [run.band for run in several]
        time_ns = sum(t.makespan_ns for t in timelines)
        low, high = sum(band.low_ns for band in bands), sum(band.high_ns for band in bands)
        instructions = sum(len(t.program.instructions) for t in timelines)
        moved = sum(t.hbm_bytes for t in timelines)
        rate = sum(t.flops for t in timelines) / time_ns / 1e3 if time_ns else 0.0
        mfu = sum(t.mfu * t.makespan_ns for t in timelines) / time_ns if time_ns else 0.0
        first = first or entry
        ratio = _ratio(first, entry) if time_ns else ""
        lines.append(
            f"{name:<24} {instructions:>7} {moved / 1e6:>8.3g} {_us(time_ns):>9}"
            f" {_us(low):>8}-{_us(high):<8} {rate:>8.1f} {mfu:>6.1%}  {ratio}"
        )
    return "\n".join(lines)


def _us(ns) -> str:
    """Write a time in µs: three digits, or a whole number."""
    return f"{ns / 1e3:,.0f}" if ns >= 99_950 else f"{ns / 1e3:.1f}"


def _ratio(first, found) -> str:
    if first is found:
        return "1.0 x"
    ratio = compare(first, found)
    text = f"{ratio.nominal:.1f} x ({ratio.low:.1f}-{ratio.high:.1f})"
    return text + "  tie" * ratio.is_tie


def advice(runs: Mapping, *, count: int = 1) -> str:
    """Return each run's costliest advice with its remedy: the next step.

    Parameters
    ----------
    runs : dict of str to Run
    count : int
        How much of each.

    Returns
    -------
    str
        One paragraph per advice.

    Raises
    ------
    TypeError
        If it is not a dict of runs.
    ValueError
        If it is empty.
    """
    _check("advice", runs, "advice")
    said = []
    for name, run in runs.items():
        costly = [one for one in run.advice if one.cost is not None][:count]
        for one in costly or ["nothing that costs time was found"]:
            said.append(textwrap.fill(f"{name}: {one}", 110, subsequent_indent="  "))
    return "\n".join(said)


def _check(name, runs, needed):
    """Raise unless given a dict of runs (a scoreboard also takes tuples of runs)."""
    example = f"{name}({{'rows': run}})"
    if not isinstance(runs, Mapping):
        raise TypeError(
            f"{name} takes a dict of names and runs, not a {type(runs).__name__}: {example}"
        )
    if not runs:
        raise ValueError(f"{name} needs at least one run: {example}")
    for title, found in runs.items():
        several = found if name == "scoreboard" and isinstance(found, tuple) else (found,)
        if not several or not all(hasattr(run, needed) for run in several):
            raise TypeError(
                f"{name}: {title!r} is a {type(found).__name__}; it must be what nki.run "
                f"returned: {example}"
            )
