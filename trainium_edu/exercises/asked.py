"""A kernel that an exercise asks for: its program, issued again here, with its values and figures.

The kernel is asked for its program, which is issued again and timed here (``exercises.request``):
its outputs, time and counts are the check's own.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trainium_edu.exercises.exercise import words_of
from trainium_edu.exercises.judge import Rejected, reject, reject_if
from trainium_edu.exercises.leaderboard import FIGURES
from trainium_edu.exercises.request import Request, measured
from trainium_edu.neuroncore.run import Run
from trainium_edu.specs import TRN1

__all__ = ["Figures", "computed", "expect_moved", "output", "passes_of", "report", "timed"]


def report(answer, *arrays, measure: Callable = measured, **keywords):
    """Return the run of a kernel on these arrays."""
    try:
        with warnings.catch_warnings():  # the card says which rows
            warnings.filterwarnings("ignore", "(?s).* only a part is written")
            recorded = answer(Request(arrays, tuple(keywords.items())))
    except Rejected as rejected:
        reject_if(_NOT_A_KERNEL.search(rejected.values.get("error", "")), "no kernel")
        raise
    reject_if(not isinstance(recorded, bytes), "no kernel")
    try:
        run = measure(recorded, *arrays, spec=TRN1)
    except ValueError as problem:
        reject("cannot be issued again", f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    count = len(run.program.outputs)
    reject_if(count != 1, "not one output", count=count)
    return run


_NOT_A_KERNEL = re.compile(r"'Request' object|TypeError: \w+\(\) missing \d+ required [^;]*$")


def computed(
    answer, arrays, wanted, wrong, *, dtype="float32", close=0, picture=None, reads_all=True, **more
):
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
    **more
        Keywords of the kernel.

    Returns
    -------
    Run
    """
    run = report(answer, *arrays, **more)
    out = output(run, wanted.shape, dtype)
    off = ~(np.abs(out - wanted) <= close * max(1.0, np.abs(wanted).max()))
    if off.any():
        drawn, at = picture(out, off) if picture else "", tuple(map(int, np.argwhere(off)[0]))
        for name, gives in wrong.items():
            most = max(close, 1e-5) * np.abs(gives).max()
            if gives.shape == out.shape and np.abs(out - gives).max() <= most:
                reject(name, picture=drawn)
        there = {"at": at, "got": out[at], "wanted": wanted[at]}
        reject("wrong values", picture=drawn, count=off.sum(), size=off.size, **there)
    expect_moved(run, *(arrays if reads_all else ()))
    return run


def timed(kernel, *arrays, **keywords):
    """Return the ns that a kernel of ours takes on some arrays."""
    recorded = Request(arrays, tuple(keywords.items())).report(kernel)
    assert recorded is not None  # it returns its output
    return measured(recorded, *arrays).timeline.makespan_ns


def passes_of(run) -> int:
    """Return how many instructions compute, those that move bytes left out."""
    return sum("dma" not in instruction.name for instruction in run.program.instructions)


@dataclass(frozen=True, slots=True)
class Figures:
    """What a right kernel takes; called, it says how far that is from the roof above it."""

    run: Run
    ranked: str = ""  #: what it was timed on, if a class compares that
    picture: object = ""  #: of it beside what it had to beat

    def __call__(self):
        """Say it in a sentence."""
        timeline, band = self.run.timeline, self.run.band
        roof = timeline.roofline()
        what, least = max(("FLOPs", roof.compute_ns), ("bytes", roof.memory_ns), key=lambda x: x[1])
        low_ns = max(band.low_ns, least)  # no kernel beats its roof
        times = [ns / least for ns in (band.nominal_ns, low_ns, band.high_ns)]
        mfu = [roof.compute_ns / ns for ns in (band.nominal_ns, band.high_ns, low_ns)]
        peak = f", MFU {mfu[0]:.1%} ({mfu[1]:.1%} to {mfu[2]:.1%})" if mfu[0] > 5e-4 else ""
        where = f" on {self.ranked}" if self.ranked else ""
        times_us = [ns / 1e3 for ns in (band.nominal_ns, low_ns, band.high_ns, least)]
        return words_of(__file__)["said"]["figures"].format(
            us=times_us, where=where, nbytes=timeline.hbm_bytes, peak=peak, times=times, what=what
        )

    def entry(self):
        """Return a leaderboard's row of it, but for whose it is; empty if it is not ranked."""
        if not self.ranked:
            return {}
        timeline, band = self.run.timeline, self.run.band
        times_us = [ns / 1e3 for ns in (band.nominal_ns, band.low_ns, band.high_ns)]
        values = *times_us, int(timeline.hbm_bytes), timeline.mfu
        return {"case": self.ranked, **dict(zip(FIGURES, values, strict=True))}


def output(run, shape, dtype="float32"):
    """Return the output of a run as float32, of the expected shape and dtype, all written."""
    (out,) = run.outputs
    reject_if(out.shape != shape, "wrong shape", wanted=shape, shape=out.shape)
    reject_if(out.dtype.name != dtype, "wrong dtype", wanted=dtype, dtype=out.dtype)
    out = np.asarray(out, np.float32)
    rows = np.flatnonzero(np.isnan(out).reshape(len(out), -1).any(axis=1))
    if rows.size:
        few = "unwritten" if len(out) > 128 else "unwritten places"
        reject(few, first=rows[0], last=rows[-1])
    return out


def expect_moved(run, *arrays):
    """Reject numbers that are right though the chip never saw the arrays."""
    needed, moved = sum(a.nbytes for a in (*arrays, *run.outputs)), run.timeline.hbm_bytes
    reject_if(moved < needed, "not computed on chip", moved=moved, needed=needed)
