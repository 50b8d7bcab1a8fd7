"""GpSimd instructions that pick elements: ``nc_n_gather`` inside a partition, ``local_gather``.

``local_gather`` works in the groups that the engine's eight processors see: 16 partitions share one
list of indices, and each partition picks from its own row at those places.
"""

import numpy as np

from trainium_edu.neuroncore.engines.checks import integer, limits
from trainium_edu.neuroncore.engines.costs import price, priced
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.indirect import out_of_bounds
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = []

_INDICES_MAX = 4096


def _check_inside(call, index, source, count, role):
    if index.size and not (index.min() >= 0 and index.max() < count):
        wrong = int(index.max() if index.max() >= count else index.min())
        what = f"{call.name}: {role} holds {wrong}, which"
        raise out_of_bounds(source, what, count, "a partition has elements")


# -- nc_n_gather ------------------------------------------------------------------------------


def _n_gather(call):
    data = call.data.read()
    flat = data.reshape(data.shape[0], -1)
    index = call.indices.read().reshape(len(flat), -1).astype(np.int64)
    _check_inside(call, index, call.data, flat.shape[1], "indices")
    picked = np.take_along_axis(flat, index, axis=1)
    call.dst.write_bits(picked.reshape(call.dst.shape))


define(
    "nc_n_gather", Engine.GPSIMD, reads=("data", "indices"),
    check=limits(
        data="[P, E]", indices="[P, F]: each partition gathers from itself; uint32",
        dst="[P, F]: an element for each index; like data",
    ),
    execute=_n_gather, **priced("nc_n_gather", "dst", any_stride=True),
)  # fmt: skip


# -- local_gather -----------------------------------------------------------------------------


def _counts(call):
    """Return (partitions per processor, indices per processor)."""
    group = call.core.spec.gpsimd_engine.partitions_per_processor.value
    every = group * call.index.free_size
    return group, every if call.num_valid_indices is None else call.num_valid_indices


def _check_local_gather(call):
    index, dst, each = call.index, call.dst, call.num_elem_per_idx
    group, valid = _counts(call)
    every = group * index.free_size
    integer(call, "num_valid_indices", valid, 1, every, f"{group} partitions hold 1 to {every}")
    if valid > _INDICES_MAX:
        call.refuse(f"{valid} indices for each processor; each takes {_INDICES_MAX}: split them")
    if dst.free_size != valid * each:
        call.refuse(
            f"{valid} indices of {each} elements make {valid * each} per partition, and dst "
            f"{list(dst.shape)} holds {dst.free_size}"
        )


def _local_gather(call):
    src, index, dst = call.src_buffer.read(), call.index.read(), call.dst
    group, valid = _counts(call)
    src, index = src.reshape(len(src), -1), index.reshape(len(index), -1).astype(np.int64)
    out = np.empty((len(src), valid * call.num_elem_per_idx), src.dtype)
    for first in range(0, len(src), group):
        part = slice(first, first + group)
        start = index[part].flatten(order="F")[:valid]  # partitions run fastest
        places = (start[:, None] + np.arange(call.num_elem_per_idx)).reshape(-1)
        _check_inside(call, places, call.src_buffer, src.shape[1], "index")
        out[part] = src[part][:, places]
    dst.write_bits(out.reshape(dst.shape))


def _local_gather_cycles(chip, engine, n, valid, each, itemsize):
    return price(chip, "local_gather", n, valid_indices=valid, per_index=each, dtype_bytes=itemsize)


define(
    "local_gather", Engine.GPSIMD, reads=("src_buffer", "index"),
    defaults={"num_elem_per_idx": 1, "num_valid_indices": None},
    check=limits(
        src_buffer="[P multiple of gpsimd_engine.partitions_per_processor, E]: so many partitions "
        "one processor of the GpSimd Engine sees",
        index="[P, I]; uint16", dst="[P, N]; like src_buffer",
        num_elem_per_idx="one of 1 2 4 8 16 32", counts=_check_local_gather,
    ),
    execute=_local_gather,
    work=lambda call: (
        call.dst.free_size, _counts(call)[1], call.num_elem_per_idx, call.dst.dtype.itemsize
    ),
    cycles=_local_gather_cycles, facts=("cycles.local_gather",),
)  # fmt: skip
