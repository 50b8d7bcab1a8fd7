"""GpSimd instructions that look across a tile: reduce over partitions, top k, sequence bounds."""

import numpy as np

from trainium_edu.neuroncore.engines.checks import check_dtype, check_same_dtype, check_tiles
from trainium_edu.neuroncore.engines.costs import price, priced
from trainium_edu.neuroncore.engines.operators import bits, operator_name
from trainium_edu.neuroncore.engines.vector import WORDS
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = []


# -- tensor_partition_reduce ------------------------------------------------------------------

_REDUCTIONS = {
    "add": np.add, "average": np.add, "mean": np.add, "maximum": np.maximum,
    "bitwise_or": np.bitwise_or, "bitwise_and": np.bitwise_and,
}  # fmt: skip


def _check_partition_reduce(call):
    check_tiles(call, "data", "dst")
    name = operator_name(call.op)
    if name not in _REDUCTIONS:
        call.refuse(
            f"op is {name or repr(call.op)}; across partitions the GpSimd Engine knows add, "
            "average, max, bitwise_or and bitwise_and: for others transpose first, then "
            "tensor_reduce"
        )
    data, dst = call.data, call.dst
    if dst.shape[0] != 1 or dst.free_size != data.free_size:
        call.refuse(
            f"data {list(data.shape)} becomes one partition of {data.free_size} elements, and dst "
            f"is {list(dst.shape)}"
        )
    if name.startswith("bitwise"):
        check_same_dtype(call, "data", "dst")
        if data.dtype.is_float:
            call.refuse(f"{name} works on bits of integers, and data is {data.dtype}")


def _partition_reduce(call):
    """Reduce bits as bits, 32-bit integers exactly (as GpSimd can), all else in FP32."""
    data, dst, name = call.data, call.dst, operator_name(call.op)
    reduce = _REDUCTIONS[name].reduce
    is_average = name in ("average", "mean")
    if name.startswith("bitwise"):
        total = reduce(bits(data), axis=0).view(dst.dtype.storage)
    elif not is_average and data.dtype.name in WORDS and dst.dtype.name in WORDS:
        total = reduce(data.read().astype(np.int64), axis=0).astype(dst.dtype.storage)
    else:
        total = reduce(data.read_fp32(), axis=0)
        if is_average:
            total = total / np.float32(data.shape[0])
        dst.write_fp32(total.reshape(dst.shape), call.core.rounding)
        return
    dst.write_bits(total.reshape(dst.shape))


define(
    "tensor_partition_reduce", Engine.GPSIMD, reads=("data",), options=("op",),
    check=_check_partition_reduce, execute=_partition_reduce,
    work=lambda call: (call.data.free_size, call.data.shape[0]),
    cycles=lambda chip, engine, n, partitions: price(chip, "tensor_partition_reduce", n),
    facts=("cycles.tensor_partition_reduce",),
)  # fmt: skip


# -- topk -------------------------------------------------------------------------------------


def _check_topk(call):
    check_tiles(call, "src", "val_dst", "idx_dst")
    src, values, places, n = call.src, call.val_dst, call.idx_dst, call.n
    group = call.core.spec.gpsimd_engine.partitions_per_processor.value
    check_dtype(call, "src", "bfloat16")
    check_dtype(call, "val_dst", "bfloat16")
    check_dtype(call, "idx_dst", "uint32")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 8 <= n < 65536:
        call.refuse(f"n is {n!r}; it is a whole number from 8 to 65535")
    k = values.free_size
    if not 1 <= k <= min(n, 32767):
        call.refuse(f"val_dst holds {k} values; k is 1 to 32767 and at most n = {n}")
    if places.free_size != k or not src.shape[0] == values.shape[0] == places.shape[0]:
        call.refuse(
            f"src, val_dst and idx_dst are {list(src.shape)}, {list(values.shape)} and "
            f"{list(places.shape)}; they share the partitions, and the last two the k"
        )
    if src.shape[0] % group:
        call.refuse(f"src has {src.shape[0]} partitions; they are a multiple of {group}")
    if src.free_size * group < n:
        call.refuse(
            f"n is {n}, and {group} partitions of src {list(src.shape)} hold "
            f"{src.free_size * group} elements: it needs ceil(n / {group}) columns"
        )


def _topk(call):
    src, n, k = call.src.read_fp32(), call.n, call.val_dst.free_size
    group = call.core.spec.gpsimd_engine.partitions_per_processor.value
    src = src.reshape(len(src), -1)
    values = np.empty((len(src), k), np.float32)
    places = np.empty((len(src), k), np.uint32)
    for first in range(0, len(src), group):
        snake = src[first : first + group].flatten(order="F")[:n]  # down the partitions first
        best = np.argsort(-snake, kind="stable")[:k][::-1]  # of equal values the first is best
        values[first : first + group] = snake[best]
        places[first : first + group] = best
    call.val_dst.write_fp32(values.reshape(call.val_dst.shape), call.core.rounding)
    call.idx_dst.write_bits(places.reshape(call.idx_dst.shape))


define(
    "topk", Engine.GPSIMD, writes=("val_dst", "idx_dst"), reads=("src",), options=("n",),
    check=_check_topk, execute=_topk,
    work=lambda call: (call.src.free_size, call.n, call.val_dst.free_size),
    cycles=lambda chip, engine, free, n, k: price(chip, "topk", free, n=n, K=k),
    facts=("cycles.topk",),
)  # fmt: skip


# -- sequence_bounds --------------------------------------------------------------------------


def _check_bounds(call):
    check_tiles(call, "segment_ids", "dst")
    ids, dst = call.segment_ids, call.dst
    if ids.shape[0] != 1 or dst.shape[0] != 1:
        call.refuse(
            f"segment_ids has {ids.shape[0]} partitions and dst {dst.shape[0]}; both have one"
        )
    for role in ("segment_ids", "dst"):
        check_dtype(call, role, "float32", "int32")
    if dst.free_size != 2 * ids.free_size:
        call.refuse(
            f"dst {list(dst.shape)} holds {dst.free_size} numbers; {ids.free_size} ids have a "
            f"start and an end each: [1, 2, {ids.free_size}]"
        )


def _bounds(call):
    ids = call.segment_ids.read().reshape(-1)
    wrong = ids[~((ids >= 0) & (ids == np.trunc(ids)))]
    if wrong.size:
        call.refuse(
            f"segment_ids holds {wrong[0]}; an id is a whole number, 0 for padding, or more"
        )
    n = ids.size
    starts_here = np.ones(n, bool)
    starts_here[1:] = ids[1:] != ids[:-1]
    place = np.arange(n)
    first = np.maximum.accumulate(np.where(starts_here, place, 0))
    ends = np.where(np.roll(starts_here, -1) | (place == n - 1), place + 1, n)
    last = np.minimum.accumulate(ends[::-1])[::-1]
    padding = ids == 0
    bounds = np.stack([np.where(padding, n, first), np.where(padding, -1, last)])
    dst = call.dst
    dst.write_bits(bounds.astype(dst.dtype.storage).reshape(dst.shape))


define(
    "sequence_bounds", Engine.GPSIMD, reads=("segment_ids",), check=_check_bounds,
    execute=_bounds, **priced("sequence_bounds", "segment_ids", any_stride=True),
)  # fmt: skip
