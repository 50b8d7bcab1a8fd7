"""Which links a message crosses: one coordinate after the other, and what to do with ties.

Half way round a ring there are two shortest ways.  If every message takes the same one, half the
links idle while the other half carries double; letting even positions go up and odd ones down
balances the ring exactly.
"""

from collections import deque
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

import numpy as np

from trainium_edu.fabric.arguments import choice, same_length, whole_numbers
from trainium_edu.fabric.topology import FabricError, Topology, known, linked

__all__ = ["Ties", "route", "routes"]

_MOST_PAIRS = 70_000  # about two seconds


class Ties(StrEnum):
    """The direction round a ring when both are equally long."""

    BALANCED = "balanced"  #: even positions go up, odd ones down
    ONE_WAY = "one_way"  #: everybody goes up, as SimGrid's torus and ASTRA-sim do


def route(
    topology: Topology, src: int, dst: int, ties: Ties | str = Ties.BALANCED
) -> tuple[int, ...]:
    """Return the directed links from one chip to another, first to last.

    Parameters
    ----------
    topology : Topology
    src, dst : int
        Chips.
    ties : {"balanced", "one_way"}

    Returns
    -------
    tuple of int
        Link indices; empty on one chip.

    Raises
    ------
    FabricError
        If no path leads there.

    Notes
    -----
    Between instances the way is: to the nearest chip with a network device, through the network,
    and from the device of the target's side on.  Where a link of the regular way is missing the
    message takes the shortest way that is left.

    Examples
    --------
    >>> from trainium_edu.fabric import torus
    >>> t = torus(4, 4)
    >>> [(int(t.src[i]), int(t.dst[i])) for i in route(t, 0, 5)]
    [(0, 1), (1, 5)]
    """
    known(topology, src, dst)
    return _route(topology, int(src), int(dst), choice(ties, Ties, "rule for ties"))


@lru_cache(maxsize=200_000)
def _route(topology, src, dst, ties):
    if src == dst:
        return ()
    stops = _regular_way(topology, src, dst, ties)
    links = tuple(topology.link(a, b) for a, b in pairwise(stops))
    if links and min(links) >= 0:
        return links
    stops = _any_way(topology, src, dst)
    return tuple(topology.link(a, b) for a, b in pairwise(stops))


def _regular_way(topology, src, dst, ties):
    if topology.link(src, dst) >= 0:
        return [src, dst]
    size = topology.chips_per_instance
    if src // size == dst // size:
        return _grid_way(topology, src, dst, ties)
    out = _gateway(topology, src)
    back = _gateway(topology, dst)
    into = _grid_way(topology, dst, back, ties)[::-1]
    return [*_grid_way(topology, src, out, ties), topology.chips, *into]


def _gateway(topology, chip):
    base = chip - chip % topology.chips_per_instance
    devices = topology.gateways
    return base + min(devices, key=lambda g: (abs(g - (chip - base)), g))


def _grid_way(topology, src, dst, ties):
    base = src - src % topology.chips_per_instance
    place, target = list(topology.coordinates(src)), topology.coordinates(dst)
    stops = [src]
    for axis in reversed(range(len(place))):
        extent = topology.shape[axis]
        ahead = (target[axis] - place[axis]) % extent
        if not topology.wrap[axis]:
            sign, count = (1, ahead) if target[axis] > place[axis] else (-1, (extent - ahead))
            count %= extent
        elif 2 * ahead == extent:
            sign, count = (1 if ties is Ties.ONE_WAY or place[axis] % 2 == 0 else -1), ahead
        else:
            sign, count = (1, ahead) if 2 * ahead < extent else (-1, extent - ahead)
        for _ in range(count):
            place[axis] = (place[axis] + sign) % extent
            stops.append(base + int(np.ravel_multi_index(place, topology.shape)))
    return stops


def _any_way(topology, src, dst):
    came_from, front = {src: src}, deque([src])
    while front and dst not in came_from:
        vertex = front.popleft()
        for nxt in topology.neighbours(vertex):
            if nxt not in came_from:
                came_from[nxt] = vertex
                front.append(nxt)
    if dst not in came_from:
        raise _cut_off(topology, src, dst)
    stops = [dst]
    while stops[-1] != src:
        stops.append(came_from[stops[-1]])
    return stops[::-1]


def _cut_off(topology, src, dst):
    return FabricError(
        f"{topology.name}: no links lead from chip {src} to chip {dst}, so they cannot take"
        " part in one collective. Restore a link, or leave the chip out of the group"
    )


def check_reach(topology: Topology, src, dst) -> None:
    """Refuse messages from chips ``src`` to chips ``dst`` if links lead from one to no other."""
    pairs = np.unique(np.stack([src, dst]), axis=1)
    src, dst = pairs[:, ~linked(topology, *pairs)]
    for chip in np.unique(src):
        ends = dst[src == chip]
        lost = ends[topology.hops(int(chip))[ends] < 0]
        if len(lost):
            raise _cut_off(topology, chip, lost[0])


def routes(topology: Topology, src, dst, ties: Ties | str = Ties.BALANCED):
    """Return the links of many messages: message i crosses ``links[start[i]:start[i+1]]``.

    Parameters
    ----------
    topology : Topology
    src, dst : int array [messages]
        Chips.
    ties : {"balanced", "one_way"}

    Returns
    -------
    start : int64[messages + 1]
    links : int64[total]

    Raises
    ------
    FabricError
        If no path leads from one of them to its target.
    """
    ties, width = choice(ties, Ties, "rule for ties"), known(topology).chips
    src, dst = (whole_numbers(x, name, most=width - 1) for x, name in ((src, "src"), (dst, "dst")))
    same_length(src, dst, "src and dst")
    pairs, which = np.unique(src * width + dst, return_inverse=True)
    if len(pairs) > _MOST_PAIRS:
        raise FabricError(
            f"{len(pairs)} pairs of chips send to each other; their ways are worked out one by one,"
            f" up to {_MOST_PAIRS}. Take fewer chips, or an algorithm of neighbours such as ring"
        )
    ways = [_route(topology, int(p) // width, int(p) % width, ties) for p in pairs]
    lengths = np.array([len(w) for w in ways], np.intp)
    flat = np.array([link for way in ways for link in way], np.intp)
    first = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    take = lengths[which] if len(pairs) else np.zeros(0, np.intp)
    start = np.concatenate(([0], np.cumsum(take))).astype(np.intp)
    inside = np.arange(start[-1]) - np.repeat(start[:-1], take)
    return start, flat[np.repeat(first[which], take) + inside] if len(flat) else flat
