"""What recording one instruction costs above its NumPy work, as kernels do: the bound is 30 µs."""

import numpy as np

from tests.benchmarks.timed import Table, best_of
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.execution.deferred import Deferred

P, N = 128, 128
BOUND_US = 30


def best_us(call, count=300):
    """Return the shortest mean time of one call, in microseconds."""
    return best_of(7, lambda: [call() for _ in range(count)]) / count * 1e6


def pairs():
    """Return (name, an instruction on tiles of [128, 128], the same work in NumPy)."""
    core = NeuronCore(executor=Deferred())
    x, y, one = core.sbuf((P, N)), core.sbuf((P, N)), core.sbuf((P, 1))
    for tile in (x, y):
        core.memset(dst=tile, value=0.5)
    a, b = np.full((P, N), 0.5, np.float32), np.empty((P, N), np.float32)
    r, half = np.empty(P, np.float32), np.float32(0.5)
    return [
        ("memset", lambda: core.memset(dst=y, value=0.5), lambda: b.fill(0.5)),
        ("tensor_copy", lambda: core.tensor_copy(dst=y, src=x), lambda: np.copyto(b, a)),
        ("tensor_tensor", lambda: core.tensor_tensor(dst=y, data1=x, data2=x, op="add"),
         lambda: np.add(a, a, out=b)),
        ("tensor_scalar",
         lambda: core.tensor_scalar(dst=y, data=x, op0="multiply", operand0=0.5),
         lambda: np.multiply(a, half, out=b)),
        ("tensor_reduce", lambda: core.tensor_reduce(dst=one, data=x, op="add", axis=1),
         lambda: np.add.reduce(a, axis=-1, out=r)),
        ("activation", lambda: core.activation(dst=y, data=x, op="exp"),
         lambda: np.exp(a, out=b)),
    ]  # fmt: skip


def main():
    """Print the overhead per instruction as a Markdown table; return its row for pages."""
    table = Table(
        "instruction, [128, 128] FP32", "with recording, µs", "NumPy alone, µs", "overhead, µs"
    )
    more = []
    for name, instruction, numpys in pairs():
        recorded, plain = best_us(instruction), best_us(numpys)
        more.append(recorded - plain)
        table.row(name, f"{recorded:.1f}", f"{plain:.1f}", f"{recorded - plain:.1f}")
    core = NeuronCore(values=False, executor=Deferred())
    tile = core.sbuf((P, N))
    bare = best_us(lambda: core.tensor_copy(dst=tile, src=tile))
    table.row("tensor_copy, recorded without values", f"{bare:.1f}", "0", f"{bare:.1f}")
    print(f"\nworst {max(more):.1f} µs; the bound is {BOUND_US} µs")
    row = (
        f"{min(more):.0f} to {max(more):.0f} µs",
        f"[128, 128] in FP32; {bare:.0f} µs without values",
    )
    return {"one instruction recorded, above NumPy's own work": row}
