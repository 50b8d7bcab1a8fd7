"""The Sync Engine: it holds a collective's place in a core's program.

The CC-Cores and DMA move the data; the core's own engines go on.  What a collective computes and
how long it takes is decided between the cores (``nki.collectives`` asks ``fabric``); here it is one
instruction that reads its sources, writes its destinations, and holds the Sync Engine that long.
"""

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = ["COLLECTIVES"]

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all",
               "all_to_all_v", "collective_permute", "collective_permute_implicit",
               "collective_permute_implicit_reduce")  # fmt: skip
_MOVED = "each in HBM or SBUF"


def _cycles(chip, engine, duration_ns):
    """Return the stated nanoseconds in cycles of the clock that times the Sync Engine."""
    return duration_ns * 1e-9 * chip.scalar_engine.clock_hz.value


for _name in COLLECTIVES:  # the values come from all ranks: see nki.collectives
    define(
        _name, Engine.SYNC, writes=("dsts",), reads=("srcs",), options=("duration_ns",),
        defaults={"op": None, "ranks": 1, "algorithm": ""}, pure=False,
        check=limits(srcs=_MOVED, dsts=_MOVED), execute=lambda call: None, cycles=_cycles,
        work=lambda call: (float(call.duration_ns),),
    )  # fmt: skip
