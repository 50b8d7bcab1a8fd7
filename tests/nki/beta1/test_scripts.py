"""What scripts of the older interface rely on around their kernels.

Judge: AWS's example and test files of SDK 2.20 to 2.26 (``general/nki/examples``,
``general/nki/test``), which these lines follow; NumPy for the numbers.
"""

import numpy as np
import pytest

import trainium_edu.nki.beta1 as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
import trainium_edu.nki.beta1.typing as nt
from tests.for_each import for_rows, raises
from tests.nki.beta1.cases import stored
from trainium_edu.specs.errors import NkiValidationError


@nki.jit
def exponential(x):
    return stored(nl.exp(nl.load(x)), x.dtype)


def test_an_argument_may_be_a_shape_and_a_dtype():
    timed = nki.benchmark(exponential, warmup=1, iters=2)
    timed(nt.tensor[[64, 128], nl.float16])
    made = nki.benchmark(exponential)
    made(np.ones((64, 128), np.float16))
    one, two = (k.benchmark_result.nc_latency.get_latency_percentile(99) for k in (timed, made))
    assert one == two > 0
    assert nt.tensor[64, 128] is nt.tensor


def test_dtypes_cast_arrays_outside_kernels():
    x = np.float32([1.01, -2.5])
    found = nl.static_cast(x, nl.bfloat16)
    assert found.dtype == nl.bfloat16
    np.testing.assert_array_equal(found, x.astype(nl.bfloat16))


def test_options_of_the_compiler_change_nothing():
    x = np.ones((4, 4), np.float32)
    for option in ("disable_allocation_opt", "additional_compile_opt"):
        np.testing.assert_array_equal(
            nki.baremetal(exponential, **{option: True})(x), exponential(x)
        )


def gathered(mode):
    @nki.jit(mode="simulation")
    def kernel(table):
        i, j = nl.mgrid[0:64, 0:16]
        index = nisa.iota(3 * nl.arange(64)[:, None], dtype=np.int32)
        rows = nisa.memset(shape=(64, 16), value=-1, dtype=table.dtype)
        nisa.dma_copy(src=table[index, j], dst=rows[i, j], oob_mode=mode)
        out = nl.ndarray((64, 16), dtype=table.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=rows)
        return out

    return kernel


def test_an_index_out_of_bounds_is_numpys_error_and_ours_behind_it():
    table = np.zeros((128, 16), np.float32)
    error = raises(IndexError, "", np.take, table, 3 * np.arange(64) * 16)
    wanted = str(error)
    error = raises(IndexError, "", gathered(nisa.oob_mode.error), table)
    assert type(error) is IndexError
    assert str(error) == wanted
    assert isinstance(error.__cause__, NkiValidationError)


def test_such_a_row_is_left_out_on_demand():
    table = np.arange(128 * 16, dtype=np.float32).reshape(128, 16)
    rows = 3 * np.arange(64)
    expected = np.where(rows[:, None] < 128, table[np.minimum(rows, 127)], np.float32(-1))
    np.testing.assert_array_equal(gathered(nisa.oob_mode.skip)(table), expected)


def test_an_address_counted_in_a_traced_loop_is_that_of_the_first_turn():
    addresses = []

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        at = 1024
        for part in range(2):  # unrolled: every turn has its own
            for i in nl.affine_range(2):
                t = nl.ndarray(
                    (64, 8), np.float32, buffer=nki.compiler.sbuf.mod_alloc(base_addr=at)
                )
                at += 4096
                addresses.append(t.tensor.address)
                t[...] = nl.load(x[2 * part + i])
                nl.store(out[2 * part + i], t)
        return out

    x = np.random.default_rng(0).random((4, 64, 8), np.float32)
    with pytest.warns(UserWarning, match="traced once"):
        np.testing.assert_array_equal(nki.jit(kernel)(x), x)
    assert addresses == [(0, 1024), (0, 1024), (0, 9216), (0, 9216)]


def accumulated(total, x, k):
    """Add up over k in a function of its own, as AWS's flash attention does."""
    total[...] = nl.loop_reduce(nl.load(x), op=np.add, loop_indices=(k,))


@for_rows("is_apart", False, True)
@for_rows("k_first", False, True)
def test_a_reduction_over_one_loop_keeps_the_other_loops_apart(k_first, is_apart):
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.shared_hbm)
        totals = nl.ndarray((3, nl.par_dim(4), 5), np.float32, buffer=nl.sbuf)
        for one in nl.affine_range(2 if k_first else 3):
            for two in nl.affine_range(3 if k_first else 2):
                k, q = (one, two) if k_first else (two, one)
                if is_apart:
                    accumulated(totals[q], x[k, q], k)
                else:
                    totals[q] = nl.loop_reduce(nl.load(x[k, q]), op=np.add, loop_indices=(k,))
        for q in nl.affine_range(3):
            nl.store(out[q], totals[q])
        return out

    x = np.random.default_rng(0).random((2, 3, 4, 5), np.float32)
    np.testing.assert_allclose(kernel(x), x.sum(axis=0), rtol=1e-6)


def test_a_reduction_knows_nothing_of_the_instance_before():
    @nki.jit
    def kernel(x):
        out = nl.ndarray((2, 4, 5), dtype=x.dtype, buffer=nl.shared_hbm)
        g = nl.program_id(0)
        total = nl.ndarray((4, 5), np.float32, buffer=nl.sbuf)
        for k in nl.affine_range(3):
            if k > 0:  # as a sliding window leaves the first turn out
                total[...] = nl.loop_reduce(nl.load(x[g, k]), op=np.add, loop_indices=(k,))
        nl.store(out[g], total)
        return out

    x = np.random.default_rng(0).random((2, 3, 4, 5), np.float32)
    np.testing.assert_allclose(kernel[2](x), x[:, 1:].sum(axis=1), rtol=1e-6)
