"""Tensors that a kernel makes: allocated, filled, constant, random."""

from operator import index

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.nki.issuing import issue
from trainium_edu.nki.mistakes import describe, is_whole
from trainium_edu.nki.objects.dtypes import fitted, nki_dtype, stored_as
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import misuse
from trainium_edu.nki.running import current, known_issue
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["empty_like", "full", "ndarray", "ones", "rand", "random_seed", "shared_constant",
           "shared_identity_matrix", "zeros", "zeros_like"]  # fmt: skip

_PSUM_BANK_BYTES = 2048
_TILE = 16384  # elements of a partition, where HBM is filled from SBUF


def ndarray(shape, dtype, buffer=MemoryRegion.sbuf, name="", address=None) -> NkiTensor:
    """Allocate a tensor; nothing is written, so floats read NaN and integers 4.

    Parameters
    ----------
    shape : tuple of int
        On chip the first dimension is the partitions, at most 128.
    dtype : dtype
    buffer : MemoryRegion
        ``nl.sbuf``, ``nl.psum``, ``nl.hbm``, ``nl.private_hbm`` or ``nl.shared_hbm``.
    name : str
    address : (int, int), optional
        First partition, and byte inside each partition (on chip). Tensors that share an address
        share their bytes.

    Raises
    ------
    NkiValidationError
        Where the memory has no place for it.
    """
    running = current()
    if name is not None and not isinstance(name, str):
        raise TypeError(f"a tensor's name must be a string, not {name!r}")
    region = _region(buffer, name)
    kind = nki_dtype(dtype)
    stored = stored_as(kind, precise=running.precise)
    if region is MemoryRegion.private_hbm or region is MemoryRegion.shared_hbm:
        if address is not None:
            raise NkiValidationError(f"{name or 'this tensor'}: HBM tensors take no address")
        view = _hbm(running, shape, stored, name, region)
    else:
        if len(shape) == 1 if isinstance(shape, tuple | list) else True:
            shape = _two_dimensions(shape)
        start, place = _place(address, region, name)
        core = running.core
        if stored is kind:
            allocate = core.sbuf if region is MemoryRegion.sbuf else core.psum
            view = allocate(shape, stored, address=place, start_partition=start, name=name or None)
        else:  # kept as float32: what has to fit is what the chip would hold
            view = core.allocate(
                Memory(region.name), shape, stored, name or None, place, start, get_dtype(kind)
            )
        if place is None:
            running.count_tile(view.buffer._base)
    return NkiTensor._wrap(view, kind, region)


def made(shape, dtype, instruction: str, **operands) -> NkiTensor:
    """Return a new tile in SBUF that one instruction writes."""
    out = ndarray(shape, dtype)
    issue(instruction, dst=out, **operands)
    return out


def _hbm(running, shape, dtype, name, region):
    if region is MemoryRegion.shared_hbm and running.launch is not None:
        return running.launch.shared_tensor(running, shape, dtype, name)
    return running.core.hbm(shape, dtype, name=name or None)


def _two_dimensions(shape):
    """Return the one-element shapes [1] and 1 of register tiles as (1, 1)."""
    sizes = list(shape) if isinstance(shape, tuple | list) else [shape]
    return (1, 1) if len(sizes) == 1 and type(sizes[0]) is int and sizes[0] == 1 else shape


def _region(buffer, name):
    if isinstance(buffer, MemoryRegion):
        return buffer
    if isinstance(buffer, str) and buffer in MemoryRegion.__members__:
        raise misuse("creation.buffer_by_name", name=name or "this tensor", buffer=buffer)
    raise misuse("creation.buffer", buffer=describe(buffer))


def _place(address, region, name):
    if address is None:
        return 0, None
    try:
        start, place = (index(part) for part in address)
        if any(isinstance(part, bool) for part in address):
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(
            f"{name or 'this tensor'}: address is {address!r}; it must be (first partition, byte)"
        ) from None
    if region is MemoryRegion.psum and place % _PSUM_BANK_BYTES:
        raise NkiValidationError(
            f"{name or 'this tensor'} starts at byte {place} of PSUM; allocations there start at a "
            f"bank, a multiple of {_PSUM_BANK_BYTES} bytes"
        )
    return start, place


def full(shape, fill_value, dtype, buffer=MemoryRegion.sbuf, name="") -> NkiTensor:
    """Allocate a tensor and fill it with one value.

    Parameters
    ----------
    shape, dtype, buffer, name
        As of :func:`ndarray`.
    fill_value : number
        An integer where the dtype is one.
    """
    tensor = ndarray(shape, dtype, buffer, name)
    if tensor._on_chip:
        if not tensor._view.dtype.is_float:
            fill_value = _whole_number(fill_value)
        issue("memset", dst=tensor, value=fill_value)
        return tensor
    tile = None
    for part in _in_tiles(tensor):
        if tile is None:  # the first is the largest
            tile = full(part.shape, fill_value, dtype)
        issue("dma_copy", dst=part, src=tile[0 : part.shape[0], 0 : part.shape[1]])
    return tensor


def _in_tiles(tensor):
    """Yield 2-D parts of an HBM tensor that fit into SBUF, the largest first."""
    rows = tensor.shape[0]
    if tensor.ndim == 1:
        rows = next(n for n in range(128, 0, -1) if tensor.size % n == 0)
    table = tensor.reshape((rows, tensor.size // rows))
    for start in range(0, rows, 128):
        for first in range(0, table.shape[1], _TILE):
            yield table[start : min(start + 128, rows), first : min(first + _TILE, table.shape[1])]


def _whole_number(value):
    """Return 2.0 as 2, and a truth value as 0 or 1, for integer tiles."""
    is_whole = getattr(value, "is_integer", None)
    return int(value) if isinstance(value, bool) or (is_whole and is_whole()) else value


def zeros(shape, dtype, buffer=MemoryRegion.sbuf, name="") -> NkiTensor:
    """Allocate a tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape, dtype, buffer=MemoryRegion.sbuf, name="") -> NkiTensor:
    """Allocate a tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def _tensor(name, x):
    if not isinstance(x, NkiTensor):
        raise TypeError(f"nl.{name} takes a tensor, not {describe(x)}")


def zeros_like(x, dtype=None, buffer=None, name="") -> NkiTensor:
    """Allocate zeros of the shape, dtype and memory of `x`."""
    _tensor("zeros_like", x)
    return full(x.shape, 0, dtype or x.dtype, buffer or x.buffer, name)


def empty_like(x, dtype=None, buffer=None, name="") -> NkiTensor:
    """Allocate a tensor of the shape, dtype and memory of `x`, without writing it."""
    _tensor("empty_like", x)
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def shared_constant(constant) -> NkiTensor:
    """Put constant data (an array, or the path of a ``.npy`` file) into shared HBM.

    Parameters
    ----------
    constant : array or path

    Returns
    -------
    NkiTensor in HBM
        Of its shape; 64-bit numbers become 32-bit.
    """
    running = current()
    is_path = isinstance(constant, str) or hasattr(constant, "__fspath__")
    array = np.load(constant) if is_path else np.asarray(constant)
    dtype = nki_dtype(array.dtype)
    array = fitted(array, get_dtype(dtype).storage, "the constant")
    view = running.core.hbm(np.array(array), name="shared_constant")
    return NkiTensor._wrap(view, dtype, MemoryRegion.shared_hbm)


def shared_identity_matrix(n, dtype="uint8", dst=None) -> NkiTensor:
    """Put an n × n identity matrix into SBUF; one of each dtype serves a whole kernel.

    Parameters
    ----------
    n : int
        1 to 128.
    dtype : dtype
    dst : NkiTensor[n, n], optional
        Where to put it, in its own dtype; default: a new tile.
    """
    if not is_whole(n) or not 1 <= (n := index(n)) <= 128:
        raise NkiValidationError(f"n is {n!r}; an identity matrix in SBUF has 1 to 128 partitions")
    running = current()
    dtype = nki_dtype(dst.dtype if dst is not None else dtype)
    if dst is None and (n, dtype) in running.shared:
        return running.shared[n, dtype]
    tile = ndarray((n, n), dtype, name=f"identity_{n}") if dst is None else dst
    data = np.eye(n, dtype=tile._view.dtype.storage)
    source = running.core.hbm(data, get_dtype(tile._view.dtype.name), name="identity_constant")
    issue("dma_copy", dst=tile, src=NkiTensor._wrap(source))
    if dst is None:
        running.shared[n, dtype] = tile
    return tile


def rand(shape, dtype, buffer=MemoryRegion.sbuf, name="") -> NkiTensor:
    """Allocate a tensor of uniform random numbers in [0, 1), from 24 random bits each."""
    tensor = ndarray(shape, dtype, buffer, name)
    if not tensor._on_chip:
        for part in _in_tiles(tensor):
            issue("dma_copy", dst=part, src=rand(part.shape, dtype))
        return tensor
    bits = made(shape, "uint32", "rng")
    issue("tensor_scalar", dst=bits, data=bits, op0="right_shift", operand0=8)
    issue("tensor_scalar", dst=tensor, data=bits, op0="multiply", operand0=2.0**-24)
    return tensor


def random_seed(seed) -> None:
    """Seed the random numbers with a (1, 1) tile."""
    if not isinstance(seed, NkiTensor):
        raise misuse("language.seed", seed=seed)
    known_issue("random_seed")
    issue("set_rng_seed", src_seeds=seed)
