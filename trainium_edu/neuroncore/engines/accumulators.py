"""The registers in which an engine keeps a running reduction: one FP32 number per lane.

``core.state`` holds them, a set for the Scalar Engine and one that all accumulating instructions of
the Vector Engine share.  Before the first reset they read NaN: what they hold is not defined.
"""

import numpy as np

from trainium_edu.neuroncore.engines.vector import operand_of

__all__ = ["accumulators", "check_loaded"]


def accumulators(call, engine: str, like, identity: float = 0.0, loads: str = "") -> np.ndarray:
    """Return the live registers of a tile's lanes, as ``reduce_cmd`` begins with them.

    Parameters
    ----------
    call : Call
    engine : {"scalar", "vector"}
    like : View
        Its partitions are the lanes.
    identity : float
        Their value after a reset.
    loads : str
        The operand that ``load_reduce`` puts there.

    Returns
    -------
    float32[partitions]
    """
    key = f"{engine}_accumulators"
    registers = call.core.state.get(key)
    if registers is None:
        registers = call.core.state[key] = np.full(128, np.nan, np.float32)
    first = like.start_partition
    registers = registers[first : first + like.shape[0]]
    if call.reduce_cmd in ("reset", "reset_reduce"):
        registers[:] = identity
    elif call.reduce_cmd == "load_reduce":
        registers[:] = operand_of(call, loads).ravel()
    return registers


def check_loaded(role: str):
    """Return the check that an operand is there if ``reduce_cmd`` loads it."""

    def check(call):
        if call.reduce_cmd == "load_reduce" and call.__dict__[role] is None:
            raise TypeError(f"{call.name}: load_reduce loads {role}, which is None")

    return check
