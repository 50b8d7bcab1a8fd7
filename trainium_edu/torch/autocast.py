"""``torch.autocast`` for the device: which operations run in 16 bits, which stay in FP32.

Modelled: the lists of PyTorch/XLA.  Operands are cast by operations of their own, which the graph
shows.  Left out: PyTorch's cache of weights that were cast already; each use casts again.

Sources: `pytorch-xla`, ``torch_xla/csrc/autocast_mode.cpp``.
"""

from functools import partial

import torch
from torch.utils._pytree import tree_leaves, tree_map

from trainium_edu.torch.operations import overload

__all__ = ["autocast_kernels"]

#: run in the type of autocast
_NARROW = (
    "conv1d", "conv1d.padding", "conv2d", "conv2d.padding", "conv3d", "conv3d.padding", "bmm", "mm",
    "baddbmm", "addmm", "addbmm", "linear", "matmul", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d.input", "conv_transpose3d.input", "prelu", "relu", "max_pool2d", "einsum",
)  # fmt: skip
#: run in FP32
_WIDE = (
    "batch_norm", "_softmax", "softmax.int", "log_softmax.int", "binary_cross_entropy",
    "pow.Tensor_Scalar", "prod", "prod.dim_int", "cdist", "trace", "cholesky", "inverse",
    "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d",
    "replication_pad3d", "mse_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d",
    "hinge_embedding_loss", "smooth_l1_loss", "cross_entropy_loss", "l1_loss",
    "margin_ranking_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss",
    "ctc_loss.IntList", "ctc_loss.Tensor", "kl_div", "multilabel_margin_loss",
    "binary_cross_entropy_with_logits", "multilabel_margin_loss_forward",
)  # fmt: skip
#: run in the widest type of their tensors
_WIDEST = ("stack", "cat", "index_copy")

_KEY = torch._C.DispatchKey.AutocastPrivateUse1
_OFF = torch._C.DispatchKeySet(_KEY)


def autocast_kernels() -> list:
    """Register the lists; what is in none of them passes through."""
    library, others = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    others.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for names, kind in ((_NARROW, _narrow), (_WIDE, _wide), (_WIDEST, _widest)):
        for name in names:
            kernel = partial(_in_type, overload(f"aten::{name}"), kind)
            library.impl(name, kernel, "AutocastPrivateUse1")
    return [library, others]


def _narrow(given):
    return torch.get_autocast_dtype("xla")


def _wide(given):
    return torch.float32


def _widest(given):
    kinds = {t.dtype for t in tree_leaves(given) if torch.is_tensor(t) and t.is_floating_point()}
    return torch.float32 if torch.float32 in kinds or len(kinds) > 1 else _narrow(given)


def _in_type(func, kind, *args, **kwargs):
    """Call with floating-point tensors of the device cast to a type, and autocast off."""
    dtype = kind((args, kwargs))

    def cast(one):
        if not isinstance(one, torch.Tensor) or one.device.type != "xla":
            return one
        return one.to(dtype) if one.is_floating_point() and one.dtype != torch.float64 else one

    with torch._C._ExcludeDispatchKeyGuard(_OFF):
        args, kwargs = tree_map(cast, (args, kwargs))
        return func(*args, **kwargs)
