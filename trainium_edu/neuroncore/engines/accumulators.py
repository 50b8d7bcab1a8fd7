"""The registers in which an engine keeps a running reduction: one FP32 number per lane.

``core.state`` holds them, a set for the Scalar Engine and one that all accumulating instructions of
the Vector Engine share.  Before the first reset they read NaN: what they hold is not defined.
"""

import numpy as np

from trainium_edu.neuroncore.engines.checks import check_shape, check_tiles

__all__ = ["accumulators", "check_reduce_cmd", "check_reduce_res"]


def check_reduce_cmd(call, allowed) -> None:
    """Raise unless ``reduce_cmd`` is one of the commands that this instruction takes."""
    if call.reduce_cmd not in allowed:
        call.refuse(f"reduce_cmd is {call.reduce_cmd!r}; it is one of {', '.join(allowed)}")


def check_reduce_res(call, like: str) -> None:
    """Raise unless ``reduce_res`` is None or holds one number for each of the lanes."""
    if call.reduce_res is None:
        return
    check_tiles(call, "reduce_res")
    partitions = call.__dict__[like].shape[0]
    check_shape(call, "reduce_res", partitions, 1, f"one register per lane fills [{partitions}, 1]")


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
