"""Convolutions, MLP, pooling, quantisation: kernels in the style of public libraries.

Judges: NumPy in float64, ml_dtypes for the quantised numbers."""

import math
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows
from tests.nki.cases import new, stored

BF16 = ml_dtypes.bfloat16


@nki.jit
def depthwise_conv1d(x_hbm, w_hbm):
    """Channels on partitions; each tap is a scalar per partition times a shifted window."""
    channels, length = x_hbm.shape
    taps = w_hbm.shape[1]
    valid = length - taps + 1
    x, w = nl.load(x_hbm), nl.load(w_hbm)
    total = nl.ndarray((channels, valid), nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=total, data=x[:, 0:valid], op0=nl.multiply, operand0=w[:, 0:1])
    for tap in nl.static_range(1, taps):
        nisa.scalar_tensor_tensor(
            dst=total, data=x[:, nl.ds(tap, valid)], op0=nl.multiply,
            operand0=w[:, tap : tap + 1], op1=nl.add, operand1=total,
        )  # fmt: skip
    return stored(total, x_hbm.dtype)


@nki.jit
def conv1d(x_hbm, w_hbm, stride=1):
    """Sum over taps and input channels in PSUM: one matmul per tap on a strided window (.ap)."""
    c_in, length = x_hbm.shape
    taps, _, c_out = w_hbm.shape
    steps = (length - taps) // stride + 1
    out = nl.ndarray((c_out, steps), nl.float32, buffer=nl.shared_hbm)
    x = nl.load(x_hbm)
    w = new(nisa.dma_copy, (c_in, taps, c_out), dtype=w_hbm.dtype, src=w_hbm.permute((1, 0, 2)))
    for start in range(0, steps, 512):
        size = min(512, steps - start)
        bank = nl.ndarray((c_out, size), nl.float32, buffer=nl.psum)
        for tap in nl.affine_range(taps):
            window = x.ap(pattern=[[length, c_in], [stride, size]], offset=start * stride + tap)
            nisa.nc_matmul(dst=bank, stationary=w[:, tap, :], moving=window)
        nl.store(out[:, start : start + size], nl.copy(bank))
    return out


@nki.jit
def transposed_conv1d(x_hbm, w_hbm):
    """Scatter: every tap adds its product to a shifted window of one PSUM tile."""
    length = x_hbm.shape[1]
    taps, _, c_out = w_hbm.shape
    x = nl.load(x_hbm)
    bank = nl.ndarray((c_out, length + taps - 1), nl.float32, buffer=nl.psum)
    for tap in range(taps):
        nisa.nc_matmul(dst=bank[:, nl.ds(tap, length)], stationary=nl.load(w_hbm[tap]), moving=x)
    return stored(nl.copy(bank), nl.float32)


def test_depthwise_conv1d():
    draw = np.random.default_rng(0)
    x, w = draw.standard_normal((128, 300)), draw.standard_normal((128, 4))
    expected = sum(w[:, k, None] * x[:, k : 297 + k] for k in range(4))
    got = depthwise_conv1d(x.astype(np.float32), w.astype(np.float32))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@for_rows("stride", 1, 2, 3)
def test_conv1d(stride):
    draw = np.random.default_rng(1)
    x, w = draw.integers(-3, 4, (64, 700)), draw.integers(-3, 4, (5, 64, 32))
    steps = (700 - 5) // stride + 1
    windows = [x[:, k : k + (steps - 1) * stride + 1 : stride] for k in range(5)]
    expected = sum(w[k].T @ windows[k] for k in range(5))
    np.testing.assert_array_equal(conv1d(x.astype(BF16), w.astype(BF16), stride), expected)


def test_transposed_conv1d_adds_where_windows_overlap():
    draw = np.random.default_rng(2)
    x, w = draw.integers(-3, 4, (16, 40)), draw.integers(-3, 4, (4, 16, 8))
    expected = np.zeros((8, 43))
    for k in range(4):
        expected[:, k : k + 40] += w[k].T @ x
    got = transposed_conv1d(x.astype(np.float32), w.astype(np.float32))
    np.testing.assert_array_equal(got, expected)


@dataclass
class MlpWeights(nl.NKIObject):
    """Tensors travel inside an object."""

    up: object
    down: object
    bias: object = None
    names: list = field(default_factory=list)


@nki.jit
def gelu_mlp(x_hbm, weights, lnc_shard=False):
    """gelu(x @ up + bias) @ down; the hidden layer stays on chip, transposed, in lists of tiles."""
    tokens, width = x_hbm.shape
    hidden = weights.up.shape[1]
    out = nl.ndarray((tokens, width), nl.float32, buffer=nl.shared_hbm)
    up = [nl.load(weights.up[k : k + 128, :]) for k in range(0, width, 128)]
    down = [nl.load(weights.down[k : k + 128, :]) for k in range(0, hidden, 128)]
    blocks = range(0, tokens, 128)
    if lnc_shard:
        blocks = blocks[nl.program_id(0) :: nl.num_programs(0)]
    for start in blocks:
        count = min(128, tokens - start)
        x_turned = []
        for k in range(0, width, 128):
            tile = nl.ndarray((128, count), x_hbm.dtype, buffer=nl.sbuf)
            nisa.dma_transpose(dst=tile, src=x_hbm[start : start + count, k : k + 128])
            x_turned.append(tile)
        hidden_tiles = []
        for h in range(0, hidden, 128):
            bank = nl.ndarray((128, count), nl.float32, buffer=nl.psum)
            for k, tile in enumerate(x_turned):
                nisa.nc_matmul(dst=bank, stationary=up[k][:, h : h + 128], moving=tile)
            active = nl.ndarray((128, count), x_hbm.dtype, buffer=nl.sbuf)
            bias = None
            if weights.bias is not None:
                bias = new(nisa.dma_copy, (128, 1), src=weights.bias[h : h + 128])
            nisa.activation(dst=active, op=nl.gelu, data=bank, bias=bias)
            hidden_tiles.append(active)
        for n in range(0, width, 512):
            size = min(512, width - n)
            bank = nl.ndarray((count, size), nl.float32, buffer=nl.psum)
            for h, active in enumerate(hidden_tiles):
                nisa.nc_matmul(dst=bank, stationary=active, moving=down[h][:, n : n + size])
            nl.store(out[start : start + count, n : n + size], nl.copy(bank))
    return out


@for_rows("has_bias", True, False)
@for_rows("programs", None, 2)
def test_gelu_mlp(has_bias, programs):
    draw = np.random.default_rng(3)
    x = draw.standard_normal((200, 256)).astype(BF16)
    up, down = draw.standard_normal((2, 256, 384)).astype(BF16) * BF16(0.06)
    down = np.ascontiguousarray(down.T)
    bias = draw.standard_normal(384).astype(np.float32) if has_bias else None
    weights = MlpWeights(up, down, bias)
    kernel = gelu_mlp if programs is None else gelu_mlp[programs]
    got = kernel(x, weights, lnc_shard=programs is not None)
    h = x.astype(np.float64) @ up.astype(np.float64) + (bias if has_bias else 0)
    h = h * 0.5 * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
    expected = h @ down.astype(np.float64)
    assert np.abs(got - expected).max() <= 1e-2 * np.abs(expected).max()


@nki.jit
def max_pool(x_hbm, size):
    """Windows as a five-dimensional access pattern, reduced over its last two axes."""
    channels, height, width = x_hbm.shape
    tile = nl.load(x_hbm)
    windows = tile.ap([
        [height * width, channels], [size * width, height // size], [size, width // size],
        [width, size], [1, size],
    ])  # fmt: skip
    best = nl.ndarray((channels, height // size, width // size), x_hbm.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=best, op=nl.maximum, data=windows, axis=(3, 4))
    return stored(best, x_hbm.dtype)


@for_rows("size", 1, 2, 4)
def test_max_pool(size):
    x = np.random.default_rng(4).standard_normal((32, 8, 12)).astype(np.float32)
    expected = x.reshape(32, 8 // size, size, 12 // size, size).max((2, 4))
    np.testing.assert_array_equal(max_pool(x, size), expected)


@nki.jit
def quantise_rows(x_hbm, largest=240.0):
    """FP8 with one scale per row: x * (largest / max|x|) and max|x| / largest."""
    rows, width = x_hbm.shape
    codes = nl.ndarray((rows, width), nl.float8_e4m3, buffer=nl.shared_hbm)
    scales = nl.ndarray((rows, 1), nl.float32, buffer=nl.shared_hbm)
    x = nl.load(x_hbm)
    size = nl.ndarray((rows, width), nl.float32, buffer=nl.sbuf)
    top = nl.ndarray((rows, 1), nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=size, op=nl.abs, data=x)
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=size, axis=1)
    nisa.tensor_scalar(
        dst=top, data=top, op0=nl.maximum, operand0=1e-6, op1=nl.multiply, operand1=1.0 / largest
    )
    inverse = new(nisa.reciprocal, (rows, 1), data=top)
    y = nl.ndarray((rows, width), nl.float8_e4m3, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=y, data=x, op0=nl.multiply, operand0=inverse, op1=nl.minimum, operand1=largest
    )
    nl.store(codes, y)
    nl.store(scales, top)
    return codes, scales


def test_quantise_rows():
    x = np.random.default_rng(5).standard_normal((64, 100)).astype(np.float32) * 7
    codes, scales = quantise_rows(x)
    top = (np.abs(x).max(1, keepdims=True) * np.float32(1 / 240)).astype(np.float32)
    np.testing.assert_allclose(scales, top, rtol=1e-6)
    expected = np.minimum(x * (np.float32(1) / top), np.float32(240)).astype(ml_dtypes.float8_e4m3)
    near = np.abs(codes.astype(np.float32) - expected.astype(np.float32))
    assert (near <= 2.0**-3 * np.abs(expected.astype(np.float32))).all()
    assert (codes == expected).mean() > 0.99
