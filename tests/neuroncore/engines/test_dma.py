"""DMA copies.  Judges: NumPy indexing, ml_dtypes and ``numerics.cast`` for conversions, counts of
contiguous runs found the slow way, byte by byte."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each, for_rows, raises
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.engines.dma import transfer
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.indirect import Indirect, IndirectView, OutOfBoundsError
from trainium_edu.specs import NkiValidationError

ALL = slice(None)


def numbers(shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).integers(0, 15, shape).astype(DTYPES[dtype].storage)


def round_trip(core, values, on_chip_shape, dtype=None):
    """HBM to SBUF to HBM."""
    source = core.hbm(values, dtype)
    tile = core.sbuf(on_chip_shape, source.dtype)
    back = core.hbm(values.shape, source.dtype)
    core.dma_copy(dst=tile, src=source)
    core.dma_copy(dst=back, src=tile)
    return core.value(tile), core.value(back)


@for_each("dtype", DTYPES)
@for_each(
    ("shape", "on_chip"),
    [((128, 512), (128, 512)), ((1, 1), (1, 1)), ((7,), (7, 1)), ((7,), (1, 7)),
     ((2, 3, 4), (6, 4)), ((6, 4), (2, 3, 4))],
)  # fmt: skip
def test_copies_bits_in_row_major_order(dtype, shape, on_chip):
    values = numbers(shape, dtype)
    tile, back = round_trip(NeuronCore(), values, on_chip, dtype)
    assert tile.tobytes() == back.tobytes() == values.tobytes()


def test_equal_dtypes_keep_the_payload_of_a_nan():
    words = np.uint32([[0x7FC01234, 0x7F800001, 0xFFFFFFFF]])
    _, back = round_trip(NeuronCore(), words.view(np.float32), (1, 3))
    np.testing.assert_array_equal(back.view(np.uint32), words)


@for_rows("narrow", "bfloat16", "float16", "float8_e4m3", "float8_e5m2")
def test_casts_round_once_through_fp32(narrow):
    core = NeuronCore()
    values = np.random.default_rng(1).standard_normal((16, 64)).astype(np.float32)
    tile, wide = core.sbuf((16, 64), narrow), core.sbuf((16, 64))
    core.dma_copy(dst=tile, src=core.hbm(values))
    core.dma_copy(dst=wide, src=tile)
    expected = values.astype(getattr(ml_dtypes, narrow, narrow))
    np.testing.assert_array_equal(core.value(tile), expected)
    np.testing.assert_array_equal(core.value(wide), expected.astype(np.float32))


def test_casts_to_integers_round_to_even_and_saturate(core):
    tile = core.sbuf((1, 6), "int8")
    core.dma_copy(dst=tile, src=core.hbm(np.float32([[0.5, 1.5, -0.5, -1.5, 300.0, -1e9]])))
    assert core.value(tile).tolist() == [[0, 2, 0, -2, 127, -128]]


def test_strided_and_permuted_hbm(core):
    values = numbers((6, 8, 10))
    tile = core.sbuf((5, 8, 3))
    view = core.hbm(values).permuted(2, 1, 0).sliced(slice(0, 10, 2), ALL, slice(1, 4))
    core.dma_copy(dst=tile, src=view)
    np.testing.assert_array_equal(core.value(tile), values.transpose(2, 1, 0)[::2, :, 1:4])


def test_hbm_to_hbm_and_sbuf_to_sbuf(core):
    values = numbers((4, 6))
    there, one, two = core.hbm((2, 12)), core.sbuf((4, 6)), core.sbuf((3, 8))
    core.dma_copy(dst=there, src=core.hbm(values))
    core.dma_copy(dst=one, src=there)
    core.dma_copy(dst=two, src=one)
    np.testing.assert_array_equal(core.value(two), values.reshape(3, 8))
    directions = [i.work[4] for i in core.program.instructions]
    assert directions == ["hbm_to_hbm", "hbm_to_sbuf", "sbuf_to_sbuf"]


def test_any_partition_may_be_the_first(core):
    tile, values = core.sbuf((128, 4)), numbers((5, 4))
    core.dma_copy(dst=tile.sliced(slice(17, 22)), src=core.hbm(values))
    np.testing.assert_array_equal(core.value(tile)[17:22], values)
    assert core.program.instructions[-1].engine is Engine.DMA


def test_what_was_never_written_is_noted_and_copied_as_nan(core):
    out = core.hbm((2, 2))
    core.dma_copy(dst=out, src=core.sbuf((2, 2)))
    assert np.isnan(core.value(out)).all()
    assert core.notes[0][0] == "uninitialised"


# -- places that data names -------------------------------------------------------------------


@pytest.fixture
def table():
    core = NeuronCore()
    values = numbers((10, 6), seed=4)
    return core, values, core.hbm(values)


def index_tile(core, numbers, dtype="int32"):
    numbers = np.asarray(numbers, DTYPES[dtype].storage).reshape(-1, 1)
    view = core.sbuf(numbers.shape, dtype)
    core.dma_copy(dst=view, src=core.hbm(numbers))
    return view


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "int8"])
def test_gathers_rows(table, dtype):
    core, values, rows = table
    order = [9, 0, 3, 3, 7]
    got = core.sbuf((5, 6))
    view = IndirectView.of(rows, index_tile(core, order, dtype), is_vector=True)
    core.dma_copy(dst=got, src=view)
    np.testing.assert_array_equal(core.value(got), values[order])


def test_gathers_part_of_each_row_from_an_offset(table):
    core, values, rows = table
    got = core.sbuf((3, 2))
    part = rows.sliced(ALL, slice(3, 5))
    core.dma_copy(dst=got, src=IndirectView.of(part, index_tile(core, [9, 2, 4]), is_vector=True))
    np.testing.assert_array_equal(core.value(got), values[[9, 2, 4], 3:5])


def test_scatters_rows_and_the_last_of_equal_indices_stays(table):
    core, values, rows = table
    tile = core.sbuf((3, 6))
    news = numbers((3, 6), seed=9) + 100
    core.dma_copy(dst=tile, src=core.hbm(news))
    core.dma_copy(dst=IndirectView.of(rows, index_tile(core, [8, 1, 8]), is_vector=True), src=tile)
    expected = values.copy()
    expected[1], expected[8] = news[1], news[2]
    np.testing.assert_array_equal(core.value(rows), expected)


def test_scatter_casts_and_marks_only_what_it_wrote(core):
    target, tile = core.hbm((4, 2), "bfloat16"), core.sbuf((2, 2))
    core.dma_copy(dst=tile, src=core.hbm(np.float32([[1 + 2**-9, 2], [3, 4]])))
    core.dma_copy(dst=IndirectView.of(target, index_tile(core, [2, 0]), is_vector=True), src=tile)
    got = core.value(target).astype(np.float32)
    np.testing.assert_array_equal(got[[2, 0]], [[1, 2], [3, 4]])
    assert np.isnan(got[[1, 3]]).all()


@pytest.mark.parametrize("wrong", [10, -1, 2**31 - 1])
def test_an_index_outside_raises_or_is_left_out(table, wrong):
    core, values, rows = table
    index = index_tile(core, [4, wrong, 5])
    got = core.sbuf((3, 6))
    core.dma_copy(dst=got, src=core.hbm(np.zeros((3, 6), np.float32)))
    view = IndirectView.of(rows, index, is_vector=True)
    raises(OutOfBoundsError, f"index {wrong} .*rows are 0 to 9", core.dma_copy, dst=got, src=view)
    assert issubclass(OutOfBoundsError, NkiValidationError)
    assert issubclass(OutOfBoundsError, IndexError)
    core.dma_copy(dst=got, src=view, oob_mode="skip")
    np.testing.assert_array_equal(core.value(got), [values[4], np.zeros(6), values[5]])
    core.dma_copy(dst=view, src=core.hbm(values[:3] + 50), oob_mode="skip")
    expected = values.copy()
    expected[4], expected[5] = values[0] + 50, values[2] + 50
    np.testing.assert_array_equal(core.value(rows), expected)


class Register:
    value = 7


@pytest.mark.parametrize("kind", ["number", "register", "tile"])
def test_one_index_moves_the_whole_view(table, kind):
    core, values, rows = table
    index = {"number": 7, "register": Register(), "tile": index_tile(core, [7])}[kind]
    got = core.sbuf((1, 6))
    core.dma_copy(dst=got, src=IndirectView.of(rows, index, axis=0))
    np.testing.assert_array_equal(core.value(got)[0], values[7])
    core.dma_copy(dst=got.sliced(ALL, slice(0, 1)), src=IndirectView.of(
        rows.sliced(3), index_tile(core, [5]), axis=0))  # fmt: skip
    assert core.value(got)[0, 0] == values[3, 5]


def test_one_index_counts_in_rows_of_the_whole_tensor_not_of_the_pattern(table):
    """``.ap(pattern, scalar_offset)``: offset + index * elements to the right of the axis."""
    core, values, rows = table
    got = core.sbuf((2, 3))
    chosen = Indirect(index_tile(core, [3]), 24, 10)
    view = IndirectView(rows.buffer, rows.dtype, (2, 3), (2 * 24, 4), 4, chosen)
    core.dma_copy(dst=got, src=view)
    np.testing.assert_array_equal(core.value(got), values[[3, 5], 1:4])


def test_one_index_outside(table):
    core, values, rows = table
    got = core.sbuf((1, 6))
    core.dma_copy(dst=got, src=core.hbm(values[:1]))
    view = IndirectView.of(rows, index_tile(core, [10]), axis=0)
    raises(OutOfBoundsError, "goes from 0 to 9", core.dma_copy, dst=got, src=view)
    core.dma_copy(dst=got, src=view, oob_mode="skip")
    np.testing.assert_array_equal(core.value(got), values[:1])


def test_an_index_is_read_and_the_whole_tensor_is_in_the_way(table):
    core, _, rows = table
    index, got = index_tile(core, [1, 2]), core.sbuf((2, 6))
    core.dma_copy(dst=got, src=IndirectView.of(rows, index, is_vector=True))
    found = {a.role: a for a in core.program.instructions[-1].accesses}
    assert set(found) == {"src.index", "src", "dst"}
    assert found["src.index"].allocation == index.buffer.info.index
    assert (found["src"].first_row, found["src"].end_row, found["src"].end_byte) == (0, 10, 24)


def test_one_index_is_one_number(table):
    core, _, rows = table
    view = IndirectView.of(rows, index_tile(core, [1, 2, 3]), axis=0)
    raises(NkiValidationError, "has 3 elements", core.dma_copy, dst=core.sbuf((2, 6)), src=view)


# -- descriptors ------------------------------------------------------------------------------


def descriptors_counted_slowly(src, dst):
    """Walk both sides element by element; a new descriptor starts where either one jumps."""

    def addresses(view):
        where = np.full(view.shape, view.offset, np.int64)
        for axis, stride in enumerate(view.strides):
            if axis == 0 and view.memory != "hbm":
                stride = 10**9  # bytes of two partitions are never neighbours
            shape = [1] * len(view.shape)
            shape[axis] = view.shape[axis]
            where = where + (np.arange(view.shape[axis]) * stride).reshape(shape)
        return where.reshape(-1)

    jumps = np.diff(addresses(src)) != src.dtype.itemsize
    jumps |= np.diff(addresses(dst)) != dst.dtype.itemsize
    return 1 + int(jumps.sum())


@for_rows("hbm, cut, on_chip, count, run",
    ((128, 512), (ALL, ALL), (128, 512), 128, 2048),
        ((128, 1024), (ALL, slice(0, 512)), (128, 512), 128, 2048),
        ((128,), (ALL,), (128, 1), 128, 4), ((1, 4096), (ALL, ALL), (1, 4096), 1, 16384),
        ((128, 64), (ALL, slice(0, 64, 2)), (128, 32), 128 * 32, 4),
        ((4, 32, 16), (ALL, ALL, ALL), (128, 16), 128, 64),
)  # fmt: skip
def test_a_descriptor_is_a_run_that_both_sides_agree_on(hbm, cut, on_chip, count, run):
    core = NeuronCore(values=False)
    src, dst = core.hbm(hbm).sliced(*cut), core.sbuf(on_chip)
    core.dma_copy(dst=dst, src=src)
    assert core.program.instructions[-1].work == ("dma", count, run, count * run, "hbm_to_sbuf")
    assert transfer(src, dst)[1] == descriptors_counted_slowly(src, dst)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.data(),
    st.sampled_from(["float32", "bfloat16"]),
)
def test_descriptors_against_the_slow_count(shape, data, dtype):
    core = NeuronCore(values=False)
    src = core.hbm((*[2 * s for s in shape],), dtype).sliced(
        *(slice(0, s * step, step) for s in shape if (step := data.draw(st.integers(1, 2))))
    )
    size = src.size
    rows = data.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
    dst = core.sbuf((rows, 2 * (size // rows)), dtype)
    dst = dst.sliced(ALL, slice(0, None, 2) if data.draw(st.booleans()) else slice(0, size // rows))
    _, count, run, nbytes, _ = transfer(src, dst)
    assert count == descriptors_counted_slowly(src, dst)
    assert (nbytes, run) == (size * src.dtype.itemsize, nbytes // count)


def test_hbm_to_hbm_is_one_run_where_it_is_contiguous(timed):
    assert transfer(timed.hbm((64, 64)), timed.hbm((4096,)))[1:4] == (1, 16384, 16384)


def test_a_cast_moves_the_wider_bytes(timed):
    assert transfer(timed.hbm((4, 8)), timed.sbuf((4, 8), "bfloat16"))[1:4] == (4, 32, 128)


# -- limits -----------------------------------------------------------------------------------
