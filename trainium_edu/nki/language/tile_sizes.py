"""Sizes of the hardware, as ``nl.tile_size``: read from the facts of the chip."""

from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.specs import TRN1

__all__ = ["tile_size"]


class _TileSize(NKIObject):
    """Hardware tile sizes of NeuronCore-v2."""

    def __init__(self):
        pass

    @property
    def pmax(self) -> int:
        """Most partitions of a tile."""
        return TRN1.sbuf.partitions.value

    @property
    def psum_bank_fmax(self) -> int:
        """FP32 elements per partition of a PSUM bank."""
        return self.psum_bank_fmax_bytes // 4

    psum_fmax = psum_bank_fmax

    @property
    def psum_bank_fmax_bytes(self) -> int:
        """Bytes per partition of a PSUM bank."""
        return TRN1.psum.bank_bytes.value

    @property
    def psum_num_banks(self) -> int:
        """PSUM banks of a partition."""
        return TRN1.psum.banks.value

    @property
    def gemm_stationary_fmax(self) -> int:
        """Most columns of a matmul's stationary tile."""
        return TRN1.tensor_engine.stationary_free_max.value

    @property
    def gemm_moving_fmax(self) -> int:
        """Most columns of a matmul's moving tile."""
        return TRN1.tensor_engine.moving_free_max.value

    @property
    def bn_stats_fmax(self) -> int:
        """Most elements per partition of bn_stats."""
        return TRN1.vector_engine.bn_stats_free_max.value

    @property
    def psum_min_align(self) -> int:
        """Bytes that a PSUM address is a multiple of (assumed: one FP32 element)."""
        return 4

    @property
    def sbuf_min_align(self) -> int:
        """Bytes that an SBUF address is a multiple of (assumed: any byte)."""
        return 1

    @property
    def sbuf_size_bytes(self) -> int:
        """Bytes of SBUF, all partitions together."""
        return self.sbuf_fmax_bytes * self.pmax

    @property
    def sbuf_fmax(self) -> int:
        """FP32 elements per partition of SBUF."""
        return self.sbuf_fmax_bytes // 4

    @property
    def sbuf_fmax_bytes(self) -> int:
        """Bytes per partition of SBUF."""
        return TRN1.sbuf.bytes_per_partition.value

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes per partition of SBUF (the name is historical)."""
        return self.sbuf_fmax_bytes


tile_size = _TileSize()
