"""How rows that move data issue it: fill a place, turn axes around, count."""

from itertools import product
from math import prod

from trainium_edu.neuroncore import tilings
from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import pieces
from trainium_edu.xla.operations.turns import turns

__all__ = ["copied", "count", "fill", "permute"]

COLUMNS = 2048  #: columns of one tile
SMALL = 16  #: rows or columns below this are turned by DMA: the array would be almost empty


def copied(core: NeuronCore, view: View) -> View:
    """Return a copy of a tensor in HBM."""
    copy = core.hbm(view.shape, view.dtype)
    core.dma_copy(dst=copy, src=view)
    return copy


def fill(core: NeuronCore, dst: View, value: float) -> None:
    """Write one number everywhere in a tensor in HBM."""
    if not dst.size:
        return
    rows = next(n for n in range(min(128, dst.size), 0, -1) if dst.size % n == 0)
    tile = core.sbuf((rows, 1), dst.dtype)
    core.memset(dst=tile, value=value if dst.dtype.is_float else int(value))
    core.dma_copy(dst=dst, src=tile.broadcast(rows, dst.size // rows))


def permute(core: NeuronCore, dst: View, src: View) -> None:
    """Copy a permuted view: blocks go through the Tensor Engine where the last axis moves.

    Parameters
    ----------
    core : NeuronCore
    dst : View in HBM
    src : View in HBM
        Of dst's shape; its strides say how axes were exchanged.
    """
    near = min(range(len(src.shape)), key=lambda axis: (src.strides[axis], -axis))
    last = len(src.shape) - 1
    if near == last or min(src.shape[near], src.shape[last]) < SMALL or not src.dtype.is_float:
        core.dma_copy(dst=dst, src=src)
        return
    others = [axis for axis in range(last) if axis != near]
    blocks = dst.permuted(*others, near, last), src.permuted(*others, last, near)
    for there, here in turns(core, *blocks):
        tilings.transpose(core, there, here)


def count(core: NeuronCore, out: View, axis: int) -> None:
    """Write numbers from 0 along an axis of a tensor in HBM."""
    size = out.shape[axis]
    before, after = prod(out.shape[:axis]), prod(out.shape[axis:]) // size
    if after == 1:
        rows = out.reshaped(before, size)
        for across in pieces(size, COLUMNS):
            wide = across.stop - across.start
            tile = core.sbuf((min(before, 128), wide), out.dtype)
            core.iota(dst=tile, pattern=[[1, wide]], offset=across.start)
            for down in pieces(before, 128):
                part = tile.sliced(slice(0, down.stop - down.start))
                core.dma_copy(dst=rows.sliced(down, across), src=part)
        return
    blocks = out.reshaped(before, size, after)
    for down, across in product(pieces(size, 128), pieces(after, COLUMNS)):
        tile = core.sbuf((down.stop - down.start, across.stop - across.start), out.dtype)
        pattern = [[0, across.stop - across.start]]
        core.iota(dst=tile, pattern=pattern, offset=down.start, channel_multiplier=1)
        for i in range(before):
            core.dma_copy(dst=blocks.sliced(i, down, across), src=tile)
