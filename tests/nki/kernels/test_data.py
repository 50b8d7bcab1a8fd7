"""Kernels that move and choose data: gathers, scatters, top k, transposes, scans.

Judges: NumPy indexing, sorting, ``cumsum`` and ``transpose``."""

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows
from tests.nki.cases import new, stored
from trainium_edu.specs import NkiValidationError

BF16 = ml_dtypes.bfloat16


@nki.jit
def embed(table, tokens):
    """Rows of a table by number, 128 at a time: one index per partition."""
    width = table.shape[1]
    count = tokens.shape[0]
    out = nl.ndarray((count, width), table.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(count // 128):
        here = nl.ds(start * 128, 128)
        index = new(nisa.dma_copy, (128, 1), dtype=nl.int32, src=tokens[here])
        rows = nl.ndarray((128, width), table.dtype, buffer=nl.sbuf)
        picked = table.ap(pattern=[[width, 128], [1, width]], vector_offset=index, indirect_dim=0)
        nisa.dma_copy(dst=rows, src=picked)
        nisa.dma_copy(dst=out[here], src=rows)
    return out


@for_rows("dtype", np.float32, BF16, np.int8)
def test_embed(dtype):
    draw = np.random.default_rng(0)
    table, tokens = draw.integers(-9, 9, (1000, 48)).astype(dtype), draw.integers(0, 1000, 256)
    np.testing.assert_array_equal(embed(table, tokens.astype(np.int32)), table[tokens])


def test_embed_says_which_index_is_outside():
    tokens = np.zeros(128, np.int32)
    tokens[77] = 10
    with pytest.raises(NkiValidationError, match=r"index 10 \(number 77\)"):
        embed(np.zeros((10, 4), np.float32), tokens)


@nki.jit
def scatter_rows(table, tokens, updates, is_added):
    """Write or add rows at indices of a table that is changed in place."""
    index, rows = nl.load(tokens.reshape((updates.shape[0], 1))), nl.load(updates)
    target = table.vector_select(0, index)
    if is_added:
        nisa.dma_compute(dst=target, srcs=[rows, target], reduce_op=nl.add)
    else:
        nisa.dma_copy(dst=target, src=rows, oob_mode=nisa.oob_mode.skip)
    return table


def test_scatter_in_place():
    draw = np.random.default_rng(1)
    table = draw.integers(0, 9, (50, 8)).astype(np.float32)
    before, tokens = table.copy(), draw.permutation(50)[:20].astype(np.int32)
    updates = draw.integers(0, 9, (20, 8)).astype(np.float32)
    scatter_rows(table, tokens, updates, True)
    before[tokens] += updates
    np.testing.assert_array_equal(table, before)
    tokens[3] = 50  # outside, and skipped
    scatter_rows(table, tokens, updates, False)
    kept = np.arange(20) != 3
    before[tokens[kept]] = updates[kept]
    np.testing.assert_array_equal(table, before)


@nki.jit
def cumulative_sum(x_hbm):
    """Scan along the free axis in pieces of 512, each starting from the last column before."""
    rows, width = x_hbm.shape
    out = nl.ndarray(x_hbm.shape, x_hbm.dtype, buffer=nl.shared_hbm)
    tiles = -(-rows // 128)
    for tile in range(nl.program_id(0), tiles, nl.num_programs(0)):
        here = slice(tile * 128, min(rows, tile * 128 + 128))
        count = here.stop - here.start
        ones = nl.ones((count, 512), nl.float32)
        carry = nl.zeros((count, 1), nl.float32)
        for start in nl.sequential_range(0, width, 512):
            size = min(512, width - start)
            x = nl.load(x_hbm[here, start : start + size])
            y = nl.ndarray((count, size), nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=y, data0=ones[:, 0:size], data1=x, initial=carry, op0=nl.multiply, op1=nl.add
            )
            nisa.tensor_copy(dst=carry, src=y[:, size - 1 : size])
            nl.store(out[here, start : start + size], y)
    return out


@for_rows("programs", 1, 2, 3)
def test_cumulative_sum(programs):
    x = np.random.default_rng(2).integers(-5, 6, (300, 1100)).astype(np.float32)
    np.testing.assert_array_equal(cumulative_sum[programs](x), np.cumsum(x, axis=1))


@nki.jit
def top_k(x_hbm, k):
    """The k largest of each row and where they are: eight at a time, found ones struck out."""
    rows = x_hbm.shape[0]
    values = nl.ndarray((rows, k), nl.float32, buffer=nl.shared_hbm)
    places = nl.ndarray((rows, k), nl.uint32, buffer=nl.shared_hbm)
    left = nl.load(x_hbm)
    best = nl.ndarray((rows, k), nl.float32, buffer=nl.sbuf)
    where = nl.ndarray((rows, k), nl.uint32, buffer=nl.sbuf)
    original = nl.copy(left)
    for start in nl.static_range(0, k, 8):
        eight = best[:, start : start + 8]
        nisa.max8(dst=eight, src=left)
        nisa.nc_find_index8(dst=where[:, start : start + 8], data=original, vals=eight)
        nisa.nc_match_replace8(dst=left, data=left, vals=eight, imm=-30000.0)
    nl.store(values, best)
    nl.store(places, where)
    return values, places


@for_rows("k", 8, 32)
def test_top_k(k):
    x = np.random.default_rng(3).permuted(np.tile(np.arange(200.0), (100, 1)), axis=1)
    values, places = top_k(x.astype(np.float32), k)
    order = np.argsort(-x, axis=1)[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@nki.jit
def cross_entropy(logits_hbm, targets_hbm):
    """-log softmax at the target, the target's logit found by comparing with a counted row."""
    rows, classes = logits_hbm.shape
    x, target = nl.load(logits_hbm), nl.load(targets_hbm.reshape((rows, 1)))
    wanted = new(nisa.tensor_copy, (rows, 1), src=target)
    column = new(nisa.iota, (rows, classes), pattern=[[1, classes]])
    chosen = nl.ndarray((rows, classes), nl.float32, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(
        dst=chosen, data=column, op0=nl.equal, operand0=wanted, op1=nl.multiply, operand1=x
    )
    logit = nl.sum(chosen, axis=1, keepdims=True)
    minus_max = new(nisa.tensor_reduce, (rows, 1), op=nl.maximum, data=x, axis=1, negate=True)
    total = nl.ndarray((rows, 1), nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(
        dst=chosen, op=nl.exp, data=x, bias=minus_max, reduce_op=nl.add, reduce_res=total
    )
    nisa.activation(dst=total, op=nl.log, data=total)
    nisa.tensor_tensor(dst=total, data1=total, data2=minus_max, op=nl.subtract)
    nisa.tensor_tensor(dst=total, data1=total, data2=logit, op=nl.subtract)
    return stored(total, nl.float32)


def test_cross_entropy():
    draw = np.random.default_rng(7)
    x, target = draw.standard_normal((100, 333)) * 4, draw.integers(0, 333, 100)
    expected = np.log(np.exp(x).sum(1)) - x[np.arange(100), target]
    got = cross_entropy(x.astype(np.float32), target.astype(np.int32))[:, 0]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
