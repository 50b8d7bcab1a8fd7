"""The Sync Engine: it holds a collective's place in a core's program.

The CC-Cores and DMA move the data; the core's own engines go on.  What a collective computes and
how long it takes is decided between the cores (``nki.collectives`` asks ``fabric``); here it is one
instruction that reads its sources, writes its destinations, and holds the Sync Engine that long.

Two cores that are one (Trainium2) exchange tiles by DMA, and wait for each other as long as one
takes to start: nobody has measured either.
"""

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.dma import TIMED, transfer
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = ["COLLECTIVES"]

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all",
               "all_to_all_v", "all_gather_v", "collective_permute", "collective_permute_implicit",
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


def _check_pair(call):
    call.needs("pairs_of_cores", "the instruction", "use nki.collectives between ranks")


def _start_cycles(chip, engine):
    return chip.dma.start_ns.value * 1e-9 * chip.find(f"{engine.clock}_engine.clock_hz").value


define(
    "core_barrier", (Engine.GPSIMD, Engine.VECTOR, Engine.SCALAR, Engine.TENSOR, Engine.SYNC),
    writes=("data",), reads=("data",), pure=False, check=limits(chip=_check_pair, data="in HBM"),
    execute=lambda call: None, work=lambda call: (), cycles=_start_cycles, facts=("dma.start_ns",),
)  # fmt: skip
define(
    "sendrecv", Engine.DMA, reads=("src",), pure=False,
    check=limits(chip=_check_pair, src="in SBUF", dst="in SBUF; like src; as many elements as src"),
    execute=lambda call: None, work=lambda call: transfer(call.src, call.dst), **TIMED,
)  # fmt: skip
