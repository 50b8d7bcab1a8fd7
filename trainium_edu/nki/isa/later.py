"""What ``nki.isa`` has for later chips: each name raises and names the chip that it needs."""

from trainium_edu.nki.language.elementwise import maximum
from trainium_edu.nki.objects.enums import dma_engine, engine, reduce_cmd
from trainium_edu.nki.running import later_chip

__all__ = [
    "activate2", "core_barrier", "exponential", "nc_matmul_mx", "nonzero_with_count",
    "quantize_mx", "rand2", "rand_get_state", "rand_set_state", "range_select", "sendrecv",
]  # fmt: skip

V3 = "NeuronCore-v3 (Trainium2)"
V4 = "NeuronCore-v4 (Trainium3)"


# fmt: off
def nc_matmul_mx(dst, stationary, moving, stationary_scale, moving_scale, tile_position=None,
                 tile_size=None, accumulate=None, name=None):
    """Multiply MX-quantised tiles."""
    raise later_chip("nki.isa.nc_matmul_mx", V4)


def activate2(dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, reverse1=False,
              reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, name=None):
    """Run two operators, an activation and a reduction."""
    raise later_chip("nki.isa.activate2", V4)


def rand_set_state(src_seeds, engine=engine.gpsimd, name=None):
    """Set the state of a random generator."""
    raise later_chip("nki.isa.rand_set_state", V3)


def rand_get_state(dst, engine=engine.gpsimd, name=None):
    """Read the state of a random generator."""
    raise later_chip("nki.isa.rand_get_state", V3)


def rand2(dst, min, max, name=None):
    """Write uniformly distributed numbers."""
    raise later_chip("nki.isa.rand2", V4)


def exponential(dst, src, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle,
                reduce_init=0.0, name=None):
    """Compute ``exp(src - max_value)`` on the Vector Engine."""
    raise later_chip("nki.isa.exponential", V4)


def core_barrier(data, cores, engine=engine.gpsimd, name=None):
    """Wait for the other NeuronCore of a logical one."""
    raise later_chip("nki.isa.core_barrier", V3)


def quantize_mx(dst, src, dst_scale, name=None):
    """Quantise to MX formats."""
    raise later_chip("nki.isa.quantize_mx", V4)


def range_select(dst, on_true_tile, comp_op0, comp_op1, bound0, bound1,
                 reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None, reduce_op=maximum,
                 range_start=0, on_false_value=..., name=None):
    """Choose elements whose index lies in a range."""
    raise later_chip("nki.isa.range_select", V3)


def sendrecv(src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engine.dma, name=None):
    """Exchange tiles with the other NeuronCore of a logical one."""
    raise later_chip("nki.isa.sendrecv", V3)


def nonzero_with_count(dst, src, index_offset=0, padding_val=-1, name=None):
    """Find the indices of nonzero elements, and how many there are."""
    raise later_chip("nki.isa.nonzero_with_count", V3)
