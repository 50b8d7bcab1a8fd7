"""How fast a core is recorded, placed, scheduled, re-timed and explained; `make bench`."""

import numpy as np

from tests.benchmarks.timed import Table, best_of
from trainium_edu.neuroncore import NeuronCore, causes_table, place, schedule, why
from trainium_edu.neuroncore.execution.deferred import Deferred
from trainium_edu.neuroncore.timing import _loops
from trainium_edu.neuroncore.timing.bands import Times

PARTS = slice(0, 128)


def stream(instructions):
    """Record loads, seven-instruction chains on two engines, and stores."""
    core = NeuronCore(values=False)
    x, y = core.hbm((128, 512 * 64), name="x"), core.hbm((128, 512 * 64), name="y")
    for i in range(instructions // 9):
        part = slice(i % 64 * 512, i % 64 * 512 + 512)
        loaded, result = core.sbuf((128, 512), name="loaded"), core.sbuf((128, 512), name="result")
        core.dma_copy(dst=loaded, src=x.sliced(PARTS, part))
        core.tensor_tensor(dst=result, data1=loaded, data2=loaded, op="add")
        for _ in range(3):
            core.activation(dst=result, op="exp", data=result)
            core.tensor_scalar(dst=result, data=result, op0="multiply", operand0=2.0)
        core.dma_copy(dst=y.sliced(PARTS, part), src=result)
    return core.program


def recording(count=1000):
    """Return seconds per instruction of checking and recording it, values aside."""
    core = NeuronCore(values=False, executor=Deferred())
    a, b = core.sbuf((128, 512)), core.sbuf((128, 512))

    def record():
        core.program.instructions.clear()
        for _ in range(count):
            core.tensor_tensor(dst=b, data1=a, data2=a, op="add")

    return best_of(7, record) / count


def adding(count=300):
    """Return seconds of the same addition in NumPy."""
    data = np.ones((128, 512), np.float32)
    out = np.empty_like(data)
    return best_of(7, lambda: [np.add(data, data, out=out) for _ in range(count)]) / count


def in_plain_python(program):
    """Return seconds of placing and scheduling with the loops not compiled."""
    compiled = {name: getattr(_loops, name) for name in _loops.__all__}
    for name, loop in compiled.items():
        setattr(_loops, name, getattr(loop, "py_func", loop))
    try:
        return best_of(1, lambda: fresh(program))
    finally:
        for name, loop in compiled.items():
            setattr(_loops, name, loop)


def fresh(program, **options):
    """Place and schedule as if the program were new."""
    program.__dict__.pop("_expanded", None)
    return schedule(program, place(program, **options))


def main():
    """Print the table; return its rows for pages."""
    table = Table("neuroncore", "best", "limit", "margin", "beside")
    large, small = stream(10_000), stream(2_000)
    timeline = fresh(small)  # compiled before the clock starts
    seconds = recording()
    table.timed("checking and recording one instruction", seconds, 30e-6,
                f"{seconds / adding():.1f} x adding 128 x 512 numbers in NumPy")  # fmt: skip
    seconds, slow = best_of(5, lambda: fresh(large)), in_plain_python(large)
    table.timed("10,000 instructions placed and scheduled", seconds, 0.2,
                f"{slow / seconds:.0f} x the same loops in plain Python")  # fmt: skip
    turns, placement = iter(range(1, 100)), place(small)

    def retimed():
        parameters = {"dma_bytes_per_s": 1e11 + next(turns)}
        return schedule(small, place(small, buffers=next(turns) % 4 + 1), parameters=parameters)

    def drawn():
        timeline.__dict__.pop("timeline", None)
        return timeline.timeline

    schedule(small, placement)
    for what, times, call, limit, beside in (
        (f"{len(small):,} instructions re-timed, other buffers", 9, retimed, 0.06, ""),
        ("the same, buffers as they were", 9, lambda: schedule(small, placement), 0.06, ""),
        ("its critical path", 5, lambda: why(timeline), 0.1, ""),
        ("its band", 5, lambda: Times(timeline).band, 0.1, "12 schedules"),
        ("its causes, alone and in pairs", 5, lambda: causes_table(timeline), 0.1,
         "16 placements and schedules"),
        ("its spans", 5, drawn, 0.1, f"{len(timeline.timeline):,} spans"),
    ):  # fmt: skip
        table.timed(what, best_of(times, call), limit, beside)
    return table.found
