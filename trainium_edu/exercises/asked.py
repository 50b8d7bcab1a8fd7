"""A kernel that an exercise asks for: its program, issued again here, with its values and figures.

The kernel is asked for its program, which is issued again and timed here (``exercises.request``):
its outputs, time and counts are the check's own.
"""

import re
import warnings
from dataclasses import dataclass

import numpy as np

from trainium_edu import neuroncore
from trainium_edu.exercises.exercise import Rejected, reject
from trainium_edu.exercises.request import Request, measured
from trainium_edu.specs import TRN1

__all__ = ["Figures", "draws", "expect_moved", "expect_written", "output", "report"]

_FORGOT_JIT = (
    "Call it as the lesson does: @nki.jit stands above the def, and it returns its output."
)


def report(answer, *arrays, **keywords):
    """Return what a kernel gives and takes on these arrays; None where it returns nothing yet."""
    try:
        with warnings.catch_warnings():  # the card says which rows
            warnings.filterwarnings("ignore", "(?s).* only a part is written")
            found = answer(Request(arrays, tuple(keywords.items())))
    except Rejected as rejected:
        if _NOT_A_KERNEL.search(rejected.feedback):
            reject("no kernel", _FORGOT_JIT)
        raise
    if found is None:
        return None
    if not isinstance(found, bytes):
        reject("no kernel", _FORGOT_JIT)
    try:
        found = measured(found, *arrays, spec=TRN1)
    except ValueError as problem:
        reject("cannot be issued again", f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    if len(found["outputs"]) != 1:
        reject(
            "not one output",
            f"One output is asked for, computed on the chip; it returns {len(found['outputs'])}.",
        )
    return found


_NOT_A_KERNEL = re.compile(r"'Request' object|TypeError: \w+\(\) missing \d+ required [^;]*$")


@dataclass(frozen=True, slots=True)
class Figures:
    """What a right kernel takes; called, it says how far that is from the roof above it."""

    found: dict
    ranked: str = ""  #: what it was timed on, if a class compares that

    def __call__(self):
        """Say it in a sentence."""
        timeline = self.found["timeline"]
        roof, band = timeline.roofline(), neuroncore.band_of(timeline)
        what, least = max(("FLOPs", roof.compute_ns), ("bytes", roof.memory_ns), key=lambda x: x[1])
        times = [ns / least for ns in (band.nominal_ns, band.low_ns, band.high_ns)]
        mfu = [roof.compute_ns / ns for ns in (band.nominal_ns, band.high_ns, band.low_ns)]
        peak = f", MFU {mfu[0]:.1%} ({mfu[1]:.1%} to {mfu[2]:.1%})" if mfu[0] > 5e-4 else ""
        where = f" on {self.ranked}" if self.ranked else ""
        return (
            f"Your kernel takes {band.nominal_ns / 1e3:.1f} µs ({band.low_ns / 1e3:.1f} to"
            f" {band.high_ns / 1e3:.1f}){where}, moves {timeline.hbm_bytes:,.0f} bytes{peak}:"
            f" {times[0]:.1f} times ({times[1]:.1f} to {times[2]:.1f}) the {least / 1e3:.1f} µs of"
            f" its roof, which its {what} alone would take."
        )

    def entry(self):
        """Return a leaderboard's row of it, but for whose it is; empty if it is not ranked."""
        if not self.ranked:
            return {}
        timeline = self.found["timeline"]
        band = neuroncore.band_of(timeline)
        return {
            "case": self.ranked, "latency_us": band.nominal_ns / 1e3, "low_us": band.low_ns / 1e3,
            "high_us": band.high_ns / 1e3, "hbm_bytes": int(timeline.hbm_bytes),
            "mfu": timeline.mfu,
        }  # fmt: skip


def output(found, shape, dtype="float32"):
    """Return the output of a report as float32, of the expected shape and dtype."""
    (out,) = found["outputs"]
    if out.shape != shape:
        reject("wrong shape", f"The output should have shape {shape}; it has {out.shape}.")
    if out.dtype.name != dtype:
        reject("wrong dtype", f"The output should hold {dtype}; it holds {out.dtype}.")
    return np.asarray(out, np.float32)


def expect_moved(found, *arrays):
    """Reject numbers that are right though the chip never saw the arrays."""
    needed = sum(array.nbytes for array in (*arrays, *found["outputs"]))
    if found["hbm_bytes"] < needed:
        reject(
            "not computed on chip",
            f"Only {found['hbm_bytes']} bytes moved between HBM and SBUF, and the arrays and the"
            f" output have {needed}: load them, compute with nl or nisa, store the result.",
        )


def expect_written(out):
    """Reject outputs in which something was never written."""
    rows = np.flatnonzero(np.isnan(out).any(axis=1))
    if rows.size:
        reject(
            "unwritten",
            f"Rows {rows[0]} to {rows[-1]} of the output hold NaN: nobody wrote them. "
            + (
                "How many tiles of 128 rows are there?"
                if len(out) > 128
                else "Which rows and columns do your instructions write?"
            ),
        )


def draws(seed) -> np.random.Generator:
    """Return the generator of an exercise's data."""
    return np.random.default_rng(seed)
