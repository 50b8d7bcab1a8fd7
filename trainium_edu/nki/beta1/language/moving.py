"""Between HBM and the chip, copies, transposes, products, and what gathers."""

from math import prod

import numpy as np

from trainium_edu.nki import language as current_interface
from trainium_edu.nki.beta1.language.creation import full
from trainium_edu.nki.beta1.language.elementwise import composed
from trainium_edu.nki.beta1.operation import (
    constant,
    copied,
    in_sbuf,
    op_name,
    operation,
    perform,
    scalar,
    tile,
)
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.beta1.tile import Tile
from trainium_edu.nki.language.rules import refuse
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.enums import engine as _engine
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import current, is_running
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["atomic_rmw", "copy", "expand_dims", "gather_flattened", "load", "load_transpose2d",
           "matmul", "static_cast", "store", "transpose"]  # fmt: skip

_PSUM = MemoryRegion.psum


def load(src, *, mask=None, dtype=None, **kwargs):
    """Copy a tensor from HBM into a tile in SBUF by DMA, casting on the way if asked.

    Parameters
    ----------
    src : tensor in HBM
        At most 128 rows; n elements of a one-dimensional tensor come on n partitions.
    mask : mask, optional
        What is loaded; the rest of the tile stays as it is.
    dtype : dtype, optional
        Of the tile; default: that of `src`.

    Returns
    -------
    tile in SBUF
    """
    refuse("load", kwargs)
    src = _column(tile(src, "nl.load: src", on_chip=False))
    shape = src.window.shape
    return operation("dma_copy", shape, dtype or src.kind, mask=mask, src=src)


def _column(tensor, like=None):
    """Return a one-dimensional tensor in HBM as a column (or a row, if `like` is one)."""
    view = tensor.window
    if len(view.shape) != 1:
        return tensor
    size = view.dtype.itemsize
    if like is not None and like.window.shape[0] == 1 and view.shape[0] != 1:
        column = view._like((1, *view.shape), (size * view.shape[0], *view.strides), view.offset)
    else:
        column = view._like((*view.shape, 1), (*view.strides, size), view.offset)
    return tensor.like(column, reach=tensor.reach)


def store(dst, value, *, mask=None, **kwargs):
    """Copy a tile into a tensor in HBM by DMA.

    Parameters
    ----------
    dst : tensor in HBM
        Of the shape of `value`, up to dimensions of size 1.
    value : tile or number
        From PSUM it goes through SBUF, by a copy of its own.
    mask : mask, optional
        What is stored.
    """
    refuse("store", kwargs)
    dst = tile(dst, "nl.store: dst", on_chip=False)
    value = scalar(value)
    if not isinstance(value, Tile):
        shape = dst.window.shape if dst.window.shape[1:] else (*dst.window.shape, 1)
        value = full(shape, value, dst.dtype)
    value = tile(value, "nl.store: value")
    value = in_sbuf(value)
    dst = _column(dst, value)
    if tuple(dst.window.shape) != tuple(value.window.shape):
        dst = _shaped(dst, value)
    perform("dma_copy", mask=mask, dst=dst, src=value)


def _shaped(dst, value):
    """Return a tensor in the shape of a tile, where only dimensions of size 1 differ."""
    have, want = dst.window.shape, value.window.shape
    if [n for n in have if n != 1] != [n for n in want if n != 1]:
        raise NkiValidationError(
            f"nl.store: {dst!r} takes {list(have)}, and the value {value!r} has {list(want)}"
        )
    if dst.reach is not None:
        return dst  # the mask decides
    steps = iter([s for n, s in zip(have, dst.window.strides, strict=True) if n != 1])
    strides = [dst.window.dtype.itemsize if n == 1 else next(steps) for n in want]
    return dst.like(dst.window._like(want, strides, dst.window.offset))


def load_transpose2d(src, *, mask=None, dtype=None, **kwargs):
    """Copy a 2-D tensor from HBM into SBUF with its two dimensions exchanged."""
    src = tile(src, "nl.load_transpose2d: src", on_chip=False)
    if src.ndim != 2:
        raise NkiValidationError(f"nl.load_transpose2d: {src!r} has {src.ndim} dimensions, not 2")
    turned = src.like(src.tensor.permute((1, 0))._view)
    space = tuple(src.window.shape)
    return operation("dma_copy", turned.shape, dtype or src.kind, mask=mask, space=space,
                     axes={"src": (1, 0), "dst": (1, 0)}, src=turned)  # fmt: skip


def copy(src, *, mask=None, dtype=None, **kwargs):
    """Copy a tile into another, in SBUF unless assigned to one in PSUM."""
    refuse("copy", kwargs)
    src = tile(src, "nl.copy: src")
    return operation("tensor_copy", src.shape, dtype or src.kind, mask=mask, src=src)


copy.op = "copy"  # type: ignore[attr-defined]


def static_cast(input_data, dtype):
    """Return a copy of a tile in another dtype; outside a kernel, of a NumPy array."""
    if isinstance(input_data, np.ndarray) and not is_running():
        return input_data.astype(dtype)
    return copy(input_data, dtype=dtype)


def expand_dims(data, axis):
    """Return a tile with a dimension of size 1 at `axis`, without copying."""
    return tile(data, "nl.expand_dims: data", on_chip=None).expand_dims(axis)


def transpose(x, *, dtype=None, mask=None, **kwargs):
    """Return a 2-D tile with partitions and free dimension exchanged, by the Tensor Engine.

    The result is in PSUM, in the dtype of `x`; another one is cast on the way to SBUF.
    """
    x = tile(x, "nl.transpose: x")
    if len(x.window.shape) != 2:
        raise refusal("language.transpose_dims", x=x)
    x = in_sbuf(x)
    rows, columns = x.window.shape
    turned = operation(
        "nc_transpose", (columns, rows), x.kind, buffer=_PSUM, mask=mask, space=(rows, columns),
        axes={"dst": (1, 0)}, data=x, engine=_engine.tensor, casts=False,
    )  # fmt: skip
    if dtype is None or as_dtype(dtype) == x.kind:
        return turned
    return copy(turned, dtype=dtype)


def matmul(x, y, *, transpose_x=False, mask=None, **kwargs):
    """Return x @ y (or x.T @ y) in PSUM, in FP32; `x` is transposed first where needed.

    Parameters
    ----------
    x : tile[M, K] in SBUF
        [K, M] with `transpose_x`, as the Tensor Engine takes it: that saves a transpose.
    y : tile[K, N] in SBUF
        M, K <= 128, N <= 512.
    mask : mask over (M, N), optional
        Over the result.

    Notes
    -----
    The array takes FP32 with FP32 only (AWS's reference of ``nc_matmul``, from SDK 2.27 on).
    AWS's attention tutorial multiplies FP32 scores by BF16 values with this function, so the
    narrower one is copied to FP32 first, as "NKI Type Promotion" of SDK 2.26 has it for arithmetic.
    That its compiler did the same for a product is assumed.  ``nisa.nc_matmul`` inserts nothing,
    and refuses such a pair.
    """
    refuse("matmul", kwargs)
    x, y = tile(x, "nl.matmul: x"), tile(y, "nl.matmul: y")
    for operand in (x, y):
        if len(operand.window.shape) != 2:
            raise NkiValidationError(f"nl.matmul takes tiles of two dimensions, not {operand!r}")
    kinds = x.kind, y.kind
    is_mixed = "float32" in kinds and x.kind != y.kind and all("float" in k for k in kinds)
    if not transpose_x:
        x = _times_identity(x) if x.kind == "float32" else transpose(x)
        x = copied(x, "float32" if is_mixed else kinds[0])
    elif is_mixed and x.kind != "float32":
        x = copied(x, "float32")
    if x.shape[0] != y.shape[0]:
        raise refusal("language.contraction", x=x, y=y)
    y = copied(y, "float32") if is_mixed and y.kind != "float32" else in_sbuf(y)
    return operation(
        "nc_matmul", (x.shape[1], y.shape[1]), "float32", buffer=_PSUM, mask=mask,
        axes={"stationary": (None, 0), "moving": (None, 1)}, stationary=x, moving=y, casts=False,
    )  # fmt: skip


def _times_identity(x):
    """Return x.T as the compiler inserts it for FP32: a product with an identity from HBM.

    A profiled kernel of such calls loads that matrix and counts its transposes as FP32 products;
    those that the compiler wrote for others say that it holds ones and zeros, which is two passes.
    """
    x, shared = in_sbuf(x), current().shared
    rows, columns = x.window.shape
    if "identity" not in shared:
        shared["identity"] = constant(np.eye(128, dtype=np.float32))
    return operation(
        "nc_matmul", (columns, rows), "float32", buffer=_PSUM, space=(rows, columns),
        axes={"stationary": (0, 1), "moving": (0, 0), "dst": (1, 0)}, stationary=x,
        moving=shared["identity"][0:rows, 0:rows], is_moving_onezero=True, is_transpose=True,
        casts=False,
    )  # fmt: skip


def gather_flattened(data, indices, *, mask=None, dtype=None, **kwargs):
    """Return ``data[p, indices[p, i]]`` for every partition p, free dimensions flattened."""
    data = tile(data, "nl.gather_flattened: data")
    indices = tile(indices, "nl.gather_flattened: indices")
    flat = indices.reshape((indices.shape[0], prod(indices.shape[1:])))
    flat_data = data.reshape((data.shape[0], prod(data.shape[1:])))
    kind = None if dtype is None else as_dtype(dtype)
    gathered = composed(
        "gather_flattened", flat, flat.shape, mask,
        lambda part: current_interface.gather_flattened(flat_data.tensor, part, dtype=kind),
    )  # fmt: skip
    return gathered.reshape(tuple(indices.shape))


def atomic_rmw(dst, value, op, *, mask=None, **kwargs):
    """Add a tile to the rows of a tensor in HBM that a tile of indices selects."""
    if op_name(op) != "add":
        raise NkiValidationError(f"nl.atomic_rmw: op is {op_name(op)}; only np.add is defined")
    dst = tile(dst, "nl.atomic_rmw: dst", on_chip=False)
    value = scalar(value)
    if not isinstance(value, Tile):
        value = full(dst.window.shape, value, dst.dtype)
    perform("dma_compute", mask=mask, dst=dst, srcs=[value, dst], reduce_op="add")
