"""``nki.compiler.sbuf``: addresses in SBUF."""

from inspect import signature
from math import prod

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.nki.beta1.compiler.modulo import Placed, modulo, tiles
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["alloc", "auto_alloc", "mod_alloc"]

_SBUF = MemoryRegion.sbuf
_NAMES = ("idx", "pdim_size", "fdim_size")


def sizes_of(storage) -> tuple[int, int]:
    """Return the partitions of a tile, and its bytes in each."""
    return storage.shape[0], prod(storage.shape[1:]) * get_dtype(storage.kind).itemsize


def asked(func, block, storage):
    """Return what a kernel's function says of a block.

    One whose parameters have the reference's names gets them by name: ``functools.partial`` may
    have filled in others before.
    """
    sizes = sizes_of(storage)
    try:
        names = signature(func).parameters
    except (TypeError, ValueError):
        names = {}
    if all(name in names for name in _NAMES):
        return func(**dict(zip(_NAMES, (block, *sizes), strict=True)))
    return func(block, *sizes)


def alloc(func) -> Placed:
    """Place each block where ``func(index, partitions, bytes)`` says: (first partition, byte).

    Parameters
    ----------
    func : callable
        Takes the block's index (a tuple), the partitions of a tile and its bytes in each.
    """
    if not callable(func):
        raise TypeError(
            f"nki.compiler.sbuf.alloc takes a function of (idx, pdim, fdim), not {func!r}"
        )

    def place(block, storage):
        found = asked(func, block, storage)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise NkiValidationError(
                f"nki.compiler.sbuf.alloc: the function returns {found!r} for block {block}; it "
                "returns (first partition, byte in each partition)"
            )
        return tuple(found)

    return Placed(_SBUF, place)


def mod_alloc(*, base_addr, base_partition=0, num_par_tiles=(), num_free_tiles=()) -> Placed:
    """Place blocks from a byte on, over some physical tiles in turn.

    Parameters
    ----------
    base_addr : int
        First byte in each partition.
    base_partition : int
    num_par_tiles, num_free_tiles : tuple of int
        Physical tiles along partitions, and one behind the other in each, for each block
        dimension; () is one.

    Raises
    ------
    NkiValidationError
        Where a tile would end past the partition's end, or start on a partition that engines do
        not start on.
    """
    base_addr = whole(base_addr, "base_addr", 0)
    base_partition = whole(base_partition, "base_partition", 0)
    along, free = tiles("num_par_tiles", num_par_tiles), tiles("num_free_tiles", num_free_tiles)

    def place(block, storage):
        partitions, row_bytes = sizes_of(storage)
        return (
            modulo(base_partition, along, partitions, block, "num_par_tiles"),
            modulo(base_addr, free, row_bytes, block, "num_free_tiles"),
        )

    return Placed(_SBUF, place)


def auto_alloc() -> Placed:
    """Let the compiler place the tiles: the same as ``nl.sbuf``."""
    return Placed(_SBUF)


__getattr__ = names_of(__name__, "neuronxcc.nki.compiler.sbuf")
