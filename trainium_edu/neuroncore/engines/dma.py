"""DMA: move data between HBM and SBUF, as descriptors of contiguous bytes.

A descriptor is one run of bytes that is contiguous on both sides; how long it is decides how fast
data moves.  Engines do not compute here: equal dtypes copy bits, different ones pass through FP32.
"""

from functools import lru_cache
from math import lcm

import numpy as np

from trainium_edu.neuroncore.dtypes import to_fp32
from trainium_edu.neuroncore.engine import Engine, Memory
from trainium_edu.neuroncore.indirect import indices_of
from trainium_edu.neuroncore.instruction_set import define
from trainium_edu.neuroncore.views import View
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["transfer"]

_MODES = {"priority": None, "oob_mode": "error", "dge_mode": "unknown"}


# -- how many descriptors ---------------------------------------------------------------------


@lru_cache(4096)
def _run(shape, strides, itemsize, first_axis) -> int:
    """Return how many elements in row-major order lie one after another before the first jump."""
    run = 1
    for axis in range(len(shape) - 1, first_axis - 1, -1):
        if shape[axis] == 1:
            continue
        if strides[axis] != run * itemsize:
            break
        run *= shape[axis]
    return run


def _run_of(view: View) -> int:
    first = 0 if view.memory is Memory.HBM else 1  # bytes of two partitions are not neighbours
    if view.indirect is not None and view.indirect.is_vector:
        first = 1
    return _run(view.shape, view.strides, view.dtype.itemsize, first)


def transfer(src: View, dst: View) -> tuple:
    """Return ("dma", descriptors, bytes per descriptor, bytes in all, direction) of one copy.

    Both sides are walked in row-major order; a descriptor ends where either side jumps.
    """
    here, there, size = _run_of(src), _run_of(dst), src.size
    if here == there:
        count = size // here
    else:
        count = size // here + size // there - size // lcm(here, there)
    nbytes = size * max(src.dtype.itemsize, dst.dtype.itemsize)
    return "dma", count, nbytes // count, nbytes, f"{src.memory}_to_{dst.memory}"


# -- limits -----------------------------------------------------------------------------------


def check_reach(call, view, role, *, memories=(Memory.HBM, Memory.SBUF)):
    """Raise unless `view` is a tensor that DMA reaches."""
    if not isinstance(view, View):
        raise TypeError(f"{call.name}: {role} is {view!r}; it is a tensor in HBM or SBUF")
    if view.memory not in memories:
        raise NkiValidationError(
            f"{call.name}: {role} is {view!r}; DMA moves data between HBM and SBUF, and PSUM is "
            "reached by engines only: use tensor_copy to bring it to SBUF first"
        )
    indirect = view.indirect
    if indirect is not None and indirect.is_vector:
        if view.memory is not Memory.HBM:
            raise NkiValidationError(
                f"{call.name}: {role} is {view!r} with one index per partition; such an index "
                "selects rows of a tensor in HBM (nc_n_gather gathers inside SBUF)"
            )
        index = indirect.index
        if not isinstance(index, View) or index.size != view.shape[0]:
            raise NkiValidationError(
                f"{call.name}: {role} has {view.shape[0]} rows and its index is {index!r}; "
                "give one index for each row, a (rows, 1) tile"
            )


def check_priority(call):
    """Raise where a later chip's option is asked for."""
    if call.priority is not None:
        raise NkiValidationError(
            f"{call.name}: priority={call.priority!r}; priorities need NeuronCore-v4 (Trainium3)"
        )
    if str(call.dge_mode) == "hwdge":
        raise NkiValidationError(
            f"{call.name}: dge_mode hwdge; descriptors made by hardware need NeuronCore-v3 "
            "(Trainium2); leave dge_mode out, or use swdge"
        )


def _check_copy(call):
    check_reach(call, call.src, "src")
    check_reach(call, call.dst, "dst")
    check_priority(call)
    if call.src.size != call.dst.size:
        raise NkiValidationError(
            f"dma_copy: src {list(call.src.shape)} has {call.src.size} elements and dst "
            f"{list(call.dst.shape)} has {call.dst.size}; a copy moves every element once, so the "
            "two counts are equal"
        )


# -- values -----------------------------------------------------------------------------------


def rows_of(view: View):
    """Return the live window [limit, ...] of a view's indexed axis, as far as it stays inside."""
    buffer, step = view.buffer, view.indirect.step_bytes
    inner = view.dtype.itemsize + sum(
        (n - 1) * s for n, s in zip(view.shape[1:], view.strides[1:], strict=True)
    )
    space = buffer.base.size - view.offset
    count = min(view.indirect.limit, (space - inner) // step + 1 if step else view.indirect.limit)
    return np.ndarray(
        (max(count, 0), *view.shape[1:]), view.dtype.storage, buffer.base,
        buffer.start + view.offset, (step, *view.strides[1:]),
    )  # fmt: skip


def rows_and_bounds(call, view, role):
    """Return (window, indices, which indices are inside), or raise where one is outside."""
    rows, index = rows_of(view), indices_of(view.indirect)
    inside = (index >= 0) & (index < len(rows))
    if not inside.all() and str(call.oob_mode) != "skip":
        where = int(np.flatnonzero(~inside)[0])
        raise NkiValidationError(
            f"{call.name}: index {index[where]} (number {where}) of {role} {view!r} is out of "
            f"bounds; rows are 0 to {len(rows) - 1}, and oob_mode skip leaves such rows out"
        )
    return rows, index, inside


def convert(values, src, dst, rounding):
    """Return `values` of src's dtype as bits of dst's (None: they go through write_fp32)."""
    return values if src.dtype is dst.dtype else None


def _copy(call):
    src, dst = call.src, call.dst
    keep = None
    if src.indirect is not None:
        rows, index, inside = rows_and_bounds(call, src, "src")
        values = rows[np.where(inside, index, 0)]
        if not inside.all():
            keep = inside
    else:
        values = src.read()
    if dst.indirect is not None:
        _scatter(call, values, src.dtype, dst)
        return
    if keep is not None:
        _copy_some(call, values, keep)
        return
    if values.shape != dst.shape:
        values = values.reshape(dst.shape)
    if src.dtype is dst.dtype:
        dst.write_bits(values)
    else:
        dst.write_fp32(to_fp32(values, src.dtype), call.core.rounding)


def _copy_some(call, values, keep):
    """Write only the rows whose index was inside; the others keep what they had."""
    src, dst = call.src, call.dst
    if dst.shape[0] != len(keep):
        raise NkiValidationError(
            f"dma_copy: oob_mode skip leaves rows out, so dst needs {len(keep)} rows like the "
            f"index; it is {list(dst.shape)}"
        )
    for row in np.flatnonzero(keep):
        part = dst.sliced(slice(int(row), int(row) + 1))
        one = values[row].reshape(part.shape)
        if src.dtype is dst.dtype:
            part.write_bits(one)
        else:
            part.write_fp32(to_fp32(one, src.dtype), call.core.rounding)


def _scatter(call, values, dtype, dst):
    rows, index, inside = rows_and_bounds(call, dst, "dst")
    values = values.reshape(dst.shape)
    if dtype is not dst.dtype:
        out = np.empty(dst.shape, dst.dtype.storage)
        from trainium_edu.neuroncore.dtypes import write_fp32

        write_fp32(to_fp32(values, dtype), dst.dtype, call.core.rounding, out)
        values = out
    rows[index[inside]] = values[inside]
    for row in index[inside]:
        _mark_row(dst, int(row))


def _mark_row(view, row):
    offset = view.offset + row * view.indirect.step_bytes
    View(
        view.buffer, view.dtype, (1, *view.shape[1:]), (0, *view.strides[1:]), offset
    ).mark_written()


define(
    "dma_copy",
    Engine.DMA,
    reads=("src",),
    check=_check_copy,
    execute=_copy,
    work=lambda call: transfer(call.src, call.dst),
    cycles=lambda chip, engine, *work: 0.0,
    options=("oob_mode",),
    defaults=_MODES,
    facts=("dma.start_ns", "dma.bytes_per_s"),
)
