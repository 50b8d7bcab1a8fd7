"""Which program of the grid this is, and printing from inside it."""

from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import misuse
from trainium_edu.nki.running import current
from trainium_edu.specs.arguments import whole

__all__ = ["device_print", "is_hbm", "is_on_chip", "is_psum", "is_sbuf", "num_programs",
           "program_id", "program_ndim"]  # fmt: skip


def program_id(axis=0) -> int:
    """Return this program's index along an axis of the grid (0 without a grid)."""
    running = current()
    axis = _axis(axis, running)
    return running.program_id[axis] if running.grid else 0


class _Every(int):
    """The default of ``num_programs``: printed as axis 0, but it means the whole grid."""


_EVERY = _Every(0)


def num_programs(axes=_EVERY) -> int:
    """Return how many programs run along `axes`; all of them by default."""
    running = current()
    grid = running.grid
    chosen = range(len(grid)) if axes is _EVERY else axes
    count = 1
    for axis in chosen if isinstance(chosen, tuple | list | range) else [chosen]:
        axis = _axis(axis, running)
        count *= grid[axis] if grid else 1
    return count


def program_ndim() -> int:
    """Return the dimensions of the grid; 0 without one."""
    return len(current().grid)


def _axis(axis, running):
    axis = whole(axis, "axis")
    if running.grid and not -len(running.grid) <= axis < len(running.grid):
        raise IndexError(f"the grid {running.grid} has no axis {axis}")
    return axis


def device_print(print_prefix, tensor: NkiTensor) -> None:
    """Print a tensor's values, now."""
    if not isinstance(print_prefix, str) or not isinstance(tensor, NkiTensor):
        raise misuse("language.device_print", print_prefix=print_prefix, tensor=tensor)
    current()  # inside a kernel
    print(print_prefix, f"{tensor.dtype}{list(tensor.shape)}", tensor._numbers(), sep="\n")


def _region(buffer):
    """Return the name of a memory region, given by itself, by its name, or by a tensor there."""
    region = getattr(buffer, "buffer", buffer)
    name = getattr(region, "name", region)
    if name not in ("hbm", *MemoryRegion.__members__):
        raise TypeError(f"{buffer!r} is not a memory region; take nl.sbuf, nl.psum or nl.hbm")
    return name


def is_hbm(buffer) -> bool:
    """Return whether a memory region (or a tensor's) is HBM."""
    return _region(buffer).endswith("hbm")


def is_sbuf(buffer) -> bool:
    """Return whether a memory region (or a tensor's) is SBUF."""
    return _region(buffer) == "sbuf"


def is_psum(buffer) -> bool:
    """Return whether a memory region (or a tensor's) is PSUM."""
    return _region(buffer) == "psum"


def is_on_chip(buffer) -> bool:
    """Return whether a memory region (or a tensor's) has partitions."""
    return not is_hbm(buffer)
