"""Judges: NumPy's own slicing, reshaping, transposing, broadcasting and views of the same bytes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.for_each import for_each, raises
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.specs import NkiValidationError


def _filled(core, shape, place="sbuf", dtype=np.float32):
    data = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    if place == "hbm":
        return core.hbm(data), data
    tile = getattr(core, place)(shape, data.dtype)
    tile.write_bits(data)
    return tile, data


slices = st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@given(place=st.sampled_from(["hbm", "sbuf", "psum"]), cuts=st.tuples(slices, slices, slices))
def test_slices_select_what_numpy_selects(place, cuts):
    core = NeuronCore()
    view, data = _filled(core, (12, 12, 12), place)
    index = [slice(a, a + n, s) for a, n, s in cuts]
    if place != "hbm":
        index[0] = slice(cuts[0][0], cuts[0][0] + cuts[0][1])
    found = view.sliced(*index)
    np.testing.assert_array_equal(core.value(found), data[tuple(index)])
    touched = np.zeros((12 if place != "hbm" else 144, view.buffer.info.row_bytes), bool)
    row, end_row, low, high = found.footprint()
    touched[row:end_row, low:high] = True
    exact = np.zeros_like(data, bool)
    exact[tuple(index)] = True
    spread = np.repeat(exact.reshape(touched.shape[0], -1), 4, axis=1)
    assert not (spread & ~touched).any()  # the rectangle holds every byte touched
    rows, columns = np.nonzero(spread)
    assert (row, end_row) == (rows.min(), rows.max() + 1)
    if place != "hbm":
        assert (low, high) == (columns.min(), columns.max() + 1)


def test_an_integer_index_drops_an_hbm_axis_and_keeps_the_partition_axis_on_chip(core):
    view, data = _filled(core, (6, 5), "hbm")
    np.testing.assert_array_equal(core.value(view.sliced(2)), data[2])
    tile, data = _filled(core, (6, 5))
    np.testing.assert_array_equal(core.value(tile.sliced(2)), data[2:3])
    np.testing.assert_array_equal(core.value(tile.sliced(slice(None), 3)), data[:, 3:4])
    np.testing.assert_array_equal(core.value(tile.sliced(slice(None), -1)), data[:, 4:5])


def test_reshape_permute_broadcast_and_dtype_views_are_numpys(core):
    tile, data = _filled(core, (4, 6, 2))
    np.testing.assert_array_equal(core.value(tile.reshaped(4, 3, 4)), data.reshape(4, 3, 4))
    np.testing.assert_array_equal(core.value(tile.permuted(0, 2, 1)), data.transpose(0, 2, 1))
    column = tile.sliced(slice(None), slice(1, 2))
    expected = np.broadcast_to(data[:, 1:2], (4, 5, 2))
    np.testing.assert_array_equal(core.value(column.broadcast(4, 5, 2)), expected)
    np.testing.assert_array_equal(core.value(tile.as_dtype("uint16")), data.view(np.uint16))
    np.testing.assert_array_equal(core.value(tile.as_dtype("int32")), data.view(np.int32))


def test_writing_through_one_view_is_seen_through_another(core):
    tile, data = _filled(core, (4, 6))
    tile.as_dtype("uint32").sliced(slice(1, 2)).write_bits(np.uint32(0x3F800000))
    data[1] = 1.0
    np.testing.assert_array_equal(core.value(tile), data)


def test_fresh_memory_reads_nan_and_4_until_written(core):
    tile = core.sbuf((3, 4), "float32")
    assert np.isnan(core.value(tile)).all()
    assert (core.value(core.sbuf((3, 4), "int32")) == 4).all()
    tile.sliced(slice(0, 2)).write_bits(np.float32(7))
    expected = np.full((3, 4), np.nan, np.float32)
    expected[:2] = 7
    np.testing.assert_array_equal(core.value(tile), expected)
    assert (core.value(tile.as_dtype("int32"))[2] == 4).all()  # by the dtype that reads
    assert not tile.is_written()
    tile.sliced(slice(2, 3)).write_bits(np.float32(1))
    assert tile.is_written()


def test_half_written_numbers_read_fresh(core):
    tile = core.sbuf((1, 2), "float32")
    tile.as_dtype("uint16").sliced(slice(None), slice(0, 1)).write_bits(np.uint16(1))
    assert np.isnan(core.value(tile)).all()


def test_two_tiles_at_one_address_overwrite_each_other(core):
    first = core.sbuf((4, 8), "float32", address=1024)
    second = core.sbuf((4, 8), "float32", address=1024 + 16)
    first.write_bits(np.float32(1))
    assert not second.is_written()  # its upper half is still fresh
    second.write_bits(np.float32(2))
    expected = np.float32([1, 1, 1, 1, 2, 2, 2, 2])
    np.testing.assert_array_equal(core.value(first), np.tile(expected, (4, 1)))


def test_partition_halves_share_bytes_with_the_whole(core):
    whole = core.psum((128, 4), address=0)
    lower = core.psum((64, 4), address=0, start_partition=64)
    whole.write_bits(np.float32(0))
    lower.write_bits(np.float32(5))
    assert core.value(whole)[:, 0].tolist() == [0.0] * 64 + [5.0] * 64


def test_part_of_a_row_is_read_in_another_dtype_and_back(core):
    view = core.sbuf((4, 6)).sliced(slice(None), slice(0, 5)).as_dtype("int8").as_dtype("int32")
    assert view.shape == (4, 5)


def test_a_large_reshape_that_would_need_a_copy_says_so_without_trying_it(timed):
    turned = timed.hbm((3136, 768)).permuted(1, 0)  # without values there are no bytes to copy
    raises(NkiValidationError, "would need a copy", turned.reshaped, 768 * 3136)


@for_each("seed", range(5))
def test_strides_of_a_reshape_are_those_that_numpy_gives(seed):
    draw, core = np.random.default_rng(seed), NeuronCore(values=False)
    for _ in range(100):
        sizes = [int(n) for n in draw.choice([1, 2, 3, 4], draw.integers(1, 5))]
        whole = [n + int(draw.integers(0, 2)) for n in sizes]
        order = [int(axis) for axis in draw.permutation(len(sizes))]
        parts = [slice(0, n) for n in sizes]
        array = np.zeros(whole, np.uint8)[tuple(parts)].transpose(order)
        view = core.hbm(whole, "uint8").sliced(*parts).permuted(*order)
        new = [int(n) for n in draw.permutation([*sizes, 1])]
        wanted = array.view()
        try:
            wanted.shape = tuple(new)
        except AttributeError:
            raises(NkiValidationError, "would need a copy", view.reshaped, *new)
            continue
        steps = zip(view.reshaped(*new).strides, wanted.strides, new, strict=True)
        assert all(mine == theirs or n == 1 for mine, theirs, n in steps)
