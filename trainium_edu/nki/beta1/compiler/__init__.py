"""``nki.compiler`` of the older interface: where tiles lie, and what its compiler leaves alone.

``sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,))`` as a tensor's ``buffer=`` puts its tiles at
stated addresses, in the real bytes: tiles at one address overwrite each other.
"""

from trainium_edu.nki.beta1.compiler import psum, sbuf
from trainium_edu.nki.beta1.compiler.directives import (
    allocation_scope,
    enable_stack_allocator,
    force_auto_alloc,
    multi_buffer,
    skip_middle_end_transformations,
)
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.language.loops import no_reorder

__all__ = [
    "allocation_scope", "enable_stack_allocator", "force_auto_alloc", "multi_buffer", "no_reorder",
    "psum", "sbuf", "skip_middle_end_transformations",
]  # fmt: skip

__getattr__ = names_of(__name__, "neuronxcc.nki.compiler")
