"""The five instruction streams of a NeuronCore, and its DMA queues."""

from enum import StrEnum

__all__ = ["Engine", "Memory"]


class Engine(StrEnum):
    """A unit that runs instructions."""

    TENSOR = "tensor"
    VECTOR = "vector"
    SCALAR = "scalar"
    GPSIMD = "gpsimd"
    SYNC = "sync"
    DMA = "dma"

    @property
    def title(self) -> str:  # type: ignore[override]  # no engine is a headline
        """The name that people read, and the name of its track in a timeline."""
        return _TITLES[self]

    @property
    def clock(self) -> str:
        """The engine whose clock its cycles count: for the Sync Engine, the Scalar Engine."""
        return "scalar" if self is Engine.SYNC else self.value


_TITLES = {
    Engine.TENSOR: "Tensor Engine", Engine.VECTOR: "Vector Engine",
    Engine.SCALAR: "Scalar Engine", Engine.GPSIMD: "GpSimd Engine",
    Engine.SYNC: "Sync Engine", Engine.DMA: "DMA",
}  # fmt: skip


class Memory(StrEnum):
    """A memory that holds data."""

    HBM = "hbm"
    SBUF = "sbuf"
    PSUM = "psum"

    @property
    def is_on_chip(self) -> bool:
        """Whether the memory has partitions."""
        return self is not Memory.HBM
