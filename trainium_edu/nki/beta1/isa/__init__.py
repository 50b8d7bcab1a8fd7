"""``nki.isa`` of the older interface: instructions that return their result, a tile.

Names, argument order and defaults are those of the public reference of SDK 2.26 (2.27's tests for
``tensor_scalar_cumulative``), a row each in ``nki/instructions.toml``; checks, values and times are
the current interface's, which records the instructions.  The files: ``instructions`` makes the
functions; rules that a row does not say are in ``tensor`` (matmul, transpose), ``arithmetic``,
``selection`` (index expressions) and ``moving`` (copies, DMA).

Every function takes ``mask=`` (the part of the tiles that it works on), and those that return a
tile ``dtype=`` (default: as the operands) and ``buffer=`` (default: SBUF; PSUM for the Tensor
Engine).  Operators are functions of ``nl`` or of NumPy.
"""

from trainium_edu.nki.beta1.isa import constants, instructions
from trainium_edu.nki.beta1.isa.constants import *
from trainium_edu.nki.beta1.isa.instructions import *
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.isa import (
    get_nc_version,
    gpsimd_engine,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from trainium_edu.specs.errors import NkiValidationError

dma_engine = constants.engine.dma

__all__ = [
    "NkiValidationError", "constants", "dma_engine", "get_nc_version", "gpsimd_engine",
    "scalar_engine", "tensor_engine", "unknown_engine", "vector_engine", *constants.__all__,
    *instructions.__all__,
]  # fmt: skip

__getattr__ = names_of(__name__, "neuronxcc.nki.isa")
