"""The table of operations: one row each, in the file of its family.

Importing this package fills the table.  Read ``table.py`` first, then ``elementwise.py``.
"""

from trainium_edu.xla.operations import (  # noqa: F401
    collectives,
    control,
    convolution,
    custom,
    elementwise,
    functions,
    fusion,
    indexing,
    leaves,
    losses,
    matmul,
    normalise,
    random,
    reductions,
    shapes,
)
from trainium_edu.xla.operations.table import OPERATIONS, Operation, apply, constant, parameter

__all__ = ["OPERATIONS", "Operation", "apply", "constant", "parameter"]
