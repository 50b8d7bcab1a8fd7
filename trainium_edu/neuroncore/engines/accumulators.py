"""The registers in which an engine keeps a running reduction: one FP32 number per lane.

``core.state`` holds them, a set for the Scalar Engine and one that all accumulating instructions of
the Vector Engine share.  Before the first reset they read NaN: what they hold is not defined.
"""

import numpy as np

__all__ = ["accumulators"]


def accumulators(call, engine: str, like) -> np.ndarray:
    """Return the live registers of the lanes that a tile occupies, float32[partitions].

    Parameters
    ----------
    call : Call
    engine : {"scalar", "vector"}
    like : View
        Its partitions are the lanes.
    """
    key = f"{engine}_accumulators"
    held = call.core.state.get(key)
    if held is None:
        held = call.core.state[key] = np.full(128, np.nan, np.float32)
    first = like.start_partition
    return held[first : first + like.shape[0]]
