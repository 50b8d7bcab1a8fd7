"""Chips and the directed links between them, as arrays for speed and as networkx graphs.

Every regular topology here is a product of lines and cycles: a ring is one cycle, a torus two, a
hypercube of dimension d is d lines of two chips each.  One constructor therefore builds them all,
and one routing rule (one coordinate after the other) serves them all.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import numpy as np

from trainium_edu.aside import load
from trainium_edu.fabric.arguments import (
    FabricError,
    are_several,
    choice,
    flag,
    made,
    real_number,
    real_numbers,
    shown,
    whole_number,
)

__all__ = [
    "Direction", "FabricError", "Topology", "fully_connected", "grid", "hypercube", "known",
    "linked", "product", "ring", "torus", "whole_number",
]  # fmt: skip

GIB = 2**30
#: What one NeuronLink-v2 is labelled with, and the middle of the documented 1 to 2 µs per hop.
DEFAULT_LINK_BYTES_PER_S = 96 * GIB
DEFAULT_LATENCY_NS = 1500.0
_MOST_LINKS = 8_000_000


class Direction(StrEnum):
    """The meaning of a published link bandwidth; the documents do not say."""

    ONE_WAY = "one_way"  #: each direction has the figure to itself
    BOTH_WAYS = "both_ways"  #: the two directions share it, half each


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """Chips, the ranks on them, and directed links (a cable is two of them).

    Rank ``r`` sits on chip ``r // ranks_per_chip``.  Link ``i`` leads from vertex ``src[i]`` to
    vertex ``dst[i]``.  Vertices ``0 .. chips-1`` are chips; those after them are switches, which
    forward but hold no rank.  Links out of a chip come in ``neuron-ls``'s order: minus along each
    dimension, then plus (on a torus: up, left, down, right).
    """

    name: str
    shape: tuple[int, ...]  #: extent of each dimension, first varies slowest (one instance)
    wrap: tuple[bool, ...]  #: whether a dimension closes to a ring
    chips: int
    ranks_per_chip: int
    src: np.ndarray  #: int32[links]
    dst: np.ndarray  #: int32[links]
    bandwidth_bytes_per_s: np.ndarray  #: float64[links], in the link's own direction
    latency_ns: np.ndarray  #: float64[links], from memory to memory over this link
    direction: Direction = Direction.ONE_WAY
    switches: int = 0
    instances: int = 1  #: equal groups of chips; ``shape`` describes one of them
    gateways: tuple[int, ...] = ()  #: chips of an instance that hold a network device
    hbm_bytes_per_s: float = 820e9  #: rate of each chip's memory, reads and writes together
    hbm_bytes: int = 32 * GIB  #: memory of each chip

    def __post_init__(self):
        for name in ("chips", "ranks_per_chip", "instances"):
            whole_number(getattr(self, name), name)
        vertices = self.chips + whole_number(self.switches, "switches", least=0)
        for name in ("src", "dst", "bandwidth_bytes_per_s", "latency_ns"):
            array = made(getattr(self, name), np.ndarray, f"{name} of a topology is one")
            if array.shape != (self.src.size,):
                raise FabricError(f"{name} has shape {array.shape} for {self.src.size} links")
            array.flags.writeable = False
        for ends in (self.src, self.dst):
            if ends.size and not 0 <= ends.min() <= ends.max() < vertices:
                raise FabricError(f"{self.name}: links join vertices 0 to {vertices - 1} only")
        speed, latency = self.bandwidth_bytes_per_s, self.latency_ns
        if len(speed) and not (speed.min() > 0 and math.isfinite(float(speed.max()))):
            raise FabricError(
                f"{self.name}: a link of {float(speed.min())} bytes/s; bandwidth is a finite number"
                " above zero (a dead link is taken out with without_link)"
            )
        if len(latency) and not (latency.min() >= 0 and math.isfinite(float(latency.max()))):
            raise FabricError(f"{self.name}: latency is a finite number of ns, zero or more")
        real_number(self.hbm_bytes_per_s, f"{self.name}: hbm_bytes_per_s", above=True)
        whole_number(self.hbm_bytes, f"{self.name}: hbm_bytes", most=2**60)

    def __repr__(self):
        return (
            f"Topology({self.name!r}, {self.chips} chips, {self.ranks} ranks, "
            f"{self.links} directed links)"
        )

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.chips * self.ranks_per_chip

    @property
    def links(self) -> int:
        """Number of directed links."""
        return len(self.src)

    @property
    def chips_per_instance(self) -> int:
        """Number of chips in one instance."""
        return self.chips // self.instances

    def chip_of(self, rank):
        """Return the chip (or array of chips) that holds a rank (or array of ranks)."""
        if not isinstance(rank, np.ndarray) or rank.dtype.kind not in "iu":
            whole_number(rank, "rank", least=0, most=self.ranks - 1)
        return rank // self.ranks_per_chip

    def coordinates(self, chip):
        """Return a chip's place in its instance: row and column on a torus."""
        whole_number(chip, "chip", least=0, most=self.chips - 1)
        return tuple(
            int(c) for c in np.unravel_index(int(chip) % self.chips_per_instance, self.shape)
        )

    def neighbours(self, chip: int) -> tuple[int, ...]:
        """Return the vertices one link away, in the order that ``neuron-ls`` prints.

        Examples
        --------
        >>> torus(4, 4).neighbours(0)
        (12, 3, 4, 1)
        """
        whole_number(chip, "chip", least=0, most=self.chips + self.switches - 1)
        first, last = np.searchsorted(self.src, [chip, chip + 1])
        return tuple(int(d) for d in self.dst[first:last])

    def link(self, src: int, dst: int) -> int:
        """Return the index of the directed link from one vertex to a neighbour, or -1."""
        for vertex in (src, dst):
            whole_number(vertex, "vertex", least=0, most=self.chips + self.switches - 1)
        keys, order = _link_keys(self)
        key = int(src) * (self.chips + self.switches) + int(dst)
        at = int(np.searchsorted(keys, key))
        return int(order[at]) if at < len(keys) and keys[at] == key else -1

    def hops(self, chip: int) -> np.ndarray:
        """Return the fewest links from one chip to every vertex (int32; -1 where none leads)."""
        whole_number(chip, "chip", least=0, most=self.chips + self.switches - 1)
        distance = np.full(self.chips + self.switches, -1, np.int32)
        distance[chip] = 0
        front, steps = np.array([chip]), 0
        while len(front):
            steps += 1
            reached = np.unique(self.dst[np.isin(self.src, front)])
            front = reached[distance[reached] < 0]
            distance[front] = steps
        return distance

    def to_networkx(self):
        """Return a ``networkx.DiGraph`` with bandwidth and latency on each edge."""
        graph = load("networkx").DiGraph(name=self.name)
        graph.add_nodes_from(range(self.chips), kind="chip")
        graph.add_nodes_from(range(self.chips, self.chips + self.switches), kind="switch")
        graph.add_edges_from(
            (int(a), int(b), {"link": i, "bandwidth_bytes_per_s": float(s), "latency_ns": float(t)})
            for i, (a, b, s, t) in enumerate(
                zip(self.src, self.dst, self.bandwidth_bytes_per_s, self.latency_ns, strict=True)
            )
        )
        return graph

    def with_links(self, *, bandwidth_bytes_per_s=None, latency_ns=None, direction=None):
        """Return the same topology with other links (a number, or one per directed link).

        ``bandwidth_bytes_per_s`` is the published figure; ``direction`` says what it counts.
        """
        convention = self.direction if direction is None else _direction(direction)
        if bandwidth_bytes_per_s is None:
            speed = self.bandwidth_bytes_per_s * (_share(convention) / _share(self.direction))
        else:
            speed = self._per_link(bandwidth_bytes_per_s, "bandwidth_bytes_per_s")
            speed = speed * _share(convention)
        latency = self.latency_ns
        if latency_ns is not None:
            latency = self._per_link(latency_ns, "latency_ns")
        return replace(
            self, bandwidth_bytes_per_s=speed, latency_ns=latency.copy(), direction=convention
        )

    def _per_link(self, value, name):
        """Return one number per directed link, from one number or from a list."""
        if not are_several(value):
            return np.full(self.links, real_number(value, name))
        array = real_numbers(value, name)
        if array.shape != self.src.shape:
            raise FabricError(f"{name} has shape {array.shape}; there are {self.links} links")
        return array


def linked(topology: Topology, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return for arrays of vertices whether a link leads from each to the other."""
    keys, _ = _link_keys(topology)
    return np.isin(src.astype(np.int64) * (topology.chips + topology.switches) + dst, keys)


@lru_cache(maxsize=32)
def _link_keys(topology):
    keys = topology.src.astype(np.int64) * (topology.chips + topology.switches) + topology.dst
    order = np.argsort(keys, kind="stable")
    return keys[order], order


def _direction(value) -> Direction:
    return choice(value, Direction, "direction of a link's figure")


def _share(direction):
    return 1.0 if direction is Direction.ONE_WAY else 0.5


def known(topology, *chips, names=("src", "dst")) -> Topology:
    """Return a topology if it is one, with these chips."""
    made(topology, Topology, "try trn1_32xlarge() or torus(4, 4)")
    for chip, name in zip(chips, names, strict=False):
        whole_number(chip, f"chip {name}", least=0, most=topology.chips - 1)
    return topology


def product(
    shape,
    wrap,
    *,
    name: str = "",
    ranks_per_chip: int = 1,
    link_bytes_per_s: float = DEFAULT_LINK_BYTES_PER_S,
    latency_ns: float = DEFAULT_LATENCY_NS,
    direction: Direction | str = Direction.ONE_WAY,
    **chip,
) -> Topology:
    """Build the product of lines and cycles: chips on a grid, chip ids row-major.

    Parameters
    ----------
    shape : sequence of int
        Extent of each dimension.
    wrap : sequence of bool
        Whether a dimension closes to a ring.  Two chips have one cable between them either way.
    name : str
    ranks_per_chip : int
        Ranks (NeuronCores) on each chip.
    link_bytes_per_s : float
        The figure printed on one cable.
    latency_ns : float
        Time from memory to memory over one link, without the bytes.
    direction : {"one_way", "both_ways"}
        What that figure counts.
    **chip
        ``hbm_bytes_per_s`` and ``hbm_bytes`` of a chip.

    Returns
    -------
    Topology

    Raises
    ------
    FabricError
        For extents, counts or speeds that no machine has.

    Examples
    --------
    >>> product((4, 4), (True, True), name="4 x 4 torus")
    Topology('4 x 4 torus', 16 chips, 16 ranks, 64 directed links)
    """
    if not isinstance(name, str):
        raise FabricError(f"name is {shown(name)}; it is text")
    shape, wrap = (_sequence(x, name) for x, name in ((shape, "shape"), (wrap, "wrap")))
    shape = tuple(whole_number(n, "an extent of the topology") for n in shape)
    wrap = tuple(flag(w, "a wrap mark") for w in wrap)
    if len(shape) != len(wrap) or not shape:
        raise FabricError(f"{len(shape)} extents need as many wrap marks; there are {len(wrap)}")
    chips = whole_number(math.prod(shape), "the number of chips")
    whole_number(ranks_per_chip, "ranks_per_chip", most=64)
    counts = _direction(direction)
    speed = real_number(link_bytes_per_s, "link_bytes_per_s", above=True) * _share(counts)
    latency = real_number(latency_ns, "latency_ns")
    unknown = ", ".join(sorted(set(chip) - {"hbm_bytes_per_s", "hbm_bytes"}))
    if unknown:
        raise FabricError(f"{unknown} is not an option of a topology; see help(fabric.product)")
    if 2 * chips * sum(extent > 1 for extent in shape) > _MOST_LINKS:
        raise FabricError(f"{shown(shape)} has over {_MOST_LINKS} links; take fewer dimensions")

    chip_ids = np.arange(chips, dtype=np.int32)
    where = np.unravel_index(chip_ids, shape)
    columns, exists = [], []
    for sign in (-1, 1):
        for axis, (extent, closes) in enumerate(zip(shape, wrap, strict=True)):
            if extent == 1:
                continue
            moved = [*where[:axis], (where[axis] + sign) % extent, *where[axis + 1 :]]
            columns.append(np.ravel_multi_index(moved, shape).astype(np.int32))
            inside = (where[axis] + sign >= 0) & (where[axis] + sign < extent)
            exists.append(inside | (closes and extent > 2))
    if columns:
        keep = np.stack(exists, axis=1).ravel()
        src = np.repeat(chip_ids, len(columns))[keep]
        dst = np.stack(columns, axis=1).ravel()[keep]
    else:
        src = dst = np.zeros(0, np.int32)
    return Topology(
        name or f"{' x '.join(map(str, shape))} grid",
        shape,
        wrap,
        chips,
        int(ranks_per_chip),
        src,
        dst.copy(),
        np.full(len(src), speed),
        np.full(len(src), latency),
        counts,
        **chip,
    )


def _sequence(value, name):
    if not are_several(value):
        raise FabricError(f"{name} is {shown(value)}; give a list with an entry per dimension")
    return tuple(value)


def ring(chips: int, **options) -> Topology:
    """Build a ring of chips; ``options`` as in :func:`product`.

    Examples
    --------
    >>> ring(12).neighbours(0)
    (11, 1)
    """
    options.setdefault("name", f"ring of {shown(chips)}")
    return product((chips,), (True,), **options)


def torus(*shape: int, **options) -> Topology:
    """Build a torus: every dimension closes; ``options`` as in :func:`product`."""
    options.setdefault("name", f"{' x '.join(map(shown, shape))} torus")
    return product(shape, (True,) * len(shape), **options)


def grid(*shape: int, **options) -> Topology:
    """Build a mesh of chips: lines that do not close; ``options`` as in :func:`product`."""
    options.setdefault("name", f"{' x '.join(map(shown, shape))} mesh")
    return product(shape, (False,) * len(shape), **options)


def hypercube(dimension: int, **options) -> Topology:
    """Build a hypercube: chip ids are addresses, and a link flips one bit; ``options`` as above.

    Examples
    --------
    >>> sorted(hypercube(4).neighbours(0))
    [1, 2, 4, 8]
    """
    dimension = whole_number(dimension, "the dimension of a hypercube", most=19)
    options.setdefault("name", f"{dimension}D hypercube")
    return product((2,) * dimension, (False,) * dimension, **options)


def fully_connected(chips: int, **options) -> Topology:
    """Join every pair of chips by a cable of its own; ``options`` as in :func:`product`."""
    chips = whole_number(chips, "the number of fully connected chips", most=1024)
    options.setdefault("name", f"{chips} fully connected")
    chip = product((1,), (False,), **options)
    line = product((2,), (False,), **options)  # carries the options, checked
    everyone = np.arange(chips, dtype=np.int32)
    src, dst = (a.ravel() for a in np.meshgrid(everyone, everyone, indexing="ij"))
    keep = src != dst
    return replace(
        chip,
        shape=(chips,),
        chips=chips,
        src=src[keep],
        dst=dst[keep],
        bandwidth_bytes_per_s=np.full(int(keep.sum()), line.bandwidth_bytes_per_s[0]),
        latency_ns=np.full(int(keep.sum()), line.latency_ns[0]),
    )
