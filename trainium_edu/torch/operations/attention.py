"""Attention of FP32 without a mask, forward and back, as one call each.

PyTorch names these calls after a fused kernel of CUDA.  Here they are the products and the softmax
of its plain formula, bit for bit.  The weights take the place of ``log_sumexp``, the scaled queries
and keys that of the random state.
"""

from math import sqrt
from types import SimpleNamespace

import torch

from trainium_edu.torch.operations.normalise import _safe_softmax, _softmax_backward
from trainium_edu.torch.operations.table import ON_CPU, both
from trainium_edu.xla import numpy as xnp

__all__ = ["is_plain"]

_LAZY = SimpleNamespace(
    reshape=xnp.reshape, swapaxes=xnp.swapaxes, matmul=xnp.matmul, softmax=_safe_softmax,
    softmax_back=_softmax_backward,
)  # fmt: skip
_TORCH = SimpleNamespace(
    reshape=torch.reshape, swapaxes=torch.transpose, matmul=torch.bmm,
    softmax=ON_CPU["aten::_safe_softmax"], softmax_back=torch._softmax_backward_data,
)  # fmt: skip


def is_plain(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
             enable_gqa=False) -> bool:  # fmt: skip
    """Return whether an attention is one of these; where a script wants its parts, it is not."""
    given = query, key, value
    if attn_mask is not None or dropout_p or is_causal or enable_gqa or (scale or 1) < 0:
        return False
    return (torch.backends.cuda.flash_sdp_enabled()
            and all(x.dim() == 4 and x.dtype is torch.float32 and x.numel() for x in given)
            and query.shape[:2] == key.shape[:2] == value.shape[:2]
            and query.shape[3] == key.shape[3] and key.shape[2] == value.shape[2])  # fmt: skip


def _root(query, scale) -> float:
    return sqrt(1.0 / sqrt(query.shape[3]) if scale is None else scale)


def _heads(on, x):
    """Return the matrices of all heads of all examples in a row."""
    return on.reshape(x, (-1, *x.shape[2:]))


@both("_scaled_dot_product_efficient_attention", _LAZY, _TORCH)
def _attention(on, query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0,
               is_causal=False, scale=None):  # fmt: skip
    root, lead = _root(query, scale), query.shape[:3]
    queries = _heads(on, query * root)
    keys = _heads(on, on.swapaxes(key, 2, 3) * root)
    weights = on.softmax(on.reshape(on.matmul(queries, keys), (*lead, key.shape[2])), 3)
    out = on.matmul(_heads(on, weights), _heads(on, value))
    return on.reshape(out, (*lead, value.shape[3])), weights, queries, keys


@both("_scaled_dot_product_efficient_attention_backward", _LAZY, _TORCH)
def _attention_backward(on, grad_out_, query, key, value, attn_bias, out, weights, queries, keys,
                        dropout_p, grad_input_mask, is_causal=False, scale=None):  # fmt: skip
    root, grad = _root(query, scale), _heads(on, grad_out_)
    for_query, for_key, for_value, *_ = grad_input_mask
    of_query = of_key = of_value = None
    if for_value:
        turned = on.swapaxes(_heads(on, weights), 1, 2)
        of_value = on.reshape(on.matmul(turned, grad), value.shape)
    if for_query or for_key:
        back = on.matmul(grad, on.swapaxes(_heads(on, value), 1, 2))
        back = on.softmax_back(on.reshape(back, weights.shape), weights, 3, torch.float32)
        back = _heads(on, back)
    if for_query:
        of_query = on.reshape(on.matmul(back, on.swapaxes(keys, 1, 2)), query.shape) * root
    if for_key:
        of_key = on.matmul(on.swapaxes(queries, 1, 2), back)
        of_key = on.reshape(of_key, (*key.shape[:2], key.shape[3], key.shape[2])) * root
        of_key = on.swapaxes(of_key, 2, 3)
    return of_query, of_key, of_value, None
