"""Normalising kernels in the style of public libraries.  Judges: NumPy in float64 (PyTorch where it
is installed says the same of layer norm)."""

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


@dataclass
class NormOptions(nl.NKIObject):
    """What a caller configures."""

    eps: float = 1e-6
    scale_after: bool = True


def rows_of(total, step=128):
    for start in range(0, total, step):
        yield start, min(step, total - start)


@nki.jit
def rms_norm(hidden, gamma, options):
    """y = x / sqrt(mean(x^2) + eps) * gamma, 128 tokens at a time, sums on the Scalar Engine."""
    tokens, width = hidden.shape
    out = nl.ndarray((tokens, width), hidden.dtype, buffer=nl.shared_hbm)
    ones = new(nisa.memset, (1, nl.tile_size.pmax), value=1.0)
    row = new(nisa.dma_copy, (1, width), src=gamma.reshape((1, width)))
    weights = nl.ndarray((nl.tile_size.pmax, width), nl.float32, buffer=nl.sbuf)
    for start in range(0, width, 512):  # repeat gamma on all partitions: ones.T @ gamma
        size = min(512, width - start)
        bank = nl.ndarray((nl.tile_size.pmax, size), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=bank, stationary=ones, moving=row[:, nl.ds(start, size)])
        nisa.tensor_copy(dst=weights[:, nl.ds(start, size)], src=bank)
    eps = nl.full((nl.tile_size.pmax, 1), options.eps, nl.float32)
    for start, size in rows_of(tokens):
        x = new(nisa.dma_copy, (size, width), src=hidden[nl.ds(start, size)])
        squares = nl.ndarray((size, width), nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((size, 1), nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=squares, op=nl.square, data=x, reduce_op=nl.add, reduce_res=total
        )
        inverse = nl.ndarray((size, 1), nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps[0:size])
        y = nl.ndarray((size, width), hidden.dtype, buffer=nl.sbuf)
        if options.scale_after:
            nisa.scalar_tensor_tensor(dst=y, data=x, op0=nl.multiply, operand0=inverse,
                                      op1=nl.multiply, operand1=weights[0:size])  # fmt: skip
        else:
            nisa.tensor_scalar(dst=y, data=x, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[start : start + size], src=y)
    return out


@for_rows("dtype", np.float32, BF16)
@for_rows("shape", (128, 512), (200, 768), (1, 64))
@for_rows("scale_after", True, False)
def test_rms_norm(dtype, shape, scale_after):
    draw = np.random.default_rng(0)
    x, gamma = draw.standard_normal(shape).astype(dtype), draw.standard_normal(shape[1])
    gamma = gamma.astype(np.float32)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6)
    if scale_after:
        expected = expected * gamma
    got = rms_norm(x, gamma, NormOptions(scale_after=scale_after)).astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == np.float32 else 1e-2, atol=1e-5)


@nki.jit
def layer_norm(x_hbm, gamma, beta, eps=1e-5):
    """Mean and variance by bn_stats, 512 elements at a time; x * inverse - mean * inverse."""
    tokens, width = x_hbm.shape
    out = nl.ndarray(x_hbm.shape, x_hbm.dtype, buffer=nl.shared_hbm)
    weights = nl.broadcast_to(nl.load(gamma.reshape((1, width))), (128, width))
    biases = nl.broadcast_to(nl.load(beta.reshape((1, width))), (128, width))
    pieces = -(-width // 512)
    for start, size in rows_of(tokens):
        x = nl.load(x_hbm[start : start + size, :])
        stats = nl.ndarray((size, pieces * 6), nl.float32, buffer=nl.sbuf)
        for k in nl.affine_range(pieces):
            part = x[:, k * 512 : min(width, (k + 1) * 512)]
            nisa.bn_stats(dst=stats[:, k * 6 : k * 6 + 6], data=part)
        mean_var = new(nisa.bn_aggr, (size, 2), data=stats)
        inverse = nl.ndarray((size, 1), nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=inverse, data=mean_var[:, 1:2], op0=nl.add, operand0=eps)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=inverse)
        centred = nl.ndarray((size, width), nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=x, op0=nl.subtract, operand0=mean_var[:, 0:1],
                           op1=nl.multiply, operand1=inverse)  # fmt: skip
        nisa.tensor_tensor(dst=centred, data1=centred, data2=weights[0:size], op=nl.multiply)
        y = nl.ndarray((size, width), x_hbm.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=y, data1=centred, data2=biases[0:size], op=nl.add)
        nl.store(out[start : start + size, :], y)
    return out


def layer_norm_by_numpy(x, gamma, beta, eps=1e-5):
    x = x.astype(np.float64)
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt(x.var(1, keepdims=True) + eps) * gamma + beta


@for_rows("shape", (128, 512), (130, 1024), (3, 96))
def test_layer_norm(shape):
    draw = np.random.default_rng(1)
    x = (draw.standard_normal(shape) * 3 + 1).astype(np.float32)
    gamma, beta = draw.standard_normal((2, shape[1])).astype(np.float32)
    expected = layer_norm_by_numpy(x, gamma, beta)
    np.testing.assert_allclose(layer_norm(x, gamma, beta), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.judge
def test_layer_norm_of_torch_tensors():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, gamma, beta = torch.randn(64, 256), torch.randn(256), torch.randn(256)
    expected = torch.nn.functional.layer_norm(x, (256,), gamma, beta)
    got = nki.simulate(layer_norm)(x, gamma, beta)
    assert isinstance(got, torch.Tensor)
    torch.testing.assert_close(got, expected, rtol=2e-4, atol=2e-5)


@nki.jit
def group_norm(x_hbm, members, eps=1e-5):
    """Normalise groups of channels: channels on partitions, sums over a group by a matmul.

    ``members`` [channels, groups] holds 1 where a channel belongs to a group.
    """
    channels, size = x_hbm.shape
    groups = members.shape[1]
    x, belongs = nl.load(x_hbm), nl.load(members)
    sums = nl.ndarray((channels, 2), nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=sums[:, 0:1], op=nl.add, data=x, axis=1)
    squares = new(nisa.activation, (channels, size), op=nl.square, data=x)
    nisa.tensor_reduce(dst=sums[:, 1:2], op=nl.add, data=squares, axis=1)
    by_group = new(nisa.nc_matmul, (groups, 2), buffer=nl.psum, stationary=belongs, moving=sums)
    count = channels // groups * size
    moments = nl.ndarray((groups, 2), nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=moments, data=by_group, op0=nl.multiply, operand0=1.0 / count)
    variance = nl.ndarray((groups, 1), nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=variance, data1=moments[:, 0:1], data2=moments[:, 0:1], op=nl.multiply)
    nisa.tensor_tensor(dst=variance, data1=moments[:, 1:2], data2=variance, op=nl.subtract)
    nisa.tensor_scalar(dst=variance, data=variance, op0=nl.add, operand0=eps, op1=nl.rsqrt)
    nisa.tensor_copy(dst=moments[:, 1:2], src=variance)
    # back to channels: members.T on partitions of groups
    turned = nl.ndarray((groups, channels), nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=belongs, engine=nisa.engine.tensor)
    to_channels = nl.copy(turned)
    spread = nl.ndarray((channels, 2), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=spread, stationary=to_channels, moving=moments)
    per_channel = nl.copy(spread)
    y = nl.ndarray((channels, size), x_hbm.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=y, data=x, op0=nl.subtract, operand0=per_channel[:, 0:1],
                       op1=nl.multiply, operand1=per_channel[:, 1:2])  # fmt: skip
    return stored(y, x_hbm.dtype)


@for_rows("channels, groups", (64, 8), (128, 32), (32, 1))
def test_group_norm(channels, groups):
    x = np.random.default_rng(2).standard_normal((channels, 300)).astype(np.float32) + 2
    members = np.repeat(np.eye(groups, dtype=np.float32), channels // groups, axis=0)
    split = x.astype(np.float64).reshape(groups, -1)
    expected = (split - split.mean(1, keepdims=True)) / np.sqrt(split.var(1, keepdims=True) + 1e-5)
    got = group_norm(x, members)
    np.testing.assert_allclose(got, expected.reshape(x.shape), rtol=1e-3, atol=1e-4)
