"""GpSimd instructions whose numbers come from a formula: ``iota`` and ``affine_select``.

The value at (partition, w, z, y, x) is ``offset + partition * channel_multiplier + w * step_w +
z * step_z + y * step_y + x * step_x``, in 32-bit integers.
"""

import numpy as np

from trainium_edu.neuroncore.engines.checks import integer, limits, number
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.recording.dtypes import to_fp32, write_fp32
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = []

_COMPARE = {
    name: getattr(np, name)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
}
_AXES_MAX = 4
_RANGE, _WIDTH = (-(2**31), 2**31 - 1), "these instructions count in 32 bits"
_INT = f"int {_RANGE[0]}..{_RANGE[1]}: {_WIDTH}"


def _check_pattern(call):
    pattern = call.pattern
    is_list = isinstance(pattern, list | tuple) and 1 <= len(pattern) <= _AXES_MAX
    if not is_list or any(not isinstance(p, list | tuple) or len(p) != 2 for p in pattern):
        call.refuse(
            f"pattern is {pattern!r}; it must be a list of 1 to {_AXES_MAX} [step, num] pairs, "
            f"because the hardware counts in {_AXES_MAX} nested loops: merge adjacent axes "
            "or issue it in parts"
        )
    count = 1
    for step, num in pattern:
        integer(call, "a step of the pattern", step, *_RANGE, _WIDTH)
        count *= integer(call, "a num of the pattern", num, 1, _RANGE[1], _WIDTH)
    if count != call.dst.free_size:
        call.refuse(
            f"pattern {pattern!r} makes {count} numbers per partition, and dst "
            f"{list(call.dst.shape)} holds {call.dst.free_size}"
        )


def _affine(call):
    """Return the formula's values, int32[P, N] (32-bit arithmetic wraps around)."""
    free = np.zeros(1, np.int64)
    for step, num in call.pattern:
        free = (free[:, None] + np.arange(num, dtype=np.int64) * int(step)).reshape(-1)
    channels = np.arange(call.dst.shape[0], dtype=np.int64) * int(call.channel_multiplier)
    return (channels[:, None] + (free + int(call.offset))).astype(np.int32)


def _iota(call):
    values, dst = _affine(call).reshape(call.dst.shape), call.dst
    if dst.dtype.name in ("int32", "uint32"):
        dst.write_bits(values.view(dst.dtype.storage))
    else:
        dst.write_fp32(values.astype(np.float32), call.core.rounding)


define(
    "iota", Engine.GPSIMD, options=("pattern",), defaults={"offset": 0, "channel_multiplier": 0},
    check=limits(dst="[P, F]", pattern=_check_pattern, offset=_INT, channel_multiplier=_INT),
    execute=_iota,
    **priced("iota", "dst", any_stride=True),
)  # fmt: skip


def _select(call):
    dst, tile = call.dst, call.on_true_tile
    compare = _COMPARE[get_operator(call.cmp_op, "cmp_op").name]
    predicate = compare(_affine(call), 0).reshape(dst.shape)
    other = np.asarray(number(call, "on_false_value"), np.float32)
    values = tile.read().reshape(dst.shape)
    if tile.dtype is not dst.dtype:
        values = to_fp32(values, tile.dtype)
        dst.write_fp32(np.where(predicate, values, other), call.core.rounding)
        return
    stored = np.empty((1,), dst.dtype.storage)
    write_fp32(other.reshape(1), dst.dtype, call.core.rounding, stored)
    dst.write_bits(np.where(predicate, values, stored))


define(
    "affine_select", Engine.GPSIMD, reads=("on_true_tile",),
    options=("pattern", "channel_multiplier", "on_false_value"),
    defaults={"cmp_op": "equal", "offset": 0},
    check=limits(
        on_true_tile="[P, F]", dst="[P, F]", pattern=_check_pattern, on_false_value="number",
        offset=_INT, channel_multiplier=_INT,
        cmp_op=f"operator {' '.join(_COMPARE)}",
    ),
    execute=_select, **priced("affine_select", "dst", any_stride=True),
)  # fmt: skip
