"""Compile every loop into Numba's cache on disk, by calling each once on almost nothing.

A new loop, or a new dtype of an old one, gets a line here; ``tests/cli/test_warm.py`` finds loops
that were forgotten.
"""

import time
from collections.abc import Iterator

import numpy as np

from trainium_edu import fabric, numerics, training
from trainium_edu.neuroncore import NeuronCore, place, schedule, systolic_array
from trainium_edu.neuroncore.timing.measure import measure
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
        for n_random_bits in (8, 24):  # another number of bits is another compiled version
            numerics.cast(few, fmt, "stochastic", n_random_bits=n_random_bits)
        given = np.zeros(few.shape, np.uint16)
        numerics.cast(few, fmt, "stochastic", random_bits=given)
    many = np.ones(1 << 18, np.float32)  # whole tiles of random bits have loops of their own
    for fmt in ("bf16", "fp16", "fp8_e4m3"):
        numerics.cast(many, fmt, "stochastic")
    for fmt in ("bf16", "tf32"):
        numerics.cast(few, fmt, overflow="saturate")
    numerics.cast(few.astype(np.float64), "bf16")  # one version serves all formats and roundings
    mine = numerics.configure(4, 3, bias=9)
    for rounding in numerics.ROUNDINGS:
        numerics.cast(few, mine, rounding)
    numerics.running_sum(few, "bf16", "nearest")
    numerics.running_sum(few, "fp16", "stochastic")
    for some in (few, many):
        numerics.rounding.round_floats(some, "bf16")


def _training():
    for arm in training.ARMS:
        training.train(arm, epochs=1, seeds=range(2))
        training.train(arm, epochs=1, seeds=[0])


def _systolic_array():
    # The small ones are too large for plain Python, the large ones long enough for threads.
    small = np.ones((2, 2), np.float32), np.ones((2, 9), np.float32)
    large = np.ones((128, 128), np.float32), np.ones((128, 9000), np.float32)
    for fmt in ("bf16", "fp32"):
        systolic_array.run(*small, fmt=fmt)
        systolic_array.run(*small, fmt=fmt, record=True)
    systolic_array.run(*large, fmt="bf16")


def _neuroncore():
    core = NeuronCore()
    data = core.hbm(np.zeros((128, 4), np.float32))
    for _ in range(2):
        tile, scanned = core.sbuf((128, 4)), core.sbuf((128, 4))
        core.dma_copy(dst=tile, src=data)
        core.tensor_tensor_scan(
            dst=scanned, data0=tile, data1=tile, initial=0.0, op0="multiply", op1="add"
        )
        core.dma_copy(dst=data, src=scanned)
    full = NeuronCore(values=False)  # tiles that fight for room are placed by loops of their own
    wide = full.hbm((128, 20_000))
    for _ in range(4):
        tile, half, result = (full.sbuf((128, 20_000)) for _ in range(3))
        full.dma_copy(dst=tile, src=wide)
        full.activation(dst=half, data=tile, op="exp")
        full.activation(dst=result, data=half, op="exp")
        full.dma_copy(dst=wide, src=result)
    schedule(full.program, place(full.program))
    placement = place(core.program)
    timeline = schedule(core.program, placement)
    schedule(core.program, placement, order=timeline.order)
    measure(core.program, passes=True)


def _fabric():
    torus = fabric.trn1_32xlarge()
    for algorithm in ("ring", "kangaring", "mesh", "rdh"):
        schedule = fabric.plan(torus, "all_reduce", algorithm)
        fabric.execute(schedule, np.ones((32, 64), np.float32))
        fabric.account(schedule, torus, 2**20)
        for elements in (64, 2**14):
            fabric.sum_rows(schedule, np.ones((32, elements), np.float32))
        fabric.hbm_touches(schedule)
    many_moves = fabric.plan(fabric.ring(200), "all_reduce", "ring")  # few stay in Python
    fabric.hbm_touches(many_moves)
    fabric.ring_all_reduce(np.ones((8, 64), np.float32))
