"""Which algorithm for which size: every schedule is a line, and the lowest line wins."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from trainium_edu.fabric.accounting import Costs, bill, rules
from trainium_edu.fabric.alpha_beta import Line, crossovers, sizes_of, sweep
from trainium_edu.fabric.arguments import names_of, shown, whole_number
from trainium_edu.fabric.collectives import plan
from trainium_edu.fabric.schedule import Collective, Schedule, a_collective, a_schedule
from trainium_edu.fabric.topology import FabricError, Topology, known

__all__ = ["DOCUMENTED", "Selection", "choose", "line", "select"]

#: The algorithms that AWS's document chooses among inside an instance.
DOCUMENTED = ("mesh", "rdh", "kangaring")


@dataclass(frozen=True, slots=True)
class Selection:
    """Times of several algorithms over sizes, and the winner at each."""

    sizes: np.ndarray = field(repr=False)  #: float64[points], bytes of the whole buffer
    lines: tuple[Line, ...]
    times_ns: np.ndarray = field(repr=False)  #: float64[lines, points]
    best: np.ndarray = field(repr=False)  #: int8[points], index into lines
    crossovers: tuple[tuple[float, str, str], ...]  #: bytes, winner below, winner above
    left_out: tuple[tuple[str, str], ...] = ()  #: algorithms that cannot, and why

    @property
    def order(self) -> tuple[str, ...]:
        """Winners from small to large sizes."""
        if not self.crossovers:
            names = [k.name for k in self.lines]
            return (names[int(self.best[0])],) if len(self.best) else ()
        return (self.crossovers[0][1], *(after for _, _, after in self.crossovers))


def line(schedule: Schedule, topology: Topology, costs: Costs | None = None) -> Line:
    """Return a schedule's time as a line in the size of the buffer (chunks cut evenly).

    Parameters
    ----------
    schedule : Schedule
    topology : Topology
    costs : Costs, optional

    Returns
    -------
    Line
        Per byte of the whole buffer; exact where all chunks are equally long.

    Examples
    --------
    >>> from trainium_edu.fabric import trn1_32xlarge
    >>> t = trn1_32xlarge()
    >>> round(line(plan(t, "all_reduce", "mesh"), t).alpha_ns)
    6000
    """
    return _line(a_schedule(schedule), known(topology), rules(costs))


@lru_cache(maxsize=512)
def _line(schedule, topology, costs):
    byte = bill(schedule, topology, np.full(schedule.items, 1.0 / schedule.items), costs)
    return Line(schedule.algorithm, float(byte.latency_ns.sum()), float(byte.moving_ns.sum()))


def select(
    topology: Topology,
    collective: str = "all_reduce",
    algorithms=DOCUMENTED,
    *,
    sizes=None,
    costs: Costs | None = None,
    options: dict | None = None,
) -> Selection:
    """Compare algorithms over sizes.

    Parameters
    ----------
    topology : Topology
    collective : str
    algorithms : sequence of str
        Those that cannot do it here are left out, and named.
    sizes : array of bytes, optional
        256 points from 1 KiB to 16 GiB unless said otherwise.
    costs : Costs, optional
    options : dict, optional
        Options per algorithm, as for :func:`plan`: ``{"rdh": {"axis_order": "spread"}}``.

    Returns
    -------
    Selection

    Raises
    ------
    FabricError
        If none of them can.

    Examples
    --------
    >>> from trainium_edu.fabric import trn2_48xlarge
    >>> select(trn2_48xlarge()).order
    ('mesh', 'rdh', 'kangaring')

    Notes
    -----
    AWS publishes the ranking mesh, RDH, KangaRing in a text that has four ranks on a chip, and not
    in which order a chip's ranks walk the axes.  It comes out here with four ranks that walk
    ``rotated``, the default: they keep all four cables of a chip busy.  Two ranks, as on trn1, keep
    two busy, and then RDH wins at no size; it would if each chunk were cut in two as well
    (``spread``), which no text names.  With all ranks on the ``same`` axis RDH wins nowhere.

    References
    ----------
    `aws-intranode` in :data:`trainium_edu.specs.SOURCES`.
    """
    collective, algorithms = a_collective(collective), names_of(algorithms)
    sizes = np.geomspace(2**10, 2**34, 256) if sizes is None else np.atleast_1d(sizes_of(sizes))
    options, costs = _options(options, algorithms), rules(costs)
    known(topology)
    lines, left_out = [], []
    for name in algorithms:
        try:
            schedule = plan(topology, collective, name, **options.get(name, {}))
            lines.append(line(schedule, topology, costs))
        except FabricError as why:
            left_out.append((name, str(why)))
    if not lines:
        raise FabricError(f"none of {', '.join(algorithms)} can: {left_out[0][1]}")
    times, best = sweep(lines, sizes)
    return Selection(sizes, tuple(lines), times, best, tuple(crossovers(lines)), tuple(left_out))


def _options(options, algorithms):
    """Return options by algorithm; raise what they should look like otherwise."""
    if options is None:
        return {}
    good = isinstance(options, dict) and all(
        name in algorithms and isinstance(of, dict) and all(isinstance(k, str) for k in of)
        for name, of in options.items()
    )
    if not good:
        raise FabricError(
            f"options is {shown(options)}; write {{algorithm: {{option: value}}}} for"
            f" {', '.join(algorithms)}"
        )
    return options


def choose(
    topology: Topology, collective: str, nbytes: int, algorithms=None, *, costs: Costs | None = None
) -> str:
    """Return the algorithm that the model expects to be fastest for one size.

    Examples
    --------
    >>> from trainium_edu.fabric import trn2_48xlarge
    >>> [choose(trn2_48xlarge(), "all_reduce", n) for n in (2**10, 2**24, 2**30)]
    ['mesh', 'rdh', 'kangaring']
    """
    collective = a_collective(collective)
    nbytes = whole_number(nbytes, "the number of bytes", least=0, most=2**50)
    if algorithms is None:
        algorithms = {
            Collective.ALL_TO_ALL: ("mesh", "pairwise"),
            Collective.BROADCAST: ("mesh", "rdh", "ring"),
            Collective.PERMUTE: ("mesh",),
        }.get(collective, (*DOCUMENTED, "ring"))
    found = select(topology, collective, algorithms, sizes=[nbytes], costs=costs)
    return found.lines[int(found.best[0])].name
