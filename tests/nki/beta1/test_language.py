"""``nki.language`` of the older interface.  Judge: NumPy and ml_dtypes; and for functions that both
interfaces have, the current one: the same instructions, values and time."""

import math

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
import trainium_edu.nki.isa as now_isa
import trainium_edu.nki.language as now
from tests.for_each import for_each, for_rows
from tests.nki import cases
from tests.nki.beta1.cases import refusals, stored
from tests.texts import golden, rows_beside
from trainium_edu.nki.beta1.kernel import benchmark, jit, simulate_kernel
from trainium_edu.specs.errors import NkiValidationError

TABLES = rows_beside(__file__, "tables.toml")

F = np.float32
NAMES = golden("nki_beta1_names.json")
X = np.random.default_rng(1).uniform(0.25, 3, (32, 24)).astype(F)
Y = X[::-1].copy()


ONE = TABLES["functions_of_one"]
TWO = TABLES["functions_of_two"]


def _same(before, after):
    """Assert that two runs recorded the same program, with the same values and time."""
    np.testing.assert_array_equal(before.outputs, after.outputs)
    old, new = (run.program.instructions for run in (before, after))
    assert [(i.name, i.engine, i.work) for i in old] == [(i.name, i.engine, i.work) for i in new]
    assert before.timeline.makespan_ns == after.timeline.makespan_ns


def kernel_of(interface, stored, name, other=lambda load, y: ()):
    """Return a kernel of a function of one tile, or of two, of one of the interfaces."""

    def kernel(x, y):
        call, load = getattr(interface, name), interface.load
        return stored(call(load(x), *other(load, y), dtype="float32"))

    return kernel


@for_each("name", ONE)
def test_a_function_of_one_tile_is_the_current_interfaces(name):
    older, current = kernel_of(nl, stored, name), kernel_of(now, cases.stored, name)
    _same(nki.run(jit(older), X, Y, passes=()), nki.run(nki.jit(current), X, Y, optimise=False))


OTHERS = {
    "tile": lambda load, y: [load(y)],
    "number": lambda load, y: [1.5],
    "column": lambda load, y: [load(y[:, 0:1])],
}


@for_each("name", TWO)
@for_each("other", OTHERS)
def test_a_function_of_two_is_the_current_interfaces(name, other):
    if name in ("mod", "fmod") and other == "column":
        return
    first = nki.run(jit(kernel_of(nl, stored, name, OTHERS[other])), X, Y)
    second = nki.run(nki.jit(kernel_of(now, cases.stored, name, OTHERS[other])), X, Y)
    np.testing.assert_array_equal(first.outputs, second.outputs)
    names = [sorted(i.name for i in run.program.instructions) for run in (first, second)]
    assert names[0] == names[1]


BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert"]


@for_each("name", BITS)
def test_bits_are_numpys(name):
    words = np.arange(32 * 24, dtype=np.int32).reshape(32, 24)
    rest = () if name == "invert" else (3,)

    def kernel(x):
        return stored(getattr(nl, name)(nl.load(x), *rest, dtype=np.int32))

    np.testing.assert_array_equal(simulate_kernel(kernel, words), getattr(np, name)(words, *rest))


REDUCED = {
    "sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "mean": np.mean, "var": np.var,
    "all": np.all,
}  # fmt: skip


@for_each("name", REDUCED)
@for_each("axis", [1, [2], [1, 2], -1, [1, 3], (1, 2, 3)])
def test_reductions_are_numpys(name, axis):
    cube = X.reshape(32, 4, 3, 2)
    keep = {} if name in ("all", "var") else {"keepdims": True}

    def kernel(x):
        return stored(getattr(nl, name)(nl.load(x), axis=axis, **keep))

    axes = tuple(axis) if isinstance(axis, list) else axis
    if name == "var" and axes in ((1, 3), (1, 2), 1, (2,)):
        return  # put together by the current interface, along the last axes
    found = simulate_kernel(kernel, cube)
    expected = REDUCED[name](cube.astype(float), axis=axes, keepdims=name != "all")
    np.testing.assert_allclose(found.reshape(-1), expected.reshape(-1), rtol=1e-5)


def test_a_reduction_without_its_axis_is_a_column():
    def kernel(x):
        total = nl.sum(nl.load(x), axis=[1])
        assert total.shape == (32, 1)
        masked = nl.max(nl.load(x), axis=1, mask=nl.arange(24)[None, :] < 5)
        return stored(nl.multiply(nl.load(x), nl.rsqrt(total / 24 + 1e-5))), stored(masked)

    scaled, masked = simulate_kernel(kernel, X)
    np.testing.assert_allclose(scaled, X / np.sqrt(X.sum(1, keepdims=True) / 24 + 1e-5), rtol=1e-5)
    np.testing.assert_array_equal(masked, X[:, :5].max(1, keepdims=True))


def test_what_is_put_together():
    def kernel(x, w):
        a = nl.load(x)
        return (
            stored(nl.softmax(a, axis=1)), stored(nl.rms_norm(a, nl.load(w), 1, 24)),
            stored(nl.where(a > 1.0, a, 0.0)), stored(nl.logical_not(a > 1.0, dtype=F)),
            stored(nl.floor(a, mask=nl.arange(32)[:, None] < 5)[0:5, :]),
            stored(nl.dropout(a, 0.0)), stored(nl.static_cast(a, np.int32)),
        )  # fmt: skip

    w = np.ones((32, 24), F)
    softmax, norm, where, small, floor, kept, whole = simulate_kernel(kernel, X, w)
    powers = np.exp(X - X.max(1, keepdims=True))
    np.testing.assert_allclose(softmax, powers / powers.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(norm, X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-6), rtol=1e-5)
    np.testing.assert_array_equal(where, np.where(X > 1, X, 0))
    np.testing.assert_array_equal(small, X <= 1)
    np.testing.assert_array_equal(floor, np.floor(X[:5]))
    np.testing.assert_array_equal(kept, X)
    np.testing.assert_array_equal(whole, np.rint(X))


@for_rows("shape", (1, 24), (32, 1), (1, 1))
def test_tiles_repeat(shape):
    def kernel(x):
        a = nl.load(x[0 : shape[0], 0 : shape[1]])
        first = nl.broadcast_to(a, shape=(32, 24))
        return stored(nl.copy(first)), stored(nl.add(a, nl.load(x))), stored(nl.load(x) - a)

    first, added, less = simulate_kernel(kernel, X)
    part = X[: shape[0], : shape[1]]
    np.testing.assert_array_equal(first, np.broadcast_to(part, (32, 24)))
    np.testing.assert_array_equal(added, part + X)
    np.testing.assert_array_equal(less, X - part)


def test_products_and_transposes():
    def kernel(x, y):
        a, b = nl.load(x), nl.load(y)
        return (
            stored(nl.copy(nl.matmul(a, nl.copy(nl.transpose(b))))),
            stored(nl.copy(nl.matmul(a, b, transpose_x=True))),
            stored(nl.load_transpose2d(x)),
            stored(nl.transpose(a, dtype=nl.bfloat16)),
        )

    across, along, turned, narrow = simulate_kernel(kernel, X, Y)
    np.testing.assert_allclose(across, X @ Y.T, rtol=1e-5)
    np.testing.assert_allclose(along, X.T @ Y, rtol=1e-5)
    np.testing.assert_array_equal(turned, X.T)
    np.testing.assert_allclose(narrow.astype(F), X.T, rtol=1e-2)


@for_rows("x_is_wide", True, False)
@for_rows("turned", True, False)
def test_a_product_of_fp32_and_bf16_is_one_of_fp32(x_is_wide, turned):
    """Judge: NumPy on what BF16 holds; AWS's attention tutorial multiplies such a pair so."""
    kinds = (F, ml_dtypes.bfloat16) if x_is_wide else (ml_dtypes.bfloat16, F)

    def kernel(x, y):
        return stored(nl.copy(nl.matmul(nl.load(x), nl.load(y), transpose_x=turned)))

    def refused(x, y):
        return stored(nl.copy(nisa.nc_matmul(nl.load(x), nl.load(y))))

    x, y = X.astype(kinds[0]), (Y if turned else Y[:24]).astype(kinds[1])
    run = nki.run(jit(kernel), x, y)
    expected = (x.T if turned else x).astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(run.outputs, expected, rtol=1e-6)
    product = [i for i in run.program.instructions if i.name == "nc_matmul"][-1]
    assert {a.geometry[0] for a in product.accesses} == {"float32"}
    with pytest.raises(NkiValidationError, match="the other must be too"):
        nki.run(jit(refused), x, Y.astype(kinds[1]))


def test_numpys_reductions_of_tiles_run_on_the_chip():
    def kernel(x):
        x = nl.load(x)
        assert np.shape(x) == (32, 24)
        means = np.mean(x * x, axis=[1])
        return stored(np.where(x > 1.0, x, np.max(x, axis=1, keepdims=True) + means))

    found = nki.run(jit(kernel), X)
    expected = np.where(X > 1, X, X.max(1, keepdims=True) + np.mean(X * X, 1, keepdims=True))
    np.testing.assert_allclose(found.outputs, expected, rtol=1e-6)
    assert sum(i.name == "dma_copy" for i in found.program.instructions) == 2  # no constants
    with pytest.raises(TypeError, match=r"np\.median does not compute on tiles; nl has what"):
        simulate_kernel(jit(lambda x: stored(np.median(nl.load(x), axis=1))), X)


@for_rows("other", "a number", "a tile")
def test_where_chooses_by_a_comparison_of_indices(other):
    def kernel(x, y):
        rows, columns = nl.arange(32)[:, None], nl.arange(24)[None, :]
        x, y = nl.load(x), nl.load(y)
        return stored(nl.where(rows >= columns + 3, x, -9984.0 if other == "a number" else y))

    below = np.arange(32)[:, None] >= np.arange(24) + 3
    expected = np.where(below, X, -9984.0 if other == "a number" else Y)
    np.testing.assert_array_equal(simulate_kernel(jit(kernel), X, Y), expected)


def test_gathering_and_constants():
    def kernel(x):
        i = nl.load(nl.shared_constant(np.tile(np.uint32([[3, 1, 4, 1]]), (32, 1))))
        eye = nl.load(nl.shared_identity_matrix(24, dtype=F))
        assert nl.shared_identity_matrix(24, dtype=F) is nl.shared_identity_matrix(24, dtype=F)
        rows = nl.load(nl.shared_constant(np.int32([[5], [2], [7]])))
        return (
            stored(nl.gather_flattened(nl.load(x), i)), stored(eye), stored(nl.expand_dims(eye, 1)),
            stored(nl.load(x[rows, nl.arange(24)[None, :]])),
            stored(nl.load(x) + np.ones((32, 24), F)),
        )  # fmt: skip

    gathered, eye, apart, rows, more = simulate_kernel(kernel, X)
    np.testing.assert_array_equal(gathered, X[:, [3, 1, 4, 1]])
    np.testing.assert_array_equal(eye, np.eye(24))
    assert apart.shape == (24, 1, 24)
    np.testing.assert_array_equal(rows, X[[5, 2, 7]])
    np.testing.assert_array_equal(more, X + 1)


def test_adding_to_rows_that_indices_select():
    def kernel(x, rows):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        nl.atomic_rmw(out[nl.load(rows), nl.arange(24)[None, :]], nl.load(x[0:2]), np.add)
        return out

    found = simulate_kernel(kernel, X, np.int32([[4], [9]]))
    expected = X.copy()
    expected[[4, 9]] += X[:2]
    np.testing.assert_array_equal(found, expected)


def test_new_tensors():
    def kernel():
        a = nl.full((4, 3), 2.5, F)
        blocks = nl.ones((2, nl.par_dim(4), 3), np.int32)
        assert nl.empty_like(a, dtype=nl.bfloat16).dtype == nl.bfloat16
        assert nl.zeros_like(blocks).shape == (2, 4, 3)
        nl.random_seed(7)
        return stored(a + nl.zeros_like(a)), stored(blocks[1]), stored(nl.rand((64, 64)))

    a, ones, random = simulate_kernel(kernel)
    assert (a == 2.5).all()
    assert (ones == 1).all()
    assert ones.dtype == np.int32
    assert random.min() >= 0
    assert random.max() < 1
    assert abs(random.mean() - 0.5) < 0.03


def test_dtypes_are_numpys_outside_a_kernel_too():
    sizes = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32)]
    for name in (*sizes, "float16", "float32", "bool_"):
        assert getattr(nl, name) is getattr(np, name)
    assert np.zeros(3, nl.bfloat16).dtype == ml_dtypes.bfloat16
    assert np.dtype(nl.float8_e4m3) == ml_dtypes.float8_e4m3
    assert (np.dtype(nl.float8_e5m2), nl.tfloat32) == (ml_dtypes.float8_e5m2, np.dtype("|V4"))
    assert nl.fp32.min == np.finfo(F).min
    judge = ml_dtypes.finfo(nl.bfloat16)
    assert nl.bfp16.max == float(judge.max) == float(nl.finfo(nl.bfloat16).max)


PROMOTED = [  # as "NKI Type Promotion" of AWS's reference tabulates it
    (np.int32, np.float16, np.float16), (F, nl.bfloat16, F), (np.float16, nl.bfloat16, F),
    (nl.float8_e4m3, np.float16, np.float16), (nl.float8_e4m3, nl.bfloat16, nl.bfloat16),
    (nl.float8_e4m3, nl.float8_e5m2, nl.bfloat16), (np.int16, np.int32, np.int32),
    (np.uint8, np.uint16, np.uint16), (np.uint16, np.int32, np.int32),
    (np.int8, np.uint8, np.int16),
    (np.int8, np.uint16, np.int32), (np.int32, np.uint32, F), (np.int8, 2, np.int32),
    (np.float16, 1.2, F), (np.float16, np.float16(2), np.float16),
]  # fmt: skip


@for_each("a, b, expected", PROMOTED)
def test_dtypes_are_promoted_as_the_reference_says(a, b, expected):
    def kernel():
        first = nl.ones((4, 2), a)
        second = b if np.isscalar(b) and not isinstance(b, type) else nl.ones((4, 2), b)
        assert nl.add(first, second).dtype == expected

    simulate_kernel(kernel)


def test_loops_and_reductions_over_them():
    def kernel(x):
        best = nl.ndarray((32, 8), F)
        for k in nl.affine_range(3):
            best = nl.loop_reduce(nl.load(x[:, k * 8 : k * 8 + 8]), op=np.max, loop_indices=[k])
        total = nl.loop_reduce(nl.load(x), nl.add, 0)
        sums = [
            nl.loop_reduce(nisa.nc_matmul(nl.load(x), nl.load(x)), np.add, [k])
            for k in nl.sequential_range(2)
        ]
        assert list(nl.static_range(1, 7, 2)) == [1, 3, 5]
        return stored(best), stored(total), stored(nl.copy(sums[-1]))

    best, total, sums = simulate_kernel(kernel, X)
    np.testing.assert_array_equal(best, X.reshape(32, 3, 8).max(1))
    np.testing.assert_array_equal(total, X)
    np.testing.assert_allclose(sums, 2 * X.T @ X, rtol=1e-5)


@for_rows("dtype", np.float32, np.dtype("float16"), nl.bfloat16, "bfloat16")
def test_reduction_over_a_loop_takes_numpys_dtypes(dtype):
    def kernel(x):
        for k in nl.affine_range(3):
            total = nl.loop_reduce(nl.load(x[:, k * 8 : k * 8 + 8]), np.add, [k], dtype=dtype)
        assert total.dtype == np.dtype(dtype)
        return stored(nl.copy(total, dtype=F))

    ones = np.ones((32, 24), F)
    np.testing.assert_array_equal(simulate_kernel(kernel, ones), np.full((32, 8), 3, F))


def test_a_grid_of_instances_runs_on_one_core():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        i, j = nl.program_id(0), nl.program_id(1)
        assert (nl.num_programs(), nl.num_programs(0), nl.program_ndim()) == (8, 4, 2)
        part = nl.ds(i * 8, 8), nl.ds(j * 12, 12)
        nl.store(out[part], nl.load(x[part]) * (10 * i + j))
        return out

    factors = 10 * np.arange(4)[:, None, None, None] + np.arange(2)[None, None, :, None]
    expected = (X.reshape(4, 8, 2, 12) * factors).reshape(32, 24)
    for grid in ((4, 2), (nl.nc(2) * 2, 2), (nl.spmd_dim(2, nl.nc(2)), 2)):
        run = nki.run(jit(kernel)[grid], X)
        np.testing.assert_allclose(run.outputs, expected, rtol=1e-6)
        assert len(run.programs) == 1


def test_printing(capsys):
    def kernel(x):
        nl.device_print("half of x", nl.load(x) * 0.5)

    simulate_kernel(kernel, np.full((1, 2), 3, F))
    assert capsys.readouterr().out.split("\n")[:3] == ["half of x", "float32[1, 2]", "[[1.5 1.5]]"]


def test_sizes_of_tiles():
    assert (nl.tile_size.pmax, nl.tile_size.psum_fmax) == (128, 512)
    assert nl.gemm_grid().p.shape == (128, 512)
    assert nl.gemm_stationary_grid().x.shape == (128, 128)
    assert all(getattr(nl.tile_size, name) > 0 for name in NAMES["tile_size"])


test_it_is_refused_in_one_sentence = refusals("language", globals(), X)


def test_a_prediction_needs_no_values():
    timed = benchmark(lambda x: stored(nl.exp(nl.load(x))))
    assert np.isnan(timed(X)).all()
    assert math.isfinite(timed.benchmark_result.nc_latency.get_latency_percentile(50))


def test_vector_engine_turns_larger_tiles_block_by_block():
    """Judge: NumPy; and the same eight blocks written one by one.

    AWS's pages limit this engine to 32 x 32; its compiler took [128, 64], as such blocks.
    """

    def at_once(x):
        return stored(nisa.nc_transpose(nl.load(x), engine=nisa.vector_engine))

    def by_hand(x):
        tile, turned = nl.load(x), nl.ndarray((64, 128), F)
        for row in range(0, 128, 32):
            for column in range(0, 64, 32):
                block = tile[row : row + 32, column : column + 32]
                turned[column : column + 32, row : row + 32] = nisa.nc_transpose(
                    block, engine=nisa.vector_engine
                )
        return stored(turned)

    def current(x):
        turned = now.ndarray((64, 128), x.dtype, buffer=now.sbuf)
        now_isa.nc_transpose(turned, now.load(x), engine=now_isa.engine.vector)
        return cases.stored(turned)

    x = np.arange(128 * 64, dtype=F).reshape(128, 64)
    runs = [nki.run(kernel, x) for kernel in (jit(at_once), jit(by_hand), current)]
    for run in runs:
        np.testing.assert_array_equal(run.outputs, x.T)
        assert sum(i.name == "nc_transpose" for i in run.program.instructions) == 8
    assert len({run.timeline.makespan_ns for run in runs}) == 1
