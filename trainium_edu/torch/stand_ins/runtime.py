"""``torch_xla.runtime``: who takes part, and what there is."""

import os

from trainium_edu.torch import core as cores
from trainium_edu.torch.stand_ins import xla_model as xm

__all__ = [
    "addressable_device_count", "addressable_runtime_device_count", "device_type",
    "global_device_count", "global_ordinal", "global_runtime_device_count", "initialize_cache",
    "is_bf16_supported", "is_spmd", "local_device_count", "local_ordinal", "local_process_count",
    "process_count", "process_index", "world_size", "xla_device",
]  # fmt: skip

world_size = global_device_count = process_count = xm.xrt_world_size
global_ordinal = process_index = xm.get_ordinal
local_ordinal = xm.get_local_ordinal
global_runtime_device_count = xm.xrt_world_size
xla_device = xm.xla_device
broadcast_master_param = xm.broadcast_master_param  # of torch_xla.experimental.pjrt


def device_type() -> str:
    """Return the kind of device."""
    return "NEURON"


def is_bf16_supported() -> bool:
    """Return True."""
    return True


def addressable_device_count() -> int:
    """Return how many NeuronCores this process drives."""
    return 1


addressable_runtime_device_count = addressable_device_count


def local_process_count() -> int:
    """Return how many ranks share an instance."""
    world = cores.current().world
    return min(world.size, world.per_instance)


local_device_count = local_process_count


def is_spmd() -> bool:
    """Return False: each process drives one NeuronCore."""
    return False


def initialize_cache(path: str, readonly: bool = False) -> None:
    """Keep compiled graphs in a folder, unless AWS's switches name another already.

    Parameters
    ----------
    path : str
        What ``NEURON_COMPILE_CACHE_URL`` says from here on; ``--cache_dir`` wins over both.
    readonly : bool
        Changes nothing here: the rank that compiles a graph first keeps it.
    """
    os.environ.setdefault("NEURON_COMPILE_CACHE_URL", path)
