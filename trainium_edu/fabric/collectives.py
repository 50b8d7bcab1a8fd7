"""The public way to a collective: plan it for a topology, or plan it and run it on arrays."""

from functools import lru_cache

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

_AR, _RS, _AG = Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER
_SUMS = (_AR, _RS, _AG)
#: Which algorithm can do what.
ALGORITHMS = {
    "ring": (*_SUMS, Collective.BROADCAST),
    "kangaring": _SUMS,
    "mesh": (*_SUMS, Collective.ALL_TO_ALL, Collective.BROADCAST, Collective.PERMUTE),
    "mesh_single_step": (_AR,),
    "rdh": (*_SUMS, Collective.BROADCAST),
    "ring_by_dimension": _SUMS,
    "halving_doubling": _SUMS,
    "recursive_doubling": (_AR,),
    "pairwise": (Collective.ALL_TO_ALL,),
    "hierarchical": _SUMS,
}
_SUMMING = {
    "ring": ring,
    "kangaring": kangaring,
    "mesh": mesh,
    "rdh": rdh,
    "ring_by_dimension": ring_by_dimension,
    "halving_doubling": halving_doubling,
}
_ALL_REDUCING = {"mesh_single_step": mesh_single_step, "recursive_doubling": recursive_doubling}
_BROADCASTING = {"ring": ring_broadcast, "mesh": broadcast_direct, "rdh": broadcast_tree}
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
    found = []
    for name, value in sorted(options.items()):
        if isinstance(value, list | tuple | np.ndarray):
            value = tuple(whole_numbers(value, name, least=-1).tolist())
        elif not isinstance(value, bool | int | float | str | np.generic | None):
            raise FabricError(f"{name} is {shown(value)}, which is not an option of a plan")
        found.append((name, value, type(value)))
    return tuple(found)


@lru_cache(maxsize=128)
def _plan(topology, collective, algorithm, options):
    schedule = _moves_of(topology, collective, algorithm, {k: v for k, v, _ in options})
    check_reach(topology, topology.chip_of(schedule.src), topology.chip_of(schedule.dst))
    return schedule


def _moves_of(topology, collective, algorithm, options):
    if collective is Collective.BROADCAST:
        whole_number(options.get("root", 0), "root", least=0, most=topology.ranks - 1)
        return _BROADCASTING[algorithm](topology, **options)
    if collective is Collective.PERMUTE:
        if "target" not in options:
            raise FabricError("a permute needs target=[...], the rank that each rank sends to")
        return permute(topology, **options)
    if collective is Collective.ALL_TO_ALL:
        return all_to_all(topology, style=algorithm, **options)
    if algorithm in _ALL_REDUCING:
        return _ALL_REDUCING[algorithm](topology, **options)
    if algorithm == "hierarchical":
        return hierarchical(topology, collective, plan=plan, **options)
    return _SUMMING[algorithm](topology, collective, **options)


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
