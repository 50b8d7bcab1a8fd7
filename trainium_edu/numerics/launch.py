"""Call compiled loops: tell the learner when the first call compiles, keep parallel ones in line.

Two rules live here so that no caller has to remember them.  Numba's workqueue threading layer
aborts the process when two Python threads enter parallel loops at once, so there is one lock for
the whole process, and who finds it taken runs the serial twin.  And the first call of a loop
compiles it; when that takes over a second, one line on stderr says so (and not when the compiled
loop was on disk and merely slow to come, as on a busy machine).
"""

import sys
import threading
from contextlib import contextmanager

import numpy as np

from trainium_edu import settings

__all__ = ["launch", "launch_parallel", "serial_only"]

_NOTICE_AFTER_S = 1.0
_LOOK_EVERY_S = 0.1  # from then on, as long as the call takes
_one_at_a_time = threading.Lock()


def launch(loop, *args):
    """Run a compiled loop on its arguments; what it computes goes into its ``out`` argument."""
    compiled = getattr(loop, "overloads", None)
    if compiled is None:  # Numba is switched off; unsigned sums wrap as they do when compiled
        with np.errstate(over="ignore", invalid="ignore"):
            return loop(*args)
    if compiled:
        return loop(*args)
    returned = threading.Event()
    if not settings.lesson().quiet:
        threading.Thread(target=_say_if_it_compiles, args=(loop, returned), daemon=True).start()
    try:
        return loop(*args)
    finally:
        returned.set()


def launch_parallel(parallel_loop, serial_loop, *args):
    """Run the parallel loop, or its serial twin while another thread is in a parallel loop.

    The two must give the same bits; which of them ran never shows in a result.
    """
    if not _one_at_a_time.acquire(blocking=False):
        return launch(serial_loop, *args)
    try:
        return launch(parallel_loop, *args)
    finally:
        _one_at_a_time.release()


@contextmanager
def serial_only():
    """Keep every parallel loop of the process to its serial twin for a while."""
    with _one_at_a_time:
        yield


def _say_if_it_compiles(loop, returned):
    """Say once that `loop` compiles, unless it returns soon or comes from the cache on disk."""
    pause = _NOTICE_AFTER_S
    while not returned.wait(pause):
        if loop.stats.cache_misses:  # counted by Numba just before it compiles
            print(
                f"trainium_edu: compiling {loop.__name__.strip('_')} for this machine; only the "
                "first time",
                file=sys.stderr,
                flush=True,
            )
            return
        pause = _LOOK_EVERY_S
