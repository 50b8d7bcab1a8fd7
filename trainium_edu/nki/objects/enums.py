"""The choices that instructions take: engines, modes, generations, memory regions.

Published kernels write some by their values (``dge_mode=3``, ``perf_mode="none"``) and compare
generations with numbers (``get_nc_version() >= 3``), so a member equals its value.
"""

from enum import Enum
from functools import total_ordering

__all__ = ["MemoryRegion", "chosen", "dge_mode", "dma_engine", "engine", "engine_name",
           "matmul_perf_mode", "nc_version", "oob_mode", "reduce_cmd"]  # fmt: skip


class MemoryRegion(Enum):
    """The memory of a tensor."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    def __repr__(self):
        return f"nl.{self.name}"

    __str__ = __repr__


class _Choice(Enum):
    """A choice that equals its value."""

    def __eq__(self, other):
        return self is other if isinstance(other, bool | Enum) else other == self.value

    def __hash__(self):
        return hash(self.value)


def chosen(kind: type[_Choice], value, asks: str) -> _Choice:
    """Return a member of a choice, given as itself or by its value.

    Raises
    ------
    TypeError
        For anything else; `asks` names who asks, such as "dma_copy: dge_mode".
    """
    if type(value) is kind:
        return value
    try:
        return kind(None if isinstance(value, bool | Enum) else value)
    except ValueError:
        known = ", ".join(f"{m.name} ({m.value!r})" for m in kind)
        raise TypeError(
            f"{asks} is {value!r}; it must be a member of nki.isa.{kind.__name__}, or its value: "
            f"{known}"
        ) from None


class engine(_Choice):
    """Engines of a NeuronCore; ``unknown`` leaves the choice to the instruction."""

    tensor = 1
    vector = 5
    scalar = 2
    gpsimd = 3
    dma = 4
    sync = 6
    unknown = 0


def engine_name(asked, instruction: str) -> str | None:
    """Return an engine as ``neuroncore`` names it, or None where nothing is asked."""
    if asked is None or asked is engine.unknown:
        return None
    found = chosen(engine, asked, f"{instruction}: engine")
    return None if found is engine.unknown else found.name


class reduce_cmd(_Choice):
    """The use of an engine's accumulator registers by an instruction."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(_Choice):
    """The writer of DMA descriptors; NeuronCore-v2 has no hardware engine for them."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(_Choice):
    """The effect of an indirect access out of bounds: raise, or skip it."""

    error = 0
    skip = 1


class matmul_perf_mode(_Choice):
    """Speed modes of the Tensor Engine; ``double_row`` needs a later chip."""

    none = "none"
    double_row = "double_row"


@total_ordering
class nc_version(_Choice):
    """NeuronCore generations, in order: ``nc_version.gen2 < nc_version.gen3``, ``gen2 < 3``."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    def __int__(self):
        return self.value

    __index__ = __int__

    def __lt__(self, other):
        other = other.value if isinstance(other, nc_version) else other
        return self.value < other if isinstance(other, int | float) else NotImplemented


class dma_engine(_Choice):
    """The engine that moves the data of ``sendrecv``."""

    dma = 1
    gpsimd_dma = 2
