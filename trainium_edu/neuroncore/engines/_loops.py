"""The recurrence of the Vector Engine's scans: one running FP32 number per partition."""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
import numpy as np
from numba import njit

ADD, SUBTRACT, MULTIPLY, MAXIMUM, MINIMUM, SUBTRACT_REVERSED, FIRST = range(7)


@njit(cache=True)
def _combine(code, a, b):
    """Return a <op> b; a maximum or minimum with a NaN is NaN."""
    if code == ADD:
        return a + b
    if code == MULTIPLY:
        return a * b
    if code == SUBTRACT:
        return a - b
    if code == SUBTRACT_REVERSED:
        return b - a
    if code == FIRST:
        return a
    if a != a:
        return a
    if b != b:
        return b
    if code == MAXIMUM:
        return a if a >= b else b
    return a if a <= b else b


@njit(cache=True)
def scan(data0, data1, initial, op0, op1, out):
    """Fill out[p, i] = op1(op0(data0[p, i], out[p, i - 1]), data1[p, i]), starting from initial[p].

    Parameters
    ----------
    data0, data1, out : float32[partitions, n]
    initial : float32[partitions]
    op0, op1 : int
        One of the codes of this file.
    """
    for p in range(data0.shape[0]):
        held = initial[p]
        for i in range(data0.shape[1]):
            held = np.float32(_combine(op1, _combine(op0, data0[p, i], held), data1[p, i]))
            out[p, i] = held
