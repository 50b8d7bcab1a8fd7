"""DMA that does more than copy: transposing on the way, and adding on the way.

A transpose moves element by element, so each descriptor is as short as one element: it costs no
engine and much DMA time.  Adding happens in FP32 inside the DMA engines; with an index it reads,
adds and writes rows of HBM that only the data name.
"""

import numpy as np

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.dma import (
    MODE_LIMITS,
    MODES,
    TIMED,
    check_rows,
    check_skip,
    has_rows,
    load,
    store,
    transfer,
)
from trainium_edu.neuroncore.recording.dtypes import DTYPES, to_fp32
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.indirect import indices_of
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View

__all__ = []

_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_SOURCES_MAX = 16


# -- dma_transpose ----------------------------------------------------------------------------


def _check_gather(call):
    if has_rows(call.src) or has_rows(call.dst):
        call.needs("gather_transpose", "gathering while transposing",
                   "gather rows with dma_copy first, then transpose")  # fmt: skip
        _check_gathered(call, call.src)
    if call.dge_mode == "swdge" and not call.is_indirect:
        call.needs("gather_transpose", "dge_mode swdge, for gathering transposes,",
                   "leave dge_mode out")  # fmt: skip
    check_skip(call)


def _check_gathered(call, src):
    index = src.indirect.index if has_rows(src) else None
    fits = index is not None and index.shape == (src.shape[0], 1) and src.shape[0] % 16 == 0
    if not fits or index.dtype.name != "uint32" or src.shape[0] > 128 or has_rows(call.dst):
        call.refuse(
            f"src is {src!r} with the index {index!r}; the hardware gathers 16, 32 ... 128 rows of "
            "src by a uint32 index [rows, 1] (of several columns: one call for each), and scatters "
            "none"
        )
    if src.dtype.itemsize != 2 or src.shape[-1] > 128:
        call.refuse(f"src is {src!r}; gathered rows have at most 128 elements of 2 bytes")


def _check_axes(call):
    src, dst = call.src, call.dst
    axes = _AXES.get(len(src.shape))
    if axes is None:
        call.refuse(f"src {list(src.shape)} has {len(src.shape)} axes; it takes 2, 3 or 4")
    asked = call.axes
    if asked is not None and (not isinstance(asked, list | tuple) or tuple(asked) != axes):
        call.refuse(
            f"axes {asked!r} of a tensor with {len(axes)} axes; the supported order is {axes}"
        )
    shape = tuple(src.shape[a] for a in axes)
    if dst.shape != shape:
        call.refuse(
            f"src {list(src.shape)} becomes {list(shape)}, and dst is "
            f"{list(dst.shape)}; the two shapes must be equal"
        )


def _transpose(call):
    values, inside = load(call, call.src, "src")
    values = values.transpose(_AXES[len(call.src.shape)])
    if inside is None:
        store(call, call.dst, "dst", values, call.src.dtype)
    else:  # the rows that are left out are columns here
        call.dst.write_where(np.broadcast_to(inside, values.shape), values)


def _transpose_work(call):
    src, size = call.src, call.src.dtype.itemsize
    return "dma", src.size, size, src.size * size, f"{src.memory}_to_{call.dst.memory}"


define(
    "dma_transpose", Engine.DMA, reads=("src",), defaults={"axes": None, **MODES},
    check=limits(  # one docstring says dst in SBUF only, the migration guide HBM too
        src="in HBM or SBUF", **MODE_LIMITS, gather=_check_gather,
        dst="in HBM or SBUF; like src: the transpose moves bits, so the two dtypes must be equal: "
        "cast with tensor_copy before or after",
        axes=_check_axes,
    ),
    execute=_transpose, work=_transpose_work, **TIMED,
)  # fmt: skip


# -- dma_compute ------------------------------------------------------------------------------


def _check_sources(call):
    srcs = call.srcs
    if not isinstance(srcs, list | tuple) or not srcs or len(srcs) > _SOURCES_MAX:
        has = f"has {len(srcs)} tensors" if isinstance(srcs, list | tuple) else f"is {srcs!r}"
        call.refuse(f"srcs {has}; it must be a list of 1 to {_SOURCES_MAX} tensors")


def _check_scales(call):
    srcs = call.srcs
    scales = call.scales
    if scales is not None and (
        not isinstance(scales, list | tuple) or list(scales) != [1.0] * len(srcs)
    ):
        call.refuse(
            f"scales {scales!r}; one 1.0 for each source is all that is supported: "
            "scale with tensor_scalar first"
        )


def _check_sum_of_rows(call):
    """Raise unless a call with an index adds a tile to rows of HBM, or rows of HBM to a tile."""
    srcs, dst = call.srcs, call.dst
    if all(view.indirect is None for view in (*srcs, dst)):
        return
    if len(srcs) != 2:
        call.refuse(
            f"{len(srcs)} sources with an index; reading, adding and writing rows "
            "by index takes exactly 2"
        )
    if not call.unique_indices:
        call.refuse(
            "unique_indices=False; rows that appear twice would be added in an "
            "unknown order, so indices must be unique: add up duplicates before"
        )
    same = [_is_same(src, dst) for src in srcs]
    other = srcs[same.index(False)] if sum(same) == 1 else None
    if dst.indirect is not None:  # scatter: dst[rows] += data
        fits = other is not None and other.indirect is None and other.memory is Memory.SBUF
    else:  # gather: dst += data[rows]
        fits = other is not None and has_rows(other) and dst.memory is Memory.SBUF
    if not fits:
        call.refuse(
            f"dst is {dst!r} and srcs are {list(srcs)!r}; with an index it adds a "
            "tile in SBUF to rows of HBM (dst[rows] = dst[rows] + tile), or rows of HBM to a tile "
            "in SBUF (tile = tile + src[rows]): one source is dst itself, by the same vector_offset"
        )


def _is_same(one, two):
    """Return whether two operands are the same elements at the same index."""
    if not (isinstance(one, View) and isinstance(two, View)):
        return one is two
    place = [(id(v.buffer), v.offset, v.shape, v.strides, v.dtype.name) for v in (one, two)]
    index = [getattr(v.indirect, "index", None) for v in (one, two)]
    return place[0] == place[1] and _is_same(*index)


def _compute(call):
    total = inside = None
    for number, src in enumerate(call.srcs):
        values, mask = load(call, src, f"srcs[{number}]")
        values = to_fp32(values, src.dtype).reshape(call.dst.shape)
        if mask is not None:
            inside = mask if inside is None else inside & mask
        total = values if total is None else np.add(total, values)
    if call.dst.indirect is not None:
        _check_unique(call, inside)
    store(call, call.dst, "dst", total, DTYPES["float32"], inside)


def _check_unique(call, inside):
    """Raise if a scatter names a row twice: both would add to what was there before."""
    index = indices_of(call.dst.indirect)
    index = np.sort(index if inside is None else index[inside])
    twice = index[1:][index[1:] == index[:-1]]
    if twice.size:
        call.refuse(
            f"the index names row {twice[0]} more than once, and one of the sums "
            "would be lost; unique_indices=True promises that no row comes twice: add up "
            "duplicates before, or scatter in several instructions"
        )


def _compute_work(call):
    moved = [transfer(src, call.dst) for src in call.srcs]
    count, nbytes = (sum(m[at] for m in moved) for at in (1, 3))
    return "dma", count, nbytes // count, nbytes, moved[0][4]


define(
    "dma_compute", Engine.DMA, reads=("srcs",), options=("reduce_op", "scales"),
    defaults={"scales": None, "unique_indices": True, "oob_mode": "error"},
    check=limits(
        count=_check_sources, dst="in HBM or SBUF", oob_mode="one of error skip",
        srcs="each in HBM or SBUF; each as many elements as dst: different element counts, and DMA "
        "adds element by element",
        reduce_op="operator add: DMA engines only add, so use nl.add, or tensor_tensor on an "
        "engine",
        skip=check_skip, rows=check_rows, scales=_check_scales, unique_indices="flag",
        sum_of_rows=_check_sum_of_rows,
    ),
    execute=_compute, work=_compute_work, **TIMED,
)  # fmt: skip
