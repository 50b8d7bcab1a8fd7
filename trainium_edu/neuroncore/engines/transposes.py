"""Moving data between partitions: transposes on the Tensor or Vector Engine, shuffles on Vector.

Lanes do not see each other, so this takes an instruction: the Tensor Engine multiplies by an
identity matrix, the Vector Engine exchanges elements inside a block of 32 x 32.
"""

import numpy as np

from trainium_edu.neuroncore.engine import Engine, Memory
from trainium_edu.neuroncore.engines.checks import check_same_dtype, check_tiles, refuse
from trainium_edu.neuroncore.engines.costs import price, strided
from trainium_edu.neuroncore.instruction_set import define
from trainium_edu.neuroncore.memory import check_start_partition
from trainium_edu.neuroncore.views import View

UNMODIFIED = 255  # in a shuffle mask: leave this partition as it is


def _choose_transpose(operands):
    data, dst = operands.get("data"), operands.get("dst")
    if not isinstance(data, View) or not isinstance(dst, View):
        return Engine.TENSOR
    small = data.shape[0] <= 32 and data.free_size <= 32
    if data.memory is Memory.PSUM or dst.memory is Memory.SBUF:
        return Engine.VECTOR  # the only one that can
    return Engine.VECTOR if small else Engine.TENSOR


def _check_transpose(call):
    check_tiles(call, "dst", "data")
    check_same_dtype(call, "dst", "data")
    data, dst = call.data, call.dst
    p, f = data.shape[0], data.free_size
    on_tensor = call.engine is Engine.TENSOR
    record = call.core.spec
    most = (
        int(record.tensor_engine.rows.value)
        if on_tensor
        else int(record.vector_engine.transpose_block.value)
    )
    if p > most or f > most:
        refuse(
            call,
            f"data is {p} x {f}, and the {call.engine.title} transposes at most {most} x {most} "
            "at once; transpose it tile by tile"
            + ("" if on_tensor else ", or send it to PSUM through the Tensor Engine"),
        )
    if dst.shape[0] != f or dst.free_size != p:
        refuse(
            call,
            f"dst is {list(dst.shape)}; the transpose of {p} partitions with {f} elements has {f} "
            f"partitions with {p}",
        )
    if on_tensor and (data.memory is not Memory.SBUF or dst.memory is not Memory.PSUM):
        refuse(
            call,
            f"the Tensor Engine reads SBUF and writes PSUM; data is in {data.memory.upper()} and "
            f"dst in {dst.memory.upper()}",
        )


def _transpose(call):
    data, dst = call.data, call.dst
    values = np.array(data.read()).reshape(data.shape[0], -1)
    if call.engine is Engine.TENSOR and data.dtype.is_float:
        if not np.isfinite(values.astype(np.float32)).all():
            call.core.notes.append(
                (
                    "transpose_not_finite",
                    len(call.core.program) - 1,
                    "NaN or infinity in a transpose on the Tensor Engine, which multiplies by an "
                    "identity matrix and is not bit-accurate for them before NeuronCore-v3",
                    None,
                )
            )
        if dst.buffer.accumulating is not None:
            dst.buffer.accumulating = None
    dst.write_bits(values.T.reshape(dst.shape))


def _transpose_work(call):
    return call.data.free_size, strided(call, "dst", "data"), call.data.shape[0]


def _transpose_cycles(chip, engine, f, is_strided, p):
    if engine is Engine.TENSOR:
        return price(chip, "nc_transpose_tensor", f, P=p, F=f)
    return price(chip, "nc_transpose_vector", f, is_strided=is_strided)


define(
    "nc_transpose", (Engine.TENSOR, Engine.VECTOR), reads=("data",), defaults={},
    choose=_choose_transpose, check=_check_transpose, execute=_transpose, work=_transpose_work,
    cycles=_transpose_cycles,
    facts=("cycles.nc_transpose_tensor", "cycles.nc_transpose_vector",
           "cycles.min_initiation_cycles"),
)  # fmt: skip


# -- nc_stream_shuffle ------------------------------------------------------------------------


def _check_shuffle(call):
    check_tiles(call, "dst", "src")
    check_same_dtype(call, "dst", "src")
    dst, src = call.dst, call.src
    group = int(call.core.spec.vector_engine.shuffle_group.value)
    mask = call.shuffle_mask
    if not isinstance(mask, list | tuple | np.ndarray) or len(mask) != group:
        raise TypeError(
            f"nc_stream_shuffle: shuffle_mask is {mask!r:.60}; it is a list of {group} numbers, one"
            " for each partition of a quarter"
        )
    for source in mask:
        if isinstance(source, bool) or not hasattr(source, "__index__"):
            raise TypeError(f"nc_stream_shuffle: shuffle_mask holds {source!r}; it takes integers")
        if source.__index__() != UNMODIFIED and not 0 <= source.__index__() < group:
            refuse(
                call,
                f"shuffle_mask holds {source}; a partition copies from 0 to {group - 1} of its own "
                f"quarter, and {UNMODIFIED} leaves it unmodified",
            )
    if dst.free_size != src.free_size:
        refuse(
            call,
            f"dst has {dst.free_size} elements per partition and src has {src.free_size}; "
            "a shuffle moves whole partitions, so they need the same number",
        )
    active = -(-max(src.shape[0], dst.shape[0]) // group) * group
    for view in (src, dst):
        if active > 32 or view.start_partition % 32:
            check_start_partition(
                view.start_partition, min(active, 128), f"nc_stream_shuffle: {view!r}"
            )


def _shuffle(call):
    dst, src = call.dst, call.src
    mask = [source.__index__() for source in call.shuffle_mask]
    values = np.array(src.read()).reshape(src.shape[0], -1)
    for quarter in range(0, dst.shape[0], len(mask)):
        for lane, source in enumerate(mask):
            to, came = quarter + lane, quarter + source
            if source == UNMODIFIED or to >= dst.shape[0]:
                continue
            if came >= src.shape[0]:
                refuse(
                    call,
                    f"partition {to} of dst copies from partition {came}, and src has "
                    f"{src.shape[0]}",
                )
            row = dst.sliced(slice(to, to + 1))
            row.write_bits(values[came].reshape(row.shape))


def _shuffle_work(call):
    return call.dst.free_size, strided(call, "dst", "src")


define(
    "nc_stream_shuffle", Engine.VECTOR, reads=("src",), options=("shuffle_mask",), defaults={},
    check=_check_shuffle, execute=_shuffle, work=_shuffle_work,
    cycles=lambda chip, engine, n, is_strided: price(
        chip, "nc_stream_shuffle", n, is_strided=is_strided
    ),
    facts=("cycles.nc_stream_shuffle", "cycles.min_initiation_cycles"),
)  # fmt: skip
