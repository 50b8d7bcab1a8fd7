"""Our times beside every published ``nccom-test`` table: the error, as it comes out.

The guide calls its tables examples, mostly names no instance type, and some carry the whole time
of a launch (58 us for one kilobyte).  Nothing here is fitted, but for the calibration of the
2-rank table, which says so.
"""

import math
from dataclasses import dataclass

import numpy as np

from trainium_edu.fabric.accounting import Costs, buffer_bytes, rules
from trainium_edu.fabric.alpha_beta import sizes_of
from trainium_edu.fabric.arguments import flag, made
from trainium_edu.fabric.cluster_time import flat_ring_time, hierarchical_time
from trainium_edu.fabric.machines import group
from trainium_edu.fabric.schedule import Collective, a_collective
from trainium_edu.fabric.selection import DOCUMENTED, select
from trainium_edu.fabric.topology import FabricError, Topology, fully_connected, known
from trainium_edu.specs import FABRIC, INSTANCES, NCCOM_TABLES, NccomTable

__all__ = ["Calibration", "Comparison", "calibrate", "compare", "model_time_ns"]

_OPERATIONS = {
    "all_gatherv": "all_gather", "all_to_allv": "all_to_all", "permute": "permute",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published line and the model's."""

    table: str
    nbytes: int
    published_us: float
    model_us: float
    published_algorithm: str  #: "" where the table does not say
    model_algorithm: str

    @property
    def ratio(self) -> float:
        """Published time over the model's."""
        return self.published_us / self.model_us

    @property
    def error_percent(self) -> float:
        """How far the model is off, in per cent of the published time."""
        return 100 * (self.model_us / self.published_us - 1)

    def __str__(self):
        chosen = f"{self.published_algorithm or '?'} / {self.model_algorithm}"
        return (
            f"{self.nbytes:>12} {self.published_us:>12.2f} {self.model_us:>12.2f}"
            f" {self.error_percent:>+9.1f} %   {chosen}"
        )


@dataclass(frozen=True, slots=True)
class Calibration:
    """Three fitted numbers: ``max(alpha + beta B / 2, gamma + beta B)``; no prediction."""

    alpha_us: float  #: floor of small messages
    gamma_us: float  #: what is left of it when the bytes set the pace
    us_per_byte: float

    def at(self, nbytes):
        """Return microseconds for a size or an array of sizes."""
        b = sizes_of(nbytes) * self.us_per_byte
        return np.maximum(self.alpha_us + b / 2, self.gamma_us + b)


def model_time_ns(
    topology: Topology, collective: str, nbytes: int, costs: Costs | None = None
) -> tuple[float, str]:
    """Return the model's time for one size, and the algorithm that it chose.

    Parameters
    ----------
    topology : Topology
    collective : str
    nbytes : int
        As ``nccom-test`` counts it: for an all-gather the output.
    costs : Costs, optional

    Returns
    -------
    time_ns : float
    algorithm : str
        On several instances ``"hier"``, as the tool prints it, or ``"ring"`` where a flat one wins.

    Examples
    --------
    >>> ns, algorithm = model_time_ns(group(32), "all_reduce", 4)
    >>> round(ns), algorithm
    (6000, 'mesh')
    """
    collective, costs = a_collective(collective), rules(costs)
    nbytes = buffer_bytes(nbytes)
    if known(topology).instances > 1 and collective is Collective.ALL_REDUCE:
        times = [
            (hierarchical_time(topology, nbytes, intra=i, inter=j, costs=costs).total_ns, "hier")
            for i in ("mesh", "kangaring")
            for j in ("mesh", "ring")
        ]
        return min(*times, (flat_ring_time(topology, nbytes, costs=costs).total_ns, "ring"))
    if collective is Collective.PERMUTE:
        target = _swap_pairs(topology.ranks)
        chosen = select(topology, collective, ("mesh",), sizes=[nbytes], costs=costs,
                        options={"mesh": {"target": target}})  # fmt: skip
    elif collective is Collective.ALL_TO_ALL:
        chosen = select(topology, collective, ("mesh", "pairwise"), sizes=[nbytes], costs=costs)
    else:
        chosen = select(topology, collective, (*DOCUMENTED, "ring"), sizes=[nbytes], costs=costs)
    best = int(chosen.best[0])
    return float(chosen.times_ns[best, 0]), chosen.lines[best].name


def _swap_pairs(ranks):
    """Return the permute of the guide's example: ranks 0-1 and 2-3 swap, the others keep."""
    return [r ^ 1 if r < min(4, ranks - ranks % 2) else r for r in range(ranks)]


def compare(costs: Costs | None = None, *, with_floor: bool = False, **options) -> list[Comparison]:
    """Return the model's time beside every published line.

    Parameters
    ----------
    costs : Costs, optional
    with_floor : bool
        Add to each table's times what its smallest message took beyond the model: a calibration
        with one number per table (the launch), to see the rest.
    **options
        Of the machine, as for :func:`~trainium_edu.fabric.group`: ``direction``, ``latency_ns``.

    Returns
    -------
    list of Comparison

    References
    ----------
    `nccom-test-guide` in :data:`trainium_edu.specs.SOURCES`.
    """
    costs = rules(costs)
    flag(with_floor, "with_floor")
    comparisons = []
    for table in NCCOM_TABLES:
        ranks, per_instance = table.ranks, table.ranks // table.instances
        if table.instances > 1 and per_instance < 32:
            topology = _one_rank_each(table.instances)
        else:
            topology = group(ranks, **options)
        collective = _OPERATIONS.get(table.operation, table.operation)
        floor_us = 0.0
        for i, (nbytes, us, algorithm) in enumerate(table.rows.value):
            ns, chosen = model_time_ns(topology, collective, nbytes, costs)
            if with_floor and i == 0:
                floor_us = max(0.0, us - ns / 1e3)
            model_us = floor_us + ns / 1e3
            comparisons.append(Comparison(str(table), nbytes, us, model_us, algorithm, chosen))
    return comparisons


def _one_rank_each(instances):
    """Return instances with one rank in each, on an EFA device of its own."""
    speed = float(INSTANCES["trn1.32xlarge"].efa_bits_per_s_per_device) / 8
    return fully_connected(
        instances, link_bytes_per_s=speed, latency_ns=float(FABRIC.inter_step_latency_ns)
    )


def calibrate(table=None) -> Calibration:
    """Fit three numbers to a published all-reduce table: a calibration, not a prediction.

    Parameters
    ----------
    table : NccomTable, optional
        The 2-rank table unless said otherwise.

    Returns
    -------
    Calibration
        The one whose largest relative error is smallest, found on a grid that is refined.

    Examples
    --------
    >>> fitted = calibrate()
    >>> rows = np.array([row[:2] for row in NCCOM_TABLES[0].rows.value])
    >>> bool(np.abs(fitted.at(rows[:, 0]) / rows[:, 1] - 1).max() < 0.025)
    True
    """
    table = NCCOM_TABLES[0] if table is None else table
    made(table, NccomTable, "choose one of specs.NCCOM_TABLES")
    rows = np.array([row[:2] for row in table.rows.value], np.float64)
    if len(rows) < 4:
        raise FabricError(f"{table} has {len(rows)} lines; three numbers need four or more")
    nbytes, us = rows.T
    guess = np.array([us.min(), us.min() / 2, us.max() / nbytes.max()])
    reach, grid = np.array([0.2, 0.5, 0.2]), np.linspace(-1, 1, 13)
    for _ in range(24):
        tried = [g * (1 + r * grid) for g, r in zip(guess, reach, strict=True)]
        alpha, gamma, beta = (x[..., None] for x in np.meshgrid(*tried, indexing="ij"))
        model = np.maximum(alpha + beta * nbytes / 2, gamma + beta * nbytes)
        worst = np.abs(model / us - 1).max(axis=-1)
        at = np.unravel_index(int(worst.argmin()), worst.shape)
        guess = np.array([t[i] for t, i in zip(tried, at, strict=True)])
        reach = reach * 0.6
    if not math.isfinite(float(worst.min())):
        raise FabricError(f"{table} cannot be fitted")
    return Calibration(*(float(g) for g in guess))
