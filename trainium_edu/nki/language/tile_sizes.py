"""Sizes of the hardware, as ``nl.tile_size``: read from the facts of the chip."""

from typing import Any

from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.running import chip_here

__all__ = ["tile_size"]


def _size(path: str, doc: str, parts: int = 1) -> Any:
    return property(lambda _: chip_here().find(path).value // parts, doc=doc)


class _TileSize(NKIObject):
    """Tile sizes of the chip that runs the kernel."""

    def __init__(self):
        pass

    pmax = _size("sbuf.partitions", "Most partitions of a tile.")
    psum_bank_fmax = _size("psum.bank_fp32", "FP32 elements per partition of a PSUM bank.")
    psum_fmax = psum_bank_fmax
    psum_bank_fmax_bytes = _size("psum.bank_bytes", "Bytes per partition of a PSUM bank.")
    psum_num_banks = _size("psum.banks", "PSUM banks of a partition.")
    gemm_stationary_fmax = _size(
        "tensor_engine.stationary_free_max", "Most columns of a matmul's stationary tile."
    )
    gemm_moving_fmax = _size(
        "tensor_engine.moving_free_max", "Most columns of a matmul's moving tile."
    )
    bn_stats_fmax = _size(
        "vector_engine.bn_stats_free_max", "Most elements per partition of bn_stats."
    )
    psum_min_align = property(lambda _: 4, doc="Bytes between PSUM addresses (assumed: one FP32).")
    sbuf_min_align = property(lambda _: 1, doc="Bytes between SBUF addresses (assumed: any byte).")
    sbuf_size_bytes = _size("sbuf.capacity_bytes", "Bytes of SBUF, all partitions together.")
    sbuf_fmax = _size("sbuf.bytes_per_partition", "FP32 elements per partition of SBUF.", 4)
    sbuf_fmax_bytes = _size("sbuf.bytes_per_partition", "Bytes per partition of SBUF.")
    total_available_sbuf_size = _size(
        "sbuf.bytes_per_partition", "Bytes per partition of SBUF (the name is historical)."
    )


tile_size = _TileSize()
