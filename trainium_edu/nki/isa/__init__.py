"""``nki.isa`` (``nisa``): one thin name per instruction, in the order of the public reference.

Names, argument order and defaults are the reference's; checks, values and times are in
``neuroncore.engines``.  What a later chip has raises, naming it (``later.py``).

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

from trainium_edu.nki import earlier
from trainium_edu.nki.isa import constants
from trainium_edu.nki.isa.instructions import *
from trainium_edu.nki.isa.later import *
from trainium_edu.nki.isa.registers import *
from trainium_edu.nki.objects.enums import (
    dge_mode,
    dma_engine,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.running import NkiInstruction
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "NkiInstruction", "NkiValidationError", "VirtualRegister", "activate2", "activation",
    "activation_reduce", "affine_select", "bn_aggr", "bn_stats", "constants", "core_barrier",
    "dge_mode", "dma_compute", "dma_copy", "dma_engine", "dma_transpose", "dropout", "engine",
    "exponential", "get_nc_sub_version", "get_nc_version", "gpsimd_engine", "iota",
    "local_gather", "matmul_perf_mode", "max8", "memset", "nc_find_index8", "nc_match_replace8",
    "nc_matmul", "nc_matmul_mx", "nc_n_gather", "nc_stream_shuffle", "nc_transpose",
    "nc_version", "nonzero_with_count", "oob_mode", "quantize_mx", "rand2", "rand_get_state",
    "rand_set_state", "range_select", "reciprocal", "reduce_cmd", "register_alloc",
    "register_load", "register_move", "register_store", "rng", "scalar_engine",
    "scalar_tensor_tensor", "select_reduce", "sendrecv", "sequence_bounds", "set_rng_seed",
    "tensor_copy", "tensor_copy_predicated", "tensor_engine", "tensor_partition_reduce",
    "tensor_reduce", "tensor_scalar", "tensor_scalar_cumulative", "tensor_scalar_reduce",
    "tensor_tensor", "tensor_tensor_scan", "topk", "unknown_engine", "vector_engine",
]  # fmt: skip


def __getattr__(name):
    raise earlier.no_attribute("nki.isa", name)
