"""Views of a tensor.  Judge: NumPy's own indexing of the same numbers."""

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, raises
from tests.nki.cases import stored
from tests.texts import table_beside
from trainium_edu.specs import NkiValidationError

DATA = np.arange(64 * 4 * 6, dtype=np.float32).reshape(64, 4, 6)


def seen(change, data=DATA, on_chip=True):
    """Return what a kernel sees through ``change(tensor)``."""
    found = []

    @nki.jit
    def kernel(x):
        view = change(nl.load(x) if on_chip else x)
        found.append(np.array(view))
        assert (view.shape, view.size) == (found[0].shape, found[0].size)
        assert view.ndim == found[0].ndim

    kernel(data)
    return found[0]


VIEWS = table_beside(__file__, "views.toml")


def change_of(text, name="t"):
    """Return the function of a tensor that an expression is."""
    return lambda tensor: eval(text, globals() | {name: tensor})


@for_each("change, numpys", VIEWS["on_chip"])
def test_a_view_on_chip_shows_what_numpy_shows(change, numpys):
    assert np.array_equal(seen(change_of(change)), change_of(numpys, "a")(DATA))


@for_each("change, numpys", VIEWS["in_hbm"])
def test_a_view_of_hbm_shows_what_numpy_shows(change, numpys):
    assert np.array_equal(seen(change_of(change), on_chip=False), change_of(numpys, "a")(DATA))


def in_kernel(body, *arrays):
    return nki.simulate(nki.jit(body))(*arrays)


def test_a_tensor_knows_its_layout_as_the_guide_prints_it():
    def kernel():
        t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        assert (t.shape, t.strides, t.offset) == ((128, 64), (64, 1), 0)
        assert (t.dtype, t.buffer, t.ndim, t.size) == (nl.float32, nl.sbuf, 2, 128 * 64)
        u = t.slice(dim=1, start=8, end=24)
        assert (u.get_pattern(), u.offset) == ([[64, 128], [1, 16]], 8)
        v = t.ap(pattern=[[64, 128], [1, 16]], offset=8)
        assert (v.get_pattern(), v.offset) == (u.get_pattern(), u.offset)
        assert u.ap(pattern=[[64, 128], [1, 8]]).offset == 8  # None keeps the view's offset
        assert u.ap(pattern=[[64, 128], [1, 8]], offset=0).offset == 0
        stated = nl.ndarray((32, 16), nl.bfloat16, buffer=nl.sbuf, address=(32, 256), name="here")
        assert (stated.strides, stated[4:8, 2:].offset) == ((16, 1), 4 * 16 + 2)
        assert stated.name == "here"
        assert not stated.is_indirect()
        h = nl.ndarray((4, 8, 16), nl.float32, buffer=nl.shared_hbm)
        assert (h[1].strides, h[1].offset, h.buffer) == ((16, 1), 128, nl.shared_hbm)

    in_kernel(kernel)


def test_contiguity_is_judged_inside_a_partition_on_chip():
    def kernel():
        t = nl.ndarray((128, 4, 8), nl.float32, buffer=nl.sbuf)
        assert t.is_contiguous()
        assert t[0:64].is_contiguous()
        assert t[:, 1:2].is_contiguous()
        assert not t[:, :, 0:4].is_contiguous()
        assert not t.permute((0, 2, 1)).is_contiguous()
        h = nl.ndarray((16, 8), nl.float32, buffer=nl.hbm)
        assert h.is_contiguous()
        assert not h[:, 0:4].is_contiguous()
        assert h[2:4].is_contiguous()

    in_kernel(kernel)


def test_what_one_view_writes_another_sees():
    def kernel(out):
        t = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=t, value=0.0)
        nisa.memset(dst=t.reshape((128, 8, 8))[:, :, 1], value=1.0)
        nisa.memset(dst=t[0:32, 16:32], value=2.0)
        nisa.dma_copy(dst=out, src=t)

    found = np.zeros((128, 64), np.float32)
    expected = found.copy()
    expected.reshape(128, 8, 8)[:, :, 1] = 1
    expected[0:32, 16:32] = 2
    in_kernel(kernel, found)
    assert np.array_equal(found, expected)


def test_an_assignment_copies_by_the_way_that_is_there():
    def kernel(x):
        tile = nl.ndarray((64, 8), nl.float32, buffer=nl.sbuf)
        tile[...] = nl.load(x)
        tile[:, 0:4] = tile[:, 4:8]
        tile[0:32, 7] = 9.0
        out = nl.ndarray((64, 8), nl.float32, buffer=nl.shared_hbm)
        out[...] = tile
        return out

    data = np.arange(512, dtype=np.float32).reshape(64, 8)
    expected = data.copy()
    expected[:, 0:4] = data[:, 4:8]
    expected[0:32, 7] = 9
    assert np.array_equal(in_kernel(kernel, data), expected)


def test_an_assignment_takes_numbers_of_every_kind_and_nothing_else():
    def kernel(x):
        tile = nl.load(x)
        for column, number in enumerate((3, 2.5, np.float32(1.5), np.int64(4), np.array(5.0))):
            tile[:, column : column + 1] = number
        for wrong in (np.ones((8, 8)), [1], "a", None, nisa.register_alloc(3)):
            with pytest.raises(TypeError, match="cannot take"):
                tile[...] = wrong
        with pytest.raises(TypeError, match="cannot take"):
            x[...] = 3
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        out[...] = tile
        return out

    found = in_kernel(kernel, np.zeros((8, 8), np.float32))
    assert found[0].tolist() == [3, 2.5, 1.5, 4, 5, 0, 0, 0]


def test_lists_of_tiles_keep_their_own_numbers():
    def kernel(x):
        tiles = []
        for k in nl.affine_range(4):
            tiles.append(nl.load(x[nl.ds(k * 16, 16)]))
        out = nl.ndarray((64, 8), nl.float32, buffer=nl.shared_hbm)
        for k in range(4):
            nl.store(out[nl.ds(k * 16, 16)], tiles[3 - k])
        return out

    data = np.arange(512, dtype=np.float32).reshape(64, 8)
    assert np.array_equal(in_kernel(kernel, data), data.reshape(4, 16, 8)[::-1].reshape(64, 8))


# -- places that the chip computes ------------------------------------------------------------


def test_select_takes_its_index_from_a_tile_or_a_register():
    table = np.arange(4 * 16 * 8, dtype=np.float32).reshape(4, 16, 8)

    def kernel(x):
        index = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        nisa.memset(dst=index, value=3)
        out = nl.ndarray((2, 16, 8), nl.float32, buffer=nl.shared_hbm)
        part = x.select(0, index)
        assert part.shape == (16, 8)
        assert part.is_indirect()
        nisa.dma_copy(dst=out[0], src=part)
        nisa.dma_copy(dst=out[1, :, 0:4], src=x.select(0, nisa.register_alloc(1))[:, 0:4])
        nisa.dma_copy(dst=out[1, :, 4:8], src=x.select(0, nisa.register_alloc(1)).slice(1, 4, 8))
        return out

    assert np.array_equal(in_kernel(kernel, table), table[[3, 1]])


def test_vector_select_gathers_rows():
    table = np.arange(32 * 8, dtype=np.float32).reshape(32, 8)
    rows = np.int32([[5], [0], [31], [5]])

    def kernel(x, chosen):
        index = nl.load(chosen)
        out = nl.ndarray((3, 4, 8), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[0], src=x.vector_select(0, index))
        nisa.dma_copy(dst=out[1, :, 2:6], src=x.vector_select(0, index)[:, 2:6])
        nisa.dma_copy(dst=out[2], src=x.ap([[8, 4], [1, 8]], vector_offset=index))
        return out

    found = in_kernel(kernel, table, rows)
    assert np.array_equal(found[0], table[rows[:, 0]])
    assert np.array_equal(found[1, :, 2:6], table[rows[:, 0], 2:6])
    assert np.array_equal(found[2], table[rows[:, 0]])


def test_a_scalar_offset_counts_rows_of_the_whole_tensor():
    table = np.arange(512 * 16, dtype=np.float32).reshape(512, 16)

    def kernel(x):
        index = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        nisa.memset(dst=index, value=384)
        out = nl.ndarray((128, 8), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=x.ap([[16, 128], [1, 8]], offset=0, scalar_offset=index))
        return out

    assert np.array_equal(in_kernel(kernel, table), table[384:512, :8])


def test_a_scalar_offset_moves_along_a_free_axis_on_chip():
    data = np.arange(32 * 8, dtype=np.float32).reshape(32, 8)

    def kernel(x):
        place = {"scalar_offset": nisa.register_alloc(5), "indirect_dim": 1}
        piece = nl.ndarray((32, 2), nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=piece, src=nl.load(x).ap([[8, 32], [1, 2]], **place))
        return stored(piece)

    assert np.array_equal(in_kernel(kernel, data), data[:, 5:7])


@for_each("name", VIEWS["wrong"])
def test_what_no_access_can_do_is_refused(name):
    change, words = VIEWS["wrong"][name]
    raises((NkiValidationError, IndexError), words, seen, change_of(change))


@for_each("change", VIEWS["no_index"])
def test_what_is_no_index_is_a_type_error(change):
    raises(TypeError, "", seen, change_of(change))


@for_each("compute, instead", VIEWS["python"])
def test_python_does_not_compute_with_tiles_and_says_what_does(compute, instead):
    assert instead in nl.__all__
    raises((TypeError, AttributeError), rf"nl\.{instead}\b", seen, change_of(compute))


def test_a_tile_stays_two_dimensional():
    assert seen(lambda t: t[:, 0, 0:1].reshape((64,))).shape == (64, 1)
    assert seen(lambda t: t[:, 0, 0:1].reshape(64)).shape == (64, 1)


def test_an_access_pattern_overrides_the_index_of_its_view():
    def pattern(t):
        view = t.select(1, nisa.register_alloc(2)).ap([[24, 64], [1, 6]], offset=6)
        assert not view.is_indirect()
        return view

    assert np.array_equal(seen(pattern), DATA[:, 1])


@pytest.mark.parametrize("rows", [[3], [0, 5, 5, 63]])
def test_what_an_index_chooses_is_printed_and_returned(rows, capsys):
    def kernel(x):
        index = nl.load(nl.shared_constant(np.array(rows, np.int32).reshape(-1, 1)))
        chosen = x.vector_select(0, index) if len(rows) > 1 else x.select(0, index)
        nl.device_print("chosen", chosen)
        assert np.array_equal(np.array(chosen), DATA[rows if len(rows) > 1 else rows[0]])
        return chosen.permute((0, 2, 1)) if len(rows) > 1 else chosen[1:3]

    found = in_kernel(kernel, DATA)
    wanted = DATA[rows].transpose(0, 2, 1) if len(rows) > 1 else DATA[rows[0], 1:3]
    assert np.array_equal(found, wanted)
    assert f"[{DATA[rows[0], 0, 0]:.0f}." in capsys.readouterr().out.replace("[ ", "[")


def test_numbers_that_are_not_there_are_not_looked_at():
    def beyond(x):
        raises(NkiValidationError, "reaches", np.array, nl.load(x).ap([[24, 64], [1, 25]]))
        raises(NkiValidationError, "out of bounds", np.array, x.select(0, nisa.register_alloc(64)))
        return x.ap([[24, 64], [1, 25]])

    raises(NkiValidationError, "reaches byte", in_kernel, beyond, DATA)

    def looks(x):
        assert nl.equal(nl.load(x), 1.0)  # nothing speaks against it
        np.array(nl.load(x))

    raises(NkiValidationError, "values=False", nki.run, looks, DATA, values=False)
    raises(NkiValidationError, "placeholder", np.array, nl.NkiTensor((2, 2), nl.float32, None))


def test_a_placeholder_has_a_layout_and_no_numbers():
    for place, strides in ((nl.sbuf, (24, 6, 1)), (nl.psum, (24, 6, 1)), (nl.hbm, (24, 6, 1))):
        made = nl.NkiTensor((64, 4, 6), nl.bfloat16, None, place, "x")
        assert (made.shape, made.dtype, made.buffer) == ((64, 4, 6), nl.bfloat16, place)
        assert (made.name, made.ndim, made.size, made.strides) == ("x", 3, 64 * 24, strides)
        assert made[:, 0].shape == (64, 6)


def test_an_indirect_view_carries_one_index_and_keeps_its_rows():
    def kernel(x):
        index = nl.ndarray((4, 1), nl.int32, buffer=nl.sbuf)
        rows = x.vector_select(0, index)
        raises(NkiValidationError, "stays whole", lambda: rows[0:2])
        raises(NkiValidationError, "indirect already", rows.select, 1, nisa.register_alloc(0))
        raises(NkiValidationError, "indirect", rows.view, nl.int32)

    in_kernel(kernel, np.zeros((8, 4), np.float32))


@for_each("change, words", VIEWS["rows"])
def test_rows_chosen_at_run_time_stay_whole_and_first(change, words):
    def kernel(x):
        rows = x.vector_select(0, nl.zeros((4, 1), nl.int32))
        assert rows.is_indirect()
        turned = rows.permute((0, 2, 1))
        for fine in (rows[:, 0], turned, rows.reshape((4, 24)), rows.expand_dim(1)):
            assert fine.is_indirect()
        raises(NkiValidationError, words, change_of(change, "r"), rows)

    in_kernel(kernel, DATA)


def test_an_index_out_of_bounds_at_run_time_raises_or_is_skipped():
    table = np.arange(16, dtype=np.float32).reshape(4, 4)

    def kernel(x, mode):
        tile = nl.zeros((1, 4), nl.float32)
        register = nisa.register_alloc(4)
        nisa.dma_copy(dst=tile, src=x.ap([[4, 1], [1, 4]], scalar_offset=register), oob_mode=mode)
        return stored(tile, nl.float32)

    raises(NkiValidationError, "out of bounds", in_kernel, kernel, table, nisa.oob_mode.error)
    assert np.array_equal(in_kernel(kernel, table, nisa.oob_mode.skip), np.zeros((1, 4)))
