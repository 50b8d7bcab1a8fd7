"""The public way to a collective: plan it for a topology, or plan it and run it on arrays."""

from functools import lru_cache, partial

import numpy as np

from trainium_edu.fabric.algorithms.by_dimension import ring_by_dimension
from trainium_edu.fabric.algorithms.exchange import (
    all_to_all,
    broadcast_direct,
    broadcast_tree,
    permute,
)
from trainium_edu.fabric.algorithms.hierarchical import hierarchical
from trainium_edu.fabric.algorithms.kangaring import kangaring
from trainium_edu.fabric.algorithms.mesh import mesh, mesh_single_step
from trainium_edu.fabric.algorithms.rdh import halving_doubling, rdh, recursive_doubling
from trainium_edu.fabric.algorithms.ring import ring, ring_broadcast
from trainium_edu.fabric.arguments import choice, shown, whole_numbers
from trainium_edu.fabric.executor import check_agreement, execute
from trainium_edu.fabric.routing import check_reach
from trainium_edu.fabric.schedule import Collective, Schedule, a_collective
from trainium_edu.fabric.topology import FabricError, Topology, known, whole_number

__all__ = ["ALGORITHMS", "all_reduce", "plan", "run"]


def _sums(producer) -> dict:
    """Return the three collectives that an algorithm for sums plans, each with its producer."""
    three = Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER
    return {collective: partial(producer, collective=collective) for collective in three}


_PRODUCERS = {
    "ring": _sums(ring) | {Collective.BROADCAST: ring_broadcast},
    "kangaring": _sums(kangaring),
    "mesh": _sums(mesh) | {
        Collective.ALL_TO_ALL: partial(all_to_all, style="mesh"),
        Collective.BROADCAST: broadcast_direct, Collective.PERMUTE: permute,
    },
    "mesh_single_step": {Collective.ALL_REDUCE: mesh_single_step},
    "rdh": _sums(rdh) | {Collective.BROADCAST: broadcast_tree},
    "ring_by_dimension": _sums(ring_by_dimension),
    "halving_doubling": _sums(halving_doubling),
    "recursive_doubling": {Collective.ALL_REDUCE: recursive_doubling},
    "pairwise": {Collective.ALL_TO_ALL: partial(all_to_all, style="pairwise")},
    "hierarchical": _sums(lambda *a, **options: hierarchical(*a, plan=plan, **options)),
}  # fmt: skip
#: Which algorithm can do what.
ALGORITHMS = {name: tuple(producers) for name, producers in _PRODUCERS.items()}
MOST_RANKS = 512


def plan(topology: Topology, collective: str, algorithm: str = "ring", **options) -> Schedule:
    """Plan a collective: return the schedule of who sends what to whom.

    Parameters
    ----------
    topology : Topology
    collective : {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", \
"permute"}
    algorithm : str
        A key of :data:`ALGORITHMS`.
    **options
        Of that algorithm: ``cycles`` and ``order`` (ring, kangaring), ``axis_order`` (rdh),
        ``order`` and ``low_first`` (halving_doubling), ``lanes`` and ``whole``
        (ring_by_dimension), ``intra`` and ``inter`` (hierarchical), ``root`` (broadcast),
        ``target`` (permute).

    Returns
    -------
    Schedule
        The same object for the same question.

    Raises
    ------
    FabricError
        If the algorithm cannot do this collective, or not on this topology, or if no links lead
        from a chip to one that it would send to.

    Examples
    --------
    >>> from trainium_edu.fabric import trn1_32xlarge
    >>> plan(trn1_32xlarge(), "all_reduce", "kangaring")
    Schedule(all_reduce by kangaring, 32 ranks, 30 steps, 8000 moves)
    """
    known(topology)
    collective = a_collective(collective)
    algorithm = choice(algorithm, ALGORITHMS, "algorithm")
    if collective not in ALGORITHMS[algorithm]:
        able = ", ".join(a for a, does in ALGORITHMS.items() if collective in does)
        raise FabricError(f"{algorithm} cannot do {collective}; these can: {able}")
    if topology.ranks > MOST_RANKS:
        raise FabricError(
            f"a schedule for {topology.ranks} ranks would be too long a list (the limit is"
            f" {MOST_RANKS}); time it with hierarchical_time, or run ring_all_reduce"
        )
    try:
        return _plan(topology, collective, algorithm, _frozen(options))
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        what = str(error).split("()")[-1].strip()
        raise FabricError(f"{collective} by {algorithm} {what}") from None


def _frozen(options):
    """Return options as a key for the cache that keeps True and 1 apart; lists become tuples."""
    frozen = []
    for name, value in sorted(options.items()):
        if isinstance(value, list | tuple | np.ndarray):
            value = tuple(whole_numbers(value, name, least=-1).tolist())
        elif not isinstance(value, bool | int | float | str | np.generic | None):
            raise FabricError(f"{name} is {shown(value)}, which is not an option of a plan")
        frozen.append((name, value, type(value)))
    return tuple(frozen)


@lru_cache(maxsize=128)
def _plan(topology, collective, algorithm, options):
    given = {name: value for name, value, _ in options}
    if collective is Collective.BROADCAST:
        whole_number(given.get("root", 0), "root", least=0, most=topology.ranks - 1)
    if collective is Collective.PERMUTE and "target" not in given:
        raise FabricError("a permute needs target=[...], the rank that each rank sends to")
    schedule = _PRODUCERS[algorithm][collective](topology, **given)
    check_reach(topology, topology.chip_of(schedule.src), topology.chip_of(schedule.dst))
    return schedule


def run(
    topology: Topology,
    collective: str,
    inputs,
    algorithm: str = "ring",
    *,
    rounding="nearest",
    seed=0,
    upset_seed=None,
    **options,
):
    """Plan a collective, run it on arrays, and check that ranks agree where they should.

    Parameters
    ----------
    topology, collective, algorithm, **options
        As for :func:`plan`.
    inputs, rounding, seed, upset_seed
        As for :func:`execute`.

    Returns
    -------
    list of arrays, one per rank

    Raises
    ------
    RanksDisagree
        If ranks end with different bits.

    Examples
    --------
    >>> from trainium_edu.fabric import torus
    >>> [x.tolist() for x in run(torus(2, 2), "reduce_scatter", np.ones((4, 8), np.int32), "rdh")]
    [[4, 4], [4, 4], [4, 4], [4, 4]]
    """
    schedule = plan(topology, collective, algorithm, **options)
    out = execute(schedule, inputs, rounding=rounding, seed=seed, upset_seed=upset_seed)
    if schedule.collective in (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.BROADCAST):
        check_agreement(out)
    return out


def all_reduce(buffers, topology: Topology, algorithm: str = "ring", **options):
    """Sum one buffer per rank and give every rank the total; see :func:`run`.

    Examples
    --------
    >>> from trainium_edu.fabric import ring as ring_of
    >>> all_reduce([np.float32([r, 1]) for r in range(3)], ring_of(3))[0].tolist()
    [3.0, 3.0]
    """
    return run(topology, Collective.ALL_REDUCE, buffers, algorithm, **options)
