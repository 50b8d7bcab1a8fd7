"""KangaRing: two ranks of a chip travel as a pair, one carrying the other's data in its pouch.

Only one of the two, the primary, talks to the next chip, so there are half as many positions and
half as many steps as in a ring of all ranks; the roles swap between cycles so that both work.  It
touches memory less often, too: a chunk that passes is read once and written twice.
"""

import numpy as np

from trainium_edu.fabric.algorithms.ring import directed_cycles, ring
from trainium_edu.fabric.schedule import Collective, Moves, Op, a_collective
from trainium_edu.fabric.topology import FabricError, Topology

__all__ = ["kangaring"]


def kangaring(topology: Topology, collective: Collective, *, cycles=None, order=None):
    """Plan a KangaRing reduce-scatter, all-gather, or both in a row.

    Parameters
    ----------
    topology : Topology
        With an even number of ranks on a chip; with one rank on a chip the plan is a ring's.
    collective : {"all_reduce", "reduce_scatter", "all_gather"}
    cycles, order
        As for a ring.

    Returns
    -------
    Schedule

    Notes
    -----
    Order of additions for the chunks of the pair at position c: at each position on the way,
    beginning at c+1, what arrives takes the primary's part and then the secondary's.

    References
    ----------
    `aws-intranode` in :data:`trainium_edu.specs.SOURCES`.
    """
    collective = a_collective(collective)
    per_chip = topology.ranks_per_chip
    if per_chip == 1:
        return ring(topology, collective, cycles=cycles, order=order)
    if per_chip % 2:
        raise FabricError(
            f"kangaring pairs the ranks of a chip, and {topology.name} has {per_chip} on each;"
            " use ring, or an even number"
        )
    chip_cycles = directed_cycles(topology, cycles, order)
    if cycles is None and len(chip_cycles) == 1:
        chip_cycles = chip_cycles * 2  # one direction only: still let both ranks of a pair work
    lanes, pairs = len(chip_cycles), per_chip // 2
    n = topology.chips * pairs  # positions
    moves, first = Moves(), 0
    place, step = np.arange(n)[None, :], np.arange(max(n - 1, 0))[:, None]
    for half in (Collective.REDUCE_SCATTER, Collective.ALL_GATHER):
        if collective not in (half, Collective.ALL_REDUCE):
            continue
        for lane, cycle in enumerate(chip_cycles):
            pair = (cycle[:, None] * per_chip + 2 * np.arange(pairs)).ravel()
            primary, secondary = pair + lane % 2, pair + 1 - lane % 2
            if half is Collective.REDUCE_SCATTER:
                _reduce_scatter(moves, first, place, step, primary, secondary, lanes, lane)
            else:
                _all_gather(moves, first, place, step, primary, secondary, lanes, lane)
        first += max(n - 1, 1)
    ranks = topology.ranks
    return moves.schedule(
        collective, "kangaring", ranks, per_chip, owner=np.repeat(np.arange(ranks), lanes),
        lanes=lanes,
    )  # fmt: skip


def _reduce_scatter(moves, first, place, step, primary, secondary, lanes, lane):
    n = place.size
    for owners in (primary, secondary):
        item = owners[(place - 1 - step) % n] * lanes + lane
        moves.add(first + step, secondary[place], primary[place], item, Op.ADD, phase=0, fused=True)
        moves.add(first + step, primary[place], primary[(place + 1) % n], item, Op.ADD)
    last = first + max(n - 2, 0)
    for owners in (primary, secondary):
        item = owners * lanes + lane
        moves.add(last, secondary, primary, item, Op.ADD, phase=2, fused=True)
    moves.add(last, primary, secondary, secondary * lanes + lane, Op.MOVE, phase=3)


def _all_gather(moves, first, place, step, primary, secondary, lanes, lane):
    n = place.size
    # the two chunks of the own pair: exchanged on the chip, and sent on from where they lie
    moves.add(first, primary, secondary, primary * lanes + lane, Op.COPY)
    moves.add(first, secondary, primary, secondary * lanes + lane, Op.COPY)
    if n == 1:
        return
    for owners, source in ((primary, primary), (secondary, secondary)):
        item = owners * lanes + lane
        moves.add(first, source, np.roll(primary, -1), item, Op.COPY)
        later = step[1:]
        item = owners[(place - later) % n] * lanes + lane
        moves.add(first + later, primary[place], primary[(place + 1) % n], item, Op.COPY)
        moves.add(first + later, primary[place], secondary[place], item, Op.COPY, fused=True)
        item = owners[(np.arange(n) + 1) % n] * lanes + lane  # what arrives last
        moves.add(first + n - 2, primary, secondary, item, Op.COPY, phase=2)
