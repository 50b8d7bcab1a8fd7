"""Keys of ``t[...]`` and shapes of ``t.reshape(...)``: slices, sizes, integers."""

from math import prod
from operator import index

from trainium_edu.nki.mistakes import describe, is_whole
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["ALL", "DynamicSlice", "Shape", "check_whole", "ds", "plain_index", "sizes"]

ALL = slice(None)


class DynamicSlice:
    """``ds(start, size)``: elements start … start + size - 1."""

    __slots__ = ("size", "start")

    def __init__(self, start, size):
        self.start = start
        self.size = size

    def __repr__(self):
        return f"nl.ds({self.start}, {self.size})"


def ds(start, size) -> DynamicSlice:
    """Return the slice of `size` elements from `start`.

    Examples
    --------
    >>> ds(8, 4)
    nl.ds(8, 4)
    """
    return DynamicSlice(start, size)


class Shape(tuple):
    """A tuple of sizes that also equals a list of them, as AWS's guides compare."""

    __slots__ = ()

    def __eq__(self, other):
        return tuple.__eq__(self, tuple(other) if type(other) is list else other)

    def __ne__(self, other):
        return not self == other

    __hash__ = tuple.__hash__


def check_whole(name: str, value) -> None:
    """Raise TypeError unless a value is an integer."""
    if not is_whole(value):
        hint = " (a // b gives one)" if isinstance(value, float) else ""
        raise TypeError(f"{name} is {value!r}; it must be a whole number{hint}")


def sizes(shape, count: int, tensor, what="tensor") -> tuple:
    """Return the shape of `count` elements with its -1 filled in."""
    shape = (shape,) if hasattr(shape, "__index__") else shape
    if not isinstance(shape, tuple | list):
        raise TypeError(f"the shape is {shape!r}; it must be a tuple of sizes")
    for size in shape:
        check_whole("a size", size)
    if any(size < 1 and size != -1 for size in shape) or (not shape and what == "tensor"):
        raise refusal("tensor.sizes", tensor=tensor, shape=list(shape))
    known = prod(size for size in shape if size != -1)
    if shape.count(-1) == 1 and known > 0 and count % known == 0:
        return tuple(count // known if size == -1 else size for size in shape)
    if known != count or -1 in shape:
        raise NkiValidationError(
            f"{tensor!r}: the {what} has {count} elements, and shape {list(shape)} has {known}"
        )
    return tuple(shape)


def plain_index(key, tensor) -> list:
    """Return a key as slices and ints: `...`, ``ds`` and registers resolved."""
    parts = []
    for part in key:
        kind = type(part)
        if kind is int:
            parts.append(part)
        elif kind is slice:
            if part.step is not None or not (
                type(part.start) in _BOUNDS and type(part.stop) in _BOUNDS
            ):
                part = slice(*(_bound(tensor, b) for b in (part.start, part.stop, part.step)))
            parts.append(part)
        elif kind is DynamicSlice:
            start = _bound(tensor, part.start)
            parts.append(slice(start, start + _bound(tensor, part.size)))
        elif part is Ellipsis:
            if sum(other is Ellipsis for other in key) > 1:
                raise IndexError(f"{tensor!r}: an index holds one `...` at most")
            parts += (ALL,) * (tensor.ndim - len(key) + 1)
        elif kind is range and part.step > 0:  # nl.affine_range(n) as an index: all of its values
            parts.append(slice(part.start, part.stop, part.step))
        elif kind is type(tensor):
            raise refusal("tensor.tensor_as_index", tensor=tensor, count=len(parts))
        else:
            parts.append(_bound(tensor, part, may_be_none=False))
    return parts


_BOUNDS = {int, type(None)}


def _bound(tensor, part, *, may_be_none=True):
    """Return an index, or a bound of a slice, as an int."""
    if part is None and may_be_none:
        return None
    try:
        if not isinstance(part, bool):
            return index(part.value if isinstance(part, VirtualRegister) else part)
    except TypeError:
        pass
    hint = "t.expand_dim inserts a dimension" if part is None else "a // b gives a whole number"
    if isinstance(part, list) or getattr(part, "ndim", 0):
        hint = "nl.gather_flattened gathers, nl.where(mask, a, b) chooses by a mask"
    raise misuse("tensor.index", tensor=tensor, part=describe(part), hint=hint)
