"""What PyTorch's operations are on the chip: one row for each overload of aten.

A row is a plain function with the signature of aten's schema.  Tensors are lazy tensors of
``trainium_edu.xla``, lists of tensors are lists of these, absent ones None; everything else is
plain Python, ``dtype`` a ``torch.dtype``.  It returns a tensor or a tuple of them.  Rows are
functional: an in-place operation is its functional row, and a write.  A ``device`` of a row that
takes no tensor is the lazy ``Device`` to record on.

An operation without a row is recorded as PyTorch decomposes it (``parts.py``); a row is only for
what PyTorch does not decompose, or what takes another time than its parts.  An operation that has
neither, or whose arguments :func:`~.parts.fits` refuses, runs on the CPU.  Read ``table.py`` first,
then ``arithmetic.py``.
"""

from trainium_edu.torch.operations import (  # noqa: F401
    arithmetic,
    attention,
    convolution,
    curves,
    factories,
    indexing,
    losses,
    moves,
    normalise,
    pooling,
    products,
    random,
    reductions,
    views,
)
from trainium_edu.torch.operations.parts import decomposes, fits, overload, row_of
from trainium_edu.torch.operations.table import (
    INVERSE,
    ON_CPU,
    ROWS,
    WRITES,
    dtype_of,
    name_of,
    row,
    supported,
)

__all__ = [
    "INVERSE", "ON_CPU", "ROWS", "WRITES", "decomposes", "dtype_of", "fits", "name_of",
    "overload", "row", "row_of", "supported",
]  # fmt: skip
