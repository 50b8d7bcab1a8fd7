"""``nki.isa`` (``nisa``): one thin name per instruction; checks and values are in ``neuroncore``."""

import sys as _sys

from trainium_edu.nki import enums as constants
from trainium_edu.nki.enums import (
    dge_mode,
    dma_engine,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from trainium_edu.nki.registers import VirtualRegister
from trainium_edu.nki.registers_isa import (
    register_alloc,
    register_load,
    register_move,
    register_store,
)
from trainium_edu.nki.running import NkiInstruction, issue
from trainium_edu.specs.errors import NkiValidationError

_sys.modules[f"{__name__}.constants"] = constants  # `from nki.isa.constants import oob_mode`

__all__ = [
    "NkiInstruction", "NkiValidationError", "VirtualRegister", "activation", "constants",
    "dge_mode", "dma_copy", "dma_engine", "engine", "get_nc_sub_version", "get_nc_version",
    "gpsimd_engine", "matmul_perf_mode", "memset", "nc_matmul", "nc_version", "oob_mode",
    "reduce_cmd", "register_alloc", "register_load", "register_move", "register_store",
    "scalar_engine", "tensor_copy", "tensor_engine", "tensor_scalar", "tensor_tensor",
    "tensor_tensor_scan", "unknown_engine", "vector_engine",
]  # fmt: skip

tensor_engine, vector_engine = engine.tensor, engine.vector
scalar_engine, gpsimd_engine = engine.scalar, engine.gpsimd
unknown_engine = engine.unknown


def get_nc_version():
    """Return the generation of the NeuronCore that runs the kernel."""
    return nc_version.gen2


def get_nc_sub_version() -> int:
    """Return the revision of the silicon within its generation: the first."""
    return 0


def dma_copy(dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown,
             engine=engine.unknown, name=None):  # fmt: skip
    """Copy between HBM and SBUF by DMA, casting through FP32 where dtypes differ."""
    return issue("dma_copy", name=name, dst=dst, src=src, priority=priority, oob_mode=oob_mode,
                 dge_mode=dge_mode)  # fmt: skip


def tensor_copy(dst, src, engine=engine.unknown, name=None):
    """Copy a tile on chip, casting on the way."""
    return issue("tensor_copy", engine=engine, name=name, dst=dst, src=src)


def memset(dst, value, engine=engine.unknown, name=None):
    """Fill a tile with one value."""
    return issue("memset", engine=engine, name=name, dst=dst, value=value)


def nc_matmul(dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False,
              is_transpose=False, accumulate=None, tile_position=(), tile_size=(),
              perf_mode=matmul_perf_mode.none, name=None):  # fmt: skip
    """Multiply ``stationary.T @ moving`` into PSUM."""
    return issue(
        "nc_matmul", name=name, dst=dst, stationary=stationary, moving=moving,
        is_stationary_onezero=is_stationary_onezero, is_moving_onezero=is_moving_onezero,
        is_transpose=is_transpose, accumulate=accumulate, tile_position=tile_position,
        tile_size=tile_size, perf_mode=perf_mode,
    )  # fmt: skip


def activation(dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None,
               reduce_cmd=reduce_cmd.idle, name=None):  # fmt: skip
    """Compute ``op(data * scale + bias)`` on the Scalar Engine."""
    return issue("activation", name=name, dst=dst, op=op, data=data, bias=bias, scale=scale,
                 reduce_op=reduce_op, reduce_res=reduce_res, reduce_cmd=reduce_cmd)  # fmt: skip


def tensor_tensor(dst, data1, data2, op, engine=engine.unknown, name=None):
    """Combine two tiles element by element."""
    return issue("tensor_tensor", engine=engine, name=name, dst=dst, data1=data1, data2=data2,
                 op=op)  # fmt: skip


def tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None,
                  reverse1=False, engine=engine.unknown, name=None):  # fmt: skip
    """Combine a tile with one or two numbers, each for all or one per partition."""
    return issue("tensor_scalar", engine=engine, name=name, dst=dst, data=data, op0=op0,
                 operand0=operand0, reverse0=reverse0, op1=op1, operand1=operand1,
                 reverse1=reverse1)  # fmt: skip


def tensor_tensor_scan(dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False,
                       name=None):  # fmt: skip
    """Run ``r = op1(op0(r, data0[i]), data1[i])`` along the free axis and keep every r."""
    return issue("tensor_tensor_scan", name=name, dst=dst, data0=data0, data1=data1,
                 initial=initial, op0=op0, op1=op1, reverse0=reverse0, reverse1=reverse1)  # fmt: skip
