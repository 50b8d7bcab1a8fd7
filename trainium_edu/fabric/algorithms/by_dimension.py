"""Ring by dimension: rings along the rows, then along the columns, each with what is left.

Six plus six steps on a 4 x 4 torus instead of thirty.  One lane keeps one cable in four busy; four
lanes that start along different dimensions and directions keep all 64 links busy, and then this
reaches the same bandwidth bound as four directed Hamiltonian rings, in fewer steps.
"""

import math

import numpy as np

from trainium_edu.fabric.arguments import flag, whole_number
from trainium_edu.fabric.schedule import Collective, Moves, Op, a_collective
from trainium_edu.fabric.topology import FabricError, Topology

__all__ = ["ring_by_dimension"]


def ring_by_dimension(
    topology: Topology, collective: Collective, *, lanes: int = 1, whole: bool = False
):
    """Plan rings along one dimension after the other.

    Parameters
    ----------
    topology : Topology
    collective : {"all_reduce", "reduce_scatter", "all_gather"}
    lanes : int
        Pieces of a chunk that start along different dimensions and directions: 1 to twice the
        number of dimensions.
    whole : bool
        Run a whole all-reduce along each dimension instead of scattering in between (for
        comparison: it sends more).

    Returns
    -------
    Schedule

    Notes
    -----
    Local ranks of a chip form one more dimension, walked first when scattering.
    """
    collective = a_collective(collective)
    if topology.instances > 1:
        raise FabricError(f"{topology.name} has no dimensions of one torus; use hierarchical")
    axes = [a for a, k in enumerate(topology.shape) if k > 1]
    most = max(1, 2 * len(axes))
    lanes = whole_number(lanes, f"lanes on {topology.name}", most=most)
    flag(whole, "whole")
    if whole and collective is not Collective.ALL_REDUCE:
        raise FabricError("whole=True runs an all-reduce per dimension; it does nothing else")
    shape = (*topology.shape, topology.ranks_per_chip)
    moves, first = Moves(), 0
    walks = [
        _walk(axes, lane, topology.ranks_per_chip, len(topology.shape)) for lane in range(lanes)
    ]
    starts = _starts(shape, walks)
    if whole:
        if math.prod(k for k in shape if k > 1) == 0:
            raise FabricError("nothing to reduce")
        return _whole(topology, shape, walks, lanes)
    if collective in (Collective.REDUCE_SCATTER, Collective.ALL_REDUCE):
        for lane, (walk, sign) in enumerate(walks):
            _scatter(moves, first, shape, walk, sign, lane, lanes, starts[lane])
        first += max((s[-1] for s in starts), default=0)
    if collective in (Collective.ALL_GATHER, Collective.ALL_REDUCE):
        for lane, (walk, sign) in enumerate(walks):
            _gather(moves, first, shape, walk, sign, lane, lanes, starts[lane])
    ranks = topology.ranks
    return moves.schedule(
        collective, "ring_by_dimension", ranks, topology.ranks_per_chip,
        owner=np.repeat(np.arange(ranks), lanes), lanes=lanes,
    )  # fmt: skip


def _walk(axes, lane, per_chip, local_axis):
    turn = lane // 2 % len(axes) if axes else 0
    walk = axes[turn:] + axes[:turn]
    return ([local_axis] if per_chip > 1 else []) + walk, (1 if lane % 2 == 0 else -1)


def _starts(shape, walks):
    return [np.concatenate(([0], np.cumsum([shape[a] - 1 for a in w]))).tolist() for w, _ in walks]


def _pairs(shape):
    """Return coordinates of every (rank, chunk owner) pair, and the rank numbers."""
    n = math.prod(shape)
    rank, chunk = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    return (
        rank,
        chunk,
        np.stack(np.unravel_index(rank, shape)),
        np.stack(np.unravel_index(chunk, shape)),
    )


def _next(at, axis, sign, shape):
    moved = at.copy()
    moved[axis] = (moved[axis] + sign) % shape[axis]
    return np.ravel_multi_index(tuple(moved), shape)


def _scatter(moves, first, shape, walk, sign, lane, lanes, starts):
    rank, chunk, at, home = _pairs(shape)
    for phase, axis in enumerate(walk):
        extent = shape[axis]
        # the step in which the ring along this axis carries the chunk on; its owner keeps it
        step = (sign * (at[axis] - home[axis]) - 1) % extent
        sends = step < extent - 1
        moves.add(
            first + starts[phase] + step[sends], rank[sends],
            _next(at[:, sends], axis, sign, shape), chunk[sends] * lanes + lane, Op.ADD,
        )  # fmt: skip
        keeps = ~sends  # chunks that this rank still adds up
        rank, chunk, at, home = rank[keeps], chunk[keeps], at[:, keeps], home[:, keeps]


def _gather(moves, first, shape, walk, sign, lane, lanes, starts):
    rank, chunk, at, home = _pairs(shape)
    done = len(walk)
    for phase, axis in enumerate(reversed(walk)):
        extent = shape[axis]
        step = (sign * (at[axis] - home[axis])) % extent
        sends = step < extent - 1
        for later in walk[: done - phase - 1]:  # dimensions still to be gathered must agree
            sends &= at[later] == home[later]
        begin = first + starts[done] - starts[done - phase]
        moves.add(
            begin + step[sends], rank[sends], _next(at[:, sends], axis, sign, shape),
            chunk[sends] * lanes + lane, Op.COPY,
        )  # fmt: skip


def _whole(topology, shape, walks, lanes):
    """All-reduce along each dimension in turn; the buffer is cut for the longest dimension."""
    if lanes != 1:
        raise FabricError("whole=True works with one lane")
    walk, sign = walks[0]
    cuts = math.lcm(*[shape[a] for a in walk]) if walk else 1
    n = topology.ranks
    rank, cut = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(cuts), indexing="ij"))
    at = np.stack(np.unravel_index(rank, shape))
    moves, first = Moves(), 0
    for axis in walk:
        extent = shape[axis]
        home = cut * extent // cuts
        for s in range(2 * (extent - 1)):
            adds = s < extent - 1
            sends = (sign * (at[axis] - home) - (1 + s if adds else s - extent + 1)) % extent == 0
            moves.add(
                first + s, rank[sends], _next(at[:, sends], axis, sign, shape),
                cut[sends], Op.ADD if adds else Op.COPY,
            )  # fmt: skip
        first += 2 * (extent - 1)
    return moves.schedule(
        Collective.ALL_REDUCE, "ring_by_dimension", n, topology.ranks_per_chip,
        owner=np.arange(cuts) % n,
    )  # fmt: skip
