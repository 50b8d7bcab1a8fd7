"""The instructions of NeuronCore-v2, in the order of the public reference."""

from trainium_edu.nki.isa.later import V3
from trainium_edu.nki.issuing import issue
from trainium_edu.nki.language.elementwise import equal, maximum
from trainium_edu.nki.objects import enums
from trainium_edu.nki.objects.enums import (
    dge_mode,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from trainium_edu.nki.running import later_chip
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "activation", "activation_reduce", "affine_select", "bn_aggr", "bn_stats", "dma_compute",
    "dma_copy", "dma_transpose", "dropout", "get_nc_sub_version", "get_nc_version",
    "gpsimd_engine", "iota", "local_gather", "max8", "memset", "nc_find_index8",
    "nc_match_replace8", "nc_matmul", "nc_n_gather", "nc_stream_shuffle", "nc_transpose",
    "reciprocal", "rng", "scalar_engine", "scalar_tensor_tensor", "select_reduce",
    "sequence_bounds", "set_rng_seed", "tensor_copy", "tensor_copy_predicated", "tensor_engine",
    "tensor_partition_reduce", "tensor_reduce", "tensor_scalar", "tensor_scalar_cumulative",
    "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan", "topk", "unknown_engine",
    "vector_engine",
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
    """Copy between HBM and SBUF by DMA, casting through FP32 where dtypes differ.

    Parameters
    ----------
    dst, src : NkiTensor in HBM or SBUF
        As many elements each.  A run of bytes that is contiguous on both sides is one descriptor:
        the longer, the faster.
    oob_mode : nki.isa.oob_mode
        What an index known at run time does out of bounds: raise, or leave its row out.
    priority, dge_mode, engine
        Of later chips (``dge_mode`` also ``unknown``, ``none`` and ``swdge``).

    Raises
    ------
    NkiValidationError
        For a tile in PSUM, unequal element counts, options of later chips.
    """
    engine = enums.chosen(enums.engine, engine, "dma_copy: engine")
    if engine is not enums.engine.unknown and dge_mode != enums.dge_mode.hwdge:
        raise NkiValidationError(
            f"dma_copy: engine={engine.name}; it names the engine that asks the hardware for "
            "descriptors, with dge_mode=hwdge of NeuronCore-v3 (Trainium2); leave it out here"
        )
    return issue("dma_copy", dst=dst, src=src, priority=priority, oob_mode=oob_mode,
                 dge_mode=dge_mode, name=name)


def tensor_copy(dst, src, engine=engine.unknown, name=None):
    """Copy a tile on chip, casting on the way.

    Parameters
    ----------
    dst, src : NkiTensor in SBUF or PSUM
        The same partitions, and as many elements in each.
    engine : nki.isa.engine
        Vector, or GpSimd (which does not reach PSUM).
    """
    if getattr(engine, "name", None) == "scalar":
        raise NkiValidationError(
            "tensor_copy: the Scalar Engine of NeuronCore-v2 has no tensor_copy; use "
            "nisa.activation(dst=..., op=nl.copy, data=...), or leave the engine out"
        )
    return issue("tensor_copy", dst=dst, src=src, engine=engine, name=name)


def memset(dst, value, engine=engine.unknown, name=None):
    """Fill a tile with one value.

    Parameters
    ----------
    dst : NkiTensor in SBUF or PSUM
    value : number
        A whole number where `dst` holds integers.
    engine : nki.isa.engine
        Vector, or GpSimd (which does not reach PSUM).
    """
    if type(value) is bool and getattr(dst, "dtype", None) == "bool":
        value = int(value)
    return issue("memset", dst=dst, value=value, engine=engine, name=name)


def tensor_copy_predicated(dst, src, predicate, reverse_pred=False, name=None):
    """Copy a tile, or one number, to the places where a predicate holds.

    Parameters
    ----------
    dst : NkiTensor in SBUF or PSUM
        Keeps what it has where the predicate does not hold.
    src : NkiTensor of the same dtype, or number
    predicate : uint8, uint16 or uint32 of the same shape
        0 is false, all else true; `reverse_pred` turns that round.
    """
    return issue("tensor_copy_predicated", dst=dst, src=src, predicate=predicate,
                 reverse_pred=reverse_pred, name=name)


def nc_matmul(dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False,
              is_transpose=False, accumulate=None, tile_position=(), tile_size=(),
              perf_mode=matmul_perf_mode.none, name=None):
    """Multiply ``stationary.T @ moving`` into PSUM on the Tensor Engine.

    Parameters
    ----------
    dst : float32[M, N] in PSUM, inside one bank of 2 KiB per partition
        The first matmul into a place overwrites it, later ones add.
    stationary : NkiTensor[K, M] in SBUF
        K <= 128 on partitions, M <= 128.  Floats; FP32 takes four passes, BF16 and FP8 one.
    moving : NkiTensor[K, N] in SBUF
        N <= 512.
    is_stationary_onezero, is_moving_onezero : bool
        The operand holds ones and zeros only: FP32 takes two passes.
    accumulate : bool, optional
        True adds, False overwrites; None decides as said of `dst`.
    tile_position, tile_size : (row, column)
        Use a half or a quarter of the array, given together; sizes 64 or 128.
    perf_mode
        Of later chips.

    Raises
    ------
    NkiValidationError
        For operands outside SBUF, sizes beyond the array or a bank, mixed FP32 and narrow dtypes.
    """
    return issue("nc_matmul", dst=dst, stationary=stationary, moving=moving,
                 is_stationary_onezero=is_stationary_onezero, is_moving_onezero=is_moving_onezero,
                 is_transpose=is_transpose, accumulate=accumulate, tile_position=tile_position,
                 tile_size=tile_size, perf_mode=perf_mode, name=name)


def nc_transpose(dst, data, engine=engine.unknown, name=None):
    """Exchange partitions and free elements, on the Tensor or the Vector Engine.

    Parameters
    ----------
    dst : NkiTensor[F, P] of the dtype of `data`
        In PSUM for the Tensor Engine (there also float32 for narrower floats).
    data : NkiTensor[P, F]
        Up to 128 x 128 on the Tensor Engine (from SBUF), 32 x 32 on the Vector Engine, which takes
        larger ones block by block where `engine` names it.
    engine : nki.isa.engine
        Default: Vector for tiles of up to 32 x 32 and where `dst` is in SBUF, else Tensor.
    """
    return issue("nc_transpose", dst=dst, data=data, engine=engine, name=name)


def dma_transpose(dst, src, axes=None, priority=None, dge_mode=dge_mode.unknown,
                  oob_mode=oob_mode.error, name=None):
    """Transpose on the way from memory to memory."""
    return issue("dma_transpose", dst=dst, src=src, axes=axes, priority=priority, dge_mode=dge_mode,
                 oob_mode=oob_mode, name=name)


def tensor_tensor(dst, data1, data2, op, engine=engine.unknown, name=None):
    """Combine two tiles element by element.

    Parameters
    ----------
    dst, data1, data2 : NkiTensor in SBUF or PSUM
        The same partitions, and as many elements in each; not both inputs in PSUM.
    op : function of nki.language of two inputs
        Comparisons and logic give 1.0 or 0.0; bitwise operators take integers and move bits.
    engine : nki.isa.engine
        Vector, or GpSimd, which alone is exact on 32-bit integers and has ``nl.power``.
    """
    return issue("tensor_tensor", dst=dst, data1=data1, data2=data2, op=op, engine=engine,
                 name=name)


def tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False,
                  engine=engine.unknown, name=None):
    """Combine a tile with one or two numbers, each for all or one per partition.

    Computes ``op1(op0(data, operand0), operand1)``.

    Parameters
    ----------
    dst, data : NkiTensor in SBUF or PSUM
        The same partitions, and as many elements in each.
    op0, op1 : function of nki.language
        Both arithmetic or both bitwise; `op1` may be None.
    operand0, operand1 : number, or float32[P, 1]
    reverse0, reverse1 : bool
        Swap the inputs: ``operand - data`` instead of ``data - operand``.
    engine : nki.isa.engine
        Vector; Scalar for multiply, add, and multiply then add; GpSimd for rsqrt.
    """
    return issue("tensor_scalar", dst=dst, data=data, op0=op0, operand0=operand0, reverse0=reverse0,
                 op1=op1, operand1=operand1, reverse1=reverse1, engine=engine, name=name)


def tensor_reduce(dst, op, data, axis, negate=False, keepdims=False, name=None):
    """Reduce the last free axes of a tile.

    Parameters
    ----------
    dst : NkiTensor
        One element for each that stays, on the same partitions.
    op : function of nki.language
        ``add``, ``subtract``, ``multiply``, ``maximum``, ``minimum``, the logical and the bitwise.
    data : NkiTensor in SBUF or PSUM
    axis : int or tuple of int
        The last axes; never 0, since lanes do not see each other.
    negate : bool
        Multiply the result by -1.
    """
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
    """Compute ``op(data * scale + bias)`` on the Scalar Engine, with an optional sum.

    Parameters
    ----------
    dst, data : NkiTensor in SBUF or PSUM
        The same partitions, and as many elements in each.
    op : function of nki.language
        Of one input: ``nl.exp``, ``nl.gelu``, ``nl.copy``, ...
    bias : NkiTensor[P, 1], optional
    scale : number, or float32[P, 1]
    reduce_op : nl.add, optional
    reduce_res : NkiTensor[P, 1], optional
        Gets the engine's sums, one per partition.
    reduce_cmd : nki.isa.reduce_cmd
        What happens to these sums: ``idle`` leaves them, ``reset_reduce`` begins anew, ``reduce``
        goes on, ``reset`` clears them.
    """
    return issue("activation", dst=dst, op=op, data=data, bias=bias, scale=scale,
                 reduce_op=reduce_op, reduce_res=reduce_res, reduce_cmd=reduce_cmd, name=name)


def activation_reduce(dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None):
    """Compute an activation and its sum over the free axes.

    Parameters
    ----------
    dst, op, data, bias, scale
        As of :func:`activation`.
    reduce_op : nl.add
    reduce_res : NkiTensor[P, 1]
        The sum of what was computed, before `dst` rounds it.
    """
    return issue("activation_reduce", dst=dst, op=op, data=data, reduce_op=reduce_op,
                 reduce_res=reduce_res, bias=bias, scale=scale, name=name)


def iota(dst, pattern, offset=0, channel_multiplier=0, name=None):
    """Write a pattern of rising numbers.

    Parameters
    ----------
    dst : NkiTensor in SBUF
    pattern : list of [step, count]
        One to four nested loops over the free elements, the innermost last.
    offset : int
    channel_multiplier : int
        Added once for each partition.
    """
    return issue("iota", dst=dst, pattern=pattern, offset=offset,
                 channel_multiplier=channel_multiplier, name=name)


def affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=equal,
                  offset=0, name=None):
    """Choose between a tile and a number by comparing an affine pattern with zero.

    Where ``cmp_op(offset + partition * channel_multiplier + sum of steps, 0)`` holds, `dst` gets
    `on_true_tile`, elsewhere `on_false_value`: a causal mask needs no mask in memory.

    Parameters
    ----------
    dst, on_true_tile : NkiTensor in SBUF
    pattern : list of [step, count]
        One to four nested loops over the free elements, the innermost last.
    channel_multiplier, offset : int
    on_false_value : number
    cmp_op : comparison of nki.language
    """
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
    """Compute count, mean and variance of the even and of the odd elements of each partition."""
    return issue("bn_stats", dst=dst, data=data, name=name)


def bn_aggr(dst, data, name=None):
    """Combine results of ``bn_stats`` into mean and variance."""
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
    if engine == enums.engine.gpsimd:
        raise later_chip("nki.isa.rng on the GpSimd Engine", V3)
    return issue("rng", dst=dst, engine=engine, name=name)


def dropout(dst, data, prob, name=None):
    """Replace elements by zero, each with a probability."""
    return issue("dropout", dst=dst, data=data, prob=prob, name=name)


def set_rng_seed(src_seeds, name=None):
    """Seed the random numbers of the Vector Engine."""
    return issue("set_rng_seed", src_seeds=src_seeds, name=name)


def reciprocal(dst, data, name=None):
    """Compute 1 / x on the Vector Engine.

    Parameters
    ----------
    dst, data : NkiTensor in SBUF or PSUM
        The same partitions, and as many elements in each.
    """
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
    """Replace eight values where they first occur, and return those places."""
    return issue("nc_match_replace8", dst=dst, data=data, vals=vals, imm=imm, dst_idx=dst_idx,
                 name=name)


def topk(val_dst, idx_dst, src, n, name=None):
    """Find the largest elements of rows that snake over 16 partitions, with their indices."""
    return issue("topk", val_dst=val_dst, idx_dst=idx_dst, src=src, n=n, name=name)


# fmt: on
