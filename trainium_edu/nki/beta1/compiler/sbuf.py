"""``nki.compiler.sbuf``: addresses in SBUF."""

from trainium_edu.nki.beta1.compiler.modulo import Placed, placed_by, rotating
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.objects.enums import MemoryRegion

__all__ = ["alloc", "auto_alloc", "mod_alloc"]

_SBUF = MemoryRegion.sbuf


def _address(place, _storage):
    return tuple(place)


def alloc(func) -> Placed:
    """Place each block where ``func(index, partitions, bytes)`` says: (first partition, byte).

    Parameters
    ----------
    func : callable
        Takes the block's index (a tuple), the partitions of a tile and its bytes in each.
    """
    return placed_by(func, _SBUF, "(first partition, byte in each partition)", _address)


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
    return rotating(
        _SBUF, _address, base_addr=base_addr, base_partition=base_partition,
        num_par_tiles=num_par_tiles, num_free_tiles=num_free_tiles,
    )  # fmt: skip


def auto_alloc() -> Placed:
    """Leave the place of the tiles to the compiler, as ``nl.sbuf`` does."""
    return Placed(_SBUF)


__getattr__ = names_of(__name__, "neuronxcc.nki.compiler.sbuf")
