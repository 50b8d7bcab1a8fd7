"""Between memory and a sequencer's registers: one number of up to 32 bits.

Which engine's sequencer holds a register is the compiler's choice; it is the Sync Engine's here.
"""

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = []


def _check(role):
    def check(call):
        view = getattr(call, role)
        if view.size != 1:
            call.refuse(f"{role} is {view!r}, and a register holds one number")

    return check


def _store(call):
    """Write the number; an integer keeps its low bits, as many as the element has."""
    dst = call.dst
    if dst.dtype.is_float:
        dst.write_fp32(np.full(dst.shape, call.value, np.float32), call.core.rounding)
    else:
        low = int(call.value) % 256**dst.dtype.itemsize
        dst.write_bits(np.full(dst.shape, low, f"u{dst.dtype.itemsize}").view(dst.dtype.storage))


define(
    "register_load", Engine.SYNC, writes=(), reads=("src",),
    check=_check("src"), execute=lambda call: None, work=lambda call: (),
    cycles=lambda chip, engine: 0.0, pure=False,
)  # fmt: skip
define(
    "register_store", Engine.SYNC, options=("value",),
    check=_check("dst"), execute=_store, work=lambda call: (),
    cycles=lambda chip, engine: 0.0, pure=False,
)  # fmt: skip
