"""``NkiTensor.rearrange``: einops-style splitting, reordering and merging of named dimensions."""

from trainium_edu.nki.refusals import misuse
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["rearrange"]


def rearrange(tensor, src_pattern, dst_pattern, fixed_sizes):
    """Split the dimensions of `tensor` by `src_pattern`, put them together by `dst_pattern`."""
    source, target = _groups(src_pattern), _groups(dst_pattern)
    names = [name for group in source for name in group]
    if sorted(names) != sorted(name for group in target for name in group):
        raise NkiValidationError(
            f"{tensor!r}: {src_pattern} and {dst_pattern} do not name the same dimensions"
        )
    if len(set(names)) != len(names):
        raise NkiValidationError(f"{tensor!r}: {src_pattern} names a dimension twice")
    if len(source) != tensor.ndim:
        raise NkiValidationError(
            f"{tensor!r} has {tensor.ndim} dimensions, but {src_pattern} has {len(source)}"
        )
    unknown = set(fixed_sizes) - set(names)
    if unknown:
        raise NkiValidationError(f"{tensor!r}: no dimension is called {', '.join(sorted(unknown))}")
    view = tensor
    for axis in range(len(source) - 1, -1, -1):  # split from the right, so that axes keep numbers
        group = source[axis]
        sizes = tuple(fixed_sizes.get(name, -1) for name in group)
        if len(group) == 1:
            if sizes[0] not in (-1, tensor.shape[axis]):
                raise NkiValidationError(
                    f"{tensor!r}: {group[0]} is {tensor.shape[axis]}, not {sizes[0]}"
                )
            continue
        view = view.reshape_dim(axis, sizes)
    order = [names.index(name) for group in target for name in group]
    if order != sorted(order):
        view = view.permute(tuple(order))
    for axis, group in enumerate(target):
        if len(group) > 1:
            view = view.flatten_dims(axis, axis + len(group) - 1)
    return view


def _groups(pattern):
    if isinstance(pattern, tuple | list):
        groups = [(part,) if isinstance(part, str) else part for part in pattern]
        if all(isinstance(group, tuple | list) for group in groups) and all(
            isinstance(name, str) for group in groups for name in group
        ):
            return groups
    raise misuse("tensor.rearrange_pattern", pattern=pattern)
