"""How much slower this machine is, at this moment, than the one on which limits were set.

A limit in seconds is one of that machine; a busy or older one is no fault of the code.
"""

import subprocess
import sys
import time

# On the machine of the README's table, with nothing else on it: the loop, and the process below
_QUIET_S, _QUIET_START_S = 0.105, 0.90
_PEER = "import ipywidgets, matplotlib.figure, numba, numpy"


def slowness():
    """Return how much longer work takes now than on a quiet machine of the README's table."""
    begin, total = time.perf_counter(), 0
    for i in range(1_000_000):
        total += i * i & 7
    return (time.perf_counter() - begin) / _QUIET_S


def slowness_of_a_start():
    """Return the same of what a lesson's first cell does most: libraries are found and loaded."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", _PEER], check=True)
    return (time.perf_counter() - begin) / _QUIET_START_S
