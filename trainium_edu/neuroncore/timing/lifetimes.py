"""From when to when each tile needs its bytes: first access to the end of the last."""

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.timing.expansion import MEMORIES
from trainium_edu.neuroncore.timing.timeline import CoreTimeline

__all__ = ["lifetimes"]

_HBM = MEMORIES.index(Memory.HBM)


def lifetimes(timeline: CoreTimeline) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the on-chip tiles that were touched, and their lives.

    Parameters
    ----------
    timeline : CoreTimeline

    Returns
    -------
    instance : int64[tiles]
        Indices into ``timeline.placement.run.allocation``, in order of first access.
    start_ns, end_ns : float64[tiles]
        A tile that is read last is free when the reader has read it; one that is written last
        when the result is there.

    Examples
    --------
    >>> from trainium_edu.neuroncore import NeuronCore, measure
    >>> core = NeuronCore(values=False)
    >>> a, b = core.sbuf((128, 512), name="a"), core.sbuf((128, 512), name="b")
    >>> core.memset(dst=a, value=0.0)
    >>> core.tensor_copy(dst=b, src=a)
    >>> timed = measure(core.program)
    >>> which, start, end = lifetimes(timed)
    >>> bool(end[0] == timed.release_ns[1]), bool(end[1] == timed.done_ns[1])
    (True, True)
    """
    run = timeline.placement.run
    which = np.flatnonzero((run.last >= 0) & (run.memory != _HBM))
    which = which[np.argsort(run.first[which], kind="stable")]
    written_last = np.zeros(run.allocation.size, bool)
    at_last = run.access_row == run.last[run.access_instance]
    written_last[run.access_instance[at_last & run.is_write]] = True
    start, last = timeline.start_ns[run.first[which]], run.last[which]
    end = np.where(written_last[which], timeline.done_ns[last], timeline.release_ns[last])
    return which, start, np.maximum(start, end)
