"""Moving data: copies on chip, DMA, shuffles between partitions, constants."""

from trainium_edu.neuroncore.recording.indirect import OutOfBoundsError, indices_of
from trainium_edu.nki.beta1.isa.constants import dge_mode, engine, oob_mode
from trainium_edu.nki.beta1.isa.options import cast, choice, more, same_dtype
from trainium_edu.nki.beta1.operation import op_name, operation, perform, scalar, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.enums import chosen
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "builtin_custom_op", "dma_copy", "dma_transpose", "local_gather", "memset", "nc_stream_shuffle",
    "tensor_copy", "tensor_copy_dynamic_dst", "tensor_copy_dynamic_src", "tensor_copy_predicated",
]  # fmt: skip

_ENGINES, _DGE, _OOB = engine, dge_mode, oob_mode
_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}  # of dma_transpose


# fmt: off
def tensor_copy(src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """Return a copy of a tile.

    Parameters
    ----------
    src : tile in SBUF or PSUM
    engine : nki.isa.engine
        Vector, Scalar (through FP32) or GpSimd (which does not reach PSUM).

    Returns
    -------
    tile in SBUF
    """
    return _copy("tensor_copy", src, mask, dtype, engine, kwargs)


def tensor_copy_dynamic_src(src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """Return a copy of a part of a tile, whose place a number in SBUF says: ``t[ix, n + iy]``."""
    return _copy("tensor_copy_dynamic_src", src, mask, dtype, engine, kwargs)


def _copy(who, src, mask, dtype, engine, kwargs):
    src = tile(src, f"{who}: src")
    more(who, kwargs, tensor_copy.__kwdefaults__)
    instruction, operands, on = _copying(who, src, engine)
    return operation(instruction, src.shape, dtype or src.kind, mask=mask, engine=on, **operands,
                     **kwargs)


def _copying(who, src, engine):
    """Return the instruction that copies on an engine: on Scalar it is an activation."""
    engine = chosen(_ENGINES, engine, f"{who}: engine")
    if engine is _ENGINES.scalar:
        return "activation", {"op": "copy", "data": src}, None
    return "tensor_copy", {"src": src}, engine


def tensor_copy_dynamic_dst(*, dst, src, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """Copy a tile to a part of another, whose place a number in SBUF says: ``t[ix, n + iy]``."""
    dst, src = tile(dst, "tensor_copy_dynamic_dst: dst"), tile(src, "tensor_copy_dynamic_dst: src")
    more("tensor_copy_dynamic_dst", kwargs, tensor_copy_dynamic_dst.__kwdefaults__, ())
    same_dtype("tensor_copy_dynamic_dst", dst, dtype)
    instruction, operands, on = _copying("tensor_copy_dynamic_dst", src, engine)
    perform(instruction, mask=mask, space=src.shape, engine=on, dst=dst, **operands)


def tensor_copy_predicated(*, src, dst, predicate, reverse_pred=False, mask=None, dtype=None,
                           **kwargs):
    """Copy a tile, or one number, to the places of `dst` where a predicate holds.

    Parameters
    ----------
    src : tile of the dtype of `dst`, or number
    dst : tile
        Keeps what it has where the predicate does not hold.
    predicate : tile of uint8, uint16, uint32 or bool
    reverse_pred : bool
        Copy where it does not hold.
    """
    dst, predicate = (tile(x, f"tensor_copy_predicated: {n}")
                      for x, n in ((dst, "dst"), (predicate, "predicate")))
    more("tensor_copy_predicated", kwargs, tensor_copy_predicated.__kwdefaults__, ())
    same_dtype("tensor_copy_predicated", dst, dtype)
    perform("tensor_copy_predicated", mask=mask, dst=dst, src=scalar(src), predicate=predicate,
            reverse_pred=reverse_pred)


def memset(shape, value, dtype, *, mask=None, engine=engine.unknown, **kwargs):
    """Return a tile that holds one value.

    Parameters
    ----------
    shape : tuple of int
        Partitions first; ``nl.par_dim`` is not looked at.
    value : number
    dtype : dtype
    engine : nki.isa.engine
        Vector, or GpSimd.
    """
    more("memset", kwargs, memset.__kwdefaults__)
    if not isinstance(shape, list | tuple):
        raise TypeError(f"memset: shape is {describe(shape)}; it must be a tuple of sizes")
    value, kind = scalar(value), as_dtype(dtype)
    if kind in ("float32", "float16", "bfloat16") or not isinstance(value, float):
        pass
    elif value.is_integer() and "int" in kind:
        value = int(value)
    return operation("memset", tuple(int(n) for n in shape), kind, mask=mask, engine=engine,
                     value=value, **kwargs)


def nc_stream_shuffle(src, dst, shuffle_mask, *, dtype=None, mask=None, **kwargs):
    """Send partitions to partitions inside each quarter of 32.

    Parameters
    ----------
    src, dst : tile of one dtype
        As many elements in each partition; they may be the same tile.
    shuffle_mask : list of 32 int
        Which partition of its quarter partition i copies from; 255 leaves it as it is.
    mask : mask over `dst`
    """
    src, dst = (tile(x, f"nc_stream_shuffle: {n}") for x, n in ((src, "src"), (dst, "dst")))
    more("nc_stream_shuffle", kwargs, nc_stream_shuffle.__kwdefaults__, ())
    same_dtype("nc_stream_shuffle", dst, dtype)
    perform("nc_stream_shuffle", mask=mask, dst=dst, src=src, shuffle_mask=list(shuffle_mask),
            axes={"src": (None, *range(1, len(src.shape)))})


def local_gather(src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, *, mask=None):
    """Return elements that indices select, in groups of 16 partitions with a list of indices each.

    Parameters
    ----------
    src_buffer : tile[P, ...]
        P is a multiple of 16.
    index : uint16 tile[P, F]
        The indices of a group run down its partitions first.
    num_elem_per_idx : {1, 2, 4, 8, 16, 32}
        Elements to copy from each index on.
    num_valid_indices : int, optional
        Indices of a group; default: 16 F.

    Returns
    -------
    tile[P, F, 16, num_elem_per_idx]
        tile[P, num_valid_indices, num_elem_per_idx] where these are not all.
    """
    src = tile(src_buffer, "local_gather: src_buffer")
    index = tile(index, "local_gather: index")
    free = tuple(index.shape[1:])
    if num_valid_indices is None or num_valid_indices == 16 * index.size // index.shape[0]:
        free = (*free, 16)
    else:
        free = (num_valid_indices,)
    if mask is not None:
        raise NkiValidationError(
            "local_gather: mask; a group of 16 partitions shares its indices, so no box of the "
            "result can be left out: gather all, and mask what uses it"
        )
    return operation("local_gather", (src.shape[0], *free, num_elem_per_idx), src.kind,
                     src_buffer=src, index=index, num_elem_per_idx=num_elem_per_idx,
                     num_valid_indices=num_valid_indices)


def dma_copy(*, dst, src, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error,
             dge_mode=dge_mode.unknown):
    """Copy between HBM and SBUF by DMA, casting where dtypes differ.

    Parameters
    ----------
    dst, src : tile
        Rows of either may be selected by an index in SBUF: ``t[index, iy]``.
    dst_rmw_op : np.add, optional
        Add to what is there.
    oob_mode : nki.isa.oob_mode
        What an index out of bounds does: raise, or leave its row out.
    dge_mode : nki.isa.dge_mode
        ``hwdge`` is of later chips.
    """
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
        raise NkiValidationError(
            f"dma_copy: dst_rmw_op with oob_mode {oob}; adding takes oob_mode.error only, so keep "
            "the indices inside"
        )
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


def dma_transpose(src, *, axes=None, mask=None, dtype=None, **kwargs):
    """Return a tensor transposed on its way by DMA.

    Parameters
    ----------
    src : tile in HBM or SBUF
        2-D: axes (1, 0); 3-D: (2, 1, 0); 4-D: (3, 1, 2, 0).

    Returns
    -------
    tile in SBUF
    """
    src = tile(src, "dma_transpose: src", on_chip=None)
    given = dict(more("dma_transpose", kwargs, dma_transpose.__kwdefaults__,
                      ("buffer", "name", "dge_mode")))
    dge = choice(_DGE, given.pop("dge_mode", _DGE.unknown), "dma_transpose: dge_mode")
    order = _AXES.get(len(src.shape), tuple(range(len(src.shape))))
    if axes is not None and tuple(axes) != order:
        raise NkiValidationError(
            f"dma_transpose: axes {axes!r} of a tensor with {len(order)} axes; the order that DMA "
            f"has is {order}"
        )
    turned = operation("dma_transpose", tuple(src.shape[a] for a in order), src.kind, mask=mask,
                       space=src.shape, axes={"dst": order}, src=src, dge_mode=dge, **given)
    return cast(turned, dtype)


def builtin_custom_op(function_name, lib_file_name, ulib_to_ucode_version, ulib_to_isa_version,
                      srcs, dsts, **kwargs):
    """Run a function of a compiled library of the GpSimd Engine: not here."""
    raise NkiValidationError(
        f"builtin_custom_op: {function_name!r} of {lib_file_name!r} is machine code for the GpSimd "
        "processors, which nothing here runs; write it with nki.isa instructions"
    )
# fmt: on
