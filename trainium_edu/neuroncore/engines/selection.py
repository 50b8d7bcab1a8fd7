"""Choosing elements on the Vector Engine: by a predicate, the eight largest, or by value."""

import numpy as np

from trainium_edu.neuroncore.engines.accumulators import accumulators
from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.engines.vector import operand_of, rows, store
from trainium_edu.neuroncore.recording.dtypes import write_fp32
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View

EIGHT = 8
_SEARCHED = (  # by max8 and its siblings
    "[P, F 8..16384]: pad a short row with a value that is never found, search a long one in pieces"
    "; up to 3 axes"
)
_TRUTH = "0 is False, all else True"


def _mask(call):
    """Return where the predicate holds, bool[partition, element]."""
    predicate = call.predicate
    held = predicate.read().reshape(predicate.shape[0], -1) != 0
    return ~held if call.reverse_pred else held


# -- tensor_copy_predicated -------------------------------------------------------------------


def _copy_predicated(call):
    dst, src = call.dst, call.src
    mask = _mask(call).reshape(dst.shape)
    if isinstance(src, View):
        new = np.array(src.read()).reshape(dst.shape)
    else:
        new = np.empty((1,) * len(dst.shape), dst.dtype.storage)
        if not dst.dtype.is_float and hasattr(src, "__index__"):  # integers need no cast
            new[...] = min(max(src, int(dst.dtype.fmt.min)), int(dst.dtype.fmt.max))
        else:
            write_fp32(np.full(new.shape, src, np.float32), dst.dtype, call.core.rounding, new)
    dst.write_where(mask, new)


def _in_psum(*roles):
    """Return whether one of these operands is a tile in PSUM, as a function of the call."""

    def is_in_psum(call):
        return any(getattr(call.__dict__[role], "memory", None) is Memory.PSUM for role in roles)

    return is_in_psum


define(
    "tensor_copy_predicated", Engine.VECTOR, reads=("src", "predicate", "dst"),
    options=("src", "reverse_pred"), defaults={"reverse_pred": False},
    check=limits(
        predicate=f"[P, F]; uint8 uint16 uint32: {_TRUTH}", dst="[P, F]", reverse_pred="flag",
        src="number or [P, F]; like dst; not in PSUM with predicate",
    ),
    execute=_copy_predicated, by_shape=True,
    **priced("tensor_copy_predicated", "dst", "src", "predicate",
             fast="tensor_copy_predicated_psum", when=_in_psum("src", "predicate", "dst")),
)  # fmt: skip


# -- select_reduce ----------------------------------------------------------------------------


def _select_reduce(call):
    _reduce_and_store(
        call, call.on_true, np.where(_mask(call), rows(call.on_true), operand_of(call, "on_false"))
    )


def _reduce_and_store(call, like, chosen):
    if call.reduce_cmd != "idle" or call.reduce_res is not None:
        held = accumulators(call, "vector", like, -np.inf)
        if call.reduce_cmd != "idle":
            held[:] = np.maximum(held, chosen.max(axis=1))
    store(call, "dst", chosen)
    if call.reduce_res is not None:
        store(call, "reduce_res", held.reshape(-1, 1))


define(
    "select_reduce", Engine.VECTOR, writes=("dst", "reduce_res"),
    reads=("predicate", "on_true", "on_false"),
    options=("on_false", "reduce_cmd", "reduce_op", "reverse_pred"),
    defaults={"reduce_res": None, "reduce_cmd": "idle", "reduce_op": "maximum",
              "reverse_pred": False},
    check=limits(
        predicate=f"[P, F]; int8 uint8 int16 uint16: {_TRUTH}",
        on_true="[P, F]; not in PSUM with predicate; float32 bfloat16 float16 float8_e4m3 "
        "float8_e5m2 float8_e3m4 int8 uint8 int16 uint16",
        dst="[P, F]", on_false="number or [P, 1]", reverse_pred="flag",
        reduce_cmd="one of idle reset_reduce reduce", reduce_op="operator maximum",
        reduce_res="None or [P, 1]; float",
    ),
    execute=_select_reduce, by_shape=True,
    **priced("select_reduce", "dst", "on_true", "predicate",
             fast="select_reduce_psum", when=_in_psum("on_true", "predicate")),
)  # fmt: skip


# -- range_select -----------------------------------------------------------------------------

_COMPARISONS = "operator equal less less_equal greater greater_equal"


def _check_range(call):
    call.needs("range_select", "the instruction", "use iota, two comparisons and select_reduce")
    if call.on_false_value not in (Ellipsis, float(_LEAST), None):
        call.refuse(
            f"on_false_value is {call.on_false_value!r}; the hardware writes the least FP32 number"
        )


def _range_select(call):
    """Compare indices with two bounds for each partition, all in FP32."""
    data = rows(call.on_true_tile)
    index = np.arange(data.shape[1], dtype=np.float32) + np.float32(call.range_start)
    first, second = (
        get_operator(call.__dict__[f"comp_op{k}"], f"comp_op{k}").function(
            index, rows(call.__dict__[f"bound{k}"])) for k in (0, 1)
    )  # fmt: skip
    chosen = np.where((first != 0) & (second != 0), data, _LEAST)
    _reduce_and_store(call, call.on_true_tile, chosen)


_LEAST = np.finfo(np.float32).min
define(
    "range_select", Engine.VECTOR, writes=("dst", "reduce_res"),
    reads=("on_true_tile", "bound0", "bound1"),
    options=("comp_op0", "comp_op1", "range_start", "reduce_cmd", "reduce_op"),
    defaults={"reduce_res": None, "reduce_cmd": "reset_reduce", "reduce_op": "maximum",
              "range_start": 0, "on_false_value": None},
    check=limits(
        chip=_check_range, on_true_tile="[P, F]; float", dst="[P, F]",
        bound0="[P, 1]; float32", bound1="[P, 1]; float32", comp_op0=_COMPARISONS,
        comp_op1=_COMPARISONS, reduce_cmd="one of idle reset_reduce reduce",
        reduce_op="operator maximum", reduce_res="None or [P, 1]; float",
        range_start=f"int 0..{2**24}",
    ),
    execute=_range_select, **priced("range_select", "dst", "on_true_tile"),
)  # fmt: skip


# -- max8, nc_find_index8, nc_match_replace8 --------------------------------------------------


def _max8(call):
    values = rows(call.src)
    largest = np.partition(values, values.shape[1] - EIGHT, axis=1)[:, -EIGHT:]
    store(call, "dst", -np.sort(-largest, axis=1))


define(
    "max8", Engine.VECTOR, reads=("src",), execute=_max8, by_shape=True,
    check=limits(src=_SEARCHED, dst="[P, 8]: the eight largest of a partition; up to 2 axes"),
    **priced("max8", "src"),
)  # fmt: skip


def _matches(values, sought, *, last_first):
    """Return which element each of the eight values matches, -1 for none, int64[partitions, 8].

    Equal values take their occurrences one after the other: the first occurrence goes to the
    first of them, or to the last of them with `last_first`.
    """
    places = np.full(sought.shape, -1, np.int64)
    free = np.ones(values.shape, bool)
    lanes = np.arange(len(values))
    for slot in reversed(range(EIGHT)) if last_first else range(EIGHT):
        hits = (values == sought[:, slot : slot + 1]) & free
        first = hits.argmax(axis=1)
        hit = hits[lanes, first]
        places[hit, slot] = first[hit]
        free[lanes[hit], first[hit]] = False
    return places


def _write_indices(view, places):
    view.write_bits(places.astype(view.dtype.storage).reshape(view.shape))  # -1 becomes all ones


def _find_index8(call):
    places = _matches(rows(call.data), rows(call.vals), last_first=False)
    _write_indices(call.dst, places)


define(
    "nc_find_index8", Engine.VECTOR, reads=("data", "vals"),
    check=limits(
        data=_SEARCHED, vals="[P, 8]: eight values for each partition; up to 3 axes",
        dst="[P, 8]: an index for each value; up to 2 axes; uint16 uint32",
    ),
    execute=_find_index8, by_shape=True, **priced("nc_find_index8", "data"),
)  # fmt: skip


def _match_replace8(call):
    values = np.array(rows(call.data))
    places = _matches(values, rows(call.vals), last_first=True)
    lanes, slots = np.nonzero(places >= 0)
    values[lanes, places[lanes, slots]] = np.float32(call.imm)
    store(call, "dst", values)
    if call.dst_idx is not None:
        _write_indices(call.dst_idx, places)


define(
    "nc_match_replace8", Engine.VECTOR, writes=("dst", "dst_idx"), reads=("data", "vals"),
    options=("imm",), defaults={"dst_idx": None},
    check=limits(
        data="[P, F ≤ 16384]: search a longer row in pieces", dst="[P, F]", imm="number",
        vals="[P, 8]: eight values for each partition",
        dst_idx="None or [P, 8]: an index for each value; uint16 uint32",
    ),
    execute=_match_replace8, by_shape=True,
    **priced("nc_match_replace8", "data"),
)  # fmt: skip
