"""What is another's while the emulated device is there: CUDA, torch.compile, torchvision's own."""

import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import torch

from trainium_edu.torch.refusals import refusal, sentence

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
    with (patch.multiple(torch.cuda, is_available=lambda: False, _lazy_init=_no_cuda),
          patch.object(torch, "compile", _compile)):  # fmt: skip
        yield


def _no_cuda():
    raise refusal("elsewhere.cuda")


def _compile(model=None, **options):
    """Return a model or function as it is; without one, a decorator that does."""
    if model is None:
        return _compile
    warnings.warn(sentence("elsewhere.compiled"), stacklevel=2)
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
