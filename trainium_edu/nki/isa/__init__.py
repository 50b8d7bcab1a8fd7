"""``nki.isa`` (``nisa``): one thin name per instruction, in the order of the public reference.

Names, argument order and defaults are the reference's, a row each in ``nki/instructions.toml``;
checks, values and times are in ``neuroncore.engines``.  What a later chip has raises, naming it.

On-chip tiles are [partition, free, ...], at most 128 partitions; the free axes count together.
Engines compute in FP32 and round once into the dtype of `dst`.  What several engines can run takes
``engine`` (default: the one that suits); ``name`` is a label for the timeline.  What is returned is
a handle on the instruction, for ``depends_on``.

>>> import numpy as np
>>> import trainium_edu.nki as nki
>>> import trainium_edu.nki.isa as nisa
>>> import trainium_edu.nki.language as nl
>>> @nki.jit
... def row_softmax(x):
...     out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
...     tile = nl.ndarray(x.shape, nl.float32)
...     total = nl.ndarray((x.shape[0], 1), nl.float32)
...     nisa.dma_copy(dst=tile, src=x)
...     nisa.activation_reduce(dst=tile, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total)
...     nisa.reciprocal(dst=total, data=total)
...     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)
...     nisa.dma_copy(dst=out, src=tile)
...     return out
>>> nki.simulate(row_softmax)(np.zeros((2, 4), np.float32)).tolist()
[[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]
"""

from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.isa import constants, instructions, registers
from trainium_edu.nki.isa.constants import *
from trainium_edu.nki.isa.instructions import *
from trainium_edu.nki.isa.registers import *
from trainium_edu.nki.issuing import NkiInstruction
from trainium_edu.nki.mistakes import NAMES
from trainium_edu.nki.objects.virtual_register import NkiScalar, VirtualRegister
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "NkiInstruction", "NkiScalar", "NkiValidationError", "VirtualRegister", "constants",
    *constants.__all__, *instructions.__all__, *registers.__all__,
]  # fmt: skip
NAMES["nisa."] = __all__


__getattr__ = names_of(__name__, "nki.isa")
