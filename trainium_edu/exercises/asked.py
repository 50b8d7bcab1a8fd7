"""A kernel that an exercise asks for: its program, issued again here, with its values and figures.

The kernel is asked for its program, which is issued again and timed here (``exercises.request``):
its outputs, time and counts are the check's own.
"""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainium_edu import neuroncore
from trainium_edu.exercises.exercise import Rejected, reject, reject_if
from trainium_edu.exercises.request import Request, measured
from trainium_edu.specs import TRN1

__all__ = ["Figures", "computed", "draws", "expect_moved", "output", "passes_of", "report", "timed"]


def report(answer, *arrays, **keywords):
    """Return what a kernel gives and takes on these arrays."""
    try:
        with warnings.catch_warnings():  # the card says which rows
            warnings.filterwarnings("ignore", "(?s).* only a part is written")
            found = answer(Request(arrays, tuple(keywords.items())))
    except Rejected as rejected:
        reject_if(_NOT_A_KERNEL.search(rejected.values.get("error", "")), "no kernel")
        raise
    reject_if(not isinstance(found, bytes), "no kernel")
    try:
        found = measured(found, *arrays, spec=TRN1)
    except ValueError as problem:
        reject("cannot be issued again", f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    if len(found["outputs"]) != 1:
        reject("not one output", count=len(found["outputs"]))
    return found


_NOT_A_KERNEL = re.compile(r"'Request' object|TypeError: \w+\(\) missing \d+ required [^;]*$")


def computed(answer, arrays, wanted, wrong: Mapping[str, Any], *, dtype="float32", close=0.0,
             picture: Callable = lambda *_: "", reads_all=True, **keywords):  # fmt: skip
    """Return what a kernel takes on some arrays, if its output is right and was computed on chip.

    Parameters
    ----------
    answer : callable
    arrays : sequence of ndarray
    wanted : ndarray
    wrong : mapping of str to ndarray
        What wrong models give instead, by misconception.
    dtype : str
        Of the output.
    close : float
        To which the output has to agree, in parts of its largest number.
    picture : callable, optional
        Takes the output and which of it is wrong; returns what shows that.
    reads_all : bool
        The output depends on all of the arrays.
    **keywords
        Of the kernel.

    Returns
    -------
    dict
        As :func:`measured` has it.
    """
    found = report(answer, *arrays, **keywords)
    out = output(found, wanted.shape, dtype)
    off = ~(np.abs(out - wanted) <= close * max(1.0, np.abs(wanted).max()))
    if off.any():
        drawn, at = picture(out, off), tuple(map(int, np.argwhere(off)[0]))
        for name, gives in wrong.items():
            most = max(close, 1e-5) * np.abs(gives).max()
            if gives.shape == out.shape and np.abs(out - gives).max() <= most:
                reject(name, picture=drawn)
        reject("wrong values", picture=drawn, count=off.sum(), size=off.size, at=at, got=out[at],
               wanted=wanted[at])  # fmt: skip
    expect_moved(found, *(arrays if reads_all else ()))
    return found


def timed(kernel, *arrays, **keywords):
    """Return what a kernel of ours takes on some arrays."""
    recorded = Request(arrays, tuple(keywords.items())).report(kernel)
    assert recorded is not None  # it returns its output
    return measured(recorded, *arrays)


def passes_of(found) -> int:
    """Return how many instructions compute, those that move bytes left out."""
    return sum(count for name, count in found["instructions"].items() if "dma" not in name)


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
        low_ns = max(band.low_ns, least)  # no kernel beats its roof
        times = [ns / least for ns in (band.nominal_ns, low_ns, band.high_ns)]
        mfu = [roof.compute_ns / ns for ns in (band.nominal_ns, band.high_ns, low_ns)]
        peak = f", MFU {mfu[0]:.1%} ({mfu[1]:.1%} to {mfu[2]:.1%})" if mfu[0] > 5e-4 else ""
        where = f" on {self.ranked}" if self.ranked else ""
        return (
            f"Your kernel takes {band.nominal_ns / 1e3:.1f} µs ({low_ns / 1e3:.1f} to"
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
    """Return the output of a report as float32, of the expected shape and dtype, all written."""
    (out,) = found["outputs"]
    reject_if(out.shape != shape, "wrong shape", wanted=shape, shape=out.shape)
    reject_if(out.dtype.name != dtype, "wrong dtype", wanted=dtype, dtype=out.dtype)
    out = np.asarray(out, np.float32)
    rows = np.flatnonzero(np.isnan(out).reshape(len(out), -1).any(axis=1))
    if rows.size:
        few = "unwritten" if len(out) > 128 else "unwritten places"
        reject(few, first=rows[0], last=rows[-1])
    return out


def expect_moved(found, *arrays):
    """Reject numbers that are right though the chip never saw the arrays."""
    needed = sum(array.nbytes for array in (*arrays, *found["outputs"]))
    if found["hbm_bytes"] < needed:
        reject("not computed on chip", moved=found["hbm_bytes"], needed=needed)


def draws(seed) -> np.random.Generator:
    """Return the generator of an exercise's data."""
    return np.random.default_rng(seed)
