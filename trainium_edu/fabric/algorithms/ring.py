"""Ring: each rank talks to its neighbour only; 2(N-1) steps, and every link busy all the time.

With several directed cycles that share no link, each carries its share of every chunk: on the
4 x 4 torus two edge-disjoint Hamiltonian cycles in both directions use all 64 directed links.
Over several instances (a flat ring) each directed cycle leaves through another chip's network
device and enters through another one's, so that as many cycles as devices keep all of them busy.
"""

import numpy as np

from trainium_edu.fabric.arguments import whole_number, whole_numbers
from trainium_edu.fabric.embedding import hamiltonian_cycles
from trainium_edu.fabric.machines import one_instance
from trainium_edu.fabric.schedule import Collective, Moves, Op, a_collective
from trainium_edu.fabric.topology import FabricError, Topology

__all__ = ["directed_cycles", "flat_chains", "ring", "ring_broadcast"]


def directed_cycles(topology: Topology, count: int | None = None, order=None) -> list[np.ndarray]:
    """Return cycles through all chips, each in both directions.

    Inside an instance they share no directed link, over several no network device.

    Parameters
    ----------
    topology : Topology
    count : int, optional
        How many directed cycles; all that are known unless said otherwise.
    order : sequence of int, optional
        Chips in the order in which one cycle visits them; it may use paths of several links.

    Returns
    -------
    list of int64[chips]

    Raises
    ------
    FabricError
        If there are fewer, or the order is not a permutation of the chips.
    """
    if order is not None:
        order = whole_numbers(order, "order")
        if sorted(order.tolist()) != list(range(topology.chips)):
            raise FabricError(
                f"an order of {topology.chips} chips names each of 0 to {topology.chips - 1} once"
            )
        undirected = [order]
    elif topology.instances > 1:
        base = np.arange(topology.instances)[:, None] * topology.chips_per_instance
        undirected = [(base + chain).ravel() for chain in flat_chains(topology)]
    else:
        undirected = [np.asarray(c) for c in hamiltonian_cycles(topology)]
        if not undirected:  # a line or a damaged machine: go round anyway, over longer paths
            undirected = [np.arange(topology.chips)]
    both = [c for cycle in undirected for c in (cycle, np.concatenate((cycle[:1], cycle[:0:-1])))]
    if topology.chips <= 2:
        both = both[:1]
    if count is None:
        return both
    return both[
        : whole_number(count, f"the number of directed cycles on {topology.name}", most=len(both))
    ]


def flat_chains(cluster: Topology) -> list[np.ndarray]:
    """Return ways through the chips of one instance, from network device to network device.

    A Hamiltonian cycle is opened between two neighbours that both hold a device, once for every
    such pair; in both directions each device then sends one cycle's data and receives another's.
    """
    cycles = hamiltonian_cycles(one_instance(cluster)) or (
        tuple(range(cluster.chips_per_instance)),
    )
    best: list[np.ndarray] = []
    for cycle in cycles:
        free, chains = set(cluster.gateways), []
        for i, last in enumerate(cycle):
            pair = {last, cycle[(i + 1) % len(cycle)]}
            if len(pair & free) == 2:
                free -= pair
                chains.append(np.roll(cycle, -i - 1))
        best = max(best, chains, key=len)
    return best or [np.asarray(cycles[0])]


def rank_cycles(topology, cycles):
    """Return the cycles with the local ranks of each chip one after the other."""
    local = np.arange(topology.ranks_per_chip)
    return [(c[:, None] * topology.ranks_per_chip + local).ravel() for c in cycles]


def ring(topology: Topology, collective: Collective, *, cycles=None, order=None):
    """Plan a ring reduce-scatter, all-gather, or both in a row.

    Parameters
    ----------
    topology : Topology
    collective : {"all_reduce", "reduce_scatter", "all_gather"}
    cycles : int, optional
        Directed cycles to use; all edge-disjoint ones unless said otherwise.
    order : sequence of int, optional
        One cycle of chips instead.

    Returns
    -------
    Schedule

    Notes
    -----
    Along a cycle ``o[0], o[1], ...`` the sum of the chunk that ``o[c]`` will own starts at
    ``o[c+1]``, goes round, and takes each rank's part in passing.  The order of additions is
    ``x[o[c+1]] + x[o[c+2]] + ... + x[o[c]]``, from left to right.

    References
    ----------
    `aws-intranode` in :data:`trainium_edu.specs.SOURCES`.
    """
    collective = a_collective(collective)
    lanes = rank_cycles(topology, directed_cycles(topology, cycles, order))
    n = topology.ranks
    moves, place, first = Moves(), np.arange(n)[None, :], 0
    step = np.arange(n - 1)[:, None]
    for half in (Collective.REDUCE_SCATTER, Collective.ALL_GATHER):
        if collective not in (half, Collective.ALL_REDUCE):
            continue
        reduces = half is Collective.REDUCE_SCATTER
        for lane, o in enumerate(lanes):
            chunk = o[(place - step - reduces) % n]
            moves.add(
                first + step, o[place], o[(place + 1) % n], chunk * len(lanes) + lane,
                Op.ADD if reduces else Op.COPY,
            )  # fmt: skip
        first += n - 1
    owner = np.repeat(np.arange(n), len(lanes))
    return moves.schedule(
        collective, "ring", n, topology.ranks_per_chip, owner=owner, lanes=len(lanes)
    )


def ring_broadcast(topology: Topology, *, root=0, cycles=1, order=None, chunks=None):
    """Plan a broadcast that pumps chunk after chunk along one cycle; ``N - 2 + chunks`` steps."""
    lanes = rank_cycles(topology, directed_cycles(topology, cycles, order))
    n = topology.ranks
    chunks = whole_number(n if chunks is None else chunks, "chunks", most=65_536)
    moves = Moves()
    for lane, o in enumerate(lanes):
        o = np.roll(o, -int(np.flatnonzero(o == root)[0]))
        chunk, hop = np.meshgrid(np.arange(chunks), np.arange(n - 1), indexing="ij")
        moves.add(chunk + hop, o[hop], o[hop + 1], chunk * len(lanes) + lane, Op.COPY)
    return moves.schedule(
        Collective.BROADCAST, "ring", n, topology.ranks_per_chip,
        owner=np.full(chunks * len(lanes), root), lanes=len(lanes), root=root,
    )  # fmt: skip
