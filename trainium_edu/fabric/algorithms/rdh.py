"""RDH, recursive doubling and halving: partners along the axes of a hypercube, log2 steps.

On the 4 x 4 torus the axes are W, X, Y, Z: bits 3, 2, 1, 0 of a chip's hypercube address (its
coordinates in Gray code).  AWS's text and figure show one rank, and not how the others of its chip
walk.  If all use the same axis at a time, only one cable in four works, and RDH can never be the
fastest, though AWS lists it as that from 1 to 56 MB.  So rank j starts at axis j here: four ranks
keep all four cables busy, two keep two.
"""

from enum import StrEnum

import numpy as np

from trainium_edu.fabric.arguments import choice, flag, whole_numbers
from trainium_edu.fabric.embedding import cube_addresses, is_power_of_two
from trainium_edu.fabric.schedule import Collective, Moves, Op, a_collective
from trainium_edu.fabric.topology import FabricError, Topology
from trainium_edu.specs import FABRIC

__all__ = ["AxisOrder", "halving_doubling", "rdh", "recursive_doubling"]


class AxisOrder(StrEnum):
    """The order in which local ranks walk the axes of the hypercube; not documented."""

    SAME = "same"  #: all W, X, Y, Z
    ROTATED = "rotated"  #: local rank j starts at axis j; the default everywhere
    SPREAD = "spread"  #: rotated, and chunks cut until all axes work: what two ranks would need


def rdh(topology: Topology, collective: Collective, *, axis_order=FABRIC.rdh_axis_order.value):
    """Plan an RDH reduce-scatter, all-gather, or both in a row.

    Parameters
    ----------
    topology : Topology
        Extents that are powers of two.
    collective : {"all_reduce", "reduce_scatter", "all_gather"}
    axis_order : {"rotated", "same", "spread"}

    Returns
    -------
    Schedule

    Raises
    ------
    FabricError
        If the number of chips is not a power of two.

    Notes
    -----
    Ranks with the same local number form a group across chips.  Reduce-scatter: first a chip's
    ranks add up (local rank j takes the chunks of group j), then groups halve along the axes.
    All-gather: groups double along the axes in reverse, then the ranks of a chip exchange.

    References
    ----------
    `aws-intranode` in :data:`trainium_edu.specs.SOURCES`.
    """
    collective, axis_order = a_collective(collective), choice(axis_order, AxisOrder, "axis order")
    chips, per_chip = topology.chips, topology.ranks_per_chip
    if not is_power_of_two(chips):
        raise FabricError(
            f"rdh pairs chips along the axes of a hypercube, so their number must be a power of"
            f" two; {chips} is not. Use ring, kangaring or mesh"
        )
    chip_at = np.argsort(cube_addresses(topology))
    axes = chips.bit_length() - 1
    spread = axis_order is AxisOrder.SPREAD and axes > 0
    lanes = max(1, -(-axes // per_chip)) if spread else 1
    moves, first = Moves(), 0
    if collective in (Collective.REDUCE_SCATTER, Collective.ALL_REDUCE):
        if per_chip > 1:
            _add_on_chip(moves, chips, per_chip, lanes)
            first = 1
        for j, lane, walk in _walks(axes, per_chip, lanes, axis_order):
            _exchange(moves, first, chip_at, j, per_chip, lane, lanes, walk, Op.ADD)
        first += axes
    if collective in (Collective.ALL_GATHER, Collective.ALL_REDUCE):
        for j, lane, walk in _walks(axes, per_chip, lanes, axis_order):
            _exchange(moves, first, chip_at, j, per_chip, lane, lanes, walk, Op.COPY)
        _share_on_chip(moves, first + axes, chips, per_chip, lanes)
    ranks = topology.ranks
    return moves.schedule(
        collective, "rdh", ranks, per_chip, owner=np.repeat(np.arange(ranks), lanes), lanes=lanes
    )


def _walks(axes, per_chip, lanes, axis_order):
    bits = list(range(axes))[::-1]  # W is the highest bit
    for lane in range(lanes):
        for j in range(per_chip):
            turn = 0 if axis_order is AxisOrder.SAME or not axes else (j + per_chip * lane) % axes
            yield j, lane, bits[turn:] + bits[:turn]


def _exchange(moves, first, chip_at, j, per_chip, lane, lanes, walk, op):
    """Exchange along each axis of a walk.

    ADD halves: send away the chunks that the partner's side will own, keep the others.  COPY
    doubles: send everything held so far, along the axes of halving in reverse.
    """
    chips = len(chip_at)
    a, c = (x.ravel() for x in np.meshgrid(np.arange(chips), np.arange(chips), indexing="ij"))
    done = 0  # axes along which a agrees with the owner's address c, or holds both sides
    for t, axis in enumerate(walk if op is Op.ADD else reversed(walk)):
        if op is Op.ADD:
            sends = ((a ^ c) & done == 0) & ((a ^ c) >> axis & 1 == 1)
        else:
            sends = (a ^ c) & ~done == 0
        owner = chip_at[c[sends]] * per_chip + j
        moves.add(
            first + t, chip_at[a[sends]] * per_chip + j,
            chip_at[a[sends] ^ (1 << axis)] * per_chip + j, owner * lanes + lane, op,
        )  # fmt: skip
        done |= 1 << axis


def _add_on_chip(moves, chips, per_chip, lanes):
    """Add a chip's copies: local rank j takes the chunks of group j; own first, then the others."""
    chip, target, lane = (
        x.ravel() for x in np.meshgrid(np.arange(chips), np.arange(chips), np.arange(lanes))
    )
    for j in range(per_chip):
        item = (target * per_chip + j) * lanes + lane
        for k in range(1, per_chip):
            helper = chip * per_chip + (j + k) % per_chip
            moves.add(0, helper, chip * per_chip + j, item, Op.ADD, fused=True)
        moves.add(0, chip * per_chip + j, chip * per_chip + j, item, Op.SETTLE)


def _share_on_chip(moves, step, chips, per_chip, lanes):
    chip, target, lane = (
        x.ravel() for x in np.meshgrid(np.arange(chips), np.arange(chips), np.arange(lanes))
    )
    for j in range(per_chip):
        item = (target * per_chip + j) * lanes + lane
        for k in range(1, per_chip):
            other = chip * per_chip + (j + k) % per_chip
            moves.add(step, chip * per_chip + j, other, item, Op.COPY)


def _placement(topology, order):
    """Return the rank at each logical address: one hop per exchange where the cube allows it."""
    n = topology.ranks
    if not is_power_of_two(n):
        raise FabricError(
            f"halving/doubling pairs ranks whose addresses differ in one bit, so their number must"
            f" be a power of two; {n} is not. Use ring, kangaring or mesh"
        )
    if isinstance(order, str) and choice(order, ("gray", "plain"), "order of ranks") == "plain":
        return np.arange(n)
    if isinstance(order, str):
        local = topology.ranks_per_chip
        address = np.repeat(cube_addresses(topology), local) * local + np.tile(
            np.arange(local), topology.chips
        )
        return np.argsort(address)
    order = whole_numbers(order, "order")
    if sorted(order.tolist()) != list(range(n)):
        raise FabricError(f"an order of {n} ranks names each of 0 to {n - 1} once")
    return order


def halving_doubling(topology: Topology, collective: Collective, *, order="gray", low_first=True):
    """Plan halving/doubling over ranks: addresses that differ in one bit exchange.

    Parameters
    ----------
    topology : Topology
        A power of two of ranks.
    collective : {"all_reduce", "reduce_scatter", "all_gather"}
    order : {"gray", "plain"} or sequence of int
        The rank at each logical address; "plain" uses rank numbers as addresses.
    low_first : bool
        Whether halving starts with the lowest bit of the address.

    Returns
    -------
    Schedule
    """
    collective = a_collective(collective)
    flag(low_first, "low_first")
    rank_at = _placement(topology, order)
    n, axes = len(rank_at), len(rank_at).bit_length() - 1
    walk = list(range(axes)) if low_first else list(range(axes))[::-1]
    moves, first = Moves(), 0
    if collective in (Collective.REDUCE_SCATTER, Collective.ALL_REDUCE):
        _exchange(moves, 0, rank_at, 0, 1, 0, 1, walk, Op.ADD)
        first = axes
    if collective in (Collective.ALL_GATHER, Collective.ALL_REDUCE):
        _exchange(moves, first, rank_at, 0, 1, 0, 1, walk, Op.COPY)
    return moves.schedule(
        collective, "halving_doubling", n, topology.ranks_per_chip, owner=np.arange(n)
    )


def recursive_doubling(topology: Topology, *, order="gray"):
    """Plan an all-reduce that exchanges and adds whole buffers: log2(N) steps, many bytes."""
    rank_at = _placement(topology, order)
    n = len(rank_at)
    moves, a = Moves(), np.arange(n)
    for t in range(n.bit_length() - 1):
        moves.add(t, rank_at[a], rank_at[a ^ (1 << t)], 0, Op.ADD)
    return moves.schedule(
        Collective.ALL_REDUCE, "recursive_doubling", n, topology.ranks_per_chip, owner=[0]
    )
