"""Whole operations as instruction templates: matmul, softmax, layer norm and simpler ones.

A template takes views of any size and issues the tile loop: rows in pieces of 128 partitions, long
rows in pieces of the free axis.  A view in HBM is loaded and stored by DMA; a view in SBUF (up to
128 rows) is used where it is, so the caller decides by what it passes whether loads and stores
belong to the operation.  Kernels and compiled graphs issue the same templates.

Left out: searching for the best tile sizes; fusing one template into the next.
Read ``pieces.py`` first, then ``elementwise.py``.  Sources: the NKI architecture guide (tile
limits), the ISA reference (what each instruction takes).
"""

from trainium_edu.neuroncore.tilings.cross_entropy import cross_entropy, cross_entropy_gradient
from trainium_edu.neuroncore.tilings.elementwise import elementwise
from trainium_edu.neuroncore.tilings.layer_norm import layer_norm
from trainium_edu.neuroncore.tilings.matmul import matmul
from trainium_edu.neuroncore.tilings.reductions import argmax, reduce
from trainium_edu.neuroncore.tilings.softmax import log_softmax, softmax
from trainium_edu.neuroncore.tilings.transpose import transpose

__all__ = ["argmax", "cross_entropy", "cross_entropy_gradient", "elementwise", "layer_norm",
           "log_softmax", "matmul", "reduce", "softmax", "transpose"]  # fmt: skip
