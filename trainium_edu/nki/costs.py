"""What a habit costs, in nanoseconds: nominal, and at both ends of the uncertain parameters."""

from typing import NamedTuple

from trainium_edu.neuroncore.engine import Engine
from trainium_edu.neuroncore.instruction_set import cycles_of
from trainium_edu.neuroncore.timing import dma_row_ns, parameters, settle

__all__ = ["Cost", "Costing"]

_LONG_ROW_BYTES = 4096  # from here on transfers run at the sustained rate


class Cost(NamedTuple):
    """Nanoseconds: the nominal figure, and the range of the band."""

    nominal_ns: float
    low_ns: float
    high_ns: float

    def __str__(self):
        return (
            f"{self.nominal_ns / 1e3:.2f} us ({self.low_ns / 1e3:.2f} to {self.high_ns / 1e3:.2f})"
        )


class Costing:
    """Durations of one program's instructions under three sets of parameters.

    Parameters
    ----------
    timeline : neuroncore.CoreTimeline
    """

    def __init__(self, timeline):
        self.timeline = timeline
        self.spec = timeline.spec
        known = parameters(self.spec)
        self.values = (
            timeline.parameters,
            settle(self.spec, {p.name: p.fast for p in known.values() if p.fast != p.slow}),
            settle(self.spec, {p.name: p.slow for p in known.values() if p.fast != p.slow}),
        )
        self._kept = {}

    def cost(self, duration) -> Cost:
        """Return ``duration(values)`` for the nominal values and its range."""
        nominal, *ends = (float(duration(values)) for values in self.values)
        return Cost(nominal, min(nominal, *ends), max(nominal, *ends))

    def transfer_ns(self, work, values, row_bytes=None) -> float:
        """Return how long all queues are busy with a transfer, if its rows had `row_bytes`."""
        _, descriptors, actual, total = work[:4]
        queues = int(self.spec.dma.queues)
        if row_bytes is not None and row_bytes > actual:
            descriptors, actual = total / row_bytes, row_bytes
        return float(descriptors * dma_row_ns(actual, values, queues)) / queues

    def small_rows_ns(self, work, values) -> float:
        """Return what a transfer loses because its rows are short."""
        return self.transfer_ns(work, values) - self.transfer_ns(work, values, _LONG_ROW_BYTES)

    def work_ns(self, instruction, values, work=None) -> float:
        """Return for how long an instruction computes, its fixed part left out."""
        if instruction.engine is Engine.DMA:
            return self.transfer_ns(instruction.work, values)
        work = instruction.work if work is None else work
        key = (instruction.name, instruction.engine, work)
        cycles = self._kept.get(key)
        if cycles is None:
            cycles = cycles_of(instruction.name, work, instruction.engine, self.spec)
            self._kept[key] = cycles
        clock = "scalar" if instruction.engine is Engine.SYNC else str(instruction.engine)
        return cycles * values["work_factor"] / values[f"{clock}_clock_hz"] * 1e9
