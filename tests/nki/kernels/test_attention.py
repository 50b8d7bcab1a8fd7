"""Softmax, rotary embedding and fused attention.  Judges: NumPy in float64, PyTorch where it is."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows
from tests.nki.cases import new, stored

BF16 = ml_dtypes.bfloat16


def softmax_by_numpy(x):
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@nki.jit
def softmax(x_hbm):
    """Rows on partitions: maximum, exponential with its sum at once, reciprocal, scale."""
    rows = x_hbm.shape[0]
    out = nl.ndarray(x_hbm.shape, x_hbm.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(-(-rows // 128)):
        here = slice(start * 128, min(rows, start * 128 + 128))
        x = nl.load(x_hbm[here, :])
        column, total = (x.shape[0], 1), nl.ndarray((x.shape[0], 1), nl.float32, buffer=nl.sbuf)
        top = new(nisa.tensor_reduce, column, op=nl.maximum, data=x, axis=1, negate=True)
        e = new(nisa.activation, x.shape, op=nl.exp, data=x, bias=top, reduce_op=nl.add,
                reduce_res=total, reduce_cmd=nisa.reduce_cmd.reset_reduce)  # fmt: skip
        scale = new(nisa.reciprocal, column, data=total)
        y = new(
            nisa.tensor_scalar, x.shape, dtype=x_hbm.dtype, data=e, op0=nl.multiply, operand0=scale
        )
        nl.store(out[here, :], y)
    return out


@for_rows("dtype, rtol", (np.float32, 1e-5), (BF16, 1e-2))
@for_rows("shape", (128, 512), (150, 33), (1, 1))
def test_softmax(shape, dtype, rtol):
    x = (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)
    got = softmax(x).astype(np.float64)
    np.testing.assert_allclose(got, softmax_by_numpy(x), rtol=rtol, atol=1e-7)


@nki.jit
def rotary(x_hbm, cos_hbm, sin_hbm, interleaved=False):
    """Turn pairs of features by an angle per position; x [positions, heads, features]."""
    positions, heads, features = x_hbm.shape
    half = features // 2
    x, cos, sin = nl.load(x_hbm), nl.load(cos_hbm), nl.load(sin_hbm)
    y = nl.ndarray(x.shape, x_hbm.dtype, buffer=nl.sbuf)
    first, second = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (
        slice(0, half), slice(half, features))  # fmt: skip
    one = nl.ndarray((positions, half), nl.float32, buffer=nl.sbuf)
    two = nl.ndarray((positions, half), nl.float32, buffer=nl.sbuf)
    for head in nl.static_range(heads):
        a, b = x[:, head, first], x[:, head, second]
        nisa.tensor_tensor(dst=one, data1=a, data2=cos, op=nl.multiply)
        nisa.tensor_tensor(dst=two, data1=b, data2=sin, op=nl.multiply)
        nisa.tensor_tensor(dst=y[:, head, first], data1=one, data2=two, op=nl.subtract)
        nisa.tensor_tensor(dst=one, data1=a, data2=sin, op=nl.multiply)
        nisa.tensor_tensor(dst=two, data1=b, data2=cos, op=nl.multiply)
        nisa.tensor_tensor(dst=y[:, head, second], data1=one, data2=two, op=nl.add)
    return stored(y, x_hbm.dtype)


@for_rows("interleaved", False, True)
def test_rotary(interleaved):
    x = np.random.default_rng(1).standard_normal((100, 3, 64)).astype(np.float32)
    angle = np.arange(100)[:, None] / 100.0 ** (np.arange(32) / 32)
    got = rotary(x, np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32), interleaved)
    pairs = x[..., ::2] + 1j * x[..., 1::2] if interleaved else x[..., :32] + 1j * x[..., 32:]
    turned = pairs * np.exp(1j * angle)[:, None]
    expected = np.empty(x.shape)
    if interleaved:
        expected[..., ::2], expected[..., 1::2] = turned.real, turned.imag
    else:
        expected[..., :32], expected[..., 32:] = turned.real, turned.imag
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@dataclass(frozen=True)
class FlashOptions:
    """Tile sizes and the mask of the attention kernel."""

    scale: float
    is_causal: bool = True
    block_k: int = 512


def scores_of_block(q_turned, k_turned, q0, k0, size, options):
    """Return scaled and masked scores [queries, size] in SBUF."""
    queries = q_turned.shape[1]
    bank = nl.ndarray((queries, size), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=bank, stationary=q_turned, moving=k_turned[:, nl.ds(k0, size)])
    scores = new(nisa.activation, (queries, size), op=nl.copy, data=bank, scale=options.scale)
    if options.is_causal and k0 + size > q0:
        nisa.affine_select(
            dst=scores, pattern=[[-1, size]], offset=q0 - k0, channel_multiplier=1,
            on_true_tile=scores, on_false_value=-30000.0, cmp_op=nl.greater_equal,
        )  # fmt: skip
    return scores


@nki.jit
def flash_attention(q_hbm, k_hbm, v_hbm, options):
    """One head per program: running maximum, running sum, output rescaled block by block.

    q, k: [heads, features, length]; v: [heads, length, features]; out: [heads, length, features].
    """
    heads, features, length = q_hbm.shape
    keys = k_hbm.shape[2]
    out = nl.ndarray((heads, length, features), q_hbm.dtype, buffer=nl.shared_hbm)
    for head in range(nl.program_id(0), heads, nl.num_programs(0)):
        k_turned = nl.load(k_hbm[head])
        v_tiles = [nl.load(v_hbm[head, s : s + 128, :]) for s in range(0, keys, 128)]
        for q0 in range(0, length, 128):
            queries = min(128, length - q0)
            q_turned = nl.load(q_hbm[head, :, q0 : q0 + queries])
            highest = nl.full((queries, 1), -30000.0, nl.float32)
            total = nl.zeros((queries, 1), nl.float32)
            result = nl.zeros((queries, features), nl.float32)
            last = min(keys, q0 + queries) if options.is_causal else keys
            for k0 in range(0, last, options.block_k):
                size = min(options.block_k, keys - k0)
                scores = scores_of_block(q_turned, k_turned, q0, k0, size, options)
                now = new(nisa.tensor_reduce, (queries, 1), op=nl.maximum, data=scores, axis=1)
                nisa.tensor_tensor(dst=now, data1=now, data2=highest, op=nl.maximum)
                shrink = nl.exp(nl.subtract(highest, now))
                minus = nl.ndarray((queries, 1), nl.float32, buffer=nl.sbuf)
                nisa.tensor_scalar(dst=minus, data=now, op0=nl.multiply, operand0=-1.0)
                p = nl.ndarray((queries, size), q_hbm.dtype, buffer=nl.sbuf)
                part = nl.ndarray((queries, 1), nl.float32, buffer=nl.sbuf)
                nisa.activation_reduce(
                    dst=p, op=nl.exp, data=scores, bias=minus, reduce_op=nl.add, reduce_res=part
                )
                nisa.scalar_tensor_tensor(dst=total, data=total, op0=nl.multiply, operand0=shrink,
                                          op1=nl.add, operand1=part)  # fmt: skip
                product = nl.ndarray((queries, features), nl.float32, buffer=nl.psum)
                for s in range(0, size, 128):
                    width = min(128, size - s)
                    turned = nl.ndarray((width, queries), p.dtype, buffer=nl.psum)
                    nisa.nc_transpose(dst=turned, data=p[:, s : s + width])
                    weights = new(nisa.tensor_copy, (width, queries), dtype=p.dtype, src=turned)
                    nisa.nc_matmul(dst=product, stationary=weights, moving=v_tiles[(k0 + s) // 128],
                                   accumulate=s > 0)  # fmt: skip
                nisa.scalar_tensor_tensor(
                    dst=result, data=result, op0=nl.multiply, operand0=shrink,
                    op1=nl.add, operand1=product,
                )  # fmt: skip
                nisa.tensor_copy(dst=highest, src=now)
            y = nl.ndarray((queries, features), q_hbm.dtype, buffer=nl.sbuf)
            nisa.reciprocal(dst=total, data=total)
            nisa.tensor_scalar(dst=y, data=result, op0=nl.multiply, operand0=total)
            nl.store(out[head, q0 : q0 + queries, :], y)
    return out


def attention_by_numpy(q, k, v, scale, *, is_causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("hfq,hfk->hqk", q, k) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
    return softmax_by_numpy(scores) @ v


@for_rows("is_causal", True, False)
@for_rows("programs", 1, 2)
@for_rows("dtype, length, features, rtol", (np.float32, 256, 64, 1e-4), (BF16, 640, 128, 3e-2))
def test_flash_attention(is_causal, programs, dtype, length, features, rtol):
    draw = np.random.default_rng(2)
    q, k = draw.standard_normal((2, 2, features, length)).astype(dtype)
    v = draw.standard_normal((2, length, features)).astype(dtype)
    options = FlashOptions(scale=features**-0.5, is_causal=is_causal)
    got = flash_attention[programs](q, k, v, options).astype(np.float64)
    expected = attention_by_numpy(q, k, v, options.scale, is_causal=is_causal)
    assert np.abs(got - expected).max() <= rtol * np.abs(expected).max()


@pytest.mark.judge
def test_flash_attention_against_torch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 128, 64)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    turned = (x.transpose(1, 2).contiguous() for x in (q, k))
    got = nki.simulate(flash_attention[1])(*turned, v, FlashOptions(64**-0.5))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
