"""The Tensor Engine: ``dst[M, N] = stationary[K, M].T @ moving[K, N]`` into PSUM, and transposes.

The array holds `stationary` and lets `moving` stream through, one column per cycle; sums are FP32.
A PSUM location that no matmul wrote yet is overwritten, later ones are added to.  The package
``systolic_array`` shows the same arithmetic cycle by cycle; here it is one matrix product.
"""

import numpy as np

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = ["check_bank"]

_READS = (
    "in SBUF: the Tensor Engine reads its operands from SBUF: copy it there first; float32 "
    "tfloat32 bfloat16 float16 float8_e4m3 float8_e5m2 float8_e3m4"
)
_WIDE = ("float32", "tfloat32")


# -- nc_matmul: limits ------------------------------------------------------------------------


def _check_mode(call):
    if _is_double(call):
        call.needs("double_row", f"perf_mode {call.perf_mode!r}",
                   "NeuronCore-v2 has no double FP8 mode")  # fmt: skip


def _check_matmul(call):
    chip = call.core.spec
    stationary, moving, dst = call.stationary, call.moving, call.dst
    if _is_double(call):
        _check_double_row(call)
    k, m, n = stationary.shape[0], _columns(call, stationary), _columns(call, moving)
    if moving.shape[0] != k:
        call.refuse(
            f"stationary has {k} partitions and moving has {moving.shape[0]}; both need "
            "the contraction axis K on partitions: stationary [K, M], moving [K, N]"
        )
    rows, columns = _tile_size(call, chip)
    if k > rows:
        call.refuse(f"K is {k} partitions, and tile_size gives it {rows} rows of the array")
    if m > columns:
        call.refuse(
            f"stationary has free size {m}, and the array (or its tile_size) has "
            f"{columns} columns; split M"
        )
    limit = chip.tensor_engine.moving_free_max.value
    if n > limit:
        call.refuse(
            f"moving has free size {n}, and one PSUM bank holds {limit} float32 per "
            f"partition; split N into pieces of {limit}"
        )
    why = f"stationary [K={k}, M={m}] and moving [K={k}, N={n}] give [{m}, {n}]"
    if (dst.shape[0], dst.free_size) != (m, n):
        call.refuse(f"dst is {list(dst.shape)}; {why}")
    one, two = stationary.dtype.name, moving.dtype.name
    if (one in _WIDE) != (two in _WIDE):
        call.refuse(
            f"stationary is {one} and moving is {two}; where one operand is float32 or "
            "tfloat32, the other must be too: copy one of them into the other's dtype"
        )
    check_bank(call, dst, chip)


def _is_double(call) -> bool:
    return getattr(call.perf_mode, "value", call.perf_mode) not in (None, "none")


def _columns(call, view) -> int:
    """Return the columns of an operand: of a double row, half of what a partition holds."""
    return view.free_size // 2 if _is_double(call) else view.free_size


def _check_double_row(call):
    for role in ("stationary", "moving"):
        view = call.__dict__[role]
        if view.dtype.itemsize > 1 or len(view.shape) != 3 or view.shape[1] != 2:
            call.refuse(
                f"perf_mode double_row with {role} {view!r}; it adds the products of two rows at "
                "once, so operands are FP8 tiles [K, 2, columns]"
            )
    if call.tile_position or call.tile_size or call.is_transpose:
        call.refuse("perf_mode double_row goes with no part of the array and no is_transpose")


def check_bank(call, dst, chip):
    """Raise unless a result lies inside one PSUM bank."""
    bank = chip.psum.bank_bytes.value
    _, _, low, high = dst.footprint()
    start = dst.buffer.info.address or 0
    if (start + low) // bank != (start + high - 1) // bank:
        call.refuse(
            f"dst {dst!r} covers bytes {start + low} to {start + high - 1} of a "
            f"partition; one result stays inside one PSUM bank of {bank} bytes "
            f"({bank // 4} float32): split N, or place the tile on a bank boundary"
        )


def _tile_size(call, chip):
    """Return (rows, columns) of the part of the array that is used."""
    rows, columns = chip.tensor_engine.rows.value, chip.tensor_engine.columns.value
    position, size = call.tile_position or (), call.tile_size or ()
    if not position and not size:
        return rows, columns
    for role, pair in (("tile_position", position), ("tile_size", size)):
        if not isinstance(pair, tuple | list) or not all(hasattr(n, "__index__") for n in pair):
            raise TypeError(f"nc_matmul: {role} {pair!r} must be (row, column), two integers")
    if len(position) != 2 or len(size) != 2:
        call.refuse(
            f"tile_position={position} and tile_size={size}; tiling needs both, each (row, column)"
        )
    for axis, extent, at, part in zip(
        ("row", "column"), (rows, columns), position, size, strict=True
    ):
        if part == 32:
            call.needs("array_tiles_32", f"tile_size has {axis} size 32, which",
                       "NeuronCore-v2 divides the array into halves of 64")  # fmt: skip
        if part not in (32, extent // 2, extent) or at % part or not 0 <= at < extent:
            call.refuse(
                f"{axis} tile of size {part} at {at}; sizes are {extent // 2} or {extent} "
                f"and positions multiples of the size below {extent}"
            )
    return size


# -- nc_matmul: values ------------------------------------------------------------------------


def _matmul(call):
    dst, stationary, moving = call.dst, call.stationary, call.moving
    add = _adds(call)
    if _is_double(call):
        every = slice(None)
        call.core.executor.multiply(dst, stationary.sliced(every, 0), moving.sliced(every, 0), add)
        stationary, moving, add = stationary.sliced(every, 1), moving.sliced(every, 1), True
    call.core.executor.multiply(dst, stationary, moving, add)
    dst.mark_written()
    if dst.buffer.accumulating is not True:
        _mark(dst)


def _adds(call):
    """Return whether the result is added to dst: one bool for all of it, or a mask."""
    dst = call.dst
    buffer = dst.buffer
    if call.accumulate is False:
        return False
    if buffer.accumulating is True:  # a matmul wrote all of the buffer before
        return True
    stated = buffer.info.address is not None
    is_fresh = buffer.accumulating is None and (stated or buffer.written.is_empty)
    if is_fresh and call.accumulate is None:  # the first matmul into this tile
        return False
    summed = _summed(dst)
    written = summed if stated else dst.is_written() or dst.written()
    if call.accumulate:
        if not np.all(written):
            _note(call, "accumulate-unwritten")
        elif not summed.all():
            _note(call, "accumulate-on-value")
        return True
    if written is True:
        if not summed.all():
            _note(call, "accumulate-on-value")
        return True
    return bool(written.any()) and (True if written.all() else written)


def _summed(dst):
    """Return which locations of dst hold a matmul's sum already, as a live bool window."""
    buffer = dst.buffer
    if buffer.accumulating is None:
        return np.zeros(dst.shape, bool)
    return np.ndarray(
        dst.shape, bool, buffer.accumulating, dst.offset // 4, [s // 4 for s in dst.strides]
    )


def _mark(dst):
    buffer = dst.buffer
    if buffer.start == 0 and dst.nbytes == buffer.nbytes and 0 not in dst.strides:
        buffer.accumulating = True
        return
    if buffer.accumulating is None:
        rows = buffer.info.partitions
        buffer.accumulating = np.zeros(rows * buffer.pitch // 4, np.uint8)
    _summed(dst)[...] = True


def _note(call, kind):
    core = call.core
    core.notes.append((kind, len(core.program), "dst", call.dst.buffer.info))


# -- nc_matmul: time --------------------------------------------------------------------------


def _matmul_work(call):
    stationary, moving = call.stationary, call.moving
    wide = stationary.dtype.name == "float32", moving.dtype.name == "float32"
    kind = "fp32" if any(wide) else "bf16"
    if (wide[0] and call.is_stationary_onezero) or (wide[1] and call.is_moving_onezero):
        kind = "fp32-onezero"
    return (
        stationary.shape[0], _columns(call, stationary), _columns(call, moving), kind,
        bool(call.is_transpose),
    )  # fmt: skip


def _matmul_cycles(chip, engine, k, m, n, kind, is_transpose):
    floor = chip.tensor_engine.min_initiation_cycles.value
    factor = chip.tensor_engine.fp32_factor.value
    passes = {"fp32": factor, "fp32-onezero": factor / 2}.get(kind, 1)
    return float(passes * max(min(floor, m), n))


define(
    "nc_matmul", Engine.TENSOR, reads=("stationary", "moving"), options=("accumulate",),
    defaults={"is_stationary_onezero": False, "is_moving_onezero": False, "is_transpose": False,
              "accumulate": None, "tile_position": (), "tile_size": (), "perf_mode": "none"},
    check=limits(
        mode=_check_mode, stationary=_READS, moving=_READS,
        dst="in PSUM: the Tensor Engine writes to PSUM only: allocate dst there and tensor_copy it "
        "after; float32: the array sums in FP32, so cast in the copy to SBUF",
        sizes=_check_matmul, is_stationary_onezero="flag", is_moving_onezero="flag",
        is_transpose="flag", accumulate="None or flag: None adds where a matmul wrote before",
    ),
    execute=_matmul, work=_matmul_work, cycles=_matmul_cycles,
    flops=lambda call: 2 * call.stationary.size * _columns(call, call.moving),
    by_shape=True, by_place=True,  # inside one bank
    facts=("tensor_engine.min_initiation_cycles", "tensor_engine.fp32_factor", "cycles.nc_matmul"),
)  # fmt: skip
