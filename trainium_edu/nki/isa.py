"""``nki.isa`` (``nisa``): one thin name per instruction, in the order of the public reference.

Names, argument order and defaults are the reference's; checks, values and times are in
``neuroncore.engines``.  What a later chip has raises, naming it (``isa_later.py``).
"""

import sys as _sys

from trainium_edu.nki import enums
from trainium_edu.nki.enums import (
    dge_mode,
    dma_engine,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from trainium_edu.nki.isa_later import (
    V3,
    activate2,
    core_barrier,
    exponential,
    nc_matmul_mx,
    nonzero_with_count,
    quantize_mx,
    rand2,
    rand_get_state,
    rand_set_state,
    range_select,
    sendrecv,
)
from trainium_edu.nki.language.elementwise import equal, maximum
from trainium_edu.nki.registers import VirtualRegister
from trainium_edu.nki.registers_isa import (
    register_alloc,
    register_load,
    register_move,
    register_store,
)
from trainium_edu.nki.running import NkiInstruction, issue, later_chip
from trainium_edu.specs.errors import NkiValidationError

_sys.modules[f"{__name__}.constants"] = constants = enums  # `from nki.isa.constants import ...`

__all__ = [
    "NkiInstruction", "NkiValidationError", "VirtualRegister", "activate2", "activation",
    "activation_reduce", "affine_select", "bn_aggr", "bn_stats", "constants", "core_barrier",
    "dge_mode", "dma_compute", "dma_copy", "dma_engine", "dma_transpose", "dropout", "engine",
    "exponential", "get_nc_sub_version", "get_nc_version", "gpsimd_engine", "iota",
    "local_gather", "matmul_perf_mode", "max8", "memset", "nc_find_index8", "nc_match_replace8",
    "nc_matmul", "nc_matmul_mx", "nc_n_gather", "nc_stream_shuffle", "nc_transpose",
    "nc_version", "nonzero_with_count", "oob_mode", "quantize_mx", "rand2", "rand_get_state",
    "rand_set_state", "range_select", "reciprocal", "reduce_cmd", "register_alloc",
    "register_load", "register_move", "register_store", "rng", "scalar_engine",
    "scalar_tensor_tensor", "select_reduce", "sendrecv", "sequence_bounds", "set_rng_seed",
    "tensor_copy", "tensor_copy_predicated", "tensor_engine", "tensor_partition_reduce",
    "tensor_reduce", "tensor_scalar", "tensor_scalar_cumulative", "tensor_scalar_reduce",
    "tensor_tensor", "tensor_tensor_scan", "topk", "unknown_engine", "vector_engine",
]  # fmt: skip

tensor_engine, vector_engine = engine.tensor, engine.vector
scalar_engine, gpsimd_engine = engine.scalar, engine.gpsimd
unknown_engine = engine.unknown


def get_nc_version():
    """Return the generation of the NeuronCore that runs the kernel."""
    return nc_version.gen2


def get_nc_sub_version() -> int:
    """Return the revision of the silicon within its generation: the first."""
    return 0


# fmt: off
def dma_copy(dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown,
             engine=engine.unknown, name=None):
    """Copy by DMA, casting through FP32 where dtypes differ; `engine` belongs to hwdge alone."""
    if engine is not enums.engine.unknown and dge_mode is not enums.dge_mode.hwdge:
        if not isinstance(engine, enums.engine):
            raise TypeError(f"dma_copy: engine is {engine!r}; it is a member of nki.isa.engine")
        raise NkiValidationError(
            f"dma_copy: engine={engine.name}; it names the engine that asks the hardware for "
            "descriptors, with dge_mode=hwdge of NeuronCore-v3 (Trainium2); leave it out here"
        )
    return issue("dma_copy", dst=dst, src=src, priority=priority, oob_mode=oob_mode,
                 dge_mode=dge_mode, name=name)


def tensor_copy(dst, src, engine=engine.unknown, name=None):
    """Copy a tile on chip, casting on the way."""
    if getattr(engine, "name", None) == "scalar":
        raise NkiValidationError(
            "tensor_copy: the Scalar Engine of NeuronCore-v2 has no tensor_copy; use "
            "nisa.activation(dst=..., op=nl.copy, data=...), or leave the engine out"
        )
    return issue("tensor_copy", dst=dst, src=src, engine=engine, name=name)


def memset(dst, value, engine=engine.unknown, name=None):
    """Fill a tile with one value."""
    if type(value) is bool and getattr(dst, "dtype", None) == "bool":
        value = int(value)
    return issue("memset", dst=dst, value=value, engine=engine, name=name)


def tensor_copy_predicated(dst, src, predicate, reverse_pred=False, name=None):
    """Copy a tile, or one number, to the places where a predicate holds."""
    return issue("tensor_copy_predicated", dst=dst, src=src, predicate=predicate,
                 reverse_pred=reverse_pred, name=name)


def nc_matmul(dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False,
              is_transpose=False, accumulate=None, tile_position=(), tile_size=(),
              perf_mode=matmul_perf_mode.none, name=None):
    """Multiply ``stationary.T @ moving`` into PSUM on the Tensor Engine."""
    return issue("nc_matmul", dst=dst, stationary=stationary, moving=moving,
                 is_stationary_onezero=is_stationary_onezero, is_moving_onezero=is_moving_onezero,
                 is_transpose=is_transpose, accumulate=accumulate, tile_position=tile_position,
                 tile_size=tile_size, perf_mode=perf_mode, name=name)


def nc_transpose(dst, data, engine=engine.unknown, name=None):
    """Exchange partitions and free elements, on the Tensor or the Vector Engine."""
    return issue("nc_transpose", dst=dst, data=data, engine=engine, name=name)


def dma_transpose(dst, src, axes=None, priority=None, dge_mode=dge_mode.unknown,
                  oob_mode=oob_mode.error, name=None):
    """Transpose on the way from memory to memory."""
    return issue("dma_transpose", dst=dst, src=src, axes=axes, priority=priority, dge_mode=dge_mode,
                 oob_mode=oob_mode, name=name)


def tensor_tensor(dst, data1, data2, op, engine=engine.unknown, name=None):
    """Combine two tiles element by element."""
    return issue("tensor_tensor", dst=dst, data1=data1, data2=data2, op=op, engine=engine,
                 name=name)


def tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False,
                  engine=engine.unknown, name=None):
    """Combine a tile with one or two numbers, each for all or one per partition."""
    return issue("tensor_scalar", dst=dst, data=data, op0=op0, operand0=operand0, reverse0=reverse0,
                 op1=op1, operand1=operand1, reverse1=reverse1, engine=engine, name=name)


def tensor_reduce(dst, op, data, axis, negate=False, keepdims=False, name=None):
    """Reduce the last free axes of a tile."""
    return issue("tensor_reduce", dst=dst, op=op, data=data, axis=axis, negate=negate,
                 keepdims=keepdims, name=name)


def tensor_partition_reduce(dst, op, data, name=None):
    """Reduce over partitions, on the GpSimd Engine."""
    return issue("tensor_partition_reduce", dst=dst, op=op, data=data, name=name)


def tensor_scalar_cumulative(dst, src, op0, op1, imm0, imm1=None,
                             reduce_cmd=reduce_cmd.reset_reduce, name=None):
    """Apply an operator with a scalar, then keep every step of a running reduction."""
    return issue("tensor_scalar_cumulative", dst=dst, src=src, op0=op0, op1=op1, imm0=imm0,
                 imm1=imm1, reduce_cmd=reduce_cmd, name=name)


def activation(dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None,
               reduce_cmd=reduce_cmd.idle, name=None):
    """Compute ``op(data * scale + bias)`` on the Scalar Engine, summed along if asked."""
    return issue("activation", dst=dst, op=op, data=data, bias=bias, scale=scale,
                 reduce_op=reduce_op, reduce_res=reduce_res, reduce_cmd=reduce_cmd, name=name)


def activation_reduce(dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None):
    """Compute an activation and its sum over the free axes."""
    return issue("activation_reduce", dst=dst, op=op, data=data, reduce_op=reduce_op,
                 reduce_res=reduce_res, bias=bias, scale=scale, name=name)


def iota(dst, pattern, offset=0, channel_multiplier=0, name=None):
    """Write a pattern of rising numbers."""
    return issue("iota", dst=dst, pattern=pattern, offset=offset,
                 channel_multiplier=channel_multiplier, name=name)


def affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=equal,
                  offset=0, name=None):
    """Choose between a tile and a number by comparing an affine pattern with zero."""
    return issue("affine_select", dst=dst, pattern=pattern, channel_multiplier=channel_multiplier,
                 on_true_tile=on_true_tile, on_false_value=on_false_value, cmp_op=cmp_op,
                 offset=offset, name=name)


def local_gather(dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None):
    """Gather elements inside groups of 16 partitions."""
    return issue("local_gather", dst=dst, src_buffer=src_buffer, index=index,
                 num_elem_per_idx=num_elem_per_idx, num_valid_indices=num_valid_indices, name=name)


def nc_n_gather(dst, data, indices, name=None):
    """Gather free elements by index, in each partition."""
    return issue("nc_n_gather", dst=dst, data=data, indices=indices, name=name)


def bn_stats(dst, data, name=None):
    """Count, average and spread the even and the odd elements of each partition."""
    return issue("bn_stats", dst=dst, data=data, name=name)


def bn_aggr(dst, data, name=None):
    """Put the results of ``bn_stats`` together into mean and variance."""
    return issue("bn_aggr", dst=dst, data=data, name=name)


def tensor_tensor_scan(dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False,
                       name=None):
    """Run ``r = op1(op0(data0[i], r), data1[i])`` along the free axis and keep every r."""
    return issue("tensor_tensor_scan", dst=dst, data0=data0, data1=data1, initial=initial, op0=op0,
                 op1=op1, reverse0=reverse0, reverse1=reverse1, name=name)


def nc_stream_shuffle(dst, src, shuffle_mask, name=None):
    """Send partitions to partitions inside each quarter of 32."""
    return issue("nc_stream_shuffle", dst=dst, src=src, shuffle_mask=shuffle_mask, name=name)


def rng(dst, engine=engine.vector, name=None):
    """Write random bits."""
    if engine is enums.engine.gpsimd:
        raise later_chip("nki.isa.rng on the GpSimd Engine", V3)
    return issue("rng", dst=dst, engine=engine, name=name)


def dropout(dst, data, prob, name=None):
    """Replace elements by zero, each with a probability."""
    return issue("dropout", dst=dst, data=data, prob=prob, name=name)


def set_rng_seed(src_seeds, name=None):
    """Seed the random numbers of the Vector Engine."""
    return issue("set_rng_seed", src_seeds=src_seeds, name=name)


def reciprocal(dst, data, name=None):
    """Compute 1 / x on the Vector Engine."""
    return issue("reciprocal", dst=dst, data=data, name=name)


def max8(dst, src, name=None):
    """Find the eight largest elements of each partition, in descending order."""
    return issue("max8", dst=dst, src=src, name=name)


def sequence_bounds(dst, segment_ids, name=None):
    """Find where each segment of a row begins and ends."""
    return issue("sequence_bounds", dst=dst, segment_ids=segment_ids, name=name)


def scalar_tensor_tensor(dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False,
                         name=None):
    """Combine a tile with a scalar, then with a tile, in one pass."""
    return issue("scalar_tensor_tensor", dst=dst, data=data, op0=op0, operand0=operand0, op1=op1,
                 operand1=operand1, reverse0=reverse0, reverse1=reverse1, name=name)


def tensor_scalar_reduce(dst, data, op0, operand0, reduce_op, reduce_res=None, reverse0=False,
                         reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None,
                         reduce_res_negate=False, name=None):
    """Combine a tile with a scalar and reduce the result."""
    return issue("tensor_scalar_reduce", dst=dst, data=data, op0=op0, operand0=operand0,
                 reduce_op=reduce_op, reduce_res=reduce_res, reverse0=reverse0,
                 reduce_cmd=reduce_cmd, reduce_init=reduce_init,
                 reduce_res_negate=reduce_res_negate, name=name)


def dma_compute(dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=oob_mode.error,
                name=None):
    """Scale and add tensors on the way from memory to memory."""
    return issue("dma_compute", dst=dst, srcs=srcs, reduce_op=reduce_op, scales=scales,
                 unique_indices=unique_indices, oob_mode=oob_mode, name=name)


def select_reduce(dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle,
                  reduce_op=maximum, reverse_pred=False, name=None):
    """Choose between a tile and a number by a predicate, and keep the maximum."""
    return issue("select_reduce", dst=dst, predicate=predicate, on_true=on_true, on_false=on_false,
                 reduce_res=reduce_res, reduce_cmd=reduce_cmd, reduce_op=reduce_op,
                 reverse_pred=reverse_pred, name=name)


def nc_find_index8(dst, data, vals, name=None):
    """Find where eight values first occur in each partition."""
    return issue("nc_find_index8", dst=dst, data=data, vals=vals, name=name)


def nc_match_replace8(dst, data, vals, imm, dst_idx=None, name=None):
    """Replace eight values where they first occur, and say where that was."""
    return issue("nc_match_replace8", dst=dst, data=data, vals=vals, imm=imm, dst_idx=dst_idx,
                 name=name)


def topk(val_dst, idx_dst, src, n, name=None):
    """Find the largest elements of rows that snake over 16 partitions, with their indices."""
    return issue("topk", val_dst=val_dst, idx_dst=idx_dst, src=src, n=n, name=name)


# fmt: on
def __getattr__(name):
    from trainium_edu.nki.earlier import no_attribute

    raise no_attribute("nki.isa", name)
