"""Cut tensors into tiles that engines take, load them, store them."""

from collections.abc import Iterator

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["as_rows", "cast_copy", "load", "new_like", "pieces", "row_tiles", "store", "store_copy"]


def pieces(size: int, step: int) -> Iterator[slice]:
    """Yield slices of at most `step` that cover ``range(size)``; the last may be shorter."""
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def as_rows(view: View, name: str) -> View:
    """Return a view as [rows, columns]: in HBM all axes but the last become rows.

    Raises
    ------
    NkiValidationError
        For a tile in SBUF with more than one free axis that is not contiguous.
    """
    if len(view.shape) == 2:
        return view
    if len(view.shape) == 1:
        return view.reshaped(1, view.shape[0])
    if view.memory is Memory.HBM:
        return view.reshaped(view.size // view.shape[-1], view.shape[-1])
    if len(view.shape) > 2:
        return view.reshaped(view.shape[0], view.free_size)
    raise NkiValidationError(f"{name} is {view!r}; it needs two axes, [rows, columns]")


def row_tiles(core, view: View) -> Iterator[slice]:
    """Yield slices of rows, each at most one tile of partitions."""
    yield from pieces(view.shape[0], int(core.spec.limits.tile_partitions_max.value))


def load(core, view: View, dtype=None, name=None) -> View:
    """Return `view` itself if it is on chip, else a new SBUF tile that a DMA fills from it."""
    if view.memory.is_on_chip:
        return view
    tile = core.sbuf(view.shape, dtype or view.dtype, name=name)
    core.dma_copy(dst=tile, src=view)
    return tile


def new_like(core, view: View, dtype=None, name=None) -> View:
    """Return a tile to compute a piece of `view` in: itself if on chip, else a new one."""
    if view.memory is Memory.SBUF and dtype is None:
        return view
    return core.sbuf(view.shape, dtype or view.dtype, name=name)


def store(core, dst: View, tile: View) -> None:
    """Bring a finished tile to `dst`, unless it was computed there."""
    if tile is dst:
        return
    if dst.memory is Memory.HBM:
        core.dma_copy(dst=dst, src=tile)
    else:
        core.tensor_copy(dst=dst, src=tile)


def store_copy(core, dst: View, tile: View) -> None:
    """Bring a tile of PSUM, or one that others still use, to `dst`."""
    result = new_like(core, dst)
    core.tensor_copy(dst=result, src=tile)
    store(core, dst, result)


def cast_copy(core, tile: View, dtype, name=None) -> View:
    """Return the tile in another dtype, copied if it has another."""
    if tile.dtype is dtype and tile.memory is Memory.SBUF:
        return tile
    out = core.sbuf(tile.shape, dtype, name=name)
    core.tensor_copy(dst=out, src=tile)
    return out
