"""The table of operations: one row each, in the file of its family.

Importing this package fills the table.  Read ``table.py`` first, then ``elementwise.py``.
"""

from trainium_edu.xla.operations import collectives as collectives
from trainium_edu.xla.operations import control as control
from trainium_edu.xla.operations import convolution as convolution
from trainium_edu.xla.operations import elementwise as elementwise
from trainium_edu.xla.operations import functions as functions
from trainium_edu.xla.operations import indexing as indexing
from trainium_edu.xla.operations import leaves as leaves
from trainium_edu.xla.operations import losses as losses
from trainium_edu.xla.operations import matmul as matmul
from trainium_edu.xla.operations import normalise as normalise
from trainium_edu.xla.operations import random as random
from trainium_edu.xla.operations import reductions as reductions
from trainium_edu.xla.operations import shapes as shapes
from trainium_edu.xla.operations.table import OPERATIONS, Operation, apply, constant, parameter

__all__ = ["OPERATIONS", "Operation", "apply", "constant", "parameter"]
