"""Hierarchical collectives: inside each instance, and between instances, one after the other.

The order keeps the slow network's share small: reduce-scatter inside first, so that only 1/Y of the
buffer of each rank crosses the network, then gather inside.
"""

import numpy as np

from trainium_edu.fabric.machines import one_instance
from trainium_edu.fabric.schedule import Collective, Moves, Schedule, a_collective
from trainium_edu.fabric.topology import FabricError, Topology, fully_connected

__all__ = ["hierarchical"]


def hierarchical(
    topology: Topology, collective: Collective, *, plan, intra: str = "ring", inter: str = "ring"
) -> Schedule:
    """Plan X instances of Y ranks: Y groups across instances work in parallel.

    Parameters
    ----------
    topology : Topology
        A cluster; see :func:`~trainium_edu.fabric.ultracluster`.
    collective : {"all_reduce", "reduce_scatter", "all_gather"}
    plan : callable
        Plans the parts: ``plan(topology, collective, algorithm)`` of
        :mod:`~trainium_edu.fabric.collectives`, which calls this function and hands itself in.
    intra, inter : str
        The algorithm inside an instance, and the one between instances (ring, mesh,
        halving_doubling).

    Returns
    -------
    Schedule

    Notes
    -----
    All-reduce: reduce-scatter inside, all-reduce between ranks of the same local number on 1/Y of
    the buffer, all-gather inside.  Reduce-scatter: inside, then between.  All-gather: between,
    then inside.  Chunk ``x * Y + y`` is that of local rank y of instance x.

    References
    ----------
    `aws-internode` in :data:`trainium_edu.specs.SOURCES`.
    """
    collective = a_collective(collective)
    if topology.instances < 2:
        raise FabricError(f"{topology.name} is one instance; hierarchical needs two or more")
    if "hierarchical" in (intra, inter):
        raise FabricError("a hierarchy has two levels here: inside an instance and between")
    x, inside = topology.instances, one_instance(topology)
    y = inside.ranks
    stages: tuple = {
        Collective.ALL_REDUCE: ("reduce_scatter", "all_reduce", "all_gather"),
        Collective.REDUCE_SCATTER: ("reduce_scatter", "reduce_scatter", None),
        Collective.ALL_GATHER: (None, "all_gather", "all_gather"),
    }[collective]
    before, after = (plan(inside, what, intra) if what else None for what in stages[::2])
    across = plan(fully_connected(x), stages[1], inter)
    across_lanes = across.items // x
    within = after or before
    assert within is not None  # every collective works inside before or after
    lanes = within.lanes * across_lanes
    if across.chunks != x:
        raise FabricError(f"{inter} does not cut its buffer into one chunk per instance; use mesh")
    if within.chunks != y:
        raise FabricError(f"{intra} does not cut its buffer into one chunk per rank; use ring")
    moves, first = Moves(), 0
    if before:
        _inside(moves, first, before, x, y, across_lanes, lanes)
        first += before.steps
    _across(moves, first, across, x, y, within.lanes, lanes)
    first += across.steps
    if after:
        _inside(moves, first, after, x, y, across_lanes, lanes)
    return moves.schedule(
        collective, "hierarchical", topology.ranks, topology.ranks_per_chip,
        owner=np.repeat(np.arange(x * y), lanes), lanes=lanes,
        note=f"{intra} inside, {inter} between",
    )  # fmt: skip


def _item(instance, local, y, lane_in, lane_across, across_lanes, lanes):
    """Return the number of a piece of the chunk of rank ``instance * y + local``."""
    return (instance * y + local) * lanes + lane_in * across_lanes + lane_across


def _inside(moves, first, part: Schedule, x, y, across_lanes, lanes):
    local, lane = np.divmod(part.item, part.lanes)
    for piece in range(x):  # every chunk of the inner plan holds one chunk for each instance
        for sub in range(across_lanes):
            item = _item(piece, local, y, lane, sub, across_lanes, lanes)
            for instance in range(x):
                moves.add(
                    first + part.step, instance * y + part.src, instance * y + part.dst, item,
                    part.op, phase=part.phase, fused=part.fused,
                )  # fmt: skip


def _across(moves, first, part: Schedule, x, y, lanes_in, lanes):
    piece, sub = np.divmod(part.item, part.lanes)
    for local in range(y):
        for lane in range(lanes_in):
            item = _item(piece, local, y, lane, sub, part.lanes, lanes)
            moves.add(
                first + part.step, part.src * y + local, part.dst * y + local, item, part.op,
                phase=part.phase, fused=False,
            )  # fmt: skip
