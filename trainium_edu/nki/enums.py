"""The choices that instructions take: engines, modes, generations, memory regions."""

from enum import Enum
from functools import total_ordering

__all__ = ["MemoryRegion", "dge_mode", "dma_engine", "engine", "matmul_perf_mode", "nc_version",
           "oob_mode", "reduce_cmd"]  # fmt: skip


class MemoryRegion(Enum):
    """Where a tensor is."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    def __repr__(self):
        return f"nl.{self.name}"

    __str__ = __repr__


class engine(Enum):
    """Engines of a NeuronCore; ``unknown`` leaves the choice to the instruction."""

    tensor = 1
    vector = 5
    scalar = 2
    gpsimd = 3
    dma = 4
    sync = 6
    unknown = 0


class reduce_cmd(Enum):
    """What an instruction does with its engine's accumulator registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):
    """Who writes DMA descriptors; NeuronCore-v2 has no hardware engine for them."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(Enum):
    """What an indirect access out of bounds does: raise, or be skipped."""

    error = 0
    skip = 1


class matmul_perf_mode(Enum):
    """Speed modes of the Tensor Engine; ``double_row`` needs a later chip."""

    none = "none"
    double_row = "double_row"


@total_ordering
class nc_version(Enum):
    """NeuronCore generations, in order: ``nc_version.gen2 < nc_version.gen3``."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    def __lt__(self, other):
        return self.value < other.value if isinstance(other, nc_version) else NotImplemented

    def __eq__(self, other):
        return self is other

    __hash__ = Enum.__hash__


class dma_engine(Enum):
    """Who moves the data of ``sendrecv``."""

    dma = 1
    gpsimd_dma = 2
