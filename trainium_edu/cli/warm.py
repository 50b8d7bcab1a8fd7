"""Compile every loop into Numba's cache on disk, by calling each once on almost nothing.

A new loop, or a new dtype of an old one, gets a line here; ``tests/cli/test_warm.py`` finds loops
that were forgotten.
"""

import time
from collections.abc import Iterator

import numpy as np

from trainium_edu import fabric, nki, numerics, training
from trainium_edu.neuroncore import systolic_array
from trainium_edu.nki.examples import selective_scan
from trainium_edu.numerics.launch import serial_only

__all__ = ["command", "warm"]


def command(_options) -> None:
    """Compile all loops."""
    for line in warm():
        print(line)


def warm() -> Iterator[str]:
    """Compile what is not compiled yet.

    Yields
    ------
    line : str
        One per floor: its name and the seconds it took.
    """
    for work in (_numerics, _training, _systolic_array, _neuroncore, _fabric):
        start = time.perf_counter()
        work()
        with serial_only():  # the twins that run while another thread is in a parallel loop
            work()
        name = work.__name__[1:].replace("_", " ")
        yield f"{name}: ready after {time.perf_counter() - start:.1f} s"


def _numerics():
    few = np.linspace(-2, 2, 64, dtype=np.float32)
    for fmt in numerics.FORMATS.values():
        for rounding in numerics.ROUNDINGS:
            numerics.cast(few, fmt, rounding)
    many = np.ones(1 << 18, np.float32)  # whole tiles of random bits have a loop of their own
    numerics.cast(many, "bf16", "stochastic")
    numerics.cast(few, "tf32", overflow="saturate")
    numerics.cast(few.astype(np.float64), "bf16")  # one version serves all formats and roundings
    numerics.running_sum(few, "bf16", "nearest")
    for some in (few, many):
        numerics.rounding.round_floats(some, "bf16")


def _training():
    training.train("fp32", epochs=1, seeds=range(2))


def _systolic_array():
    # The small one is too large for plain Python, the large one long enough for threads.
    small = np.ones((2, 2), np.float32), np.ones((2, 9), np.float32)
    large = np.ones((128, 128), np.float32), np.ones((128, 9000), np.float32)
    systolic_array.run(*small, fmt="bf16")
    systolic_array.run(*small, fmt="bf16", record=True)
    systolic_array.run(*large, fmt="bf16")


def _neuroncore():
    sequence, channels = np.zeros((1, 128, 4), np.float32), np.zeros((128, 1), np.float32)
    states = np.zeros((1, 1, 4), np.float32)
    nki.run(selective_scan.hoisted, sequence, sequence, channels, states, states, passes=True)


def _fabric():
    schedule = fabric.plan(fabric.trn1_32xlarge(), "all_reduce", "kangaring")
    fabric.sum_rows(schedule, np.ones((32, 64), np.float32))
    many_moves = fabric.plan(fabric.ring(200), "all_reduce", "ring")  # few stay in Python
    fabric.hbm_touches(many_moves)
    fabric.ring_all_reduce(np.ones((8, 64), np.float32))
