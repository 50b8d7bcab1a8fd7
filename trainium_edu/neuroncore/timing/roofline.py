"""What a program computes and moves, and where that puts it under the machine's two limits."""

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.program import Program

__all__ = ["Roofline", "Traffic", "touched_bytes", "traffic"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that instructions and transfers read from one memory and wrote to it."""

    read: int
    written: int

    def __str__(self):
        return f"{self.read} bytes read, {self.written} written"


def traffic(program: Program, times: np.ndarray) -> dict[Memory, Traffic]:
    """Return what goes from and to each memory (a repeated stride-0 element counts once).

    Parameters
    ----------
    program : Program
    times : int64[instructions]
        How often each instruction runs.
    """
    totals = {memory: [0, 0] for memory in Memory}
    for i, count in zip(program.instructions, times.tolist(), strict=True):
        for a in i.accesses:
            memory = program.allocations[a.allocation].memory
            totals[memory][a.is_write] += touched_bytes(a.geometry) * count
    return {memory: Traffic(*both) for memory, both in totals.items()}


@lru_cache(2**14)
def touched_bytes(geometry: tuple) -> int:
    """Return the bytes of a view (of an access's geometry); what is stretched counts once."""
    dtype, shape, strides, _ = geometry
    walked = prod(size for size, stride in zip(shape, strides, strict=True) if stride)
    return walked * DTYPES[dtype].itemsize


@dataclass(frozen=True, slots=True)
class Roofline:
    """A program's work under the two limits of the machine."""

    flops: int
    hbm_bytes: int
    makespan_ns: float
    peak_flops: float  #: the Tensor Engine's, in BF16
    hbm_bytes_per_s: float  #: its share of the chip's HBM bandwidth
    dma_bytes_per_s: float  #: what the core's 16 queues sustain

    @property
    def intensity(self) -> float:
        """FLOP per byte to and from HBM (infinite if nothing moved)."""
        if self.hbm_bytes:
            return self.flops / self.hbm_bytes
        return float("inf") if self.flops else 0.0

    @property
    def ridge(self) -> float:
        """FLOP per byte from which compute, not HBM, is the limit."""
        return self.peak_flops / self.hbm_bytes_per_s

    @property
    def compute_ns(self) -> float:
        """The shortest time that the FLOPs allow."""
        return self.flops / self.peak_flops * 1e9

    @property
    def memory_ns(self) -> float:
        """The shortest time that the bytes allow at HBM's rate."""
        return self.hbm_bytes / self.hbm_bytes_per_s * 1e9

    @property
    def dma_ns(self) -> float:
        """The shortest time that the bytes allow at the queues' sustained rate."""
        return self.hbm_bytes / self.dma_bytes_per_s * 1e9

    @property
    def bound(self) -> str:
        """The nearer limit: "compute" or "memory"."""
        return "compute" if self.compute_ns >= self.memory_ns else "memory"

    @property
    def achieved_flops(self) -> float:
        """FLOP/s that the program reached."""
        return self.flops / self.makespan_ns * 1e9 if self.makespan_ns else 0.0

    @property
    def attainable_flops(self) -> float:
        """FLOP/s under the roof at this intensity."""
        return min(self.peak_flops, self.intensity * self.hbm_bytes_per_s)

    def __str__(self):
        return (
            f"{self.bound}-bound: {self.intensity:.4g} FLOP/byte against a ridge of "
            f"{self.ridge:.4g}; {self.achieved_flops / 1e12:.4g} of "
            f"{self.attainable_flops / 1e12:.4g} TFLOP/s attainable"
        )
