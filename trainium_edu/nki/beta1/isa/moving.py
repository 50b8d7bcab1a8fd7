"""Rules of moving data: copies on chip, DMA, shuffles between partitions, constants."""

from functools import partial

from trainium_edu.neuroncore.recording.indirect import OutOfBoundsError, indices_of
from trainium_edu.nki.beta1.isa.constants import dge_mode, engine, oob_mode
from trainium_edu.nki.beta1.isa.options import cast, choice, same_dtype
from trainium_edu.nki.beta1.operation import op_name, operation, perform, scalar, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.enums import chosen
from trainium_edu.nki.refusals import refusal
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "builtin_custom_op", "dma_copy", "dma_transpose", "local_gather", "memset", "nc_stream_shuffle",
    "tensor_copy", "tensor_copy_dynamic_dst", "tensor_copy_dynamic_src",
]  # fmt: skip

_ENGINES, _DGE, _OOB = engine, dge_mode, oob_mode
_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}  # of dma_transpose


# fmt: off
def tensor_copy(src, mask, dtype, engine, who="tensor_copy", **kwargs):
    """Copy on the engine that is named."""
    src = tile(src, f"{who}: src")
    instruction, operands, on = _copying(who, src, engine)
    return operation(instruction, src.shape, dtype or src.kind, mask=mask, engine=on, **operands,
                     **kwargs)


tensor_copy_dynamic_src = partial(tensor_copy, who="tensor_copy_dynamic_src")


def _copying(who, src, engine):
    """Return the instruction that copies on an engine: on Scalar it is an activation."""
    engine = chosen(_ENGINES, engine, f"{who}: engine")
    if engine is _ENGINES.scalar:
        return "activation", {"op": "copy", "data": src}, None
    return "tensor_copy", {"src": src}, engine


def tensor_copy_dynamic_dst(dst, src, mask, dtype, engine):
    """Copy to a part of `dst` whose place is known at run time."""
    dst, src = tile(dst, "tensor_copy_dynamic_dst: dst"), tile(src, "tensor_copy_dynamic_dst: src")
    same_dtype("tensor_copy_dynamic_dst", dst, dtype)
    instruction, operands, on = _copying("tensor_copy_dynamic_dst", src, engine)
    perform(instruction, mask=mask, space=src.shape, engine=on, dst=dst, **operands)


def memset(shape, value, dtype, mask, engine, **kwargs):
    """Fill a new tile; a float that is an integer fills integers."""
    if not isinstance(shape, list | tuple):
        raise TypeError(f"memset: shape is {describe(shape)}; it must be a tuple of sizes")
    value, kind = scalar(value), as_dtype(dtype)
    if kind in ("float32", "float16", "bfloat16") or not isinstance(value, float):
        pass
    elif value.is_integer() and "int" in kind:
        value = int(value)
    return operation("memset", tuple(int(n) for n in shape), kind, mask=mask, engine=engine,
                     value=value, **kwargs)


def nc_stream_shuffle(src, dst, shuffle_mask, dtype, mask):
    """Write to `dst`; a mask cuts all of its axes, and of `src` the free ones."""
    src, dst = (tile(x, f"nc_stream_shuffle: {n}") for x, n in ((src, "src"), (dst, "dst")))
    same_dtype("nc_stream_shuffle", dst, dtype)
    perform("nc_stream_shuffle", mask=mask, dst=dst, src=src, shuffle_mask=list(shuffle_mask),
            axes={"src": (None, *range(1, len(src.shape)))})


def local_gather(src_buffer, index, num_elem_per_idx, num_valid_indices, mask):
    """Return [P, F, 16, n], or [P, valid, n] where not all indices count."""
    src = tile(src_buffer, "local_gather: src_buffer")
    index = tile(index, "local_gather: index")
    free = tuple(index.shape[1:])
    if num_valid_indices is None or num_valid_indices == 16 * index.size // index.shape[0]:
        free = (*free, 16)
    else:
        free = (num_valid_indices,)
    if mask is not None:
        raise refusal("isa.masked_gather")
    return operation("local_gather", (src.shape[0], *free, num_elem_per_idx), src.kind,
                     src_buffer=src, index=index, num_elem_per_idx=num_elem_per_idx,
                     num_valid_indices=num_valid_indices)


def dma_copy(dst, src, mask, dst_rmw_op, oob_mode, dge_mode):
    """Copy, or add to what is there; raise as NumPy does for an index out of bounds."""
    dst, src = tile(dst, "dma_copy: dst", on_chip=None), tile(src, "dma_copy: src", on_chip=None)
    oob = choice(_OOB, oob_mode, "dma_copy: oob_mode")
    dge = choice(_DGE, dge_mode, "dma_copy: dge_mode")
    if dst_rmw_op is None:
        try:
            perform("dma_copy", mask=mask, dst=dst, src=src, oob_mode=oob, dge_mode=dge)
        except OutOfBoundsError as error:
            raise _as_numpy_says(src if src.window.indirect else dst) from error
        return
    if oob != "error":
        raise refusal("isa.adding_out_of_bounds", oob=oob)
    perform("dma_compute", mask=mask, dst=dst, srcs=[src, dst], reduce_op=op_name(dst_rmw_op))


def _as_numpy_says(value):
    """Return the older simulator's error for an index out of bounds: NumPy's, of a flat array."""
    indirect = value.window.indirect
    index = indices_of(indirect)
    wrong = int(index[(index < 0) | (index >= indirect.limit)][0])
    row = indirect.step_bytes // value.window.dtype.itemsize
    return IndexError(
        f"index {wrong * row} is out of bounds for axis 0 with size {indirect.limit * row}"
    )


def dma_transpose(src, axes, mask, dtype, dge_mode=_DGE.unknown, **kwargs):
    """Return the axes in the one order that DMA has; a copy casts."""
    src = tile(src, "dma_transpose: src", on_chip=None)
    dge = choice(_DGE, dge_mode, "dma_transpose: dge_mode")
    order = _AXES.get(len(src.shape), tuple(range(len(src.shape))))
    if axes is not None and tuple(axes) != order:
        raise refusal("isa.axes_of_transpose", axes=axes, count=len(order), order=order)
    turned = operation("dma_transpose", tuple(src.shape[a] for a in order), src.kind, mask=mask,
                       space=src.shape, axes={"dst": order}, src=src, dge_mode=dge, **kwargs)
    return cast(turned, dtype)


def builtin_custom_op(function_name, lib_file_name, **_):
    """Refuse machine code."""
    raise NkiValidationError(
        f"builtin_custom_op: {function_name!r} of {lib_file_name!r} is machine code for the GpSimd "
        "processors, which nothing here runs; write it with nki.isa instructions"
    )
# fmt: on
