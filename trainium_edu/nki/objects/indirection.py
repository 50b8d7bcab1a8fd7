"""Accesses whose place the chip computes: ``select``, ``vector_select``, ``ap`` with an offset.

Each function takes a tensor and returns the view that the tensor's method wraps.
"""

from trainium_edu.neuroncore.recording.indirect import Indirect, IndirectView
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.refusals import misuse, refusal

__all__ = ["select", "vector_select", "with_offset"]


def select(tensor, dim: int, index) -> IndirectView:
    """Return `tensor` without dimension `dim`, at an index in SBUF or in a register."""
    _check_direct(tensor)
    if dim == 0 and tensor._on_chip:
        raise refusal("indirection.partition", tensor=tensor)
    view = tensor._view
    shape = (*view.shape[:dim], *view.shape[dim + 1 :])
    strides = (*view.strides[:dim], *view.strides[dim + 1 :])
    if not shape or (tensor._on_chip and len(shape) < 2):
        shape, strides = (*shape, 1), (*strides, view.dtype.itemsize)
    return _moved(tensor, view._like(shape, strides, view.offset), _scalar(tensor, index), dim)


def vector_select(tensor, dim: int, vector_offset) -> IndirectView:
    """Return the rows of an HBM tensor that `vector_offset` names, one per partition."""
    _check_direct(tensor)
    if dim != 0 or tensor._on_chip:
        raise refusal("indirection.gathered_dim", tensor=tensor, dim=dim)
    view = tensor._view
    index = _vector(tensor, vector_offset)
    rows = view._like((index.shape[0], *view.shape[1:]), view.strides, view.offset)
    return _moved(tensor, rows, index, 0, is_vector=True)


def with_offset(tensor, pattern, scalar_offset, vector_offset, dim) -> IndirectView:
    """Return the view `pattern` on the storage of `tensor`, moved by a run-time offset."""
    if scalar_offset is not None and vector_offset is not None:
        raise refusal("indirection.two_offsets", tensor=tensor)
    _check_direct(tensor)
    dim = tensor._axis(dim)
    if scalar_offset is not None:
        if dim == 0 and tensor._on_chip:
            raise refusal("indirection.partition_offset", tensor=tensor)
        return _moved(tensor, pattern, _scalar(tensor, scalar_offset), dim)
    if dim != 0 or tensor._on_chip:
        raise refusal("indirection.vector_dim", tensor=tensor)
    index = _vector(tensor, vector_offset)
    if index.shape[0] != pattern.shape[0]:
        raise refusal("indirection.unlike_rows", tensor=tensor, pattern=pattern, index=index)
    return _moved(tensor, pattern, index, 0, is_vector=True)


def _moved(tensor, view, index, dim, *, is_vector=False):
    """Return `view` at an index that counts along dimension `dim` of `tensor`."""
    source = tensor._view
    indirect = Indirect(index, source.strides[dim], source.shape[dim], is_vector)
    return IndirectView(
        view.buffer, view.dtype, tuple(view.shape), tuple(view.strides), view.offset, indirect
    )


def _check_direct(tensor):
    if tensor.is_indirect():
        raise refusal("indirection.twice", tensor=tensor)


def _scalar(tensor, index):
    if isinstance(index, VirtualRegister):
        return index
    if isinstance(index, type(tensor)):
        if index.size != 1 or index.buffer is not MemoryRegion.sbuf:
            raise refusal("indirection.one_number", tensor=tensor, index=index)
        return index._view
    raise misuse("indirection.index", tensor=tensor, index=index)


def _vector(tensor, index):
    if not isinstance(index, type(tensor)):
        raise misuse("indirection.vector_offset", tensor=tensor, index=index)
    if index.buffer is not MemoryRegion.sbuf or index.size != index.shape[0]:
        raise refusal("indirection.vector_shape", tensor=tensor, index=index)
    return index._view
