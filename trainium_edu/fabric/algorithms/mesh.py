"""Mesh: everybody sends to everybody at once, routed by the hardware; few steps, crowded links."""

import numpy as np

from trainium_edu.fabric.schedule import Collective, Moves, Op, a_collective
from trainium_edu.fabric.topology import Topology

__all__ = ["mesh", "mesh_single_step"]


def mesh(topology: Topology, collective: Collective):
    """Plan a mesh reduce-scatter (2 steps), all-gather (2 steps), or all-reduce (4).

    With one rank on a chip, as between instances, each half is one step.

    Parameters
    ----------
    topology : Topology
    collective : {"all_reduce", "reduce_scatter", "all_gather"}

    Returns
    -------
    Schedule

    Notes
    -----
    The other chips are dealt out to the local ranks in turn.  All-gather: for each of its chips a
    rank sends the chunks of all its local ranks there; then local ranks exchange what they got.
    Reduce-scatter: for each rank of its chips it adds the local copies (own first, then by rank)
    and sends one partial; then each rank adds the partials, its own chip's first, then by chip.

    References
    ----------
    `aws-intranode` in :data:`trainium_edu.specs.SOURCES`.
    """
    collective = a_collective(collective)
    chips, per_chip = topology.chips, topology.ranks_per_chip
    # (a, b): every ordered pair of chips; `duty` is the local rank of a that serves b
    a, b = (x.ravel() for x in np.meshgrid(np.arange(chips), np.arange(chips), indexing="ij"))
    a, b = a[a != b], b[a != b]
    duty = ((b - a) % chips - 1) % per_chip
    local = np.arange(per_chip)
    moves, first = Moves(), 0
    if collective in (Collective.REDUCE_SCATTER, Collective.ALL_REDUCE):
        _reduce_scatter(moves, a, b, duty, local, chips, per_chip)
        first = 2 if chips > 1 and per_chip > 1 else 1
    if collective in (Collective.ALL_GATHER, Collective.ALL_REDUCE):
        _all_gather(moves, first, a, b, duty, local, chips, per_chip)
    ranks = topology.ranks
    return moves.schedule(collective, "mesh", ranks, per_chip, owner=np.arange(ranks))


def _reduce_scatter(moves, a, b, duty, local, chips, per_chip):
    worker = a * per_chip + duty
    for i in range(per_chip):  # chunk of local rank i of chip b
        chunk = b * per_chip + i
        for j in range(1, per_chip):
            helper = a * per_chip + (duty + j) % per_chip
            moves.add(0, helper, worker, chunk, Op.ADD, phase=0, fused=True)
        moves.add(0, worker, chunk, chunk, Op.ADD)
    owner = (np.arange(chips)[:, None] * per_chip + local).ravel()
    for j in range(1, per_chip):
        helper = owner - owner % per_chip + (owner + j) % per_chip
        moves.add(0, helper, owner, owner, Op.ADD, phase=0, fused=True)
    if per_chip > 1:
        moves.add(0, owner, owner, owner, Op.SETTLE, phase=0)
        if chips > 1:
            moves.add(1, owner, owner, owner, Op.SETTLE)


def _all_gather(moves, first, a, b, duty, local, chips, per_chip):
    receiver = b * per_chip + duty
    if chips > 1:
        for i in range(per_chip):
            moves.add(first, a * per_chip + i, receiver, a * per_chip + i, Op.COPY)
        first += 1
    for j in range(1, per_chip):
        other = b * per_chip + (duty + j) % per_chip
        for i in range(per_chip):
            moves.add(first, receiver, other, a * per_chip + i, Op.COPY)
        own = (np.arange(chips)[:, None] * per_chip + local).ravel()
        moves.add(first, own, own - own % per_chip + (own + j) % per_chip, own, Op.COPY)


def mesh_single_step(topology: Topology):
    """Plan an all-reduce in one step: each rank sends its whole buffer to all, and all add.

    Notes
    -----
    Every rank adds in the order of rank numbers, its own part in its place, so that all get the
    same bits.
    """
    n = topology.ranks
    moves = Moves()
    everyone = np.arange(n)
    for source in range(n):  # a rank's own part is read in place: it shares the touch of the sum
        op = Op.COPY if source == 0 else Op.ADD
        moves.add(0, source, everyone, 0, op, fused=everyone == source)
    return moves.schedule(
        Collective.ALL_REDUCE, "mesh_single_step", n, topology.ranks_per_chip, owner=[0]
    )
