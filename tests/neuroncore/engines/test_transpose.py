"""nc_transpose.  Judges: NumPy's ``.T`` on bits; IEEE 754 for NaN through an identity."""

import numpy as np

from tests.for_each import for_each, for_rows
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import cycles_of
from trainium_edu.specs import TRN1


def filled(core, shape, dtype, seed=0):
    view = core.sbuf(shape, dtype)
    values = np.random.default_rng(seed).integers(0, 15, shape).astype(DTYPES[dtype].storage)
    core.dma_copy(dst=view, src=core.hbm(values, dtype))
    return view, values


@for_each("dtype", DTYPES)
@for_each("shape", [(128, 128), (1, 128), (128, 1), (7, 100)])
def test_tensor_engine_turns_every_dtype(dtype, shape):
    core = NeuronCore()
    data, values = filled(core, shape, dtype)
    dst = core.psum(shape[::-1], dtype)
    core.nc_transpose(dst=dst, data=data, engine=Engine.TENSOR)
    assert (core.value(dst) == values.T).all()


@for_each("dtype", [d for d in DTYPES if DTYPES[d].is_float])
def test_tensor_engine_may_write_its_own_float32(dtype):
    core = NeuronCore()
    data, values = filled(core, (40, 50), dtype)
    dst = core.psum((50, 40))
    core.nc_transpose(dst=dst, data=data)
    np.testing.assert_array_equal(core.value(dst), values.T.astype(np.float32))


@for_each("dtype", DTYPES)
@for_each("shape", [(32, 32), (1, 32), (5, 3), (1, 1)])
@for_each("memory", ["sbuf", "psum"])
def test_vector_engine_turns_bits(dtype, shape, memory):
    core = NeuronCore()
    data, values = filled(core, shape, dtype)
    dst = getattr(core, memory)(shape[::-1], dtype)
    core.nc_transpose(dst=dst, data=data, engine=Engine.VECTOR)
    assert (core.value(dst).tobytes()) == np.ascontiguousarray(values.T).tobytes()


def test_free_axes_are_flattened(core):
    data, values = filled(core, (6, 4, 5), "bfloat16")
    dst = core.psum((20, 6), "bfloat16")
    core.nc_transpose(dst=dst, data=data)
    assert (core.value(dst) == values.reshape(6, 20).T).all()


@for_rows("shape, source, target, engine",
    ((32, 32), "sbuf", "sbuf", Engine.VECTOR), ((32, 32), "sbuf", "psum", Engine.VECTOR),
        ((32, 33), "sbuf", "psum", Engine.TENSOR), ((8, 8), "psum", "sbuf", Engine.VECTOR),
)  # fmt: skip
def test_the_engine_follows_the_shape(shape, source, target, engine):
    core = NeuronCore(values=False)
    core.nc_transpose(dst=getattr(core, target)(shape[::-1]), data=getattr(core, source)(shape))
    assert core.program.instructions[-1].engine is engine


def test_nan_spoils_its_row_on_the_tensor_engine_and_not_on_vector():
    values = np.ones((8, 8), np.float32)
    values[2, 5] = np.nan
    for engine in (Engine.TENSOR, Engine.VECTOR):
        core = NeuronCore()
        data, dst = core.sbuf((8, 8)), core.psum((8, 8))
        core.dma_copy(dst=data, src=core.hbm(values))
        core.nc_transpose(dst=dst, data=data, engine=engine)
        lost = np.isnan(core.value(dst))
        assert lost[5].all() if engine is Engine.TENSOR else lost.sum() == 1
        assert lost.sum() == (8 if engine is Engine.TENSOR else 1)


def test_cycles_are_the_printed_formulas(timed):
    timed.nc_transpose(dst=timed.psum((100, 128)), data=timed.sbuf((128, 100)))
    timed.nc_transpose(dst=timed.psum((100, 20)), data=timed.sbuf((20, 100)))
    timed.nc_transpose(dst=timed.sbuf((32, 32)), data=timed.sbuf((32, 32)))
    cycles = [cycles_of(i.name, i.work, i.engine, TRN1) for i in timed.program.instructions]
    assert cycles == [128, 64, 64]  # max(P, min(64, F)); max(MIN, N)
