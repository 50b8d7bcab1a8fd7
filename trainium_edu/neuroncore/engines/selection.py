"""Choosing elements on the Vector Engine: by a predicate, the eight largest, or by value."""

import numpy as np

from trainium_edu.neuroncore.engines.accumulators import (
    accumulators,
    check_reduce_cmd,
    check_reduce_res,
)
from trainium_edu.neuroncore.engines.checks import (
    check_dtype,
    check_flag,
    check_not_both_in_psum,
    check_per_partition,
    check_same_dtype,
    check_same_size,
    check_shape,
    check_tiles,
    number,
)
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.engines.vector import operand_of, rows, store
from trainium_edu.neuroncore.recording.dtypes import write_fp32
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View

EIGHT = 8
MOST = 16_384  # elements per partition that max8 and its siblings look through


_TRUTH = ": 0 is False, all else True"


def _mask(call):
    """Return where the predicate holds, [partition, element]."""
    predicate = call.predicate
    held = predicate.read().reshape(predicate.shape[0], -1) != 0
    return ~held if call.reverse_pred else held


# -- tensor_copy_predicated -------------------------------------------------------------------


def _check_copy_predicated(call):
    check_tiles(call, "dst", "predicate")
    check_same_size(call, "dst", "predicate")
    check_dtype(call, "predicate", "uint8", "uint16", "uint32", instead=_TRUTH)
    check_flag(call, "reverse_pred")
    if isinstance(call.src, View):
        check_tiles(call, "src")
        check_same_size(call, "dst", "src")
        check_same_dtype(call, "dst", "src")
        check_not_both_in_psum(call, "src", "predicate")
    else:
        number(call, "src", "a number or a tile")


def _copy_predicated(call):
    dst, src = call.dst, call.src
    mask = _mask(call).reshape(dst.shape)
    if isinstance(src, View):
        new = np.array(src.read()).reshape(dst.shape)
    else:
        new = np.empty((1,) * len(dst.shape), dst.dtype.storage)
        if not dst.dtype.is_float and hasattr(src, "__index__"):  # whole numbers need no cast
            new[...] = min(max(src, int(dst.dtype.fmt.min)), int(dst.dtype.fmt.max))
        else:
            write_fp32(np.full(new.shape, src, np.float32), dst.dtype, call.core.rounding, new)
    dst.write_where(mask, new)


def _in_psum(*roles):
    """Return whether one of these operands is a tile in PSUM, as a function of the call."""
    return lambda call: any(
        getattr(call.__dict__[role], "memory", None) is Memory.PSUM for role in roles
    )


define(
    "tensor_copy_predicated", Engine.VECTOR, reads=("src", "predicate", "dst"),
    options=("src", "reverse_pred"), defaults={"reverse_pred": False},
    check=_check_copy_predicated, execute=_copy_predicated, by_shape=True,
    **priced("tensor_copy_predicated", "dst", "src", "predicate",
             fast="tensor_copy_predicated_psum", when=_in_psum("src", "predicate", "dst")),
)  # fmt: skip


# -- select_reduce ----------------------------------------------------------------------------


def _check_select_reduce(call):
    check_tiles(call, "dst", "predicate", "on_true")
    check_same_size(call, "dst", "predicate", "on_true")
    check_dtype(call, "predicate", "int8", "uint8", "int16", "uint16", instead=_TRUTH)
    check_not_both_in_psum(call, "on_true", "predicate")
    if call.on_true.dtype.name in ("tfloat32", "int32", "uint32"):
        call.refuse(f"on_true is {call.on_true.dtype}, which this instruction does not take")
    check_per_partition(call, "on_false", "on_true", dtypes=())
    check_flag(call, "reverse_pred")
    check_reduce_cmd(call, ("idle", "reset_reduce", "reduce"))
    if get_operator(call.reduce_op, "reduce_op").name != "maximum":
        call.refuse(f"reduce_op is {call.reduce_op}; only maximum is there")
    check_reduce_res(call, "on_true")
    if call.reduce_res is not None and not call.reduce_res.dtype.is_float:
        call.refuse(f"reduce_res is {call.reduce_res.dtype}; it is a float tile")


def _select_reduce(call):
    chosen = np.where(_mask(call), rows(call.on_true), operand_of(call, "on_false"))
    if call.reduce_cmd != "idle" or call.reduce_res is not None:
        held = accumulators(call, "vector", call.on_true)
        if call.reduce_cmd == "reset_reduce":
            held[:] = -np.inf
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
    check=_check_select_reduce, execute=_select_reduce, by_shape=True,
    **priced("select_reduce", "dst", "on_true", "predicate",
             fast="select_reduce_psum", when=_in_psum("on_true", "predicate")),
)  # fmt: skip


# -- max8, nc_find_index8, nc_match_replace8 --------------------------------------------------


def _check_searched(call, role, least=EIGHT):
    """Raise unless a tile that is looked through has `least` to 16384 elements per partition."""
    view = call.__dict__[role]
    if not least <= view.free_size <= MOST:
        call.refuse(
            f"{role} has {view.free_size} elements per partition; this instruction looks through "
            f"{least} to {MOST}: fill up a short row with what is never found, search a long one "
            "in pieces"
        )


def _check_axes(call, role, most):
    shape = call.__dict__[role].shape
    if len(shape) > most:
        call.refuse(f"{role} {list(shape)} has {len(shape)} axes; it takes up to {most}: reshape")


def _check_eight(call, role, like):
    lanes = call.__dict__[like].shape[0]
    why = f"it needs 8 elements in each of {like}'s {lanes} partitions"
    check_shape(call, role, lanes, EIGHT, why)


def _check_max8(call):
    check_tiles(call, "dst", "src")
    _check_searched(call, "src")
    _check_axes(call, "src", 3)
    _check_eight(call, "dst", "src")
    _check_axes(call, "dst", 2)


def _max8(call):
    values = rows(call.src)
    largest = np.partition(values, values.shape[1] - EIGHT, axis=1)[:, -EIGHT:]
    store(call, "dst", -np.sort(-largest, axis=1))


define(
    "max8", Engine.VECTOR, reads=("src",), check=_check_max8, execute=_max8, by_shape=True,
    **priced("max8", "src"),
)  # fmt: skip


def _check_find_index8(call):
    check_tiles(call, "dst", "data", "vals")
    _check_searched(call, "data")
    _check_axes(call, "data", 3)
    _check_eight(call, "vals", "data")
    _check_axes(call, "vals", 3)
    _check_eight(call, "dst", "data")
    _check_axes(call, "dst", 2)
    check_dtype(call, "dst", "uint16", "uint32")


def _matches(values, wanted, *, last_first):
    """Return which element each of the eight values meets, -1 for none, int64[partitions, 8].

    Equal values take their occurrences one after the other: the first occurrence goes to the
    first of them, or to the last of them with `last_first`.
    """
    found = np.full(wanted.shape, -1, np.int64)
    free = np.ones(values.shape, bool)
    lanes = np.arange(len(values))
    for slot in reversed(range(EIGHT)) if last_first else range(EIGHT):
        hits = (values == wanted[:, slot : slot + 1]) & free
        first = hits.argmax(axis=1)
        hit = hits[lanes, first]
        found[hit, slot] = first[hit]
        free[lanes[hit], first[hit]] = False
    return found


def _write_indices(view, found):
    view.write_bits(found.astype(view.dtype.storage).reshape(view.shape))  # -1 becomes all ones


def _find_index8(call):
    found = _matches(rows(call.data), rows(call.vals), last_first=False)
    _write_indices(call.dst, found)


define(
    "nc_find_index8", Engine.VECTOR, reads=("data", "vals"), check=_check_find_index8,
    execute=_find_index8, by_shape=True, **priced("nc_find_index8", "data"),
)  # fmt: skip


def _check_match_replace8(call):
    check_tiles(call, "dst", "data", "vals")
    _check_searched(call, "data", least=1)
    check_same_size(call, "dst", "data")
    _check_eight(call, "vals", "data")
    number(call, "imm")
    if call.dst_idx is not None:
        check_tiles(call, "dst_idx")
        _check_eight(call, "dst_idx", "data")
        check_dtype(call, "dst_idx", "uint16", "uint32")


def _match_replace8(call):
    values = np.array(rows(call.data))
    found = _matches(values, rows(call.vals), last_first=True)
    lanes, slots = np.nonzero(found >= 0)
    values[lanes, found[lanes, slots]] = np.float32(call.imm)
    store(call, "dst", values)
    if call.dst_idx is not None:
        _write_indices(call.dst_idx, found)


define(
    "nc_match_replace8", Engine.VECTOR, writes=("dst", "dst_idx"), reads=("data", "vals"),
    options=("imm",), defaults={"dst_idx": None},
    check=_check_match_replace8, execute=_match_replace8, by_shape=True,
    **priced("nc_match_replace8", "data"),
)  # fmt: skip
