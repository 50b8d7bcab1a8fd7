"""Call compiled loops: load and compile them aside, keep parallel ones in line.

Three rules live here so that no caller has to remember them.  Numba's workqueue threading layer
aborts the process when two Python threads enter parallel loops at once, so there is one lock for
the whole process, and who finds it taken runs the serial twin.  The first call of a loop compiles
it; when that takes over a second, one line on stderr says so (and not when the compiled loop was on
disk and merely slow to come, as on a busy machine).  And Ctrl-C must find nothing half made: Numba
is imported and compiles in threads of their own, where no interrupt comes; every ``_loops.py``
imports this module before Numba.
"""

import importlib
import sys
import threading
from contextlib import contextmanager
from functools import partial

import numpy as np

from trainium_edu import settings
from trainium_edu.aside import aside

__all__ = ["launch", "launch_parallel", "serial_only"]

_one_at_a_time = threading.Lock()


def launch(loop, *args):
    """Run a compiled loop on its arguments; what it computes goes into its ``out`` argument."""
    if not hasattr(loop, "overloads"):  # Numba is off; unsigned sums wrap as they do when compiled
        with np.errstate(over="ignore", invalid="ignore"):
            return loop(*args)
    if "_compile_for_args" not in vars(loop):  # what Numba calls for arguments of new types
        loop._compile_for_args = partial(
            aside, loop._compile_for_args, meanwhile=partial(_says_if_it_compiles, loop)
        )
    return loop(*args)


def launch_parallel(parallel_loop, serial_loop, *args):
    """Run the parallel loop, or its serial twin while another thread is in a parallel loop.

    The two must give the same bits; which of them ran never shows in a result.
    """
    if _one_at_a_time.locked():
        return launch(serial_loop, *args)
    with _one_at_a_time:  # a thread between the two lines waits, 0.2 s at most
        return launch(parallel_loop, *args)


@contextmanager
def serial_only():
    """Keep every parallel loop of the process to its serial twin for a while."""
    with _one_at_a_time:
        yield


def _says_if_it_compiles(loop) -> bool:
    """Print once that `loop` compiles, unless it comes from the cache on disk."""
    if settings.lesson().quiet or not loop.stats.cache_misses:  # counted before Numba compiles
        return False
    print(
        f"trainium_edu: compiling {loop.__name__.strip('_')} for this machine; only the first time",
        file=sys.stderr,
        flush=True,
    )
    return True


def _load_numba():
    """Load Numba whole, but for SciPy's BLAS: no loop here calls it, and it takes 0.2 s."""
    numba = importlib.import_module("numba")
    numba.config.THREADING_LAYER = "workqueue"  # the omp layer slows a following matmul
    blas = "scipy.linalg.cython_blas"
    is_there = blas in sys.modules
    sys.modules.setdefault(blas, None)  # Numba tries to import it, and does without
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        if not is_there:
            del sys.modules[blas]


aside(_load_numba)
