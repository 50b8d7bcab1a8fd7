"""``nki.language`` (``nl``): dtypes, memories, tensors, and arithmetic on tiles.

Each function allocates its result and issues one or more instructions of ``nki.isa``; those of
arithmetic also name the operators of instructions (``op=nl.add``).  Read ``elementwise.py`` first.
What a later chip brought is here by name and raises when used.
"""

from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.language import (
    creation,
    elementwise,
    loops,
    matrix,
    programs,
    reductions,
    transfer,
)
from trainium_edu.nki.language import rounding as _rounding
from trainium_edu.nki.language.creation import *
from trainium_edu.nki.language.elementwise import *
from trainium_edu.nki.language.loops import *
from trainium_edu.nki.language.matrix import *
from trainium_edu.nki.language.operator_names import average, bypass, prelu
from trainium_edu.nki.language.programs import *
from trainium_edu.nki.language.reductions import *
from trainium_edu.nki.language.rounding import *
from trainium_edu.nki.language.tile_sizes import tile_size
from trainium_edu.nki.language.transfer import *
from trainium_edu.nki.mistakes import NAMES
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES as _DTYPES
from trainium_edu.nki.objects.dtypes import DType
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.indexing import ds
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.objects.tensor import NkiTensor

globals().update(_DTYPES)  # int8, bfloat16, ...
bool_ = _DTYPES["bool"]

sbuf, psum = MemoryRegion.sbuf, MemoryRegion.psum
private_hbm = hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm
range = range

__all__ = [
    "DType", "MemoryRegion", "NKIObject", "NkiTensor", "average", "bool_", "bypass", "ds", "hbm",
    "prelu", "private_hbm", "psum", "sbuf", "shared_hbm", "tile_size", *(set(_DTYPES) - {"bool"}),
    *creation.__all__, *elementwise.__all__, *loops.__all__, *matrix.__all__,
    *programs.__all__, *reductions.__all__, *_rounding.__all__, *transfer.__all__,
]  # fmt: skip
NAMES["nl."] = __all__


__getattr__ = names_of(__name__, "nki.language")
