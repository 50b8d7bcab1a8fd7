"""What recording one instruction costs above its NumPy work, as kernels do: the bound is 30 µs."""

import time

import numpy as np

from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.execution.deferred import Deferred

P, N = 128, 128
BOUND_US = 30


def best_us(call, count=300, times=7):
    """Return the shortest mean time of one call, in microseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - start) / count)
    return min(found) * 1e6


def pairs():
    """Yield (name, an instruction on tiles of [128, 128], the same work in NumPy)."""
    core = NeuronCore(executor=Deferred())
    x, y, one = core.sbuf((P, N)), core.sbuf((P, N)), core.sbuf((P, 1))
    for tile in (x, y):
        core.memset(dst=tile, value=0.5)
    a, b, r = (
        np.full((P, N), 0.5, np.float32),
        np.empty((P, N), np.float32),
        np.empty(P, np.float32),
    )
    half = np.float32(0.5)
    yield "memset", lambda: core.memset(dst=y, value=0.5), lambda: b.fill(0.5)
    yield "tensor_copy", lambda: core.tensor_copy(dst=y, src=x), lambda: np.copyto(b, a)
    yield (
        "tensor_tensor",
        lambda: core.tensor_tensor(dst=y, data1=x, data2=x, op="add"),
        lambda: np.add(a, a, out=b),
    )
    yield (
        "tensor_scalar",
        lambda: core.tensor_scalar(dst=y, data=x, op0="multiply", operand0=0.5),
        lambda: np.multiply(a, half, out=b),
    )
    yield (
        "tensor_reduce",
        lambda: core.tensor_reduce(dst=one, data=x, op="add", axis=1),
        lambda: np.add.reduce(a, axis=-1, out=r),
    )
    yield (
        "activation",
        lambda: core.activation(dst=y, data=x, op="exp"),
        lambda: np.exp(a, out=b),
    )


def main():
    """Print the overhead per instruction as a Markdown table; return its row for pages."""
    print("| instruction, [128, 128] FP32 | with recording, µs | NumPy alone, µs | overhead, µs |")
    print("|---|---|---|---|")
    more = []
    for name, instruction, numpys in pairs():
        recorded, plain = best_us(instruction), best_us(numpys)
        more.append(recorded - plain)
        print(f"| {name} | {recorded:.1f} | {plain:.1f} | {recorded - plain:.1f} |")
    core = NeuronCore(values=False, executor=Deferred())
    tile = core.sbuf((P, N))
    bare = best_us(lambda: core.tensor_copy(dst=tile, src=tile))
    print(f"| tensor_copy, recorded without values | {bare:.1f} | 0 | {bare:.1f} |")
    print(f"\nworst {max(more):.1f} µs; the bound is {BOUND_US} µs")
    row = (
        f"{min(more):.0f} to {max(more):.0f} µs",
        f"[128, 128] in FP32; {bare:.0f} µs without values",
    )
    return {"one instruction recorded, above NumPy's own work": row}
