"""All-to-all, broadcast and permute: collectives without additions."""

import numpy as np

from trainium_edu.fabric.algorithms.rdh import _placement
from trainium_edu.fabric.arguments import whole_numbers
from trainium_edu.fabric.embedding import is_power_of_two
from trainium_edu.fabric.schedule import Collective, Moves, Op
from trainium_edu.fabric.topology import FabricError, Topology

__all__ = ["all_to_all", "broadcast_direct", "broadcast_tree", "permute"]


def all_to_all(topology: Topology, *, style: str = "mesh"):
    """Plan an all-to-all: chunk d of rank s becomes chunk s of rank d.

    Parameters
    ----------
    topology : Topology
    style : {"mesh", "pairwise"}
        All at once, or in N-1 steps in which rank r sends to rank r + step.

    Returns
    -------
    Schedule
    """
    n = topology.ranks
    src, dst = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    step = np.zeros(n * n, int) if style == "mesh" else np.maximum((dst - src) % n - 1, 0)
    moves = Moves()
    moves.add(step, src, dst, dst, Op.COPY, into=n + src)
    return moves.schedule(
        Collective.ALL_TO_ALL, style, n, topology.ranks_per_chip, owner=np.arange(n)
    )


def permute(topology: Topology, target):
    """Plan a permute: rank r's buffer goes to rank ``target[r]``, all at once; of -1, nowhere.

    A rank to which none sends ends with zeros.

    Raises
    ------
    FabricError
        If two ranks send to the same one.
    """
    n = topology.ranks
    target = whole_numbers(target, "target", least=-1, most=n - 1).tolist()
    src = [rank for rank in range(len(target)) if target[rank] >= 0]
    dst = [target[rank] for rank in src]
    if len(target) != n or len(set(dst)) != len(src):
        raise FabricError(
            f"a permute of {n} ranks names each of 0 to {n - 1} at most once as a target, and -1 "
            f"for a rank that sends nothing; got {target}"
        )
    moves = Moves()
    moves.add(0, np.array(src, int), dst, 0, Op.COPY, into=1)
    return moves.schedule(
        Collective.PERMUTE, "mesh", n, topology.ranks_per_chip, owner=[0], target=target
    )


def broadcast_direct(topology: Topology, *, root=0):
    """Plan a broadcast in which the root sends to everybody at once."""
    n = topology.ranks
    others = np.arange(n)[np.arange(n) != root]
    moves = Moves()
    moves.add(0, root, others, 0, Op.COPY)
    return moves.schedule(
        Collective.BROADCAST, "mesh", n, topology.ranks_per_chip, owner=[root], root=root
    )


def broadcast_tree(topology: Topology, *, root=0):
    """Plan a broadcast by doubling: in each step everyone who has the buffer passes it on."""
    n = topology.ranks
    moves = Moves()
    cube = is_power_of_two(n) and all(is_power_of_two(k) for k in topology.shape)
    rank_at = _placement(topology, "gray") if cube and topology.instances == 1 else np.arange(n)
    mine = int(np.flatnonzero(rank_at == root)[0])
    step = 0
    while 1 << step < n:
        have = np.arange(1 << step)
        reach = have + (1 << step)
        have, reach = have[reach < n], reach[reach < n]
        to = (lambda a: a ^ mine) if cube else (lambda a: (a + mine) % n)
        moves.add(step, rank_at[to(have)], rank_at[to(reach)], 0, Op.COPY)
        step += 1
    return moves.schedule(
        Collective.BROADCAST, "rdh", n, topology.ranks_per_chip, owner=[root], root=root
    )
