"""``nc_transpose``: partitions become free elements, on the Tensor Engine or the Vector Engine.

The Tensor Engine multiplies by an identity, so it reads SBUF and writes PSUM.  A NaN or an infinity
meets the zeros of the identity: on NeuronCore-v2 the whole row it lands in turns into NaN.  The
Vector Engine moves bits, 32 x 32 at a time.  The reference asks for equal dtypes; published kernels
for this generation let the Tensor Engine write float32, as its sums are, so both are taken.
"""

import numpy as np

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.costs import price, strided
from trainium_edu.neuroncore.engines.tensor import check_bank
from trainium_edu.neuroncore.recording.dtypes import to_fp32
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View

__all__ = []


def _choose(operands):
    """Return the engine that suits: Vector for small tiles, and to read PSUM or write SBUF."""
    data, dst = operands.get("data"), operands.get("dst")
    if not isinstance(data, View) or not isinstance(dst, View):
        return Engine.TENSOR  # the check says what is wrong
    block = 32
    if data.shape[0] <= block and data.free_size <= block:
        return Engine.VECTOR
    return Engine.TENSOR if dst.memory is Memory.PSUM else Engine.VECTOR


def _check(call):
    data, dst, chip = call.data, call.dst, call.core.spec
    if call.engine is Engine.TENSOR:
        limit = chip.tensor_engine.rows.value
        if data.memory is not Memory.SBUF or dst.memory is not Memory.PSUM:
            call.refuse(
                f"data is in {data.memory.upper()} and dst in {dst.memory.upper()}; the Tensor "
                "Engine reads SBUF and writes PSUM"
            )
    else:
        limit = chip.vector_engine.transpose_block.value
    if data.shape[0] > limit or data.free_size > limit:
        call.refuse(
            f"data is {list(data.shape)}, and the {call.engine.title} transposes tiles of up to "
            f"[{limit}, {limit}]; "
            + (
                "split it into such tiles"
                if call.engine is Engine.TENSOR
                else "put dst in PSUM to use the Tensor Engine, or split it into such blocks"
            )
        )
    if (dst.shape[0], dst.free_size) != (data.free_size, data.shape[0]):
        call.refuse(
            f"data {list(data.shape)} becomes [{data.free_size}, {data.shape[0]}], and dst is "
            f"{list(dst.shape)}"
        )
    if call.engine is Engine.TENSOR:
        check_bank(call, dst, chip)
        if data.dtype.is_float and dst.dtype.name == "float32":
            return
    if data.dtype is not dst.dtype:
        call.refuse(
            f"data is {data.dtype} and dst is {dst.dtype}; a transpose moves bits, so both need "
            "the same dtype"
        )


def _execute(call):
    data, dst = call.data, call.dst
    values = data.read()
    values = values.reshape(values.shape[0], -1)
    turned = values.T
    if call.engine is Engine.TENSOR and data.dtype.is_float:
        wide = data.read_fp32().reshape(values.shape)
        if not call.has("exact_transpose") and not np.isfinite(wide).all():
            with np.errstate(invalid="ignore"):
                product = wide.T @ np.eye(len(wide), dtype=np.float32)
            dst.write_fp32(product.reshape(dst.shape), call.core.rounding)
            core = call.core
            core.notes.append(("transposed-infinity", len(core.program), "data", data.buffer.info))
            return
    if dst.dtype is not data.dtype:
        turned = to_fp32(turned, data.dtype)
    dst.write_bits(turned.reshape(dst.shape))


def _work(call):
    return call.data.free_size, call.data.shape[0], strided(call, "data", "dst")


def _cycles(chip, engine, n, partitions, is_strided):
    if engine is Engine.TENSOR:
        return price(chip, "nc_transpose_tensor", n, P=partitions, F=n)
    return price(chip, "nc_transpose_vector", n, is_strided=is_strided)


define(
    "nc_transpose", (Engine.TENSOR, Engine.VECTOR), reads=("data",), choose=_choose,
    check=limits(data="tile", dst="tile", size=_check),
    execute=_execute, work=_work, cycles=_cycles, by_shape=True, by_place=True,
    facts=("cycles.nc_transpose_tensor", "cycles.nc_transpose_vector"),
)  # fmt: skip
