"""The enums of ``nki.isa`` in the older interface, where kernels also import them from.

All but ``dge_mode``, whose values moved, are the current interface's.
"""

from enum import IntEnum

from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.objects.enums import engine, nc_version, oob_mode, reduce_cmd

__all__ = ["dge_mode", "engine", "nc_version", "oob_mode", "reduce_cmd"]


class dge_mode(IntEnum):
    """The writer of DMA descriptors; NeuronCore-v2 has no hardware engine for them."""

    none = 0
    swdge = 1
    hwdge = 2
    unknown = 3


__getattr__ = names_of(__name__, "neuronxcc.nki.isa.constants")
