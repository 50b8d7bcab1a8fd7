"""Closed forms beside the step-by-step account: a fixed time, plus a time per byte.

With a the time of a hop, b the rate of one link direction, P chips and a buffer of B bytes per
chip, every algorithm here costs ``steps * a + factor * B / b``.  Lower bounds are here too.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np

from trainium_edu.fabric.arguments import (
    FabricError,
    are_several,
    choice,
    made,
    real_number,
    real_numbers,
    shown,
    whole_number,
)
from trainium_edu.fabric.embedding import is_power_of_two

__all__ = [
    "Line", "crossovers", "inter_node", "lower_bound", "single_step_break_even_bytes", "sweep",
]  # fmt: skip

_BLOCK = 8192  # points
_FINITE = sys.float_info.max  # lines may meet anywhere


@dataclass(frozen=True, slots=True)
class Line:
    """Time against size: ``alpha_ns + ns_per_byte * bytes``."""

    name: str
    alpha_ns: float
    ns_per_byte: float

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise FabricError(f"a line's name is text, not {shown(self.name)}")
        real_number(self.alpha_ns, f"alpha_ns of {self.name}", most=1e30)
        real_number(self.ns_per_byte, f"ns_per_byte of {self.name}", most=1e30)

    def at(self, nbytes):
        """Return nanoseconds for a size or an array of sizes."""
        return self.alpha_ns + self.ns_per_byte * sizes_of(nbytes)


def sizes_of(nbytes):
    """Return a number of bytes, or an array of them, as float64."""
    if are_several(nbytes):
        return real_numbers(nbytes, "the numbers of bytes", most=_FINITE)
    return np.float64(real_number(nbytes, "the number of bytes", most=_FINITE))


def _rate(value, name):
    return real_number(value, name, least=1e-3)


def lower_bound(
    chips: int, links_per_chip: int, *, hop_ns: float, link_bytes_per_s: float
) -> tuple[float, Line]:
    """Return what no all-reduce can beat: (latency in ns, bandwidth line through the origin).

    A sum needs ``log2 P`` rounds if a chip deals with one partner at a time, and every chip must
    take in at least ``2 (P - 1) / P`` buffers through its links.

    Examples
    --------
    >>> latency_ns, bandwidth = lower_bound(16, 4, hop_ns=1000, link_bytes_per_s=1e9)
    >>> latency_ns, round(bandwidth.ns_per_byte, 5)
    (4000.0, 0.46875)
    """
    chips = whole_number(chips, "chips")
    links = whole_number(links_per_chip, "links_per_chip")
    a, b = real_number(hop_ns, "hop_ns"), _rate(link_bytes_per_s, "link_bytes_per_s")
    share = 2 * (chips - 1) / chips
    return math.ceil(math.log2(chips)) * a, Line("bandwidth bound", 0.0, share / (links * b) * 1e9)


def inter_node(name: str, instances: int, *, step_ns: float, bytes_per_s: float) -> Line:
    """Return the time of an all-reduce between instances, one rank in each.

    Parameters
    ----------
    name : {"ring", "mesh", "mesh_single_step", "rdh"}
    instances : int
    step_ns : float
        From memory to memory of another instance; the documents say about 15 us.
    bytes_per_s : float
        Network rate of one rank.

    Returns
    -------
    Line

    References
    ----------
    `aws-internode` in :data:`trainium_edu.specs.SOURCES`.
    """
    x = whole_number(instances, "instances", least=2)
    a, b = real_number(step_ns, "step_ns"), _rate(bytes_per_s, "bytes_per_s")
    share = 2 * (x - 1) / x
    table = {
        "ring": (2 * (x - 1), share),
        "mesh": (2, share),
        "mesh_single_step": (1, x - 1),
        "rdh": (2 * math.log2(x), share),
    }
    name = choice(name, table, "inter-node form")
    if name == "rdh" and not is_power_of_two(x):
        raise FabricError(f"rdh needs a power of two of instances; {x} is not. Use ring or mesh")
    steps, factor = table[name]
    return Line(name, steps * a, factor / b * 1e9)


def single_step_break_even_bytes(instances: int, *, step_ns: float, bytes_per_s: float) -> float:
    """Return the buffer size up to which a single-step mesh beats the two-step one.

    Examples
    --------
    >>> single_step_break_even_bytes(4, step_ns=15_000, bytes_per_s=50e9 / 8)
    62500.0
    """
    x = whole_number(instances, "instances", least=2)
    a, b = real_number(step_ns, "step_ns"), _rate(bytes_per_s, "bytes_per_s")
    if x == 2:
        return math.inf
    return a * b * x / ((x - 1) * (x - 2)) / 1e9


def sweep(lines, sizes):
    """Return the times of several lines at many sizes, and the fastest at each.

    Parameters
    ----------
    lines : sequence of Line
    sizes : array of bytes [points]

    Returns
    -------
    times_ns : float64[lines, points]
    best : int8[points]
        Index of the fastest line; the first of equals.

    Examples
    --------
    >>> times, best = sweep([Line("few steps", 1, 2), Line("many steps", 10, 1)], [1, 100])
    >>> best.tolist()
    [0, 1]
    """
    lines, sizes = _lines(lines), sizes_of(sizes)
    if not lines:
        raise FabricError("a sweep needs at least one line")
    flat = sizes.reshape(-1)
    times = np.empty((len(lines), flat.size))
    best = np.zeros(flat.size, np.int8)
    lowest, lower = np.empty(_BLOCK), np.empty(_BLOCK, bool)
    for first in range(0, flat.size, _BLOCK):  # a block stays in the cache from line to line
        part = slice(first, min(first + _BLOCK, flat.size))
        count = part.stop - first
        for i, one in enumerate(lines):
            row = times[i, part]
            np.multiply(flat[part], one.ns_per_byte, out=row)
            row += one.alpha_ns
            if i == 0:
                lowest[:count] = row
            else:
                np.less(row, lowest[:count], out=lower[:count])
                np.copyto(best[part], i, where=lower[:count])
                np.minimum(row, lowest[:count], out=lowest[:count])
    return times.reshape(len(lines), *sizes.shape), best.reshape(sizes.shape)


def _lines(lines):
    if not isinstance(lines, list | tuple):
        made(lines, Line, "give a list of them")
        raise FabricError("one line does not cross itself; give a list of lines")
    return [made(line, Line, "inter_node('ring', 16, ...) makes one") for line in lines]


def crossovers(lines):
    """Return where the fastest line changes: (bytes, name before, name after), small to large.

    Examples
    --------
    >>> crossovers([Line("mesh", 4, 3), Line("rdh", 10, 2), Line("kangaring", 62, 1)])
    [(6.0, 'mesh', 'rdh'), (52.0, 'rdh', 'kangaring')]
    """
    lines = _lines(lines)
    if not lines:
        return []
    current = min(lines, key=lambda k: (k.alpha_ns, k.ns_per_byte))
    at, changes = 0.0, []
    while True:
        steps = [
            (
                (k.alpha_ns - current.alpha_ns) / (current.ns_per_byte - k.ns_per_byte),
                k.ns_per_byte,
                k,
            )
            for k in lines
            if k.ns_per_byte < current.ns_per_byte
        ]
        if not steps:
            return changes
        at, _, after = min(steps, key=lambda s: s[:2])
        changes.append((at, current.name, after.name))
        current = after
