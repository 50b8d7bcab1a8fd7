"""Two NeuronCores that are one (LNC 2): what the programs of a grid of two do together."""

import numpy as np

from trainium_edu.nki.issuing import issue
from trainium_edu.nki.objects.enums import MemoryRegion, chosen, dma_engine
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import chip_here, current, later_chip
from trainium_edu.specs.arguments import whole

__all__ = ["core_barrier", "sendrecv"]

_MOST = 256  #: elements of a partition that GpSimd's own DMA engine exchanges
_CORES = (0, 1)


def _met(instruction, key, value) -> list:
    """Meet the other core at `key`; return what each of the two brought."""
    running = current()
    running.core.finish()  # what this one has written is there for the other
    first = running.rank * 2
    return [*running.meet((instruction, key), value, (first, first + 1)).values()]


def _check_pair(instruction):
    if "pairs_of_cores" not in chip_here().features.value:
        raise later_chip(f"nki.isa.{instruction}", "NeuronCore-v3 (Trainium2)")
    if current().grid != (2,):
        raise refusal("pairs.grid", name=instruction, grid=list(current().grid))


def core_barrier(operands, name):
    """Wait until both cores are here, so that each may read what the other wrote to `data`."""
    _check_pair("core_barrier")
    data, cores = operands["data"], operands["cores"]
    if cores != _CORES:
        raise refusal("pairs.cores", cores=cores)
    if getattr(data, "buffer", None) is not MemoryRegion.shared_hbm:
        raise refusal("pairs.shared", data=data)
    handle = issue("core_barrier", data=data, engine=operands["engine"], name=name)
    _met("core_barrier", "", None)
    return handle


def sendrecv(operands, name):
    """Send `src` to one core and receive `dst` from one."""
    _check_pair("sendrecv")
    src, dst, key = (operands[role] for role in ("src", "dst", "pipe_id"))
    peers = [whole(operands[role], f"sendrecv: {role}", 0, 1)
             for role in ("send_to_rank", "recv_from_rank")]  # fmt: skip
    mover = chosen(dma_engine, operands["dma_engine"], "sendrecv: dma_engine")
    handle = issue("sendrecv", src=src, dst=dst, name=name)
    count = src._view.free_size
    if mover is dma_engine.gpsimd_dma and count > _MOST:
        raise refusal("pairs.large", count=count, most=_MOST)
    values = np.array(src._view.read()) if current().core.values else None
    brought = _met("sendrecv", whole(key, "sendrecv: pipe_id"), (peers[0], values))
    target, received = brought[peers[1]]
    if target != current().index % 2:
        raise refusal("pairs.nobody_sends", source=peers[1], target=target)
    if received is not None:
        if received.shape != dst._view.shape or received.dtype != dst._view.dtype.storage:
            raise refusal("pairs.unlike", source=peers[1], received=received, dst=dst)
        dst._view.write_bits(received)
    return handle
