"""What the Tensor Engine does for this language: matmul, transpose, repeating partitions."""

from trainium_edu.nki.issuing import issue
from trainium_edu.nki.language.creation import full, made, ndarray
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.enums import engine as _engine
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import current, known_issue
from trainium_edu.specs.arguments import flag
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["broadcast_to", "matmul", "transpose"]

#: The name of the row of ones that ``broadcast_to`` multiplies with.
REPEATING = "broadcast_to's ones"
_FLOAT32 = DTYPE_NAMES["float32"]


def broadcast_to(x: NkiTensor, shape, dtype=None) -> NkiTensor:
    """Return a tile of `shape` that repeats `x` along its dimensions of size 1.

    Free dimensions are repeated by a copy.  Partitions are repeated by the Tensor Engine: a matmul
    of a row of ones with `x` leaves the result in PSUM, in FP32; an instruction that cannot read
    it there gets a copy in SBUF.
    """
    if not isinstance(x, NkiTensor) or not x._on_chip:
        raise TypeError(f"nl.broadcast_to takes a tile on chip, not {describe(x)}")
    if not isinstance(shape, tuple | list):
        raise TypeError(f"nl.broadcast_to: the shape is {shape!r}; it must be a tuple of sizes")
    shape = tuple(shape)
    if len(shape) != x.ndim or any(a not in (b, 1) for a, b in zip(x.shape, shape, strict=True)):
        raise refusal("language.broadcast", x=list(x.shape), shape=list(shape))
    dtype = dtype or x.dtype
    if x.shape == shape:
        return x if dtype == x.dtype else copied(x, dtype)
    if x.shape[1:] != shape[1:]:
        view = x
        for axis in range(1, x.ndim):
            if x.shape[axis] != shape[axis]:
                view = view.broadcast(axis, shape[axis])
        x = copied(view, dtype)
    return x if x.shape[0] == shape[0] else _repeat_partition(x, shape, dtype)


def copied(x: NkiTensor, dtype) -> NkiTensor:
    """Return a copy in a new SBUF tile, cast on the way."""
    return made(x.shape, dtype, "tensor_copy", src=x)


def _repeat_partition(x, shape, dtype):
    """Return x[1, …] on `shape[0]` partitions: ones[1, P] transposed times x[1, F]."""
    if shape[0] > 128:
        raise refusal("language.many_partitions", shape=shape)
    if x.dtype in ("int32", "uint32"):
        return _repeat_wide(x, shape, dtype)
    if x.buffer is not MemoryRegion.sbuf or x.dtype not in ("float32", "bfloat16", "float16"):
        x = copied(x, _FLOAT32)
    chip, count = current().core.spec, x.size
    bank = chip.psum.bank_fp32.value
    row = x.reshape((1, count))
    ones = _ones(shape[0], x.dtype)
    result = None
    if count > chip.limits.psum_free_max.value or dtype != _FLOAT32:
        result = ndarray((shape[0], count), dtype)
    step = count if result is None else bank
    for start in range(0, count, step):
        end = start + step if start + step < count else count
        tile = ndarray((shape[0], end - start), _FLOAT32, MemoryRegion.psum)
        for first in range(start, end, bank):
            last = first + bank if first + bank < end else end
            part = tile[:, first - start : last - start]
            issue("nc_matmul", dst=part, stationary=ones, moving=row[:, first:last])
        if result is None:
            current().repeated.add(tile._view.buffer.info.index)
            return tile.reshape(shape)
        issue("tensor_copy", dst=result[:, start:end], src=tile)
    return result.reshape(shape)


def _repeat_wide(x, shape, dtype):
    """Repeat 32-bit integers, which FP32 does not hold, as two halves of 16 bits."""
    parts = []
    for op, number in (("right_shift", 16), ("bitwise_and", 0xFFFF)):
        half = made(x.shape, x.dtype, "tensor_scalar", data=x, op0=op, operand0=number)
        parts.append(_repeat_partition(copied(half, _FLOAT32), shape, x.dtype))
    high, low = parts
    issue("tensor_scalar", dst=high, data=high, op0="left_shift", operand0=16)
    out = made(shape, x.dtype, "tensor_tensor", data1=high, data2=low, op="bitwise_or")
    return out if dtype == x.dtype else copied(out, dtype)


def _ones(partitions, dtype):
    """Return the kernel's row of ones, [1, P]."""
    shared = current().shared
    if ("ones", partitions, dtype) not in shared:
        shared["ones", partitions, dtype] = full((1, partitions), 1.0, dtype, name=REPEATING)
    return shared["ones", partitions, dtype]


def transpose(x: NkiTensor, dtype=None) -> NkiTensor:
    """Return a 2-D tile with partitions and free dimension exchanged, in PSUM.

    Parameters
    ----------
    x : NkiTensor[P, F] on chip
        F <= 128.
    dtype : dtype, optional
        Another dtype than that of `x`: the result is copied to SBUF and cast.

    Returns
    -------
    NkiTensor[F, P]
    """
    if not isinstance(x, NkiTensor) or not x._on_chip or x.ndim != 2:
        raise NkiValidationError(f"nl.transpose takes a 2-D tile on chip, not {describe(x)}")
    rows, columns = x.shape
    if columns > 128:
        raise refusal("language.transpose_columns", x=x, columns=columns)
    if x.buffer is MemoryRegion.psum:
        x = copied(x, x.dtype)
    out = ndarray((columns, rows), x.dtype, MemoryRegion.psum)
    issue("nc_transpose", dst=out, data=x, engine=_engine.tensor)
    return out if dtype is None or dtype == out.dtype else copied(out, dtype)


def matmul(x: NkiTensor, y: NkiTensor, transpose_x: bool = False) -> NkiTensor:
    """Return x @ y (or x.T @ y), in PSUM and FP32; `x` is transposed first where needed.

    Parameters
    ----------
    x : NkiTensor[M, K] in SBUF
        [K, M] with `transpose_x`, as the Tensor Engine takes it: that saves a transpose.
    y : NkiTensor[K, N] in SBUF
        M, K <= 128, N <= 512.
    transpose_x : bool

    Returns
    -------
    float32[M, N] in PSUM

    Examples
    --------
    >>> import numpy as np
    >>> import trainium_edu.nki as nki
    >>> import trainium_edu.nki.language as nl
    >>> @nki.jit
    ... def product(x, y):
    ...     out = nl.ndarray((x.shape[0], y.shape[1]), nl.float32, buffer=nl.shared_hbm)
    ...     nl.store(out, nl.matmul(nl.load(x), nl.load(y)))
    ...     return out
    >>> nki.simulate(product)(np.eye(2, dtype=np.float32), np.float32([[1, 2], [3, 4]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    flag(transpose_x, "nl.matmul: transpose_x")
    for name, tile in (("x", x), ("y", y)):
        if not isinstance(tile, NkiTensor) or not tile._on_chip or tile.ndim != 2:
            raise refusal("language.matmul_operand", name=name, tile=describe(tile))
    if not transpose_x:
        known_issue("matmul")
    stationary = x if transpose_x else copied(transpose(x), x.dtype)
    if stationary.shape[0] != y.shape[0]:
        raise refusal("language.contraction", x=stationary, y=y)
    out = ndarray((stationary.shape[1], y.shape[1]), _FLOAT32, MemoryRegion.psum)
    issue("nc_matmul", dst=out, stationary=stationary, moving=y)
    return out
