"""Kernels as libraries write them: allocators, scopes, ragged edges, in-place state, pipelines.

Judges: NumPy in float64; integers small enough to be exact."""

import math

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

BF16 = ml_dtypes.bfloat16
DRAW = np.random.default_rng(3)


def sbuf(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype, buffer=nl.sbuf)


def psum(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype, buffer=nl.psum)


def loaded(source, *shape, dtype=None):
    tile = sbuf(*shape, dtype=dtype or source.dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


class Stack(nl.NKIObject):
    """Hands out addresses in SBUF, and takes back all of a scope at once."""

    def __init__(self, limit):
        self.limit = limit
        self.top = 0
        self.marks = []

    def __enter__(self):
        self.marks.append(self.top)

    def __exit__(self, *_):
        self.top = self.marks.pop()

    def tile(self, shape, dtype):
        at = self.top
        size = math.prod(shape[1:]) * {"float32": 4, "bfloat16": 2}[dtype]
        self.top += -(-size // 32) * 32
        assert self.top <= self.limit
        return nl.ndarray(shape, dtype, buffer=nl.sbuf, address=(0, at))


@nki.jit
def mlp_on_a_stack(x, w1, b1, w2, *, activation=nl.relu, limit=96 * 1024):
    (tokens, width), inner, outer = x.shape, w1.shape[1], w2.shape[1]
    out = nl.ndarray((tokens, outer), x.dtype, buffer=nl.shared_hbm)
    stack = Stack(limit)
    hidden = [stack.tile((min(128, inner - i), tokens), x.dtype) for i in range(0, inner, 128)]
    with stack:
        turned = [stack.tile((min(128, width - k), tokens), x.dtype) for k in range(0, width, 128)]
        for k, tile in enumerate(turned):
            nisa.dma_copy(dst=tile, src=x[:, nl.ds(128 * k, tile.shape[0])].permute((1, 0)))
        for j, tile in enumerate(hidden):
            columns = nl.ds(128 * j, tile.shape[0])
            sums = psum(tile.shape[0], tokens)
            with stack:
                for k, part in enumerate(turned):
                    w = stack.tile((part.shape[0], tile.shape[0]), w1.dtype)
                    nisa.dma_copy(dst=w, src=w1[nl.ds(128 * k, part.shape[0]), columns])
                    nisa.nc_matmul(dst=sums, stationary=w, moving=part, accumulate=k > 0)
                bias = stack.tile((tile.shape[0], 1), nl.float32)
                nisa.dma_copy(dst=bias, src=b1[columns])
                nisa.activation(dst=tile, op=activation, data=sums, bias=bias)
    for first in range(0, outer, 512):
        columns = nl.ds(first, min(512, outer - first))
        sums = psum(tokens, columns.size)
        with stack:
            for j, tile in enumerate(hidden):
                w = stack.tile((tile.shape[0], columns.size), w2.dtype)
                nisa.dma_copy(dst=w, src=w2[nl.ds(128 * j, tile.shape[0]), columns])
                nisa.nc_matmul(dst=sums, stationary=tile, moving=w, accumulate=j > 0)
            y = stack.tile((tokens, columns.size), x.dtype)
            nisa.tensor_copy(dst=y, src=sums)
            nisa.dma_copy(dst=out[:, columns], src=y)
    return out


def test_an_mlp_whose_tiles_a_stack_places():
    x, w1, w2 = (
        DRAW.integers(-2, 3, shape).astype(BF16) for shape in [(100, 200), (200, 300), (300, 700)]
    )
    b1 = DRAW.integers(-4, 5, 300).astype(np.float32)
    hidden = np.maximum(x.astype(np.float32) @ w1.astype(np.float32) + b1, 0).astype(BF16)
    expected = hidden.astype(np.float64) @ w2.astype(np.float64)
    run = nki.run(mlp_on_a_stack, x, w1, b1, w2)
    np.testing.assert_array_equal(run.outputs, expected.astype(np.float32).astype(BF16))


def turned(tile, rows, columns):
    sums = psum(rows, columns, dtype=tile.dtype)
    nisa.nc_transpose(dst=sums, data=tile)
    return nl.copy(sums)


@nki.jit
def state_space_in_chunks(x, decay, b, c, chunk=64):
    """Compute ``s = exp(decay) s + b x``, ``y = c s``: matmuls in a chunk, a state between two."""
    (length, width), states = x.shape, b.shape[1]
    y_hbm = nl.ndarray((length, width), nl.float32, buffer=nl.shared_hbm)
    state_hbm = nl.ndarray((states, width), nl.float32, buffer=nl.shared_hbm)
    state, ones = nl.zeros((states, width), nl.float32), nl.ones((1, chunk), nl.float32)
    for k in nl.sequential_range(length // chunk):
        rows = nl.ds(k * chunk, chunk)
        xs = loaded(x[rows], chunk, width)
        bs, cs = loaded(b[rows], chunk, states), loaded(c[rows], chunk, states)
        sums = sbuf(1, chunk)
        step = loaded(decay[rows].reshape((1, chunk)), 1, chunk)
        nisa.tensor_tensor_scan(
            dst=sums, data0=ones, data1=step, initial=0.0, op0=nl.multiply, op1=nl.add
        )
        later, earlier = psum(chunk, chunk), psum(chunk, chunk)
        nisa.nc_matmul(dst=later, stationary=ones, moving=sums)
        nisa.nc_matmul(dst=earlier, stationary=sums, moving=ones)
        between = nl.subtract(later, earlier)
        nisa.affine_select(dst=between, pattern=[[1, chunk]], channel_multiplier=-1,
                           on_true_tile=between, on_false_value=-1e30,
                           cmp_op=nl.greater_equal)  # fmt: skip
        nisa.activation(dst=between, op=nl.exp, data=between)
        bt, ct = turned(bs, states, chunk), turned(cs, states, chunk)
        scores, y = psum(chunk, chunk), psum(chunk, width)
        nisa.nc_matmul(dst=scores, stationary=bt, moving=ct)
        nisa.nc_matmul(dst=y, stationary=nl.multiply(scores, between), moving=xs)
        grown = psum(states, chunk)
        nisa.nc_matmul(dst=grown, stationary=ones[:, 0:states], moving=nl.exp(sums))
        nisa.nc_matmul(dst=y, stationary=nl.multiply(grown, ct), moving=state, accumulate=True)
        nl.store(y_hbm[rows], nl.copy(y))
        added = psum(states, width)
        left = nl.multiply(bs, between[:, chunk - 1 : chunk])
        nisa.nc_matmul(dst=added, stationary=left, moving=xs)
        nisa.scalar_tensor_tensor(dst=state, data=state, op0=nl.multiply, op1=nl.add,
                                  operand0=nl.copy(grown[:, chunk - 1 : chunk]),
                                  operand1=added)  # fmt: skip
    nl.store(state_hbm, state)
    return y_hbm, state_hbm


def test_a_state_space_model_in_chunks():
    x, b, c = (DRAW.uniform(-1, 1, (192, n)).astype(np.float32) for n in (40, 16, 16))
    decay = -DRAW.uniform(0, 0.3, (192, 1)).astype(np.float32)
    state, expected = np.zeros((16, 40)), []
    for t in range(192):
        state = np.exp(np.float64(decay[t, 0])) * state + np.outer(b[t], x[t])
        expected.append(c[t] @ state)
    y, last = state_space_in_chunks(x, decay, b, c)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    np.testing.assert_allclose(last, state, atol=1e-5)


@nki.jit
def adam(p, g, m, v, *, rate, first=0.9, second=0.999, tiny=1e-8, step=1):
    """Update three arguments in place; the last elements do not fill a row."""
    count, wide = p.shape[0], 64
    whole = count // wide * wide

    def update(places, rows, columns):
        pt, gt, mt, vt = (loaded(place, rows, columns) for place in places)
        nisa.tensor_scalar(dst=mt, data=mt, op0=nl.multiply, operand0=first)
        nisa.scalar_tensor_tensor(
            dst=mt, data=gt, op0=nl.multiply, operand0=1 - first, op1=nl.add, operand1=mt
        )
        nisa.tensor_scalar(dst=vt, data=vt, op0=nl.multiply, operand0=second)
        nisa.scalar_tensor_tensor(dst=vt, data=nl.square(gt), op0=nl.multiply,
                                  operand0=1 - second, op1=nl.add, operand1=vt)  # fmt: skip
        root = sbuf(rows, columns)
        nisa.activation(dst=root, op=nl.sqrt, data=vt, scale=1 / (1 - second**step))
        change = nl.multiply(nl.reciprocal(nl.add(root, tiny)), mt)
        nisa.scalar_tensor_tensor(dst=pt, data=change, op0=nl.multiply,
                                  operand0=-rate / (1 - first**step), op1=nl.add,
                                  operand1=pt)  # fmt: skip
        for place, tile in zip((places[0], places[2], places[3]), (pt, mt, vt), strict=True):
            nisa.dma_copy(dst=place, src=tile)

    rows = [t[0:whole].reshape((whole // wide, wide)) for t in (p, g, m, v)]
    for k in range(0, whole // wide, 128):
        size = min(128, whole // wide - k)
        update([t[nl.ds(k, size)] for t in rows], size, wide)
    if count > whole:
        update([t[whole:count].reshape((1, count - whole)) for t in (p, g, m, v)], 1, count - whole)


def test_an_optimiser_updates_its_arguments_to_the_last_element():
    p, g, m = (DRAW.uniform(-1, 1, 200 * 64 + 17).astype(np.float32) for _ in range(3))
    v = DRAW.uniform(0, 0.01, p.size).astype(np.float32)
    wide_m = 0.9 * np.float64(m) + 0.1 * g
    wide_v = 0.999 * np.float64(v) + 0.001 * np.float64(g) ** 2
    change = wide_m / (1 - 0.9**3) / (np.sqrt(wide_v / (1 - 0.999**3)) + 1e-8)
    expected = p - 1e-3 * change
    adam(p, g, m, v, rate=1e-3, step=3)
    for found, wanted in ((p, expected), (m, wide_m), (v, wide_v)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
