"""Instructions of the GpSimd Engine.  Judges: the loops that the reference prints as pseudo-code,
written out in plain Python; NumPy sorts and sums; the printed cost formulas."""

import itertools

import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.indirect import OutOfBoundsError
from trainium_edu.neuroncore.recording.instruction_set import cycles_of
from trainium_edu.specs import TRN1, NkiValidationError


def tile(core, values, dtype):
    values = np.asarray(values).astype(DTYPES[dtype].storage)
    view = core.sbuf(values.shape, dtype)
    core.dma_copy(dst=view, src=core.hbm(values, dtype))
    return view


def cycles(core):
    last = core.program.instructions[-1]
    assert last.engine is Engine.GPSIMD
    return cycles_of(last.name, last.work, last.engine, TRN1)


def printed(name, **names):
    names = {"MIN": 64, "max": max, "min": min, **names}
    return eval(getattr(TRN1.cycles, name).value, {"__builtins__": {}}, names)


# -- iota and affine_select -------------------------------------------------------------------

PATTERNS = [
    ([[1, 6]], 0, 0), ([[1, 6]], 5, 100), ([[-3, 6]], -2, 7), ([[10, 2], [1, 3]], 1, -4),
    ([[0, 2], [5, 1], [1, 3]], 0, 1), ([[7, 1], [3, 2], [1, 3], [100, 1]], 3, 2),
]  # fmt: skip


def affine_by_loops(partitions, pattern, offset, channel_multiplier):
    rows = []
    for channel in range(partitions):
        row = []
        for place in itertools.product(*(range(num) for _, num in pattern)):
            steps = sum(i * step for i, (step, _) in zip(place, pattern, strict=True))
            row.append(offset + channel * channel_multiplier + steps)
        rows.append(row)
    return np.array(rows)


@for_each(("pattern", "offset", "channel_multiplier"), PATTERNS)
@for_each("dtype", ["int32", "float32", "bfloat16", "int16"])
def test_iota_is_the_printed_loop(pattern, offset, channel_multiplier, dtype):
    core = NeuronCore()
    dst = core.sbuf((9, 6), dtype)
    core.iota(dst=dst, pattern=pattern, offset=offset, channel_multiplier=channel_multiplier)
    expected = affine_by_loops(9, pattern, offset, channel_multiplier)
    np.testing.assert_array_equal(core.value(dst), expected.astype(DTYPES[dtype].storage))
    assert cycles(core) == printed("iota", N=6)


def test_iota_takes_any_free_shape_and_saturates_into_narrow_integers():
    core = NeuronCore()
    dst = core.sbuf((2, 2, 3), "uint8")
    core.iota(dst=dst, pattern=[[100, 6]], offset=-100)
    np.testing.assert_array_equal(core.value(dst)[0], [[0, 0, 100], [200, 255, 255]])


def test_iota_wraps_at_32_bits_like_integer_arithmetic():
    core = NeuronCore()
    dst = core.sbuf((2, 1), "int32")
    core.iota(dst=dst, pattern=[[1, 1]], offset=2**31 - 1, channel_multiplier=1)
    assert core.value(dst).reshape(-1).tolist() == [2**31 - 1, -(2**31)]


@for_each(("pattern", "offset", "channel_multiplier"), PATTERNS)
@for_each("compare", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_affine_select_is_the_printed_loop(pattern, offset, channel_multiplier, compare):
    core = NeuronCore()
    values = np.random.default_rng(0).standard_normal((9, 6)).astype(np.float32)
    dst = core.sbuf((9, 6))
    core.affine_select(
        dst=dst, pattern=pattern, channel_multiplier=channel_multiplier, offset=offset,
        on_true_tile=tile(core, values, "float32"), on_false_value=-9.5, cmp_op=compare,
    )  # fmt: skip
    formula = affine_by_loops(9, pattern, offset, channel_multiplier)
    expected = np.where(getattr(np, compare)(formula, 0), values, np.float32(-9.5))
    np.testing.assert_array_equal(core.value(dst), expected)
    assert cycles(core) == printed("affine_select", N=6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_affine_select_masks_every_dtype(dtype):
    """A causal mask: row p keeps columns 0 to p."""
    core = NeuronCore()
    values = np.random.default_rng(0).integers(1, 8, (8, 8))
    dst = core.sbuf((8, 8), dtype)
    core.affine_select(
        dst=dst, pattern=[[-1, 8]], channel_multiplier=1, on_true_tile=tile(core, values, dtype),
        on_false_value=0.0, cmp_op="greater_equal",
    )  # fmt: skip
    np.testing.assert_array_equal(core.value(dst).astype(float), np.tril(values))


def test_affine_select_casts_and_takes_infinity():
    core = NeuronCore()
    dst = core.sbuf((4, 4), "bfloat16")
    core.affine_select(
        dst=dst, pattern=[[-1, 4]], channel_multiplier=1, on_true_tile=tile(
            core, np.full((4, 4), 1 + 2.0**-9), "float32"), on_false_value=-np.inf,
        cmp_op="greater_equal",
    )  # fmt: skip
    got = core.value(dst).astype(np.float32)
    np.testing.assert_array_equal(got, np.where(np.tri(4), np.float32(1), -np.float32(np.inf)))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"pattern": [[1, 5]]}, NkiValidationError, "makes 5 numbers"),
        ({"pattern": [[1, 1]] * 5}, NkiValidationError, "1 to 4"),
        ({"pattern": []}, NkiValidationError, "1 to 4"),
        ({"pattern": [[1, 6, 2]]}, NkiValidationError, "pairs"),
        ({"pattern": [[1, 0]]}, NkiValidationError, "integer from 1"),
        ({"pattern": [[1.5, 6]]}, TypeError, "an integer"),
        ({"offset": 2**31}, NkiValidationError, "32 bits"),
        ({"offset": True}, TypeError, "an integer"),
        ({"channel_multiplier": 0.5}, TypeError, "an integer"),
        ({"memory": "psum"}, NkiValidationError, "GpSimd Engine cannot reach"),
    ],
)
def test_iota_limits(change, error, words):
    core = NeuronCore(values=False)
    options = {"pattern": [[1, 6]], **change}
    dst = getattr(core, options.pop("memory", "sbuf"))((4, 6))
    with pytest.raises(error, match=words):
        core.iota(dst=dst, **options)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"cmp_op": "add"}, NkiValidationError, "cmp_op is .*it must be one of"),
        ({"on_false_value": "x"}, TypeError, "number"),
        ({"on_false_value": None}, TypeError, "number"),
        ({"on_true_tile": (4, 7)}, NkiValidationError, "same number of elements"),
        ({"on_true_tile": (5, 6)}, NkiValidationError, "same partitions"),
    ],
)
def test_affine_select_limits(change, error, words):
    core = NeuronCore(values=False)
    options = {"on_true_tile": (4, 6), "on_false_value": 0.0, **change}
    options["on_true_tile"] = core.sbuf(options["on_true_tile"])
    with pytest.raises(error, match=words):
        core.affine_select(dst=core.sbuf((4, 6)), pattern=[[1, 6]], channel_multiplier=0, **options)


# -- gathers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_nc_n_gather_picks_inside_each_partition(dtype):
    core = NeuronCore()
    draw = np.random.default_rng(1)
    data, index = draw.integers(0, 8, (5, 4, 6)), draw.integers(0, 24, (5, 2, 7))
    dst = core.sbuf((5, 14), dtype)
    core.nc_n_gather(dst=dst, data=tile(core, data, dtype), indices=tile(core, index, "uint32"))
    expected = np.take_along_axis(data.reshape(5, 24), index.reshape(5, 14), axis=1)
    np.testing.assert_array_equal(core.value(dst).astype(int), expected)
    assert cycles(core) == printed("nc_n_gather", N=14)


@pytest.mark.parametrize(
    ("index", "dst", "error", "words"),
    [
        ((np.full((4, 3), 8), "uint32"), ((4, 3), "float32"), OutOfBoundsError, "elements 0 to 7"),
        ((np.zeros((4, 3)), "int32"), ((4, 3), "float32"), NkiValidationError, "uint32"),
        (
            (np.zeros((4, 3)), "uint32"),
            ((4, 4), "float32"),
            NkiValidationError,
            r"must be \[4, 3\]",
        ),
        (
            (np.zeros((5, 3)), "uint32"),
            ((4, 3), "float32"),
            NkiValidationError,
            r"must be \[4, 3\]",
        ),
        ((np.zeros((4, 3)), "uint32"), ((4, 3), "bfloat16"), NkiValidationError, "same dtype"),
    ],
)
def test_nc_n_gather_limits(index, dst, error, words):
    core = NeuronCore()
    data = tile(core, np.zeros((4, 8)), "float32")
    with pytest.raises(error, match=words):
        core.nc_n_gather(dst=core.sbuf(*dst), data=data, indices=tile(core, *index))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
@pytest.mark.parametrize(
    ("partitions", "each", "columns", "valid"),
    [(128, 1, 4, None), (128, 4, 4, 64), (16, 2, 3, 41), (32, 32, 1, 1)],
)
def test_local_gather_shares_indices_among_sixteen_partitions(
    dtype, partitions, each, columns, valid
):
    core = NeuronCore()
    draw = np.random.default_rng(2)
    src = draw.integers(0, 15, (partitions, 16, 32))
    index = draw.integers(0, 16 * 32 - each, (partitions, columns))
    count = 16 * columns if valid is None else valid
    dst = core.sbuf((partitions, count, each), dtype)
    core.local_gather(
        dst=dst, src_buffer=tile(core, src, dtype), index=tile(core, index, "uint16"),
        num_elem_per_idx=each, num_valid_indices=valid,
    )  # fmt: skip
    flat = src.reshape(partitions, -1)
    expected = np.empty((partitions, count, each))
    for p in range(partitions):
        group = index[p // 16 * 16 : p // 16 * 16 + 16]
        for i in range(count):
            start = group[i % 16, i // 16]  # indices run down the partitions first
            expected[p, i] = flat[p, start : start + each]
    np.testing.assert_array_equal(core.value(dst).astype(float), expected)
    size = DTYPES[dtype].itemsize
    names = {"valid_indices": count, "per_index": each, "dtype_bytes": size}
    assert cycles(core) == pytest.approx(printed("local_gather", **names))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"partitions": 24}, "multiple of 16"), ({"num_elem_per_idx": 3}, "one of"),
        ({"num_elem_per_idx": True}, "one of"), ({"num_valid_indices": 33}, "hold 1 to 32"),
        ({"num_valid_indices": 0}, "hold 1 to 32"), ({"index": "uint32"}, "uint16"),
        ({"columns": 257}, "takes 4096"), ({"free": 31}, "make 32 per partition"),
    ],
)  # fmt: skip
def test_local_gather_limits(change, words):
    core = NeuronCore(values=False)
    rest = {"partitions": 32, "columns": 2, "free": 32, "index": "uint16", **change}
    p, columns, free = rest.pop("partitions"), rest.pop("columns"), rest.pop("free")
    index = core.sbuf((p, columns), rest.pop("index"))
    with pytest.raises(NkiValidationError, match=words):
        core.local_gather(
            dst=core.sbuf((p, free)), src_buffer=core.sbuf((p, 8)), index=index, **rest
        )


def test_local_gather_outside_its_row():
    core = NeuronCore()
    index = tile(core, np.full((16, 1), 8), "uint16")
    with pytest.raises(OutOfBoundsError, match="elements 0 to 7"):
        core.local_gather(
            dst=core.sbuf((16, 16)),
            src_buffer=tile(core, np.zeros((16, 8)), "float32"),
            index=index,
        )


# -- across partitions ------------------------------------------------------------------------


@for_each(
    ("op", "dtype", "judge"),
    [
        ("add", "float32", np.sum), ("add", "bfloat16", np.sum), ("average", "float32", np.mean),
        ("max", "float32", np.max), ("maximum", "int32", np.max), ("max", "float8_e4m3", np.max),
        ("bitwise_or", "uint8", np.bitwise_or.reduce),
        ("bitwise_and", "int32", np.bitwise_and.reduce),
    ],
)  # fmt: skip
@for_each("partitions", [1, 7, 128])
def test_partition_reduce(op, dtype, judge, partitions):
    """Small whole numbers, so that every order of additions gives the same."""
    core = NeuronCore()
    values = np.random.default_rng(3).integers(0, 2, (partitions, 4, 8))
    dst = core.sbuf((1, 4, 8), dtype)
    core.tensor_partition_reduce(dst=dst, op=op, data=tile(core, values, dtype))
    expected = judge(values, axis=0)[None]
    np.testing.assert_allclose(core.value(dst).astype(float), expected, rtol=1e-6)
    assert cycles(core) == printed("tensor_partition_reduce", N=32)


@pytest.mark.parametrize("op", [np.add, np.max, np.mean])
def test_partition_reduce_takes_operators_as_functions(op):
    core = NeuronCore()
    values, dst = np.float32([[1, 8], [3, 4]]), core.sbuf((1, 2))
    core.tensor_partition_reduce(dst=dst, op=op, data=tile(core, values, "float32"))
    expected = np.sum(values, axis=0) if op is np.add else op(values, axis=0)
    np.testing.assert_array_equal(core.value(dst), [expected])


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize(("op", "judge"), [("add", np.sum), ("max", np.max)])
def test_partition_reduce_is_exact_on_32_bit_integers(dtype, op, judge):
    """GpSimd computes on them natively; sums wrap as NumPy's do."""
    ends = np.iinfo(dtype)
    values = np.random.default_rng(3).integers(ends.min, ends.max, (100, 6)).astype(dtype)
    core = NeuronCore()
    dst = core.sbuf((1, 6), dtype)
    core.tensor_partition_reduce(dst=dst, op=op, data=tile(core, values, dtype))
    np.testing.assert_array_equal(core.value(dst)[0], judge(values, axis=0).astype(dtype))


@pytest.mark.parametrize(
    ("op", "data", "dst", "words"),
    [
        (["add"], ((8, 4), "float32"), ((1, 4), "float32"), "add, average, max"),
        ("multiply", ((8, 4), "float32"), ((1, 4), "float32"), "add, average, max"),
        ("add", ((8, 4), "float32"), ((2, 4), "float32"), r"must be \[1, 4\]: one partition"),
        ("add", ((8, 4), "float32"), ((1, 5), "float32"), r"must be \[1, 4\]: one partition"),
        ("bitwise_or", ((8, 4), "float32"), ((1, 4), "float32"), "bits of integers"),
        ("bitwise_or", ((8, 4), "int32"), ((1, 4), "uint8"), "same dtype"),
    ],
)
def test_partition_reduce_limits(op, data, dst, words):
    core = NeuronCore(values=False)
    with pytest.raises(NkiValidationError, match=words):
        core.tensor_partition_reduce(dst=core.sbuf(*dst), op=op, data=core.sbuf(*data))


def test_topk_of_the_snake_in_ascending_order():
    core = NeuronCore()
    draw, n, k = np.random.default_rng(4), 42, 8
    flat = draw.permutation(96)[: 2 * 48].reshape(2, 48)  # distinct, exact in BF16
    src = flat.reshape(2, 3, 16).transpose(0, 2, 1).reshape(32, 3)
    values, places = core.sbuf((32, k), "bfloat16"), core.sbuf((32, k), "uint32")
    core.topk(val_dst=values, idx_dst=places, src=tile(core, src, "bfloat16"), n=n)
    for p in range(32):
        snake = flat[p // 16, :n]
        np.testing.assert_array_equal(core.value(values)[p].astype(int), np.sort(snake)[-k:])
        np.testing.assert_array_equal(snake[core.value(places)[p]], np.sort(snake)[-k:])
    assert cycles(core) == printed("topk", n=n, K=k)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 7}, "from 8 to 65535"), ({"n": 65536}, "from 8"), ({"n": 49}, "hold 48"),
        ({"k": 43}, "at most n"),
        ({"src": "float32"}, "it must be bfloat16"),
        ({"idx": "int32"}, "it must be uint32"), ({"partitions": 24}, "multiple of 16"),
        ({"val": "float32"}, "val_dst is float32"), ({"columns": 9}, "the same k"),
        ({"src_free": 2048, "n": 32768, "k": 32768}, "1 to 32767"),
    ],
)  # fmt: skip
def test_topk_limits(change, words):
    core = NeuronCore(values=False)
    o = {"n": 42, "k": 8, "src": "bfloat16", "idx": "uint32", "partitions": 32, "src_free": 3,
         "val": "bfloat16", **change}  # fmt: skip
    with pytest.raises(NkiValidationError, match=words):
        core.topk(
            val_dst=core.sbuf((o["partitions"], o["k"]), o["val"]),
            idx_dst=core.sbuf((o["partitions"], o.get("columns", o["k"])), o["idx"]),
            src=core.sbuf((o["partitions"], o["src_free"]), o["src"]), n=o["n"],
        )  # fmt: skip


def test_topk_rejects_a_bool():
    core = NeuronCore(values=False)
    values, places = core.sbuf((16, 8), "bfloat16"), core.sbuf((16, 8), "uint32")
    with pytest.raises(TypeError, match="n is True; it must be an integer"):
        core.topk(val_dst=values, idx_dst=places, src=core.sbuf((16, 3), "bfloat16"), n=True)


def bounds_by_walking(ids):
    """Say where each element's run starts and ends, by looking left and right."""
    n, rows = len(ids), ([], [])
    for i, segment in enumerate(ids):
        first, last = i, i + 1
        while first > 0 and ids[first - 1] == segment:
            first -= 1
        while last < n and ids[last] == segment:
            last += 1
        rows[0].append(n if segment == 0 else first)
        rows[1].append(-1 if segment == 0 else last)
    return rows


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    "ids", [[0, 1, 1, 2, 2, 2, 0, 3, 3], [5], [0], [1, 1, 1], [0, 0, 7], [2, 1, 2, 0]]
)
def test_sequence_bounds(ids, dtype):
    core = NeuronCore()
    dst = core.sbuf((1, 2, len(ids)), dtype)
    core.sequence_bounds(dst=dst, segment_ids=tile(core, [ids], dtype))
    np.testing.assert_array_equal(core.value(dst)[0], bounds_by_walking(ids))
    assert cycles(core) == printed("sequence_bounds", N=len(ids))


@pytest.mark.parametrize(
    ("ids", "dst", "words"),
    [
        (((2, 8), "int32"), ((2, 2, 8), "int32"), "one"),
        (((1, 8), "int32"), ((1, 8), "int32"), "a start and an end"),
        (((1, 8), "bfloat16"), ((1, 2, 8), "int32"), "float32 or int32"),
    ],
)
def test_sequence_bounds_limits(ids, dst, words):
    core = NeuronCore(values=False)
    with pytest.raises(NkiValidationError, match=words):
        core.sequence_bounds(dst=core.sbuf(*dst), segment_ids=core.sbuf(*ids))


@pytest.mark.parametrize(
    ("ids", "dtype"), [([1, -1], "int32"), ([1, 0.5], "float32"), ([np.nan, 1], "float32")]
)
def test_segment_ids_are_whole_and_not_negative(ids, dtype):
    core = NeuronCore()
    with pytest.raises(NkiValidationError, match="an id is an integer"):
        core.sequence_bounds(dst=core.sbuf((1, 2, 2)), segment_ids=tile(core, [ids], dtype))
