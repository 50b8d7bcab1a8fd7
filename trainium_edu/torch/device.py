"""The device ``xla``: PyTorch's place for a backend of one's own, filled from Python alone."""

import sys
import threading
import warnings
from functools import partial, wraps
from types import SimpleNamespace
from typing import Any

import torch
from torch._decomp import decompositions
from torch.optim import optimizer
from torch.utils._pytree import tree_map

from trainium_edu.torch import core as cores
from trainium_edu.torch.autocast import autocast_kernels
from trainium_edu.torch.backward import Guard, mend_engine
from trainium_edu.torch.calls import call_of
from trainium_edu.torch.operations import overload
from trainium_edu.torch.operations.attention import is_plain
from trainium_edu.torch.refusals import sentence
from trainium_edu.torch.tensor import XlaTensor, dispatch

__all__ = ["register"]


class _Hooks(torch._C._acc.PrivateUse1Hooks):
    def is_available(self, index=0):
        return True

    has_primary_context = is_built = is_available


class _AnyDevice:
    """A context for a device; there is one, whichever is named."""

    def __init__(self, device):
        self.index = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


#: What ``torch.xla`` offers, as PyTorch expects of a backend.
_MODULE = SimpleNamespace(
    is_available=lambda: True, is_initialized=lambda: True, set_device=lambda device: None,
    device_count=lambda: int(cores.current().machine.cores),
    current_device=lambda: cores.current().device.index, device=_AnyDevice,
    synchronize=lambda device=None: cores.current().clock.wait() and None,
    manual_seed_all=lambda seed: None, _is_in_bad_fork=lambda: False,
    get_amp_supported_dtype=lambda: [torch.bfloat16, torch.float16],
)  # fmt: skip
_lock = threading.Lock()
_kept: list = []  # what must live as long as the process


def register() -> None:
    """Make the device known to PyTorch; a second call changes nothing."""
    with _lock:
        if _kept:
            return
        mend_engine()
        torch.utils.rename_privateuse1_backend("xla")
        torch.set_autocast_dtype("xla", torch.bfloat16)
        torch.load, torch.nn.Module.to = _load_and_move, _to_and_tell
        torch.backends.mha.set_fastpath_enabled(False)  # nested tensors: XLA never takes them
        torch._register_device_module("xla", _MODULE)
        # DataParallel leaves a module alone, as where the only accelerator is XLA's
        parallel: Any = sys.modules["torch.nn.parallel.data_parallel"]  # a function has its name
        parallel._get_available_device_type = lambda: None
        hooks, guard = _Hooks(), Guard()
        torch._C._acc.register_python_privateuseone_hook(hooks)
        torch._C._acc.register_python_privateuseone_device_guard(guard)
        _kept.extend([hooks, guard, *_kernels(), *autocast_kernels()])
        # optimisers update all weights by one call on lists: the same rows, recorded much faster
        optimizer._foreach_supported_types.append(XlaTensor)


#: what makes a tensor of no other
_FACTORIES = (
    "empty.memory_format", "empty_strided", "zeros", "ones", "full", "arange", "arange.start",
    "arange.start_step", "linspace", "eye", "eye.m", "rand", "randn", "randint", "randint.low",
    "scalar_tensor", "randperm", "rand.generator", "randn.generator", "randint.generator",
    "randint.low_generator",
)  # fmt: skip


def _kernels() -> list:
    """Register what PyTorch calls of our device without a tensor on it."""
    library, fallbacks = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    fallbacks.fallback(_make, "PrivateUse1")
    library.impl("_copy_from", _copy_from, "PrivateUse1")
    for name, composed in _RECURRENT.items():  # the others are fused kernels of CUDA
        library.impl(name, composed, "AutogradPrivateUse1")
        call_of(overload(f"aten::{name}")).decompose = composed  # in torch.inference_mode
    library.impl("_pin_memory", lambda self, device=None: self.clone(), "CPU")
    library.impl("is_pinned", lambda self, device=None: False, "CPU")
    library.impl("scaled_dot_product_attention", _attention, "AutogradPrivateUse1")
    library.impl("ctc_loss.Tensor", _ctc_loss, "AutogradPrivateUse1")
    for packet in (torch.ops.aten._fused_adam_, torch.ops.aten._fused_adamw_):
        for func in (packet.default, packet.tensor_lr):
            library.impl(func, partial(_fused_adam, func), "AutogradPrivateUse1")
    for name in _FACTORIES:
        library.impl(name, partial(_make, overload(f"aten::{name}")), "PrivateUse1")
    return [library, fallbacks]


def _attention(query, key, value, *args, scale=None, **kwargs):
    """Compute an attention by one call, if it is a plain one."""
    aten, named = torch.ops.aten, kwargs | {"scale": scale}
    if cores.current().rounded.is_plain and is_plain(query, key, value, *args, **named):
        one = aten._scaled_dot_product_efficient_attention
        return one(query, key, value, None, True, scale=scale)[0]
    return aten.scaled_dot_product_attention.default.decompose(query, key, value, *args, **named)


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, *args, **kwargs):
    """Compute a loss of sequences whose lengths are on the host, as PyTorch/XLA asks for them."""
    lengths = input_lengths.tolist(), target_lengths.tolist()
    return torch.ops.aten.ctc_loss.IntList(log_probs, targets, *lengths, *args, **kwargs)


def _fused_adam(func, params, grads, means, squares, largest, steps, *, lr, beta1, beta2,
                weight_decay, eps, amsgrad, maximize, grad_scale=None, found_inf=None):  # fmt: skip
    """Take a step of Adam that is one kernel elsewhere, as what it is made of."""
    if found_inf is not None:  # of a GradScaler, which a BF16 chip does not need: on the CPU
        with torch._C._AutoDispatchBelowAutograd():
            return func(params, grads, means, squares, largest, steps, lr=lr, beta1=beta1,
                        beta2=beta2, weight_decay=weight_decay, eps=eps, amsgrad=amsgrad,
                        maximize=maximize, grad_scale=grad_scale, found_inf=found_inf)  # fmt: skip
    if maximize:
        grads = torch._foreach_neg(grads)
    if weight_decay and "adamw" in func.name():
        torch._foreach_mul_(params, 1 - lr * weight_decay)
    elif weight_decay:
        grads = torch._foreach_add(grads, params, alpha=weight_decay)
    torch._foreach_lerp_(means, grads, 1 - beta1)
    torch._foreach_mul_(squares, beta2)
    torch._foreach_addcmul_(squares, grads, grads, 1 - beta2)
    if amsgrad:
        torch._foreach_maximum_(largest, squares)
    under = torch._foreach_sqrt(largest if amsgrad else squares)
    torch._foreach_div_(under, [(1 - beta2**step).sqrt() for step in steps])
    torch._foreach_add_(under, eps)
    torch._foreach_div_(under, [-lr / (1 - beta1**step) for step in steps])
    torch._foreach_addcdiv_(params, means, under)
    return None


_load = torch.load


@wraps(_load)
def _load_and_move(f, map_location=None, *args, **kwargs):
    """Load onto the device by way of the CPU: the device has no storages to load into."""
    places = map_location.values() if isinstance(map_location, dict) else [map_location]
    if not any(str(place).startswith("xla") for place in places):
        return _load(f, map_location, *args, **kwargs)
    device = cores.current().device
    return tree_map(
        lambda one: one.to(device) if isinstance(one, torch.Tensor | torch.nn.Module) else one,
        _load(f, "cpu", *args, **kwargs),
    )


_to = torch.nn.Module.to


@wraps(_to)
def _to_and_tell(self, *args, **kwargs):
    """Move a module; warn of weights that were one tensor, and are two on the device."""
    names: dict[torch.nn.Parameter, list[str]] = {}
    for name, one in self.named_parameters(remove_duplicate=False):
        names.setdefault(one, []).append(name)
    moved = _to(self, *args, **kwargs)
    if len(names) < len(list(self.parameters())):
        shared = "; ".join(" and ".join(two) for two in names.values() if len(two) > 1)
        warnings.warn(sentence("elsewhere.untied", shared=shared), stacklevel=2)
    return moved


def _lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    gates = torch.nn.functional.linear(input, w_ih, b_ih)
    hy, cy = decompositions.lstm_cell(gates, *hx, w_hh, b_hh, None, 1)
    return hy, cy


def _gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    reset, keep, new = torch.nn.functional.linear(input, w_ih, b_ih).chunk(3, -1)
    reset_h, keep_h, new_h = torch.nn.functional.linear(hx, w_hh, b_hh).chunk(3, -1)
    new = (new + (reset + reset_h).sigmoid() * new_h).tanh()
    return (hx - new) * (keep + keep_h).sigmoid() + new


#: Recurrent layers, gate by gate: PyTorch's own decompositions, where it has them.
_RECURRENT = {
    "lstm.input": decompositions.lstm_impl, "lstm.data": decompositions.lstm_data_impl,
    "gru.input": decompositions.gru_impl, "gru.data": decompositions.gru_impl_data,
    "lstm_cell": _lstm_cell, "gru_cell": _gru_cell,
}  # fmt: skip


def _copy_from(source, target, non_blocking=False):
    return dispatch(torch.ops.aten.copy_.default, (target, source), {})


def _make(func, *args, device=None, layout=None, pin_memory=None, memory_format=None, **kwargs):
    """Make a tensor out of nothing; how it lies has no meaning here."""
    kwargs = {key: one for key, one in kwargs.items() if one is not None}
    core = cores.current()
    if core.counts_on_host and kwargs.get("dtype") is torch.int32:
        return func(*args, **kwargs, device="cpu")
    core.follow_at_first()
    return dispatch(func, args, kwargs | {"device": core.device})
