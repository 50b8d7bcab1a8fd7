"""Kernels that fill SBUF.  Judges: an SBUF without end, and what engines and queues must do."""

import ast

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.language as nl
from tests.for_each import for_rows
from tests.nki.cases import stored
from trainium_edu.neuroncore import Memory, place, schedule
from trainium_edu.nki.examples import matmul
from trainium_edu.specs import TRN1

CAPACITY = int(TRN1.sbuf.bytes_per_partition)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


@nki.jit
def layer_norm(x, gamma, beta):
    """Normalise rows, 128 at a time, with a tile for every step."""
    rows, n = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scale = nl.broadcast_to(nl.load(gamma.reshape((1, n))), (128, n))
    shift = nl.broadcast_to(nl.load(beta.reshape((1, n))), (128, n))
    for i in nl.affine_range(rows // 128):
        part = nl.ds(i * 128, 128)
        tile = nl.load(x[part])
        centred = nl.subtract(tile, nl.mean(tile, axis=1, keepdims=True))
        variance = nl.mean(nl.square(centred), axis=1, keepdims=True)
        normal = nl.multiply(centred, nl.rsqrt(nl.add(variance, 1e-5)))
        nl.store(out[part], nl.add(nl.multiply(normal, scale), shift))
    return out


def times(run, **options):
    """Return (as placed, otherwise placed) in ns."""
    program = run.timeline.program
    return run.timeline.makespan_ns, schedule(program, place(program, **options)).makespan_ns


def test_a_layer_norm_of_8192_columns_is_packed_tile_by_tile():
    """Six tiles of 32 KiB fill SBUF: two stay, and the others have no buffers of their own.

    Without any, a turn's instructions wait for each other: 1.35 of endless memory, which hides all
    loads and stores behind Vector, and 1.50 of what Vector must do in any case.
    """
    run = nki.run(layer_norm, zeros(4096, 8192), zeros(8192), zeros(8192), values=False)
    ours, endless = times(run, endless=True)
    assert endless < ours < 1.36 * endless
    assert ours < 1.51 * run.timeline.busy_ns("vector")  # which must do this in any case
    placement = run.timeline.placement
    assert placement.alive_bytes[Memory.SBUF] <= placement.high_water_bytes[Memory.SBUF] <= CAPACITY
    assert "packed by its own live range" in placement.notes[0]


@for_rows(
    "kernel, m, k, n",
    (matmul.blocked, 4096, 4096, 4096),
    (matmul.fully_blocked, 2048, 4096, 4096),
    (matmul.fully_blocked, 2048, 8192, 2048),
)
def test_a_large_blocked_matmul_loads_ahead(kernel, m, k, n):
    """Judges: endless memory, and what the engine and the queues must do.

    What is alive of a block leaves room for one buffer of the moving operand, so its loads wait for
    the matmuls of the block before: 1.30, 1.37 and 1.31 of endless memory.
    """
    operands = (zeros(k, size, dtype=ml_dtypes.bfloat16) for size in (m, n))
    run = nki.run(kernel, *operands, values=False)
    ours, endless = times(run, endless=True)
    columns = (m // 128) * (k // 128) * n  # of the moving operand, at most one each cycle
    clock = float(TRN1.tensor_engine.clock_hz)
    assert ours > max(columns / clock * 1e9, 0.99 * run.timeline.busy_ns("dma"))
    assert endless < ours < 1.38 * endless


def test_warnings_say_no_room_only_where_there_is_none():
    """Judge: asking for more of what is said to be full, by name and for all."""
    run = nki.run(
        matmul.fully_blocked,
        *(zeros(2048, 2048, dtype=ml_dtypes.bfloat16) for _ in range(2)),
        values=False,
    )
    said = [w for w in run.advice if w.kind in ("bank conflict", "serialising buffers")]
    assert said
    for warning in said:
        if "no room" in warning.remedy:
            memory = Memory.PSUM if warning.kind == "bank conflict" else Memory.SBUF
            for site in (s for s in run.timeline.placement.sites if s.memory is memory):
                more = run.with_buffers({site.name: 2 * site.buffers}).timeline.placement
                assert next(s for s in more.sites if s.name == site.name).slots == site.slots
        elif "buffers=" in warning.remedy:
            buffers = ast.literal_eval(warning.remedy.split("buffers=")[1].rstrip(")"))
            more = run.with_buffers(buffers)
            assert more.timeline.makespan_ns < run.timeline.makespan_ns


def test_who_lacks_buffers_can_get_them_from_others_and_the_warning_names_them():
    """One buffer for the loaded tiles: the remedy is to ask for more, and it is as fast as said."""

    @nki.jit
    def add_up(x):
        total = nl.zeros((128, 8192), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(x.shape[1] // 8192):
            total[...] = nl.add(total, nl.load(x[:, nl.ds(i * 8192, 8192)]))
        return stored(total, x.dtype)

    run = nki.run(add_up, zeros(128, 8 * 8192), values=False, buffers=1)
    warning = next(w for w in run.advice if w.kind == "serialising buffers")
    assert "no room" not in warning.remedy
    buffers = ast.literal_eval(warning.remedy.split("buffers=")[1].rstrip(")"))
    saved = run.timeline.makespan_ns - run.with_buffers(buffers).timeline.makespan_ns
    assert warning.cost.nominal_ns == pytest.approx(saved)
