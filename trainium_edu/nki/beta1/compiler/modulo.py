"""Modulo allocation: which of several physical tiles a logical block gets."""

from inspect import signature
from math import prod

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.nki.mistakes import is_whole
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Placed", "modulo", "placed_by", "rotating", "sizes_of"]

_NAMES = ("idx", "pdim_size", "fdim_size")
#: What says where blocks begin, and the physical tiles that they take in turn.
_TILES_FROM = {"base_bank": "num_bank_tiles", "base_partition": "num_par_tiles",
               "base_addr": "num_free_tiles"}  # fmt: skip


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


def sizes_of(storage) -> tuple[int, int]:
    """Return the partitions of a tile, and its bytes in each."""
    return storage.shape[0], prod(storage.shape[1:]) * get_dtype(storage.kind).itemsize


def placed_by(func, region: MemoryRegion, parts: str, address) -> Placed:
    """Return a memory in which a kernel's function places each block.

    Parameters
    ----------
    func : callable
        Takes the block's index, the partitions of a tile and its bytes in each; by name if its
        parameters have the reference's names, as ``functools.partial`` may have filled in others.
    region : MemoryRegion
    parts : str
        What the function returns, for errors.
    address : callable
        Takes that and the storage; returns (first partition, byte of a partition).
    """
    home = f"nki.compiler.{region.name}.alloc"
    if not callable(func):
        raise TypeError(f"{home} takes a function of (idx, pdim, fdim), not {func!r}")

    def place(block, storage):
        given = dict(zip(_NAMES, (block, *sizes_of(storage)), strict=True))
        try:
            is_by_name = given.keys() <= signature(func).parameters.keys()
        except (TypeError, ValueError):
            is_by_name = False
        found = func(**given) if is_by_name else func(*given.values())
        if not isinstance(found, tuple | list) or len(found) != parts.count(",") + 1:
            raise NkiValidationError(
                f"{home}: the function returns {found!r} for block {block}; it returns {parts}"
            )
        return address(found, storage)

    return Placed(region, place)


def rotating(region: MemoryRegion, address, **given) -> Placed:
    """Return a memory in which blocks take physical tiles in turn, as ``mod_alloc`` says."""
    parts = [(whole(given[base], base, 0), name, _tiles(name, given[name]))
             for base, name in _TILES_FROM.items() if base in given]  # fmt: skip

    def place(block, storage):
        scales = (1, *sizes_of(storage))[-len(parts) :]
        found = [modulo(base, sizes, scale, block, name)
                 for (base, name, sizes), scale in zip(parts, scales, strict=True)]  # fmt: skip
        return address(found, storage)

    return Placed(region, place)


def _tiles(name, given) -> tuple:
    """Return a tuple of whole numbers of physical tiles; raise for anything else."""
    sizes = (given,) if is_whole(given) else given
    if not isinstance(sizes, tuple | list) or not all(is_whole(n) and n >= 1 for n in sizes):
        raise NkiValidationError(f"{name} is {given!r}; it must be a tuple of integers, 1 or more")
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
