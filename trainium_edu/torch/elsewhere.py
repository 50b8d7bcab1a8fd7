"""What is another's while the emulated device is there: CUDA, torch.compile, torchvision's own."""

import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

__all__ = ["elsewhere_refused"]

#: Operators that ``import torchvision`` needs to exist, though no classifier calls them.
_OPERATORS = (
    "nms", "qnms", "roi_align", "_roi_align_backward", "ps_roi_align", "_ps_roi_align_backward",
    "roi_pool", "_roi_pool_backward", "ps_roi_pool", "_ps_roi_pool_backward", "qroi_align",
    "deform_conv2d", "_deform_conv2d_backward",
)  # fmt: skip
_kept: list = []  # as long as the process: an operator cannot be defined twice


@contextmanager
def elsewhere_refused() -> Iterator[None]:
    """Return a context in which CUDA is not there, in one sentence, and torchvision can be loaded.

    ``torch.compile`` changes nothing in it, and says so: the device compiles each step anyway.

    Where torchvision's own kernels do not load beside this PyTorch, its operators are defined
    without a body, which is enough for ``import torchvision`` and ``import timm``.
    """
    _define_operators()
    before = torch.cuda.is_available, torch.cuda._lazy_init, torch.compile
    torch.cuda.is_available, torch.cuda._lazy_init = _is_available, _no_cuda
    torch.compile = _compile
    try:
        yield
    finally:
        torch.cuda.is_available, torch.cuda._lazy_init, torch.compile = before


def _is_available() -> bool:
    return False


def _no_cuda():
    raise RuntimeError("this is Trainium, which has no CUDA: move it with "
                       ".to(xm.xla_device()) (import torch_xla.core.xla_model as xm)")  # fmt: skip


def _compile(model=None, **options):
    """Return a model or function as it is; without one, a decorator that does."""
    if model is None:
        return _compile
    warnings.warn("torch.compile is left out: what is recorded on xla is compiled at each step "
                  "(xm.mark_step) anyway", stacklevel=2)  # fmt: skip
    return model


def _define_operators() -> None:
    found = importlib.util.find_spec("torchvision")
    if _kept or found is None or found.origin is None or hasattr(torch.ops.torchvision, "nms"):
        return
    for library in Path(found.origin).parent.glob("_C*.so"):
        try:
            torch.ops.load_library(library)
        except OSError:  # built for another PyTorch
            continue
        return
    made = torch.library.Library("torchvision", "DEF")
    for name in _OPERATORS:
        made.define(f"{name}(...) -> ...")
    _kept.append(made)
