"""New tensors: ``nl.ndarray`` with block dimensions, and what fills them."""

import sys
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.nki import language as current_interface
from trainium_edu.nki.beta1.index import mgrid
from trainium_edu.nki.beta1.operation import fill, perform, scalar, settle, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.beta1.tile import Tile, allocate, of_tensor
from trainium_edu.nki.beta1.traced_once import first_turn, warn_below_top_level
from trainium_edu.nki.language import creation
from trainium_edu.nki.language.rules import refuse
from trainium_edu.nki.language.tile_sizes import tile_size
from trainium_edu.nki.mistakes import describe, is_whole
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.running import chip_here, current
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "empty_like", "full", "gemm_grid", "gemm_stationary_grid", "ndarray", "ones", "par_dim", "rand",
    "random_seed", "shared_constant", "shared_identity_matrix", "zeros", "zeros_like",
]  # fmt: skip

_SBUF, _PSUM = MemoryRegion.sbuf, MemoryRegion.psum
_EMPTY = object()
_WITHOUT_EFFECT = ("annotation", "lazy_initialization")


class par_dim(int):
    """The size of the dimension that is the partitions'; those before it are block dimensions."""

    def __repr__(self):
        return f"nl.par_dim({int(self)})"


def _parted(shape, who):
    """Return the block dimensions of a shape, and those of a tile."""
    shape = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    for size in shape:
        if not is_whole(size) or size < 1:
            raise refusal("creation.sizes", name=who, shape=list(shape))
    marked = [axis for axis, size in enumerate(shape) if type(size) is par_dim]
    if len(marked) > 1:
        raise refusal("creation.par_dims", name=who, shape=list(shape))
    sizes = tuple(int(size) for size in shape)
    at = marked[0] if marked else 0
    return sizes[:at], sizes[at:]


def _made(shape, dtype, buffer, name, value=_EMPTY):
    region = _SBUF if buffer is None else getattr(buffer, "region", buffer)
    if not isinstance(region, MemoryRegion):
        raise misuse("creation.older_buffer", buffer=describe(buffer))
    place = None if region is buffer or buffer is None else buffer.place
    if place is not None and current().shared.get("ignores addresses"):
        place = None
    if place is not None:
        addresses = current().shared.setdefault("addresses", {})
        place = first_turn(sys._getframe(2), addresses, place)
        current().shared["allocated"] = True
    who = name or "this tensor"
    blocks, tile_shape = _parted(shape, who)
    if region is not _SBUF and region is not _PSUM:
        return _in_hbm((*blocks, *tile_shape), dtype, region, name, value)
    most = chip_here().sbuf.partitions.value
    if tile_shape[0] > most:
        raise refusal("creation.partitions", name=who, size=tile_shape[0], most=most)
    if region is _PSUM:
        _check_bank(tile_shape, as_dtype(dtype), who)
    if value is _EMPTY:
        return allocate(tile_shape, dtype, region, blocks=blocks, name=name, place=place)
    if place is not None:
        raise refusal("creation.value_at_address", name=who)
    if blocks or region is _PSUM:  # a block is filled when it is first used
        return allocate(tile_shape, dtype, region, blocks=blocks, name=name, zero=value)
    filled = allocate(tile_shape, dtype, region, name=name)
    fill(filled, value)
    return filled


def _check_bank(shape, kind, who):
    """Raise for a tile in PSUM that is longer than a bank."""
    row_bytes = prod(shape[1:]) * kind.itemsize
    bank_bytes = chip_here().psum.bank_bytes.value
    if row_bytes > bank_bytes:
        raise refusal("creation.beyond_bank", name=who, kind=kind, shape=shape, row_bytes=row_bytes,
                      bank_bytes=bank_bytes, bank_floats=bank_bytes // 4)  # fmt: skip


def _in_hbm(shape, dtype, region, name, value):
    if value is not _EMPTY:
        raise refusal("creation.value_in_hbm", name=name or "this tensor")
    running = current()
    kind = as_dtype(dtype)
    if region is MemoryRegion.shared_hbm:
        warn_below_top_level(sys._getframe(2), running.shared.get("source"))
    if region is not MemoryRegion.shared_hbm or not running.grid:
        return of_tensor(creation.ndarray(shape, kind, region, name))
    shared = running.shared["shared HBM"]  # every instance of a grid has the same
    turn = shared["turn"] = shared["turn"] + 1
    tensor = shared.get(turn)
    if tensor is None:
        tensor = shared[turn] = of_tensor(creation.ndarray(shape, kind, region, name))
        tensor.storage.turn = ()
    elif (tuple(tensor.shape), tensor.kind) != (shape, kind):
        raise NkiValidationError(
            f"instance {running.program_id} of the grid allocates {kind}{list(shape)} in "
            f"nl.shared_hbm where the first allocated {tensor!r}; all share one tensor"
        )
    return tensor


def ndarray(shape, dtype, *, buffer=None, name="", **kwargs):
    """Allocate a tensor; nothing is written.

    Parameters
    ----------
    shape : tuple of int
        On chip ``(blocks..., nl.par_dim(partitions), free...)``; without ``par_dim`` the first
        dimension is the partitions.
    dtype : dtype
    buffer : memory
        ``nl.sbuf`` (default), ``nl.psum``, ``nl.hbm``, ``nl.shared_hbm``, or an allocation of
        ``nki.compiler`` (``sbuf.mod_alloc(base_addr=0)``).
    name : str

    Returns
    -------
    tensor
        With block dimensions ``t[b]`` is a tile of it; instructions take tiles.

    Raises
    ------
    NkiValidationError
        For more than 128 partitions, more bytes than a partition has, a second ``par_dim``.
    """
    refuse("ndarray", kwargs, _WITHOUT_EFFECT)
    return _made(shape, dtype, buffer, name)


def full(shape, fill_value, dtype, *, buffer=None, name="", **kwargs):
    """Allocate a tensor on chip and fill it with one number."""
    refuse("full", kwargs, _WITHOUT_EFFECT)
    return _made(shape, dtype, buffer, name, scalar(fill_value))


def zeros(shape, dtype, *, buffer=None, name="", **kwargs):
    """Allocate a tensor of zeros on chip; in PSUM the first matmul of a sum overwrites them."""
    refuse("zeros", kwargs, _WITHOUT_EFFECT)
    return _made(shape, dtype, buffer, name, 0)


def ones(shape, dtype, *, buffer=None, name="", **kwargs):
    """Allocate a tensor of ones on chip."""
    refuse("ones", kwargs, _WITHOUT_EFFECT)
    return _made(shape, dtype, buffer, name, 1)


def _shape_of(a):
    blocks = getattr(getattr(a, "storage", None), "blocks", ())
    shape = tuple(a.shape)
    count = len(shape) - len(a.storage.shape) if blocks and not isinstance(a, Tile) else 0
    return (*shape[:count], par_dim(shape[count]), *shape[count + 1 :])


def gemm_grid():
    """Return the index of a whole result of a matmul, or of its moving operand: [128, 512]."""
    return mgrid[0 : tile_size.pmax, 0 : tile_size.gemm_moving_fmax]


def gemm_stationary_grid():
    """Return the index of a whole stationary operand of a matmul: [128, 128]."""
    return mgrid[0 : tile_size.pmax, 0 : tile_size.gemm_stationary_fmax]


def zeros_like(a, dtype=None, *, buffer=None, name="", **kwargs):
    """Allocate zeros of the shape and dtype of `a`, in SBUF unless told otherwise."""
    refuse("zeros_like", kwargs, _WITHOUT_EFFECT)
    return _made(_shape_of(a), dtype or a.dtype, buffer, name, 0)


def empty_like(a, dtype=None, *, buffer=None, name="", **kwargs):
    """Allocate a tensor of the shape and dtype of `a`, in SBUF unless told otherwise."""
    refuse("empty_like", kwargs, _WITHOUT_EFFECT)
    return _made(_shape_of(a), dtype or a.dtype, buffer, name)


def shared_constant(constant, dtype=None, **kwargs):
    """Put an array into HBM; ``nl.load`` brings it to the chip.

    Parameters
    ----------
    constant : array
    dtype : dtype, optional
        Default: that of the array.
    """
    kind = as_dtype(np.asarray(constant).dtype if dtype is None else dtype)
    array = np.asarray(constant)
    tensor = of_tensor(current_interface.shared_constant(_cast(array, kind)))
    tensor.kind = kind
    return tensor


def _cast(array, kind):
    return array.astype(get_dtype(kind).storage)


def shared_identity_matrix(n, dtype=np.uint8, **kwargs):
    """Put the n × n identity matrix into HBM; one of each dtype serves a whole kernel."""
    shared, key = current().shared, ("identity", int(n), as_dtype(dtype))
    if key not in shared:
        shared[key] = shared_constant(np.identity(int(n)), dtype)
    return shared[key]


def rand(shape, dtype=np.float32, **kwargs):
    """Return a tile of uniform random numbers in [0, 1)."""
    settle()
    return of_tensor(creation.rand(tuple(shape), as_dtype(dtype)))


def random_seed(seed, *, mask=None, **kwargs):
    """Seed the random numbers with a number, or a tile of one element."""
    if not isinstance(seed, Tile):
        seed = full((1, 1), int(scalar(seed)), np.uint32)
    seed = tile(seed, "random_seed: seed")
    if prod(seed.shape) != 1:
        raise NkiValidationError(f"nl.random_seed takes one number, and {seed!r} has more")
    perform("set_rng_seed", written=(), space=seed.shape, src_seeds=seed)
