"""Sizes of the hardware, as ``nl.tile_size``: read from the facts of the chip."""

from typing import Any

from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.specs import TRN1

__all__ = ["tile_size"]


def _size(number: int, doc: str) -> Any:
    return property(lambda _: number, doc=doc)


_PARTITIONS = TRN1.sbuf.partitions.value
_SBUF_BYTES, _BANK_BYTES = TRN1.sbuf.bytes_per_partition.value, TRN1.psum.bank_bytes.value
_TENSOR = TRN1.tensor_engine
_BN_STATS = TRN1.vector_engine.bn_stats_free_max.value


class _TileSize(NKIObject):
    """Hardware tile sizes of NeuronCore-v2."""

    def __init__(self):
        pass

    pmax = _size(_PARTITIONS, "Most partitions of a tile.")
    psum_bank_fmax = _size(_BANK_BYTES // 4, "FP32 elements per partition of a PSUM bank.")
    psum_fmax = psum_bank_fmax
    psum_bank_fmax_bytes = _size(_BANK_BYTES, "Bytes per partition of a PSUM bank.")
    psum_num_banks = _size(TRN1.psum.banks.value, "PSUM banks of a partition.")
    gemm_stationary_fmax = _size(
        _TENSOR.stationary_free_max.value, "Most columns of a matmul's stationary tile."
    )
    gemm_moving_fmax = _size(
        _TENSOR.moving_free_max.value, "Most columns of a matmul's moving tile."
    )
    bn_stats_fmax = _size(_BN_STATS, "Most elements per partition of bn_stats.")
    psum_min_align = _size(4, "Bytes that a PSUM address is a multiple of (assumed: one FP32).")
    sbuf_min_align = _size(1, "Bytes that an SBUF address is a multiple of (assumed: any byte).")
    sbuf_size_bytes = _size(_SBUF_BYTES * _PARTITIONS, "Bytes of SBUF, all partitions together.")
    sbuf_fmax = _size(_SBUF_BYTES // 4, "FP32 elements per partition of SBUF.")
    sbuf_fmax_bytes = _size(_SBUF_BYTES, "Bytes per partition of SBUF.")
    total_available_sbuf_size = _size(
        _SBUF_BYTES, "Bytes per partition of SBUF (the name is historical)."
    )


tile_size = _TileSize()
