"""Decorators that tell the older compiler what to leave alone."""

import functools

from trainium_edu.nki.beta1.kernel import Kernel, jit
from trainium_edu.nki.refusals import refusal

__all__ = ["allocation_scope", "enable_stack_allocator", "force_auto_alloc", "multi_buffer",
           "skip_middle_end_transformations"]  # fmt: skip


def _kernel(function) -> Kernel:
    return function if isinstance(function, Kernel) else jit(function)


def skip_middle_end_transformations(func=None):
    """Make a kernel that is timed as it was written, without the compiler's passes."""
    if func is None:
        return skip_middle_end_transformations
    return _kernel(func).changed(passes=())


def enable_stack_allocator(func=None, log_level=50):
    """Accept the decorator and change nothing: tiles get their addresses here anyway."""
    if func is None:
        return functools.partial(enable_stack_allocator, log_level=log_level)
    return _kernel(func)


def force_auto_alloc(func=None):
    """Make a kernel whose stated addresses are ignored."""
    if func is None:
        return force_auto_alloc
    return _kernel(func).changed(ignores_addresses=True)


class multi_buffer:
    """A loop's wish for `factor` buffers; tiles rotate over as many as fit here, whatever it says.

    ``nki.run(kernel, ..., buffers=factor)`` states the number.
    """

    def __init__(self, factor=2):
        self.factor = factor


def allocation_scope(*_, **__):
    """Refuse: scopes in which the stack allocator frees tiles are not modelled."""
    raise refusal("compiler.allocation_scope")
