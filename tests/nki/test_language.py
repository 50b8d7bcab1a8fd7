"""Every function of ``nki.language`` on tiles.  Judges: NumPy, closed forms in float64."""

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from tests.neuroncore.closed_forms import CLOSED
from tests.nki.cases import stored
from tests.texts import rows_beside
from trainium_edu.specs import NkiValidationError

TABLES = rows_beside(__file__, "tables.toml")

RNG = np.random.default_rng(7)
X = (RNG.standard_normal((128, 96)) * 3).astype(np.float32)
Y = RNG.standard_normal((128, 96)).astype(np.float32)
I = RNG.integers(0, 1000, (128, 16)).astype(np.int32)  # noqa: E741
J = RNG.integers(0, 7, (128, 16)).astype(np.int32)
Z = X.reshape(128, 4, 6, 4)


def on_tiles(function, *arrays):
    """Load the arrays, call the function on the tiles, and return what it leaves."""

    @nki.jit
    def kernel(*given):
        result = function(*[nl.load(array) for array in given])
        if result.buffer == nl.psum:
            result = nl.copy(result)
        return stored(result, result.dtype)

    return kernel(*arrays)


def near(found, expected, tolerance=2e-5):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance
    )


BINARY = TABLES["binary"]


@for_each("name", BINARY)
def test_two_tiles_combine_as_in_numpy(name):
    near(on_tiles(getattr(nl, name), X, Y), getattr(np, name)(X, Y))


@for_each("name", BINARY)
@for_each("side", ["left", "right"])
def test_a_number_combines_on_either_side(name, side):
    call = getattr(nl, name)
    wanted = getattr(np, name)
    near(
        on_tiles((lambda t: call(2.5, t)) if side == "left" else (lambda t: call(t, 2.5)), X),
        wanted(np.float32(2.5), X) if side == "left" else wanted(X, np.float32(2.5)),
    )


SHIFTS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
HALF, ROW, COLUMN = X.astype(ml_dtypes.bfloat16), Y[:1].copy(), Y[:, :1].copy()
POSITIVE, FAR, NEAR_ZERO = np.abs(X) + 1e-3, X * 300, np.clip(Y, -1.4, 1.4)
BITS, MORE_BITS = (X > 0).astype(np.uint8), (Y > 0).astype(np.uint8)
WHOLE, BY = (draw.astype(np.float32) for draw in (
    RNG.integers(-50, 50, (128, 32)),
    RNG.integers(1, 9, (128, 32)) * RNG.choice([-1, 1], (128, 32))))  # fmt: skip
PLACES = RNG.integers(0, 96, (128, 20))


def wide(array):
    return array.astype(np.float64)


def powers(array, axes):
    return np.exp(wide(array) - array.max(axis=axes, keepdims=True))


def softmax(array, axes):
    return powers(array, axes) / powers(array, axes).sum(axis=axes, keepdims=True)


NORM = X / np.sqrt((wide(X) ** 2).mean(axis=1, keepdims=True) + 1e-6)
SAME, CLOSE = 0, 1e-4
#: A function of tiles, the arrays that they hold, what NumPy makes of these, and how close.
NUMPYS = [
    *((getattr(nl, name), arrays, getattr(np, name)(*arrays), CLOSE)
      for name in ("add", "subtract", "multiply", "divide", "maximum") for one in (COLUMN, ROW)
      for arrays in ((X, one), (one, X))),
    (nl.multiply, (X[:96].copy(), ROW), X[:96] * ROW, 2e-5),
    (nl.power, (np.abs(X), Y), wide(np.abs(X)) ** Y, CLOSE),
    *((getattr(nl, name), (WHOLE, BY), getattr(np, name)(WHOLE, BY), SAME)
      for name in ("mod", "fmod")),
    (lambda t: nl.mod(t, 7.0), (WHOLE,), np.mod(WHOLE, 7.0), SAME),
    (lambda t: nl.fmod(t, 7.0), (WHOLE,), np.fmod(WHOLE, 7.0), SAME),
    (nl.mod, (X, Y), np.mod(X, Y), 2e-3), (nl.fmod, (X, Y), np.fmod(X, Y), 2e-3),
    *((getattr(nl, name), (I, J), getattr(np, name)(I, J), None) for name in SHIFTS),
    *((lambda t, name=name: getattr(nl, name)(t, 3), (I,), getattr(np, name)(I, 3), None)
      for name in SHIFTS),
    (nl.bitwise_xor, (I - 500, J.astype(np.uint32)), (I - 500) ^ J, None),
    *((nl.invert, (I.astype(d),), ~I.astype(d), None)
      for d in (np.int32, np.uint32, np.int16, np.uint16, np.int8, np.uint8)),
    *((getattr(nl, name), (BITS, MORE_BITS), getattr(np, name)(BITS, MORE_BITS), None)
      for name in ("logical_and", "logical_or", "logical_xor")),
    (nl.logical_not, (BITS,), 1 - BITS, None),
    (nl.log, (POSITIVE,), np.log(wide(POSITIVE)), 2e-5),
    (nl.sqrt, (POSITIVE,), np.sqrt(wide(POSITIVE)), 2e-5),
    (nl.rsqrt, (POSITIVE,), wide(POSITIVE) ** -0.5, 2e-5),
    (nl.sin, (FAR,), np.sin(wide(FAR)), 2e-4),
    (nl.tan, (NEAR_ZERO,), np.tan(wide(NEAR_ZERO)), CLOSE),
    (nl.arctan, (NEAR_ZERO,), np.arctan(wide(NEAR_ZERO)), 1e-5),
    (lambda t: nl.var(t, axis=[2, 3]), (Z,), np.var(Z, axis=(2, 3), keepdims=True), CLOSE),
    (lambda t: nl.var(t, axis=1), (X,), np.var(X, axis=1, keepdims=True), CLOSE),
    (lambda t: nl.all(t, axis=1), (np.round(Y[:, :4]),),
     np.all(np.round(Y[:, :4]) != 0, axis=1, keepdims=True), SAME),
    (lambda t: nl.softmax(t, axis=1), (X,), softmax(X, (1,)), 1e-5),
    (lambda t: nl.softmax(t, axis=[2, 3]), (Z,), softmax(Z, (2, 3)), 1e-5),
    (lambda t: nl.softmax(t, axis=3), (Z,), softmax(Z, (3,)), 1e-5),
    *((lambda t, w: nl.rms_norm(t, w, axis=1, n=96), (X, w), NORM * w, CLOSE) for w in (Y, ROW)),
    (nl.where, (BITS.astype(np.float32), X, Y), np.where(X > 0, X, Y), SAME),
    (lambda c, t: nl.where(c, t, -1.0), (BITS.astype(np.float32), X), np.where(X > 0, X, -1), SAME),
    (nl.where, (BITS, X, COLUMN), np.where(X > 0, X, COLUMN), SAME),
    (nl.where, (BITS, ROW, X), np.where(X > 0, ROW, X), SAME),
    (nl.where, (BITS[:, :1].copy(), X, Y), np.where(X[:, :1] > 0, X, Y), SAME),
    (lambda c, a, b: nl.where(c, a, b, dtype=nl.float32), (BITS, HALF, Y),
     np.where(X > 0, HALF.astype(np.float32), Y), SAME),
    (lambda c, a: nl.where(c, a, 7.0), (BITS[:, :16].copy(), I),
     np.where(X[:, :16] > 0, I, 7), SAME),
    *((lambda d, i: nl.gather_flattened(d, i, dtype=nl.bfloat16), (X, PLACES.astype(d)),
       np.take_along_axis(X, PLACES, axis=1).astype(ml_dtypes.bfloat16), None)
      for d in (np.int32, np.int16, np.uint8, np.uint16)),
    (nl.gather_flattened, (X, PLACES.astype(np.uint32)),
     np.take_along_axis(X, PLACES, axis=1), None),
    (lambda t: nl.dropout(t, 0.0, dtype=nl.bfloat16), (X,), HALF, None),
    (lambda t: nl.broadcast_to(t, (128, 8)), (COLUMN,), np.broadcast_to(COLUMN, (128, 8)), None),
    (lambda t: nl.broadcast_to(t, (32, 8)), (np.float32([[3]]),), np.full((32, 8), 3), SAME),
]  # fmt: skip


@for_each(("function", "arrays", "expected", "tolerance"), NUMPYS, [*map(str, range(len(NUMPYS)))])
def test_a_function_of_tiles_is_numpys(function, arrays, expected, tolerance):
    found = on_tiles(function, *arrays)
    if tolerance is None:  # all bits
        assert np.array_equal(found, expected)
    else:
        near(found, expected, tolerance)


@for_each("one, other, expected", TABLES["promoted"])
def test_two_tiles_promote_their_dtypes_as_the_reference_says(one, other, expected):
    first, second = (np.ones((4, 2), getattr(ml_dtypes, name, name)) for name in (one, other))
    for arrays in ((first, second), (second, first)):
        assert on_tiles(nl.add, *arrays).dtype.name == expected


UNARY = TABLES["unary"]


@for_each("name", UNARY)
def test_functions_of_one_tile(name):
    wanted = CLOSED.get(name) or getattr(np, name)
    near(on_tiles(getattr(nl, name), X), wanted(X.astype(np.float64)), 1e-5)


@for_rows("name", "ceil", "floor", "trunc")
def test_whole_numbers_of_huge_and_half_numbers(name):
    data = np.float32([[0.5, -0.5, 1.5, -2.5, 2**22 + 0.5, -(2**24), 3e9, -1e30, np.inf, 0.0]])
    assert np.array_equal(on_tiles(getattr(nl, name), data), getattr(np, name)(data))


REDUCE = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean, "prod": np.prod}


@for_each("name", REDUCE)
def test_reductions_over_the_last_axes(name):
    small = Z * 0.3
    call, wanted = getattr(nl, name), REDUCE[name]
    near(on_tiles(lambda t: call(t, axis=1), X[:, :8].copy()),
         wanted(X[:, :8].astype(np.float64), axis=1, keepdims=True), 1e-4)  # fmt: skip
    near(on_tiles(lambda t: call(t, axis=[2, 3]), small), wanted(small, axis=(2, 3)), 1e-4)
    near(on_tiles(lambda t: call(t, axis=-1, keepdims=True), small),
         wanted(small, axis=3, keepdims=True), 1e-4)  # fmt: skip
    near(on_tiles(lambda t: call(t, axis=(1, 2, 3)), small),
         wanted(small, axis=(1, 2, 3)).reshape(128, 1), 1e-4)  # fmt: skip


@for_rows("name", "floor", "ceil", "trunc")
@for_rows("dtype", ml_dtypes.bfloat16, np.float16, np.int32, np.uint8)
def test_whole_numbers_in_every_dtype(name, dtype):
    numbers = np.abs(X).astype(dtype) if dtype == np.uint8 else X.astype(dtype)
    if dtype == np.int32:
        numbers = numbers + 2**30 + 1  # FP32 does not hold these
    found = on_tiles(getattr(nl, name), numbers)
    assert found.dtype == numbers.dtype
    assert np.array_equal(found.astype(np.float64), getattr(np, name)(numbers.astype(np.float64)))
    half = on_tiles(lambda t: getattr(nl, name)(t, dtype=nl.int32), X)
    assert np.array_equal(half, getattr(np, name)(X))


def test_dividing_by_the_number_zero_is_what_numpy_says():
    with np.errstate(divide="ignore", invalid="ignore"):
        for zero in (0, 0.0, -0.0):
            found = on_tiles(lambda t, z=zero: nl.divide(t, z), X)
            assert np.array_equal(found, X / np.float32(zero), equal_nan=True)


@for_rows("number", np.float32(2.5), np.int64(3), True, np.array(2.0))
def test_numbers_of_every_kind_combine(number):
    near(on_tiles(lambda t: nl.subtract(t, number), X), X - np.float32(number), 1e-6)
    near(on_tiles(lambda t: nl.subtract(number, t), X), np.float32(number) - X, 1e-6)
    if not isinstance(number, np.floating | np.ndarray):  # whole ones keep an integer tile
        assert np.array_equal(on_tiles(lambda t: nl.add(t, number), I), I + int(number))


@for_rows("dtype", np.int32, np.uint32)
def test_a_broadcast_keeps_every_bit_of_an_integer(dtype):
    row = np.array([[2**31 - 1, 16777217, 5, 0]], np.int64)
    row = np.concatenate([row, ~row if dtype == np.int32 else row + 2**31], axis=1).astype(dtype)
    found = on_tiles(lambda t: nl.broadcast_to(t, (128, 8)), row)
    assert found.dtype == dtype
    assert np.array_equal(found, np.broadcast_to(row, (128, 8)))


@for_rows("shape", (128, 60000), (300, 20000), (70000,), (3, 5, 7))
def test_a_tensor_of_any_size_is_filled_in_hbm(shape):
    @nki.jit
    def kernel():
        return (nl.full(shape, 7, nl.int16, buffer=nl.shared_hbm),
                nl.rand(shape, nl.float32, buffer=nl.hbm))  # fmt: skip

    sevens, random = kernel()
    assert sevens.shape == random.shape == shape
    assert np.all(sevens == 7)
    assert random.min() >= 0
    assert random.max() < 1


def test_memories_are_told_apart_by_region_name_and_tensor():
    assert [nl.is_hbm(b) for b in (nl.hbm, nl.shared_hbm, nl.sbuf, "hbm", "psum")] == [
        True, True, False, True, False
    ]  # fmt: skip
    assert nl.is_on_chip(nl.psum)
    assert nl.is_psum("psum")
    assert nl.is_sbuf(nl.sbuf)
    for wrong in (None, 3, "dram"):
        raises(TypeError, "memory region", nl.is_sbuf, wrong)


@for_rows("dtype", np.float32, ml_dtypes.bfloat16, np.float16)
def test_matmul_and_transpose(dtype):
    a, b = X.astype(dtype), RNG.standard_normal((96, 64)).astype(dtype)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    near(on_tiles(lambda s, t: nl.copy(nl.matmul(s, t)), a, b), wanted, 1e-3)
    other = a[:, :64].copy()
    near(on_tiles(lambda s, t: nl.matmul(s, t, transpose_x=True), a, other),
         a.astype(np.float64).T @ other.astype(np.float64), 1e-3)  # fmt: skip
    assert np.array_equal(on_tiles(nl.transpose, a), a.T)


@for_rows("other", "row", "product")
def test_tiles_that_are_both_in_psum_combine(other):
    """Vector reads one of two inputs from PSUM; a product plus a bias row has both there."""
    a, b = X[:64, :64], RNG.standard_normal((64, 48)).astype(np.float32)
    row = RNG.standard_normal((1, 48)).astype(np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)

    def combined(s, t, r):
        product = nl.matmul(s, t)
        return nl.add(product, r if other == "row" else product)

    near(on_tiles(combined, a, b, row), wanted + (row if other == "row" else wanted), 1e-4)


@for_rows("columns", 96, 512, 2048, 5000)
def test_broadcast_repeats_a_row_on_all_partitions(columns):
    row = RNG.standard_normal((1, columns)).astype(np.float32)
    found = on_tiles(lambda t: nl.copy(nl.broadcast_to(t, (128, columns))), row)
    assert np.array_equal(found, np.broadcast_to(row, (128, columns)))


def test_a_broadcast_row_stays_in_psum_where_it_fits():
    places = []

    @nki.jit
    def kernel(row):
        places.append(nl.broadcast_to(nl.load(row), (128, 512)).buffer)
        places.append(nl.broadcast_to(nl.load(row), (64, 512), dtype=nl.bfloat16).buffer)

    run = nki.run(kernel, np.ones((1, 512), np.float32))
    assert places == [nl.psum, nl.sbuf]
    assert [i.name for i in run.programs[0].instructions].count("nc_matmul") == 2


@for_rows("use", "add to PSUM", "dma", "gpsimd", "matmul", "another fault")
def test_a_broadcast_row_reaches_what_cannot_read_psum(use):
    """Judge: NumPy; the reference does not say where the tile of nl.broadcast_to lies."""

    @nki.jit
    def kernel(x, row):
        shape = (x.shape[0], row.shape[1])
        rows = nl.broadcast_to(nl.load(row), shape)
        found = nl.ndarray(shape, nl.float32)
        if use == "add to PSUM":
            product = nl.matmul(nl.load(x), nl.load(x[:, :6]))
            nisa.tensor_tensor(dst=found, data1=product, data2=rows, op=nl.add)
        elif use == "dma":
            nisa.dma_copy(dst=found[:, 2:], src=rows[:, 2:])
            nisa.dma_copy(dst=found[:, :2], src=rows[:, 0:4:2])
        elif use == "gpsimd":
            nisa.affine_select(found, [[1, 6]], -1, rows, 0.0, cmp_op=nl.greater_equal)
        elif use == "matmul":
            found = nl.copy(nl.matmul(nl.load(x), rows))
        else:
            nisa.tensor_copy(dst=found, src=rows, engine=nisa.engine.tensor)
        return stored(found, nl.float32)

    x = RNG.standard_normal((8, 8)).astype(np.float32)
    row = RNG.standard_normal((1, 6)).astype(np.float32)
    rows = np.repeat(row, 8, 0)
    if use == "another fault":
        raises(NkiValidationError, "Tensor Engine", kernel, x, row)
        return
    wanted = {"add to PSUM": x @ x[:, :6] + rows, "dma": rows[:, [0, 2, 2, 3, 4, 5]],
              "gpsimd": np.triu(rows), "matmul": x @ rows}  # fmt: skip
    near(kernel(x, row), wanted[use], 1e-5)


def test_load_transpose2d():
    @nki.jit
    def kernel(x):
        return stored(nl.load_transpose2d(x), x.dtype)

    assert np.array_equal(kernel(X), X.T)


@for_rows("place", nl.sbuf, nl.psum, nl.hbm, nl.shared_hbm)
@for_rows("dtype", nl.float32, nl.bfloat16, nl.int32, nl.uint8)
def test_filled_tensors_hold_their_value_wherever_they_are(place, dtype):
    @nki.jit
    def kernel():
        filled = [make((64, 8), dtype=dtype, buffer=place) for make in (nl.zeros, nl.ones)]
        filled.append(nl.full((64, 8), 3, dtype, place))
        return tuple(stored(t) if nl.is_on_chip(t.buffer) else t for t in filled)

    for value, array in zip((0, 1, 3), kernel(), strict=True):
        assert array.dtype.name == dtype
        assert np.all(array.astype(np.float32) == value)


def test_tensors_like_another_and_constants():
    table = np.arange(12, dtype=np.float32).reshape(3, 4)

    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        assert nl.empty_like(tile).shape == tile.shape
        assert nl.equal(nl.zeros_like(tile), nl.full(tile.shape, 0.0, tile.dtype))
        assert nl.equal(nl.load(nl.shared_constant(table)), nl.load(x))
        identity = nl.shared_identity_matrix(n=3, dtype=nl.float32)
        assert nl.shared_identity_matrix(n=3, dtype=nl.float32) is identity
        return stored(identity, nl.float32)

    assert np.array_equal(kernel(table), np.eye(3))


def test_random_numbers_fill_the_unit_interval_and_follow_their_seed():
    @nki.jit
    def kernel():
        seed = nl.full((1, 1), 42, dtype=nl.int32)
        outs = []
        for _ in range(2):
            nl.random_seed(seed)
            outs.append(stored(nl.rand((128, 512), dtype=nl.float32)))
        return tuple(outs)

    first, second = kernel()
    assert np.array_equal(first, second)
    assert first.min() >= 0
    assert first.max() < 1
    assert abs(first.mean() - 0.5) < 4 * (1 / 12 / first.size) ** 0.5  # four standard errors


def test_dropout_zeroes_its_share():
    found = on_tiles(lambda t: nl.dropout(t, 0.25), np.ones((128, 512), np.float32))
    assert abs((found == 0).mean() - 0.25) < 4 * (0.25 * 0.75 / found.size) ** 0.5


def test_results_take_the_dtype_that_is_asked_for():
    found = on_tiles(lambda t: nl.add(t, t, dtype=nl.bfloat16), X)
    assert found.dtype == ml_dtypes.bfloat16
    assert np.array_equal(found, (X + X).astype(ml_dtypes.bfloat16))
    assert on_tiles(lambda t: nl.multiply(t, 0.5), I).dtype == np.float32  # an integer and a half
    assert on_tiles(nl.add, X.astype(ml_dtypes.bfloat16), X).dtype == np.float32


def test_tile_sizes_are_the_chips():
    sizes = nl.tile_size
    assert (sizes.pmax, sizes.gemm_stationary_fmax, sizes.gemm_moving_fmax) == (128, 128, 512)
    assert (sizes.psum_fmax, sizes.psum_bank_fmax, sizes.psum_bank_fmax_bytes) == (512, 512, 2048)
    assert (sizes.psum_num_banks, sizes.bn_stats_fmax) == (8, 512)
    assert sizes.sbuf_fmax_bytes == sizes.total_available_sbuf_size == 192 * 1024
    assert (sizes.sbuf_size_bytes, sizes.sbuf_fmax) == (24 * 2**20, 48 * 1024)


def test_bypass_leaves_a_stage_out():
    def kernel(x):
        tile = nl.load(x)
        more = {"op1": nl.add, "operand1": 1.0}
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.bypass, operand0=0.0, **more)
        return stored(tile, x.dtype)

    assert np.array_equal(nki.simulate(kernel)(X), X + 1)


def test_power_of_tiles_in_psum_goes_through_sbuf():
    """The Tensor Engine writes PSUM; GpSimd, which alone raises them, reads none there."""

    def kernel(x):
        out = nl.ndarray((2, *x.shape), x.dtype, buffer=nl.shared_hbm)
        eye = nl.shared_identity_matrix(32, nl.float32)
        here, there = nl.load(x), nl.matmul(eye, nl.load(x), transpose_x=True)
        nl.store(out[0], nl.power(there, there))
        nl.store(out[1], nl.power(here, there))
        return out

    x = np.random.default_rng(0).uniform(0.5, 2, (32, 64)).astype(np.float32)
    np.testing.assert_allclose(nki.simulate(kernel)(x), np.stack([x**x] * 2), rtol=1e-6)


@for_rows("op", "power", "rsqrt")
def test_what_only_gpsimd_computes_does_not_send_to_the_vector_engine(op):
    def kernel(x):
        tile, there = nl.load(x), nl.ndarray(x.shape, nl.float32, buffer=nl.psum)
        nisa.tensor_copy(dst=there, src=tile)
        if op == "power":
            nisa.tensor_tensor(dst=tile, data1=tile, data2=there, op=nl.power)
        else:
            nl.rsqrt(there)

    ones = np.ones((32, 64), np.float32)
    said = str(raises(NkiValidationError, "runs there only", nki.simulate(kernel), ones))
    assert "run it on the Vector Engine" not in said
