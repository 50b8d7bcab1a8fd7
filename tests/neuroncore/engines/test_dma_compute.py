"""DMA transposes and additions.  Judges: ``np.transpose`` with the axes of the reference, NumPy
sums in FP32 in the order of the sources, ml_dtypes for the rounding at the end."""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.indirect import IndirectView, OutOfBoundsError
from trainium_edu.specs import NkiValidationError

AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


@for_each("dtype", DTYPES)
@for_each("shape", [(16, 128), (3, 5), (4, 3, 5), (6, 2, 3, 4), (1, 1)])
@for_each("memory", ["hbm", "sbuf"])
def test_transposes_every_rank_and_dtype(dtype, shape, memory):
    core = NeuronCore()
    values = np.random.default_rng(0).integers(0, 15, shape).astype(DTYPES[dtype].storage)
    src = core.hbm(values, dtype)
    if memory == "sbuf":
        tile = core.sbuf(shape, dtype)
        core.dma_copy(dst=tile, src=src)
        src = tile
    expected = values.transpose(AXES[len(shape)])
    dst = core.sbuf(expected.shape, dtype)
    core.dma_transpose(dst=dst, src=src)
    core.dma_transpose(dst=dst, src=src, axes=AXES[len(shape)])
    assert core.value(dst).tobytes() == expected.tobytes()
    size = DTYPES[dtype].itemsize
    assert core.program.instructions[-1].work[1:4] == (values.size, size, values.size * size)


# -- dma_compute ------------------------------------------------------------------------------


@for_rows("count", 1, 2, 16)
@for_rows("dtype", "float32", "bfloat16")
def test_adds_sources_in_fp32_and_rounds_once(count, dtype):
    core = NeuronCore()
    draw = np.random.default_rng(5)
    parts = [draw.standard_normal((4, 8)).astype(DTYPES[dtype].storage) for _ in range(count)]
    dst = core.sbuf((4, 8), "bfloat16")
    core.dma_compute(dst=dst, srcs=[core.hbm(p, dtype) for p in parts], reduce_op="add")
    total = parts[0].astype(np.float32)
    for part in parts[1:]:
        total = total + part.astype(np.float32)
    np.testing.assert_array_equal(core.value(dst), total.astype(ml_dtypes.bfloat16))
    assert core.program.instructions[-1].work[3] == count * 32 * max(2, DTYPES[dtype].itemsize)


def index_tile(core, rows):
    index = core.sbuf((len(rows), 1), "int32")
    core.dma_copy(dst=index, src=core.hbm(np.int32(rows).reshape(-1, 1)))
    return index


def test_scatter_reads_adds_and_writes_rows(core):
    table, news = np.arange(20.0, dtype=np.float32).reshape(5, 4), np.full((2, 4), 100, np.float32)
    hbm, tile = core.hbm(table.copy()), core.sbuf((2, 4))
    core.dma_copy(dst=tile, src=core.hbm(news))
    rows = IndirectView.of(hbm, index_tile(core, [3, 0]), is_vector=True)
    core.dma_compute(dst=rows, srcs=[tile, rows], reduce_op="add")
    expected = table.copy()
    expected[[3, 0]] += news
    np.testing.assert_array_equal(core.value(hbm), expected)


def test_rows_of_a_scatter_come_once_each_and_those_of_a_gather_as_often_as_they_like(core):
    hbm, tile = core.hbm(np.arange(8, dtype=np.float32).reshape(4, 2)), core.sbuf((3, 2))
    core.memset(dst=tile, value=1.0)
    rows = IndirectView.of(hbm, index_tile(core, [2, 0, 2]), is_vector=True)
    with pytest.raises(NkiValidationError, match="row 2 more than once"):
        core.dma_compute(dst=rows, srcs=[tile, rows], reduce_op="add")
    core.dma_compute(dst=tile, srcs=[tile, rows], reduce_op="add")
    np.testing.assert_array_equal(core.value(tile), [[5, 6], [1, 2], [5, 6]])
    skipped = IndirectView.of(hbm, index_tile(core, [9, 0, 9]), is_vector=True)
    core.dma_compute(dst=skipped, srcs=[tile, skipped], reduce_op="add", oob_mode="skip")
    np.testing.assert_array_equal(core.value(hbm)[:2], [[1, 3], [2, 3]])


def test_gather_adds_rows_to_a_tile_and_leaves_out_what_is_outside(core):
    table, tile = np.arange(20.0, dtype=np.float32).reshape(5, 4), core.sbuf((3, 4))
    core.dma_copy(dst=tile, src=core.hbm(np.ones((3, 4), np.float32)))
    rows = IndirectView.of(core.hbm(table), index_tile(core, [4, 9, 1]), is_vector=True)
    raises(OutOfBoundsError, "", core.dma_compute, dst=tile, srcs=[rows, tile], reduce_op="add")
    core.dma_compute(dst=tile, srcs=[rows, tile], reduce_op="add", oob_mode="skip")
    np.testing.assert_array_equal(core.value(tile), [table[4] + 1, np.ones(4), table[1] + 1])
    assert "srcs.index" in [a.role for a in core.program.instructions[-1].accesses]
