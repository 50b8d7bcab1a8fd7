"""``nki.compiler.psum``: banks of PSUM."""

from trainium_edu.nki.beta1.compiler.modulo import Placed, placed_by, rotating, sizes_of
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.running import chip_here
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["alloc", "auto_alloc", "mod_alloc"]

_PSUM = MemoryRegion.psum


def _address(place, storage):
    """Return (first partition, byte of a partition) of a place in a bank."""
    bank, partition, byte = place
    psum = chip_here().psum
    banks, bank_bytes = psum.banks.value, psum.bank_bytes.value
    _, row_bytes = sizes_of(storage)
    name = storage.name or "this tensor"
    if not 0 <= bank < banks:
        raise NkiValidationError(f"{name}: PSUM bank {bank}; there are {banks}, 0 to {banks - 1}")
    if byte + row_bytes > bank_bytes:
        raise NkiValidationError(
            f"{name}: a tile of {row_bytes} bytes in each partition from byte {byte} of a PSUM "
            f"bank, which has {bank_bytes}; a tile with an address stays in one bank"
        )
    return partition, bank * bank_bytes + byte


def alloc(func) -> Placed:
    """Place each block where ``func(index, partitions, bytes)`` says: (bank, partition, byte)."""
    return placed_by(func, _PSUM, "(bank, first partition, byte in the bank)", _address)


def mod_alloc(*, base_bank, base_addr=0, base_partition=0, num_bank_tiles=(), num_par_tiles=(),
              num_free_tiles=()) -> Placed:  # fmt: skip
    """Place blocks from a bank on, over some banks in turn.

    Parameters
    ----------
    base_bank : int
        0 to 7.
    base_addr, base_partition : int
        Byte of the bank, and first partition.
    num_bank_tiles, num_par_tiles, num_free_tiles : tuple of int
        Physical tiles over banks, along partitions and inside a bank, for each block dimension; ()
        is one.
    """
    return rotating(
        _PSUM, _address, base_bank=base_bank, base_addr=base_addr, base_partition=base_partition,
        num_bank_tiles=num_bank_tiles, num_par_tiles=num_par_tiles, num_free_tiles=num_free_tiles,
    )  # fmt: skip


def auto_alloc() -> Placed:
    """Leave the place of the tiles to the compiler, as ``nl.psum`` does."""
    return Placed(_PSUM)


__getattr__ = names_of(__name__, "neuronxcc.nki.compiler.psum")
