"""A product of any size from matmuls of 128 x 128 x 512: blocks, sums in PSUM, reuse in SBUF."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import (
    as_rows,
    cast_copy,
    load,
    new_like,
    pieces,
    store,
    store_copy,
)
from trainium_edu.neuroncore.tilings.transpose import transposed_tile
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["matmul"]

STATIONARY_BYTES = 64 * 1024  #: per partition, for stationary blocks that stay in SBUF
MOVING_BYTES = 48 * 1024  #: likewise for moving ones; twice that fits beside the stationary
ROW_BYTES = 4096  #: rows this long move at the full rate
BANKS = 4  #: results under way at once where blocks do not stay; half of PSUM


@checked
def matmul(core: NeuronCore, dst: View, stationary: View, moving: View, *,
           stationary_layout: str = "KM",
           moving_layout: str = "KN", dtype=None) -> None:  # fmt: skip
    """Write ``stationary.T @ moving`` to dst.

    Parameters
    ----------
    core : NeuronCore
    dst : View[M, N]
        HBM or SBUF (then M <= 128).
    stationary : View[K, M]
        HBM, or SBUF with K <= 128.
    moving : View[K, N]
        Likewise.
    stationary_layout : {"KM", "MK"}
        "MK": it is stored [M, K] (the usual left operand); its blocks are transposed on the way.
    moving_layout : {"KN", "NK"}
    dtype : optional
        Multiply in this dtype; default the stationary's.  Loads cast for nothing.

    Raises
    ------
    NkiValidationError
        If the shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> a = core.hbm(np.ones((200, 130), np.float32))
    >>> b = core.hbm(np.ones((200, 600), np.float32))
    >>> c = core.hbm((130, 600))
    >>> matmul(core, c, a, b)
    >>> float(core.value(c).min()), float(core.value(c).max())
    (200.0, 200.0)

    Notes
    -----
    All of K of some columns of both operands stays in SBUF, in rows of up to 4 KiB, for which DMA
    is fast; every stationary block is then loaded once, every moving block once per group of M.
    Where K is too long for that, K is the outer loop: blocks pass through, and the sums of up to
    four PSUM banks stay open.
    """
    dst = as_rows(dst, "dst")
    lhs = _Operand(core, as_rows(stationary, "stationary"), stationary_layout, "KM", dtype)
    rhs = _Operand(core, as_rows(moving, "moving"), moving_layout, "KN", dtype or lhs.dtype)
    if rhs.k != lhs.k or dst.shape != (lhs.free, rhs.free):
        raise NkiValidationError(
            f"matmul: stationary [K={lhs.k}, M={lhs.free}] and moving [K={rhs.k}, "
            f"N={rhs.free}] for dst {list(dst.shape)}; both must share K, and dst be [M, N]"
        )
    rows = int(core.spec.tensor_engine.rows.value)
    wide = int(core.spec.tensor_engine.moving_free_max.value)
    blocks = list(pieces(lhs.k, rows))
    held = _columns_that_stay(lhs, len(blocks), STATIONARY_BYTES, rows)
    streamed = _columns_that_stay(rhs, len(blocks), MOVING_BYTES, wide)
    if held and streamed:
        _with_blocks_that_stay(core, dst, lhs, rhs, blocks, held, streamed)
    else:
        _with_sums_that_stay(core, dst, lhs, rhs, blocks)


def _columns_that_stay(operand, blocks, budget, step) -> int:
    """Return how many columns of all K fit the budget, a multiple of `step`, 0 if none fits."""
    fit = budget // (blocks * operand.dtype.itemsize)
    return min(fit, max(ROW_BYTES // operand.dtype.itemsize, step)) // step * step


def _with_blocks_that_stay(core, dst, lhs, rhs, blocks, held, streamed):
    for group in pieces(lhs.free, held):
        stationary = [lhs.block(block, group) for block in blocks]
        for span in pieces(rhs.free, streamed):
            moving = [rhs.block(block, span) for block in blocks]
            for column in pieces(group.stop - group.start, 128):
                down = slice(group.start + column.start, group.start + column.stop)
                piece = dst.sliced(down, span)
                result = new_like(core, piece)
                for across in pieces(span.stop - span.start, 512):
                    total = core.psum((down.stop - down.start, across.stop - across.start))
                    for one, other in zip(stationary, moving, strict=True):
                        core.nc_matmul(
                            dst=total, stationary=one.sliced(slice(None), column),
                            moving=other.sliced(slice(None), across),
                        )  # fmt: skip
                    core.tensor_copy(dst=result.sliced(slice(None), across), src=total)
                store(core, piece, result)


def _with_sums_that_stay(core, dst, lhs, rhs, blocks):
    for group in pieces(lhs.free, 128 * BANKS):
        columns = list(pieces(group.stop - group.start, 128))
        for across in pieces(rhs.free, 512):
            sums = [core.psum((c.stop - c.start, across.stop - across.start)) for c in columns]
            for block in blocks:
                held, streamed = lhs.block(block, group), rhs.block(block, across)
                for column, total in zip(columns, sums, strict=True):
                    core.nc_matmul(
                        dst=total, stationary=held.sliced(slice(None), column), moving=streamed
                    )
            for column, total in zip(columns, sums, strict=True):
                down = slice(group.start + column.start, group.start + column.stop)
                store_copy(core, dst.sliced(down, across), total)


class _Operand:
    """One operand: hands out blocks [K, free] in SBUF, in the dtype that is multiplied."""

    def __init__(self, core, view, layout, straight, dtype):
        if layout not in (straight, straight[::-1]):
            raise ValueError(f"layout is {layout!r}; it must be {straight!r} or {straight[::-1]!r}")
        self.core, self.view = core, view
        self.turned = layout != straight
        self.k, self.free = view.shape[::-1] if self.turned else view.shape
        self.dtype = get_dtype(dtype) if dtype else view.dtype
        if view.memory is not Memory.HBM and self.k > 128:
            raise NkiValidationError(
                f"matmul: {view!r} has K = {self.k} and lies in {view.memory}; an operand on chip "
                "has K on at most 128 partitions, so keep it in HBM, or add up several matmuls"
            )

    def block(self, k: slice, free: slice) -> View:
        """Return one block [K, free] in SBUF."""
        if not self.turned:
            return cast_copy(
                self.core, load(self.core, self.view.sliced(k, free), self.dtype), self.dtype
            )
        out = self.core.sbuf((k.stop - k.start, free.stop - free.start), self.dtype)
        for piece in pieces(free.stop - free.start, 128):
            rows = slice(free.start + piece.start, free.start + piece.stop)
            part = load(self.core, self.view.sliced(rows, k), self.dtype)
            transposed_tile(
                self.core, cast_copy(self.core, part, self.dtype), out.sliced(slice(None), piece)
            )
        return out
