"""Between HBM and SBUF, and copies on chip."""

from trainium_edu.nki.issuing import issue
from trainium_edu.nki.language.creation import made
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.enums import engine as _engine
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.running import known_issue
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["copy", "expand_dims", "gather_flattened", "load", "load_transpose2d", "store"]


def load(src: NkiTensor, dtype=None) -> NkiTensor:
    """Copy a tensor from HBM into a new SBUF tile by DMA, casting on the way if asked.

    Parameters
    ----------
    src : NkiTensor[P, ...] in HBM
        P <= 128; [n] becomes [n, 1].
    dtype : dtype, optional
        Of the tile; default: that of `src`.

    Returns
    -------
    NkiTensor in SBUF

    Raises
    ------
    NkiValidationError
        For more than 128 rows, or a tile that is on chip already.

    Examples
    --------
    >>> import numpy as np
    >>> import trainium_edu.nki as nki
    >>> import trainium_edu.nki.language as nl
    >>> @nki.jit
    ... def rounded(x):
    ...     out = nl.ndarray(x.shape, nl.bfloat16, buffer=nl.shared_hbm)
    ...     nl.store(out, nl.load(x, dtype=nl.bfloat16))
    ...     return out
    >>> float(nki.simulate(rounded)(np.full((1, 1), 1.01, np.float32))[0, 0])
    1.0078125
    """
    _tensor("load", src, on_chip=False)
    shape = src.shape if src.ndim > 1 else (src.shape[0], 1)
    if shape[0] > 128:
        raise refusal("language.load_rows", src=src, shape=shape)
    src = src if src.ndim > 1 else src.expand_dim(1)
    return made(shape, dtype or src.dtype, "dma_copy", src=src)


def store(dst: NkiTensor, value: NkiTensor) -> None:
    """Copy an SBUF tile into a tensor in HBM by DMA.

    Parameters
    ----------
    dst : NkiTensor in HBM
        As many elements as `value`.
    value : NkiTensor on chip
        From PSUM it goes through SBUF, by a copy of its own.
    """
    _tensor("store", dst, on_chip=False)
    if not isinstance(value, NkiTensor):
        raise misuse("language.stored_number", value=describe(value))
    if value._on_chip and value.buffer is MemoryRegion.psum:
        known_issue("store")
        value = copy(value)
    if dst.ndim == 1:
        dst = dst.expand_dim(1) if value.shape[0] != 1 else dst.expand_dim(0)
    issue("dma_copy", dst=dst, src=value)


def load_transpose2d(src: NkiTensor, dtype=None) -> NkiTensor:
    """Copy a 2-D tensor from HBM into SBUF with its two dimensions exchanged."""
    _tensor("load_transpose2d", src, on_chip=False)
    if src.ndim != 2:
        raise NkiValidationError(f"nl.load_transpose2d: {src!r} has {src.ndim} dimensions, not 2")
    turned = src.permute((1, 0))
    return made(turned.shape, dtype or src.dtype, "dma_copy", src=turned)


def copy(x: NkiTensor, dtype=None) -> NkiTensor:
    """Copy a tile into a new SBUF tile on the Vector Engine."""
    _tensor("copy", x, on_chip=True)
    if x.buffer is MemoryRegion.psum:
        known_issue("copy")
    return made(x.shape, dtype or x.dtype, "tensor_copy", engine=_engine.vector, src=x)


def expand_dims(x: NkiTensor, axis: int) -> NkiTensor:
    """Return a view of `x` with a dimension of size 1 at `axis`."""
    _tensor("expand_dims", x, on_chip=None)
    return x.expand_dim(axis)


def gather_flattened(data: NkiTensor, indices: NkiTensor, axis=0, dtype=None) -> NkiTensor:
    """Return ``data[p, indices[p, i]]`` for every partition p, free dimensions flattened.

    Parameters
    ----------
    data : NkiTensor[P, ...] on chip
    indices : integer NkiTensor[P, n] on chip
    axis : 0
    dtype : dtype, optional
        Of the result; default: that of `data`.

    Returns
    -------
    NkiTensor[P, n] in SBUF
    """
    if axis != 0:
        raise NkiValidationError(f"nl.gather_flattened: axis is {axis}; only 0 is defined")
    _tensor("gather_flattened", data, on_chip=True)
    _tensor("gather_flattened", indices, on_chip=True)
    if indices.dtype == "int32":
        indices = indices.view("uint32")
    elif indices.dtype in ("uint16", "uint8", "int16", "int8"):
        indices = copy(indices, "uint32")
    tile = made(indices.shape, data.dtype, "nc_n_gather", data=data, indices=indices)
    return tile if dtype is None or dtype == data.dtype else copy(tile, dtype)


def _tensor(name, x, *, on_chip):
    if not isinstance(x, NkiTensor):
        what = describe(x)
        if hasattr(x, "shape"):
            what += ": pass it to the kernel as an argument, by itself or in a list, a dict or an "
            what += "NKIObject"
        raise TypeError(f"nl.{name} takes a tensor, not {what}")
    if on_chip is not None and x._on_chip is not on_chip:
        where = "on chip (SBUF or PSUM)" if on_chip else "in HBM"
        hint = ""
        if not on_chip:
            hint = ": nl.store(dst, value)" if name == "store" else "; nl.copy copies on chip"
        raise NkiValidationError(f"nl.{name} takes a tensor {where}, and {x!r} is not there{hint}")


copy.op = "copy"  # type: ignore[attr-defined]  # activations know it by this name
