"""Where cycles and cubes hide in a torus: Gray codes, hypercube addresses, Hamiltonian cycles.

A cycle of four is a square, so a 4 x 4 torus is a four-dimensional hypercube.  The map between
the two writes each coordinate in Gray code, where neighbours differ in one bit; plain chip numbers
do not.
"""

from functools import lru_cache

import numpy as np

from trainium_edu.fabric.topology import FabricError, Topology, known, whole_number

__all__ = [
    "cube_addresses", "gray", "hamiltonian_cycles", "is_power_of_two",
]  # fmt: skip

_MOST_SEARCH_STEPS = 200_000


def gray(i):
    """Return the Gray code of an integer or array: 0, 1, 3, 2, 6, 7, 5, 4, ...

    Examples
    --------
    >>> [gray(i) for i in range(4)]
    [0, 1, 3, 2]
    """
    if not isinstance(i, np.ndarray) or i.dtype.kind not in "iu":
        whole_number(i, "i", least=0, most=2**62)
    elif i.size and i.min() < 0:
        raise FabricError(f"i holds {i.min()}; Gray codes are for integers from 0")
    return i ^ (i >> 1)


def is_power_of_two(n: int) -> bool:
    """Return whether n is 1, 2, 4, 8, ..."""
    return n > 0 and n & (n - 1) == 0


def cube_addresses(topology: Topology) -> np.ndarray:
    """Return each chip's hypercube address: its coordinates in Gray code, side by side.

    Parameters
    ----------
    topology : Topology
        Every extent a power of two.

    Returns
    -------
    int64[chips]

    Raises
    ------
    FabricError
        If an extent is not a power of two: such a topology contains no hypercube of all its chips.

    Examples
    --------
    >>> from trainium_edu.fabric import torus
    >>> [f"{a:04b}" for a in cube_addresses(torus(4, 4))[:5]]
    ['0000', '0001', '0011', '0010', '0100']
    """
    if known(topology).instances > 1 or not all(is_power_of_two(n) for n in topology.shape):
        raise FabricError(
            f"{topology.name} has {topology.chips} chips in the shape {topology.shape}; a hypercube"
            " address needs every extent to be a power of two. Use ring, kangaring or mesh"
        )
    chips = np.arange(topology.chips)
    address = np.zeros(topology.chips, np.int64)
    for extent, coordinate in zip(
        topology.shape, np.unravel_index(chips, topology.shape), strict=True
    ):
        code = coordinate if _complete(topology) else gray(coordinate)
        address = address << (extent.bit_length() - 1) | code
    return address


def _complete(topology):
    return topology.links == topology.chips * (topology.chips - 1)


def hamiltonian_cycles(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Return edge-disjoint cycles through all chips along links; as many as we know how to find.

    A ring has one, a k x k torus two, which together use every cable (after Bae and Bose: chip
    ``(x // k, (x % k - x // k) mod k)`` for x = 0, 1, ..., and the same with coordinates swapped).
    Other topologies, and damaged ones, are searched; a line has none.

    Returns
    -------
    tuple of cycles
        Each a tuple of chips; the last is linked to the first.

    Examples
    --------
    >>> from trainium_edu.fabric import torus
    >>> hamiltonian_cycles(torus(4, 4))[0]
    (0, 1, 2, 3, 7, 4, 5, 6, 10, 11, 8, 9, 13, 14, 15, 12)
    """
    return _cycles(known(topology))


@lru_cache(maxsize=64)
def _cycles(topology):
    n = topology.chips
    if n == 1:
        return ((0,),)
    if n == 2:
        return ((0, 1),) if topology.links == 2 else ()
    candidates = []
    live = tuple(k for k in topology.shape if k > 1)
    if len(live) == 1 and topology.instances == 1:
        candidates = [tuple(range(n))]
    elif len(live) == 2 and live[0] == live[1] and live[0] > 2 and all(topology.wrap):
        k = live[0]
        x = np.arange(n)
        a, b = x // k, (x % k - x // k) % k
        candidates = [tuple((a * k + b).tolist()), tuple((b * k + a).tolist())]
    found = [c for c in candidates if _runs_on_links(topology, c)]
    if not found and topology.instances == 1:
        cycle = _search(topology)
        found = [cycle] if cycle else []
    return tuple(found)


def _runs_on_links(topology, cycle):
    pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
    return all(topology.link(a, b) >= 0 and topology.link(b, a) >= 0 for a, b in pairs)


def _search(topology):
    """Search for one Hamiltonian cycle, depth first, chips with few ways on first."""
    n = topology.chips
    ways = [
        [c for c in dict.fromkeys(topology.neighbours(v)) if c < n and topology.link(c, v) >= 0]
        for v in range(n)
    ]
    path, visited, tries, budget = [0], {0}, [], _MOST_SEARCH_STEPS

    def onward(v):
        free = [c for c in ways[v] if c not in visited]
        return sorted(free, key=lambda c: sum(d not in visited for d in ways[c]), reverse=True)

    tries.append(onward(0))
    while tries and budget:
        budget -= 1
        if len(path) == n and 0 in ways[path[-1]]:
            return tuple(path)
        if tries[-1] and len(path) < n:
            path.append(tries[-1].pop())
            visited.add(path[-1])
            tries.append(onward(path[-1]))
        else:
            tries.pop()
            visited.discard(path.pop())
    return None
