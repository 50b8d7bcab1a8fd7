"""Modulo allocation: which of several physical tiles a logical block gets."""

from math import prod

from trainium_edu.nki.mistakes import is_whole
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Placed", "modulo", "tiles"]


class Placed:
    """A memory with addresses: what ``buffer=`` takes.

    Attributes
    ----------
    region : MemoryRegion
    place : callable, optional
        Takes a block's index and its storage; returns (first partition, byte).  None: the
        compiler decides.
    """

    def __init__(self, region: MemoryRegion, place=None):
        self.region = region
        self.place = place

    def __repr__(self):
        return (
            f"nki.compiler.{self.region.name}.{'auto_alloc' if self.place is None else 'alloc'}()"
        )


def tiles(name, given) -> tuple:
    """Return a tuple of whole numbers of physical tiles; raise for anything else."""
    sizes = (given,) if is_whole(given) else given
    if not isinstance(sizes, tuple | list) or not all(is_whole(n) and n >= 1 for n in sizes):
        raise NkiValidationError(f"{name} is {given!r}; it is a tuple of whole numbers, 1 or more")
    return tuple(int(n) for n in sizes)


def modulo(base: int, sizes: tuple, scale: int, block: tuple, name: str) -> int:
    """Return ``base`` plus the row-major number of a block, taken modulo `sizes`, times `scale`.

    As AWS's reference defines modulo allocation; () stands for one physical tile.

    Examples
    --------
    >>> [modulo(0, (2,), 1024, (block,), "num_free_tiles") for block in range(4)]
    [0, 1024, 0, 1024]
    """
    if not sizes or not block:
        return base
    if len(sizes) != len(block):
        raise NkiValidationError(
            f"{name} has {len(sizes)} numbers, and the tensor has {len(block)} block dimensions; "
            "it needs one for each, or none"
        )
    at = sum(
        (index % size) * prod(sizes[axis + 1 :])
        for axis, (index, size) in enumerate(zip(block, sizes, strict=True))
    )
    return base + at * scale
