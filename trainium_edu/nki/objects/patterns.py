"""``NkiTensor.ap``: an access pattern in the hardware's own terms, on the storage itself."""

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.nki.mistakes import is_whole
from trainium_edu.nki.objects.dtypes import nki_dtype
from trainium_edu.nki.objects.indirection import with_offset
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["access_pattern"]


def access_pattern(tensor, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype):
    """Return the view that ``[[stride, count], …]`` describes, in elements of `dtype`, and a dtype.

    Notes
    -----
    One docstring says that `offset` counts from the view's own offset, the guides say from the
    start of the storage; the guides are followed here, and None keeps the view's offset. A run-time
    index that the view carries is overridden like its shape.
    """
    pairs = _checked(tensor, pattern)
    view = tensor._view
    target = None if dtype is None or dtype == tensor.dtype else nki_dtype(dtype)
    if target is not None:
        tensor._has_bits_of(target)
    itemsize = view.dtype.itemsize if target is None else target.itemsize
    first = _first_byte(tensor, offset, itemsize)
    shape = tuple(count for _, count in pairs)
    strides = [stride * itemsize for stride, _ in pairs]
    if tensor._on_chip:
        _put_partitions_first(tensor, pairs, strides, itemsize)
        if len(shape) < 2:
            shape, strides = (*shape, 1), [*strides, itemsize]
    result = view._like(shape, strides, first)
    if target is not None:
        result.dtype = get_dtype(target)
    if scalar_offset is None and vector_offset is None:
        _check_start(tensor, result)
    else:
        result = with_offset(tensor, result, scalar_offset, vector_offset, indirect_dim)
    return result, target or tensor._dtype


def _checked(tensor, pattern):
    try:
        pairs = [(step.__index__(), count.__index__()) for step, count in pattern]
    except (TypeError, ValueError, AttributeError):
        raise misuse("pattern.pairs", tensor=tensor, pattern=pattern) from None
    if not 1 <= len(pairs) <= 5:
        raise refusal("pattern.dimensions", tensor=tensor, count=len(pairs))
    if any(count < 1 for _, count in pairs):
        raise NkiValidationError(f"{tensor!r}: pattern {pattern} has a count below 1")
    return pairs


def _first_byte(tensor, offset, itemsize):
    view = tensor._view
    if offset is None:
        return view.offset
    if not is_whole(offset) or offset.__index__() < 0:
        raise misuse("pattern.offset", tensor=tensor, offset=offset)
    start = offset.__index__() * itemsize
    if not tensor._on_chip:
        return start
    row, byte = divmod(start, view.buffer.info.row_bytes)
    return row * view.buffer.pitch + byte


def _put_partitions_first(tensor, pairs, strides, itemsize):
    """Check the leading pair of an on-chip pattern and put the partition's stride in its place."""
    row = tensor._view.buffer.info.row_bytes // itemsize
    step, count = pairs[0]
    if step != row and count > 1:
        raise refusal("pattern.partitions", tensor=tensor, step=step, count=count, row=row)
    strides[0] = tensor._view.buffer.pitch


def _check_start(tensor, found):
    """Raise if backward steps begin before the storage; the end is checked where it is used."""
    first = found.offset
    for size, stride in zip(found.shape, found.strides, strict=True):
        first += (size - 1) * min(stride, 0)
    if first < 0:
        raise refusal("pattern.before_start", tensor=tensor, nbytes=-first)
