"""The enums of ``nki.isa``, where kernels also import them from."""

from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.objects.enums import (
    dge_mode,
    dma_engine,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)

__all__ = ["dge_mode", "dma_engine", "engine", "matmul_perf_mode", "nc_version", "oob_mode",
           "reduce_cmd"]  # fmt: skip

__getattr__ = names_of(__name__, "nki.isa.constants")
