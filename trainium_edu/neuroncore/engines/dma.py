"""DMA: move data between HBM and SBUF, as descriptors of contiguous bytes.

A descriptor is one run of bytes that is contiguous on both sides; how long it is decides how fast
data moves.  Engines do not compute here: equal dtypes copy bits, different ones pass through FP32.
"""

from functools import lru_cache
from math import lcm

import numpy as np

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.recording.dtypes import to_fp32, write_fp32
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.indirect import indices_of, out_of_bounds
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View

__all__ = [
    "MODES", "MODE_LIMITS", "TIMED", "check_rows", "check_skip", "contiguous_run", "has_rows",
    "load", "store", "transfer",
]  # fmt: skip

MODES = {"priority": None, "oob_mode": "error", "dge_mode": "unknown", "asked_by": None}


# -- how many descriptors ---------------------------------------------------------------------


@lru_cache(4096)
def contiguous_run(shape, strides, itemsize, first_axis) -> int:
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
    if has_rows(view):
        first = 1
    return contiguous_run(view.shape, view.strides, view.dtype.itemsize, first)


def has_rows(view) -> bool:
    """Return whether a view names rows of a tensor by an index for each."""
    return view.indirect is not None and view.indirect.is_vector


def transfer(src: View, dst: View) -> tuple:
    """Return ("dma", descriptors, bytes per descriptor, bytes in all, direction) of one copy.

    Both sides are walked in row-major order; a descriptor ends where either side jumps.
    """
    src_run, dst_run, size = _run_of(src), _run_of(dst), src.size
    if src_run == dst_run:
        count = size // src_run
    else:
        count = size // src_run + size // dst_run - size // lcm(src_run, dst_run)
    nbytes = size * max(src.dtype.itemsize, dst.dtype.itemsize)
    return "dma", count, nbytes // count, nbytes, f"{src.memory}_to_{dst.memory}"


# -- limits -----------------------------------------------------------------------------------


def check_rows(call):
    """Raise unless rows that an index names are in HBM, with one index for each."""
    for role in (*call.row.reads, *call.row.writes):
        views = call.__dict__[role]
        for view in views if isinstance(views, list | tuple) else (views,):
            if not has_rows(view):
                continue
            if view.memory is not Memory.HBM:
                call.refuse(
                    f"{role} is {view!r} with one index per partition; such an index "
                    "selects rows of a tensor in HBM (nc_n_gather gathers inside SBUF)"
                )
            index = view.indirect.index
            if not isinstance(index, View) or index.size != view.shape[0]:
                call.refuse(
                    f"{role} has {view.shape[0]} rows and its index is {index!r}; "
                    "give one index for each row, a (rows, 1) tile"
                )


def check_skip(call):
    """Raise if ``oob_mode`` skips rows, and no index names any."""
    if call.oob_mode == "skip" and not call.is_indirect:
        call.refuse(
            "oob_mode skip without an index; addresses that are known beforehand cannot be out of "
            "bounds, so leave oob_mode out"
        )


def _check_modes(call):
    """Raise for an option of a later chip."""
    if call.priority is not None:
        call.refuse(f"priority={call.priority!r}; priorities need NeuronCore-v4 (Trainium3)")
    if call.dge_mode == "hwdge":
        call.needs("hwdge", "dge_mode hwdge", "leave dge_mode out: descriptors are made before")


#: The limits of the options in MODES, and of rows by index.
MODE_LIMITS = {"oob_mode": "one of error skip", "dge_mode": "one of unknown swdge hwdge none",
               "modes": _check_modes, "rows": check_rows}  # fmt: skip


def _check_unknown_rows(call):
    if call.dge_mode == "none" and (has_rows(call.src) or has_rows(call.dst)):
        call.refuse(
            "dge_mode none with an index for each row; descriptors that are written "
            "before the kernel starts do not know the rows, so use swdge, or leave dge_mode out"
        )


# -- values -----------------------------------------------------------------------------------


def load(call, view, role):
    """Return (numbers in the view's dtype and shape, mask of rows with an index inside or None)."""
    if view.indirect is None:
        return view.read(), None
    rows, index, inside = _rows(call, view, role)
    values = rows[np.where(inside, index, 0)]
    return values, None if inside.all() else inside


def store(call, view, role, values, dtype, inside=None):
    """Write numbers of `dtype` to a view of their size, except rows whose index is outside."""
    values = values if values.shape == view.shape else values.reshape(view.shape)
    if view.indirect is not None:
        _scatter(call, view, role, values, dtype, inside)
    elif inside is not None:
        _store_rows(call, view, role, values, dtype, inside)
    elif dtype is view.dtype:
        view.write_bits(values)
    else:
        view.write_fp32(to_fp32(values, dtype), call.core.rounding)


def _rows(call, view, role):
    """Return (live window [rows, ...] of the indexed axis, indices, which are inside)."""
    buffer, step = view.buffer, view.indirect.step_bytes
    inner = view.dtype.itemsize + sum(
        (n - 1) * s for n, s in zip(view.shape[1:], view.strides[1:], strict=True)
    )
    count = min(view.indirect.limit, (buffer.base.size - view.offset - inner) // step + 1)
    rows = np.ndarray(
        (max(count, 0), *view.shape[1:]), view.dtype.storage, buffer.base,
        buffer.start + view.offset, (step, *view.strides[1:]),
    )  # fmt: skip
    index = indices_of(view.indirect)
    inside = (index >= 0) & (index < len(rows))
    if not inside.all() and str(call.oob_mode) != "skip":
        where = int(np.flatnonzero(~inside)[0])
        what = f"{call.name}: index {index[where]} (number {where}) of {role}"
        raise out_of_bounds(view, what, len(rows), "rows are", "rows")
    return rows, index, inside


def _scatter(call, view, role, values, dtype, kept_rows):
    rows, index, inside = _rows(call, view, role)
    if kept_rows is not None:
        inside = inside & kept_rows
    if dtype is not view.dtype:
        narrow = np.empty(values.shape, view.dtype.storage)
        write_fp32(to_fp32(values, dtype), view.dtype, call.core.rounding, narrow)
        values = narrow
    rows[index[inside]] = values[inside]  # of equal indices the last one stays
    for row in np.unique(index[inside]):
        offset = view.offset + int(row) * view.indirect.step_bytes
        shape, strides = (1, *view.shape[1:]), (0, *view.strides[1:])
        View(view.buffer, view.dtype, shape, strides, offset).mark_written()


def _store_rows(call, view, role, values, dtype, inside):
    if view.shape[0] != len(inside):
        call.refuse(
            f"oob_mode skip leaves rows out, so {role} needs {len(inside)} rows like "
            f"the index; its shape is {list(view.shape)}"
        )
    for row in np.flatnonzero(inside):
        part = View(
            view.buffer, view.dtype, (1, *view.shape[1:]), view.strides,
            view.offset + int(row) * view.strides[0],
        )  # fmt: skip
        store(call, part, role, values[row : row + 1], dtype)


def _copy(call):
    values, inside = load(call, call.src, "src")
    store(call, call.dst, "dst", values, call.src.dtype, inside)


#: The columns of a row that the queues time by what it moves (see ``timing.durations``).
TIMED = {"cycles": lambda chip, engine, *work: 0.0, "facts": ("dma.start_ns", "dma.bytes_per_s")}

define(
    "dma_copy", Engine.DMA, reads=("src",), options=("oob_mode",), defaults=MODES,
    check=limits(
        src="in HBM or SBUF", **MODE_LIMITS, unknown_rows=_check_unknown_rows,
        dst="in HBM or SBUF; as many elements as src: a copy moves every element once, so the two "
        "counts must be equal",
    ),
    execute=_copy, work=lambda call: transfer(call.src, call.dst), by_shape=True, waits=True,
    **TIMED,
)  # fmt: skip
