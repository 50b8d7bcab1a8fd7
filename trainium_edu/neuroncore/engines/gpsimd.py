"""GpSimd instructions that look across a tile: reduce over partitions, top k, sequence bounds."""

import numpy as np

from trainium_edu.neuroncore.engines.checks import limits
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
    name = operator_name(call.op)
    if name not in _REDUCTIONS:
        call.refuse(
            f"op is {name or repr(call.op)}; across partitions the GpSimd Engine knows add, "
            "average, max, bitwise_or and bitwise_and: for others transpose first, then "
            "tensor_reduce"
        )
    data, dst = call.data.dtype, call.dst.dtype
    if name.startswith("bitwise") and (data.is_float or dst is not data):
        call.refuse(
            f"data is {data} and dst is {dst}; {name} works on bits of integers, so both need the "
            "same dtype of integers"
        )


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
    check=limits(
        data="[P, F]", dst="[1, F]: one partition holds the result", op=_check_partition_reduce
    ),
    execute=_partition_reduce,
    work=lambda call: (call.data.free_size, call.data.shape[0]),
    cycles=lambda chip, engine, n, partitions: price(chip, "tensor_partition_reduce", n),
    facts=("cycles.tensor_partition_reduce",),
)  # fmt: skip


# -- topk -------------------------------------------------------------------------------------


def _check_topk(call):
    src, n, k = call.src, call.n, call.val_dst.free_size
    group = call.core.spec.gpsimd_engine.partitions_per_processor.value
    if not 1 <= k <= min(n, 32767):
        call.refuse(f"val_dst holds {k} values; k must be 1 to 32767 and at most n = {n}")
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
    execute=_topk,
    check=limits(
        src="[P multiple of gpsimd_engine.partitions_per_processor, C]; bfloat16",
        val_dst="[P, K]; bfloat16", idx_dst="[P, K]: the same k; uint32", n="int 8..65535",
        counts=_check_topk,
    ),
    work=lambda call: (call.src.free_size, call.n, call.val_dst.free_size),
    cycles=lambda chip, engine, free, n, k: price(chip, "topk", free, n=n, K=k),
    facts=("cycles.topk",),
)  # fmt: skip


# -- nonzero_with_count -----------------------------------------------------------------------


def _check_nonzero(call):
    call.needs("nonzero_with_count", "the instruction", "use iota, a comparison and topk")
    if call.dst.free_size != call.src.free_size + 1:
        call.refuse(
            f"dst has {call.dst.free_size} elements for each partition and src {call.src.free_size}"
            "; dst takes one more: a place for each index, and the count"
        )


def _nonzero(call):
    """Write the indices of one partition in sixteen: each processor reads and writes its first."""
    src, dst = call.src, call.dst
    for p in range(0, src.shape[0], call.core.spec.gpsimd_engine.partitions_per_processor.value):
        row, out = (view.sliced(slice(p, p + 1)) for view in (src, dst))
        places = np.flatnonzero(row.read()) + call.index_offset
        line = np.full(out.shape, call.padding_val, np.int32)
        line[0, : places.size], line[0, -1] = places, places.size
        out.write_bits(line)


_INT32 = f"int {-(2**31)}..{2**31 - 1}"
define(
    "nonzero_with_count", Engine.GPSIMD, reads=("src", "dst"),
    options=("index_offset", "padding_val"), defaults={"index_offset": 0, "padding_val": -1},
    check=limits(
        chip=_check_nonzero, src="[P, F]; float32 int32", dst="[P, K]; int32",
        index_offset=_INT32, padding_val=_INT32,
    ),
    execute=_nonzero, **priced("sequence_bounds", "src", any_stride=True),
)  # fmt: skip


# -- sequence_bounds --------------------------------------------------------------------------


def _bounds(call):
    ids = call.segment_ids.read().reshape(-1)
    wrong = ids[~((ids >= 0) & (ids == np.trunc(ids)))]
    if wrong.size:
        call.refuse(f"segment_ids holds {wrong[0]}; an id is an integer, 0 (padding) or more")
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
    "sequence_bounds", Engine.GPSIMD, reads=("segment_ids",), 
    check=limits(
        segment_ids="[1, F]: one partition holds all ids; float32 int32",
        dst="[1, 2F]: a start and an end for each id; float32 int32",
    ),
    execute=_bounds, **priced("sequence_bounds", "segment_ids", any_stride=True),
)  # fmt: skip
