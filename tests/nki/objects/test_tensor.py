"""Views of a tensor.  Judge: NumPy's own indexing of the same numbers."""

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from tests.nki.cases import stored
from trainium_edu.specs import NkiValidationError

DATA = np.arange(64 * 4 * 6, dtype=np.float32).reshape(64, 4, 6)


def seen(change, data=DATA, on_chip=True):
    """Return what a kernel sees through ``change(tensor)``."""
    found = []

    @nki.jit
    def kernel(x):
        tensor = nl.load(x) if on_chip else x
        view = change(tensor)
        found.append(np.array(view))
        assert view.shape == found[0].shape
        assert view.size == found[0].size
        assert view.ndim == found[0].ndim

    kernel(data)
    return found[0]


SLICES = [
    (lambda t: t[0:32], lambda a: a[0:32]),
    (lambda t: t[5], lambda a: a[5:6]),
    (lambda t: t[:, 2], lambda a: a[:, 2]),
    (lambda t: t[:, 2, 3], lambda a: a[:, 2, 3:4]),
    (lambda t: t[0, 1, 2], lambda a: a[0:1, 1, 2:3]),
    (lambda t: t[..., 1:6:2], lambda a: a[..., 1:6:2]),
    (lambda t: t[3, ..., 1], lambda a: a[3:4, :, 1]),
    (lambda t: t[:, nl.ds(1, 2), nl.ds(2, 3)], lambda a: a[:, 1:3, 2:5]),
    (lambda t: t[-4:, -1], lambda a: a[-4:, -1]),
    (lambda t: t[...], lambda a: a),
    (lambda t: t[0:64, 1:3][:, 1, 0:4], lambda a: a[:, 2, 0:4]),
    (lambda t: t.slice(2, 0, 6, 2), lambda a: a[:, :, 0:6:2]),
    (lambda t: t.slice(dim=1, start=1, end=3), lambda a: a[:, 1:3]),
    (lambda t: t.select(1, 3), lambda a: a[:, 3]),
    (lambda t: t.reshape((64, 24)), lambda a: a.reshape(64, 24)),
    (lambda t: t.reshape((64, -1, 3)), lambda a: a.reshape(64, -1, 3)),
    (lambda t: t.reshape_dim(2, (2, -1)), lambda a: a.reshape(64, 4, 2, 3)),
    (lambda t: t.flatten_dims(1, 2), lambda a: a.reshape(64, 24)),
    (lambda t: t.permute((0, 2, 1)), lambda a: a.transpose(0, 2, 1)),
    (lambda t: t.expand_dim(1), lambda a: a[:, None]),
    (lambda t: t.expand_dim(3), lambda a: a[..., None]),
    (lambda t: t.expand_dim(1).squeeze_dim(1), lambda a: a),
    (lambda t: t[:, 0:1].broadcast(1, 5), lambda a: np.repeat(a[:, 0:1], 5, axis=1)),
    (lambda t: nl.expand_dims(t, 2), lambda a: a[:, :, None]),
    (lambda t: t.permute((0, 2, 1))[:, 0, :], lambda a: a.transpose(0, 2, 1)[:, 0]),
    (lambda t: t.rearrange(("p", "a", "b"), ("p", "b", "a")), lambda a: a.transpose(0, 2, 1)),
    (lambda t: t.rearrange(("p", "a", "b"), ("p", ("a", "b"))), lambda a: a.reshape(64, 24)),
    (lambda t: t.rearrange(("p", "a", ("h", "w")), ("p", "w", "h", "a"), {"h": 2}),
     lambda a: a.reshape(64, 4, 2, 3).transpose(0, 3, 2, 1)),
    (lambda t: t.ap([[24, 64], [1, 24]]), lambda a: a.reshape(64, 24)),
    (lambda t: t.ap([[24, 16], [2, 12]], offset=1), lambda a: a.reshape(64, 24)[:16, 1::2]),
    (lambda t: t.ap([[24, 8], [6, 4], [0, 3], [1, 2]], offset=24 * 32),
     lambda a: np.repeat(a[32:40, :, None, 0:2], 3, axis=2)),
    (lambda t: t.ap([[24, 64], [12, 2], [3, 4], [1, 3]]), lambda a: a.reshape(64, 2, 4, 3)),
    (lambda t: t.view(nl.int32), lambda a: a.view(np.int32)),
    (lambda t: t.view(nl.uint8), lambda a: a.view(np.uint8)),
    (lambda t: t.view(nl.uint16).view(nl.float32), lambda a: a),
    (lambda t: t.reinterpret_cast(nl.int32), lambda a: a.view(np.int32)),
    (lambda t: t.ap([[48, 64], [1, 48]], dtype=nl.int16),
     lambda a: a.reshape(64, 24).view(np.int16)),
]  # fmt: skip


@for_each(("change", "numpys"), SLICES)
def test_a_view_on_chip_shows_what_numpy_shows(change, numpys):
    assert np.array_equal(seen(change), numpys(DATA))


@for_rows(
    "change, numpys",
    (lambda t: t[5], lambda a: a[5]),
    (lambda t: t[5, 1, 2], lambda a: a[5, 1, 2:3]),
    (lambda t: t[..., 0], lambda a: a[..., 0]),
    (lambda t: t[::2, ::3], lambda a: a[::2, ::3]),
    (lambda t: t.permute((2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    (lambda t: t.reshape((16, 96)), lambda a: a.reshape(16, 96)),
    (lambda t: t.rearrange((("b", "p"), "a", "c"), ("b", "p", ("a", "c")), {"b": 4}),
     lambda a: a.reshape(4, 16, 24)),
    (lambda t: t.ap([[6, 10], [1, 6]], offset=6), lambda a: a.reshape(-1, 6)[1:11]),
    (lambda t: t.flatten_dims(0, 2), lambda a: a.reshape(-1)),
    (lambda t: t.expand_dim(0), lambda a: a[None]),
)  # fmt: skip
def test_a_view_of_hbm_shows_what_numpy_shows(change, numpys):
    assert np.array_equal(seen(change, on_chip=False), numpys(DATA))


def in_kernel(body, *arrays):
    return nki.simulate(nki.jit(body))(*arrays)


def test_a_tensor_knows_its_layout_as_the_guide_prints_it():
    def kernel():
        t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        assert (t.shape, t.strides, t.offset) == ((128, 64), (64, 1), 0)
        assert (t.dtype, t.buffer, t.ndim, t.size) == (nl.float32, nl.sbuf, 2, 128 * 64)
        u = t.slice(dim=1, start=8, end=24)
        assert u.get_pattern() == [[64, 128], [1, 16]]
        assert u.offset == 8
        v = t.ap(pattern=[[64, 128], [1, 16]], offset=8)
        assert (v.get_pattern(), v.offset) == (u.get_pattern(), u.offset)
        assert u.ap(pattern=[[64, 128], [1, 8]]).offset == 8  # None keeps the view's offset
        assert u.ap(pattern=[[64, 128], [1, 8]], offset=0).offset == 0
        stated = nl.ndarray((32, 16), nl.bfloat16, buffer=nl.sbuf, address=(32, 256), name="here")
        assert stated.strides == (16, 1)
        assert stated[4:8, 2:].offset == 4 * 16 + 2
        assert stated.name == "here"
        assert not stated.is_indirect()
        h = nl.ndarray((4, 8, 16), nl.float32, buffer=nl.shared_hbm)
        assert h[1].strides == (16, 1)
        assert h[1].offset == 128
        assert h.buffer == nl.shared_hbm

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
        tile, out = nl.load(x), nl.ndarray((32, 2), nl.float32, buffer=nl.shared_hbm)
        piece = nl.ndarray((32, 2), nl.float32, buffer=nl.sbuf)
        register = nisa.register_alloc(5)
        nisa.tensor_copy(
            dst=piece, src=tile.ap([[8, 32], [1, 2]], scalar_offset=register, indirect_dim=1)
        )
        nl.store(out, piece)
        return out

    assert np.array_equal(in_kernel(kernel, data), data[:, 5:7])


WRONG = {
    "a pattern that skips partitions": (lambda t: t.ap([[48, 8], [1, 24]]), "walks the partitions"),
    "a pattern beyond the tile": (
        lambda t: nisa.tensor_copy(
            dst=nl.ndarray((64, 30), nl.float32), src=t.ap([[24, 64], [1, 30]])
        ),
        "reaches",
    ),
    "a pattern that begins before": (lambda t: t.ap([[24, 8], [-1, 4]]), "before the start"),
    "too many dimensions": (lambda t: t.ap([[24, 64]] + [[1, 1]] * 5), "1 to 5 dimensions"),
    "a count of 0": (lambda t: t.ap([[24, 64], [1, 0]]), "count below 1"),
    "two offsets": (
        lambda t: t.ap([[24, 8]], scalar_offset=nisa.register_alloc(0), vector_offset=t), "not both"
    ),
    "an index out of bounds": (lambda t: t[:, 4], "out of bounds"),
    "a slice out of bounds": (lambda t: t[:, 0:5], "out of bounds"),
    "an empty slice": (lambda t: t[:, 2:2], "empty"),
    "a slice() out of bounds": (lambda t: t.slice(1, 0, 5), "0 <= start"),
    "a partition stride": (lambda t: t[::2], "skips"),
    "another element count": (lambda t: t.reshape((64, 25)), "elements"),
    "a reshape across partitions": (lambda t: t.reshape((32, 48)), "partition"),
    "a partition that moves": (lambda t: t.permute((1, 0, 2)), "partition axis"),
    "a partition repeated": (lambda t: t[0].broadcast(0, 8), "broadcast_to"),
    "a long axis repeated": (lambda t: t.broadcast(1, 8), "size 1"),
    "a long axis squeezed": (lambda t: t.squeeze_dim(1), "size 1"),
    "an axis before the partitions": (lambda t: t.expand_dim(0), "before the partition"),
    "partitions split": (lambda t: t.reshape_dim(0, (2, 32)), "cannot be split"),
    "partitions merged": (lambda t: t.flatten_dims(0, 1), "cannot be merged"),
    "apart in memory": (lambda t: t[:, :, 0:3].flatten_dims(1, 2), "not contiguous"),
    "bytes that do not divide": (lambda t: t[:, :, 0:3].view(nl.uint8).view(nl.float32)[:, :, 9],
                                 "out of bounds"),
    "a partition selected at run time": (lambda t: t.select(0, nisa.register_alloc(1)), "run time"),
    "rows gathered on chip": (lambda t: t.vector_select(0, t[:, 0, 0]), "HBM"),
    "an order that repeats": (lambda t: t.permute((0, 1, 1)), "not a permutation"),
    "an order that is short": (lambda t: t.permute((0, 1)), "not a permutation"),
    "a split that does not divide": (lambda t: t.reshape_dim(1, (3, 2)), "dimension has 4"),
    "two sizes left open": (lambda t: t.reshape_dim(1, (-1, -1)), r"shape \[-1, -1\]"),
    "a merge backwards": (lambda t: t.flatten_dims(2, 1), "in the wrong order"),
    "a dimension that is not there": (lambda t: t.squeeze_dim(3), "dimensions 0 … 2"),
    "a repetition of none": (lambda t: t[:, 0:1].broadcast(1, 0), "0 times"),
    "a slice() with step 0": (lambda t: t.slice(1, 0, 4, 0), "step >= 1"),
    "a slice() from the end": (lambda t: t.slice(1, -2, 4), "0 <= start"),
    "a select() out of bounds": (lambda t: t.select(1, 4), "0 … 3"),
    "a select() from the end": (lambda t: t.select(1, -1), "0 … 3"),
    "an index of two numbers": (
        lambda t: t.select(1, nl.zeros((1, 2), nl.int32)), r"shape \(1, 1\)"
    ),
    "an index in HBM": (
        lambda t: t.select(1, nl.ndarray((1, 1), nl.int32, nl.hbm)), "single number in SBUF"
    ),
    "other names": (lambda t: t.rearrange(("p", "a", "b"), ("p", "a", "c")), "same dimensions"),
    "a name twice": (lambda t: t.rearrange(("p", "a", "a"), ("p", "a", "a")), "twice"),
    "names for two": (lambda t: t.rearrange(("p", "a"), ("a", "p")), "has 3 dimensions"),
    "a size for no name": (
        lambda t: t.rearrange(("p", "a", "b"), ("p", "b", "a"), {"c": 2}), "is called c"
    ),
    "a size that is not so": (
        lambda t: t.rearrange(("p", "a", "b"), ("p", "b", "a"), {"a": 2}), "a is 4, not 2"
    ),
    "a merge of what lies apart": (
        lambda t: t.rearrange(("p", "a", "b"), ("p", ("b", "a"))), "not contiguous"
    ),
    "bytes apart": (lambda t: t[:, :, ::2].view(nl.int16), "not contiguous"),
    "bytes too few": (lambda t: t.view(nl.uint8)[:, :, 0:6].view(nl.float32), "6 bytes"),
    "indirect_dim that is not there": (
        lambda t: t.ap([[24, 64]], scalar_offset=nisa.register_alloc(0), indirect_dim=3), "0 … 2"
    ),
    "sizes below one": (lambda t: t.reshape((-2, -32, 24)), "sizes are 1 or more"),
    "no sizes": (lambda t: t[0:1, 0, 0:1].reshape(()), "at least one"),
    "bytes at no whole element": (lambda t: t.view(nl.uint8)[:, :, 1:5].view(nl.float32),
                                  "starts at byte 1"),
    "rows at no whole element": (
        lambda t: t.view(nl.uint8).reshape((64, 16, 6))[:, :, 0:4].view(nl.int32), r"\[6\] bytes"
    ),
    "an indirect access moved again": (
        lambda t: t.select(1, nisa.register_alloc(1)).ap(
            [[24, 64]], scalar_offset=nisa.register_alloc(1), indirect_dim=1), "indirect already"
    ),
    "a step back": (lambda t: t[:, ::-1], "steps are >= 1"),
    "a view of a later dtype": (lambda t: t.view(nl.float8_e4m3fn), "NeuronCore-v4"),
    "tensor indirection": (lambda t: t.indirect(t), "NeuronCore-v4"),
}  # fmt: skip


@for_each("name", WRONG)
def test_what_no_access_can_do_is_refused(name):
    change, words = WRONG[name]
    raises((NkiValidationError, IndexError), words, seen, change)


@for_rows(
    "change",
    lambda t: t[1.5], lambda t: t[True], lambda t: t["a"], lambda t: t[:, None],
    lambda t: t.slice(1.0, 0, 2), lambda t: t.reshape((64, 2.5)), lambda t: t.ap("pattern"),
    lambda t: t.select(1, 1.0), lambda t: t.ap([[24, 64]], offset=-1),
    lambda t: t.view("float99"), lambda t: list(t), lambda t: t[:, np.array([0, 1])],
    lambda t: t[:, 0:2.0], lambda t: t[:, "a":2], lambda t: t[:, False:True],
    lambda t: t[:, nl.ds(0, 2.0)], lambda t: t[:, nl.ds("a", 2)], lambda t: t[:, [0, 1]],
    lambda t: t[:, nisa.register_alloc(1) : nisa.register_alloc(3) : 1.0],
    lambda t: t.permute((0.0, 1.0, 2.0)), lambda t: t.permute(("0", "1", "2")),
    lambda t: t.reshape(None), lambda t: t.reshape("ab"),
    lambda t: t.rearrange("p a b", "p b a"),
    lambda t: t.rearrange((1, 2, 3), (1, 3, 2)),
)  # fmt: skip
def test_what_is_no_index_is_a_type_error(change):
    raises(TypeError, "", seen, change)


@for_rows(
    "compute, instead",
    (lambda t: t + t, "add"), (lambda t: 2.0 * t, "multiply"), (lambda t: -t, "negative"),
    (lambda t: np.float32(2) * t, "multiply"), (lambda t: t @ t, "matmul"), (abs, "abs"),
    (lambda t: t / 2, "divide"), (lambda t: t // 2, "floor"), (lambda t: ~t, "invert"),
    (lambda t: t < 1, "less"), (lambda t: t >= 1, "greater_equal"), (np.mean, "mean"),
    (lambda t: t << 1, "left_shift"), (lambda t: 2 >> t, "right_shift"), (np.exp, "exp"),
    (lambda t: np.add(np.ones((64, 4, 6)), t), "add"), (lambda t: np.where(t, 1, 0), "where"),
    (np.zeros_like, "zeros_like"), (lambda t: t.sum(), "sum"), (lambda t: t.T, "transpose"),
    (lambda t: t.astype("int32"), "copy"), (lambda t: t.item(), "device_print"),
)  # fmt: skip
def test_python_does_not_compute_with_tiles_and_says_what_does(compute, instead):
    assert instead in nl.__all__
    raises((TypeError, AttributeError), rf"nl\.{instead}\b", seen, compute)


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


@for_rows(
    "change, words",
    (lambda r: r.permute((1, 0, 2)), "stays whole"), (lambda r: r.expand_dim(0), "stays whole"),
    (lambda r: r.reshape_dim(0, (2, 2)), "stays whole"), (lambda r: r[0], "stays whole"),
    (lambda r: r.flatten_dims(0, 1), "stays whole"), (lambda r: r[1:3], "stays whole"),
    (lambda r: r.reshape((2, 48)), "stays whole"), (lambda r: r.slice(0, 0, 2), "stays whole"),
    (lambda r: r.view(nl.int32), "reinterpret the tensor before"),
    (lambda r: r.vector_select(0, nl.zeros((4, 1), nl.int32)), "indirect already"),
    (lambda r: r.select(1, nisa.register_alloc(0)), "indirect already"),
)  # fmt: skip
def test_rows_chosen_at_run_time_stay_whole_and_first(change, words):
    def kernel(x):
        rows = x.vector_select(0, nl.zeros((4, 1), nl.int32))
        assert rows.is_indirect()
        for fine in (
            rows[:, 0],
            rows.permute((0, 2, 1)),
            rows.reshape((4, 24)),
            rows.expand_dim(1),
        ):
            assert fine.is_indirect()
        raises(NkiValidationError, words, change, rows)

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
