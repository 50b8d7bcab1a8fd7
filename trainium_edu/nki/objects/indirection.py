"""Accesses whose place the chip computes: ``select``, ``vector_select``, ``ap`` with an offset.

Each function takes a tensor and returns the view that the tensor's method wraps.
"""

from trainium_edu.neuroncore.recording.indirect import Indirect, IndirectView
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["select", "vector_select", "with_offset"]


def select(tensor, dim: int, index) -> IndirectView:
    """Return `tensor` without dimension `dim`, at an index in SBUF or in a register."""
    _check_direct(tensor)
    if dim == 0 and tensor._on_chip:
        raise NkiValidationError(
            f"{tensor!r}: the partition cannot be selected at run time; engines start on "
            "partitions that the instruction names"
        )
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
        raise NkiValidationError(
            f"{tensor!r}: vector_select gathers rows (dimension 0) of an HBM tensor; dimension "
            f"{dim} of {tensor.buffer} was asked"
        )
    view = tensor._view
    index = _vector(tensor, vector_offset)
    rows = view._like((index.shape[0], *view.shape[1:]), view.strides, view.offset)
    return _moved(tensor, rows, index, 0, is_vector=True)


def with_offset(tensor, pattern, scalar_offset, vector_offset, dim) -> IndirectView:
    """Return the view `pattern` on the storage of `tensor`, moved by a run-time offset."""
    if scalar_offset is not None and vector_offset is not None:
        raise NkiValidationError(
            f"{tensor!r}: an access takes scalar_offset or vector_offset, not both"
        )
    _check_direct(tensor)
    dim = tensor._axis(dim)
    if scalar_offset is not None:
        if dim == 0 and tensor._on_chip:
            raise NkiValidationError(
                f"{tensor!r}: indirect_dim is the partition dimension; on chip an offset known at "
                "run time moves along a free dimension"
            )
        return _moved(tensor, pattern, _scalar(tensor, scalar_offset), dim)
    if dim != 0 or tensor._on_chip:
        raise NkiValidationError(
            f"{tensor!r}: vector_offset works on dimension 0 of HBM tensors (indirect_dim=0); "
            "nc_n_gather gathers inside SBUF"
        )
    index = _vector(tensor, vector_offset)
    if index.shape[0] != pattern.shape[0]:
        raise NkiValidationError(
            f"{tensor!r}: the pattern has {pattern.shape[0]} rows and vector_offset "
            f"{index.shape[0]}; each row needs one"
        )
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
        raise NkiValidationError(
            f"{tensor!r} is indirect already; one index known at run time is all that an access "
            "can carry"
        )


def _scalar(tensor, index):
    if isinstance(index, VirtualRegister):
        return index
    if isinstance(index, type(tensor)):
        if index.size != 1 or index.buffer is not MemoryRegion.sbuf:
            raise NkiValidationError(
                f"{tensor!r}: the index {index!r} is no single number in SBUF; its shape is (1, 1)"
            )
        return index._view
    raise TypeError(
        f"{tensor!r}: the index is {index!r}; it is a tensor of one number or a register"
    )


def _vector(tensor, index):
    if not isinstance(index, type(tensor)):
        raise TypeError(f"{tensor!r}: vector_offset is {index!r}; it is an SBUF tensor (rows, 1)")
    if index.buffer is not MemoryRegion.sbuf or index.size != index.shape[0]:
        raise NkiValidationError(
            f"{tensor!r}: vector_offset {index!r} is an SBUF tensor with one number per partition, "
            "shape (rows, 1); more columns are for transposes that gather, on NeuronCore-v3"
        )
    return index._view
