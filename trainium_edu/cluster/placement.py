"""Where a plan's ranks sit, over which wires each group talks, and how long its collectives take.

Ranks fill instances in order, two NeuronCores on a chip.  Tensor-parallel neighbours come first,
then replicas, then pipeline stages (Megatron-LM's order), so those who talk most sit closest:

>>> from trainium_edu.cluster.plan import Cluster, Plan
>>> print(placement(Plan(Cluster(instances=32), tensor=8, pipeline=4, global_batch=1024)))
tensor    groups of    8, ranks    1 apart: NeuronLink
data      groups of   32, ranks    8 apart: EFA
pipeline  groups of    4, ranks  256 apart: EFA

All groups of a kind talk at the same time and share the wires evenly.  Inside an instance the
algorithm and its time come from ``fabric``; between instances from its closed form for ring or RDH.
Left out: other jobs' traffic, a network that blocks, and groups that share links unevenly.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from trainium_edu.cluster.plan import Plan, PlanError
from trainium_edu.fabric import (
    DOCUMENTED,
    FabricError,
    Line,
    inter_node,
    link_loads,
    memory_loads,
    plan,
    product,
)
from trainium_edu.specs import FABRIC, INSTANCES
from trainium_edu.specs.arguments import choice, number
from trainium_edu.specs.signatures import checked

__all__ = ["KINDS", "Links", "Placement", "placement"]

KINDS = ("tensor", "data", "pipeline")
_OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter")


@dataclass(frozen=True, slots=True)
class Links:
    """The readings of the wires' facts.

    The usual ones are the middle of what is documented, and of a link's figure the more careful
    reading: AWS's own table of a 16-rank all-reduce of 512 MiB is nearer to it.

    Attributes
    ----------
    direction : {"one_way", "both_ways"}
        Whether each direction of a NeuronLink has the published rate, or the two share it.
    hop_ns, network_ns : float
        From memory to memory of a neighbour, and of another instance.
    hbm_bytes_per_s : float, optional
        Of a chip; the instance's own unless said otherwise.
    """

    direction: Literal["one_way", "both_ways"] = "both_ways"
    hop_ns: float = sum(FABRIC.hop_latency_ns.value) / 2
    network_ns: float = float(FABRIC.inter_step_latency_ns)
    hbm_bytes_per_s: float | None = None

    def __post_init__(self):
        choice(self.direction, "direction", ("one_way", "both_ways"))
        number(self.hop_ns, "hop_ns", 0, 1e18)
        number(self.network_ns, "network_ns", 0, 1e18)
        if self.hbm_bytes_per_s is not None:
            number(self.hbm_bytes_per_s, "hbm_bytes_per_s", 1, 1e18)


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks that work together: so many, so far apart; `inside` of them share an instance."""

    ranks: int
    stride: int
    inside: int

    @property
    def across(self) -> int:
        """Instances that the group spans."""
        return self.ranks // self.inside


@dataclass(frozen=True, slots=True)
class Placement:
    """The places of a plan's ranks."""

    plan: Plan
    links: Links = Links()

    @property
    def _per_instance(self):
        return int(INSTANCES[self.plan.cluster.instance].cores)

    @property
    def ranks(self) -> np.ndarray:
        """Instance, chip in the instance and NeuronCore on the chip of every rank: [ranks, 3]."""
        rank = np.arange(self.plan.cluster.ranks)
        here = rank % self._per_instance
        on_chip = int(INSTANCES[self.plan.cluster.instance].chip.cores)
        return np.stack((rank // self._per_instance, here // on_chip, here % on_chip), axis=1)

    def group(self, kind: str) -> Group:
        """Return the size and shape of the groups of a kind."""
        t, d = self.plan.tensor, self.plan.data
        ranks, stride = {"tensor": (t, 1), "data": (d, t), "pipeline": (self.plan.pipeline, t * d)}[
            choice(kind, "kind", KINDS)
        ]
        return _group(ranks, stride, self._per_instance)

    def groups(self, kind: str) -> np.ndarray:
        """Return the ranks of every group of a kind: int[groups, ranks]."""
        t, d, p = self.plan.tensor, self.plan.data, self.plan.pipeline
        axis = {"tensor": 2, "data": 1, "pipeline": 0}[choice(kind, "kind", KINDS)]
        grid = np.arange(p * d * t).reshape(p, d, t)
        return np.moveaxis(grid, axis, -1).reshape(-1, grid.shape[axis])

    def wires(self, kind: str) -> str:
        """Return the slowest wires between a group: "none", "on chip", "NeuronLink" or "EFA"."""
        group = self.group(kind)
        if group.ranks == 1:
            return "none"
        if group.across > 1:
            return "EFA"
        on_chip = int(INSTANCES[self.plan.cluster.instance].chip.cores)
        return "on chip" if group.ranks * group.stride <= on_chip else "NeuronLink"

    def collective_ns(self, kind: str, operation: str, nbytes: float) -> float:
        """Return how long all groups of a kind need for a collective at the same time.

        Parameters
        ----------
        kind : {"tensor", "data", "pipeline"}
        operation : {"all_reduce", "all_gather", "reduce_scatter"}
        nbytes : float
            Of the whole buffer: what a rank holds before a reduce, or after a gather.
        """
        nbytes = number(nbytes, "nbytes", 0, 1e21)
        choice(operation, "operation", _OPERATIONS)
        return _collective_ns(self.plan.cluster.instance, self.group(kind), operation,
                              self.links, nbytes)  # fmt: skip

    def send_ns(self, nbytes: float) -> float:
        """Return how long every rank needs to send to its like in the next pipeline stage."""
        nbytes = number(nbytes, "nbytes", 0, 1e21)
        group = self.group("pipeline")
        if group.ranks == 1:
            return 0.0
        instance = INSTANCES[self.plan.cluster.instance]
        if group.across > 1:
            per_rank = _network_bytes_per_s(self.plan.cluster.instance) / self._per_instance
            return self.links.network_ns + nbytes / per_rank * 1e9
        if group.stride < int(instance.chip.cores):
            rate = self.links.hbm_bytes_per_s or float(instance.chip.hbm_bytes_per_s)
            return self.links.hop_ns + 2 * nbytes * int(instance.chip.cores) / rate * 1e9
        per_rank = _link_bytes_per_s(self.plan.cluster.instance, self.links) / int(
            instance.chip.cores)  # fmt: skip
        return self.links.hop_ns + nbytes / per_rank * 1e9

    def __str__(self):
        lines = []
        for kind in KINDS:
            group = self.group(kind)
            lines.append(f"{kind:9} groups of {group.ranks:4}, ranks {group.stride:4} apart: "
                         f"{self.wires(kind)}")  # fmt: skip
        return "\n".join(lines)


@checked
def placement(plan: Plan, links: Links | None = None) -> Placement:
    """Place a plan's ranks on its cluster.

    Parameters
    ----------
    plan : Plan
    links : Links, optional
        The readings of the wires' facts.

    Returns
    -------
    Placement

    Raises
    ------
    PlanError
        When a collective leaves an instance that has no network for it.

    References
    ----------
    `megatron-2021` for the order, `aws-intranode` and `aws-internode` for what the wires take.
    """
    return Placement(plan, links or Links())


@lru_cache(maxsize=4096)
def _group(ranks, stride, per_instance):
    """Return a group; one that does not fill whole parts of instances counts as apart."""
    inside = 1
    if stride < per_instance and per_instance % stride == 0:
        inside = math.gcd(ranks, per_instance // stride)
        if inside < min(ranks, per_instance // stride):
            inside = 1
    return Group(ranks, stride, inside)


def _network_bytes_per_s(instance):
    """Return the bytes per second of all EFA devices of an instance."""
    facts = INSTANCES[instance]
    if not hasattr(facts, "network_bits_per_s"):
        raise PlanError(f"{instance} has no EFA, and this plan has a group in more than one; keep "
                        "each group in an instance, or take trn1.32xlarge")  # fmt: skip
    return float(facts.network_bits_per_s) / 8


def _link_bytes_per_s(instance, links):
    """Return the bytes per second of one NeuronLink in one direction."""
    facts = INSTANCES[instance]
    label = float(facts.neuronlink_bytes_per_s_per_chip) / int(facts.chip.neuronlink_ports)
    return label / 2 if links.direction == "both_ways" else label


def _inside(instance, group, links, operation):
    """Yield the line of every algorithm of `fabric` on the part of an instance that a group has.

    A chip's two ranks in two groups share its links and memory; where chips of other groups lie in
    between on a torus, as many groups pass over as there are ways around, so each keeps one link.
    """
    facts, cores = INSTANCES[instance], int(INSTANCES[instance].chip.cores)
    ranks = cores if group.stride == 1 and group.inside >= cores else 1  # of a chip
    apart, count = max(1, group.stride // cores), group.inside // ranks
    share = ranks / cores if count > 1 else 1.0
    hbm, link = (links.hbm_bytes_per_s or float(facts.chip.hbm_bytes_per_s)) * share, 1.0
    shape, wrap = (1,), (False,)
    if count > 1:
        shape, wrap = _shape(int(facts.chips), apart, count)
        link = _link_bytes_per_s(instance, links) * share / (apart if int(facts.chips) != 16 else 1)
    for name, crossed, touched in _steps(shape, wrap, ranks, operation):
        per_byte = float(np.maximum(crossed / link, touched / hbm).sum()) * 1e9
        yield Line(name, len(crossed) * links.hop_ns, per_byte)


@lru_cache(maxsize=512)
def _steps(shape, wrap, ranks_per_chip, operation):
    """Return each algorithm that can, and what its steps put on the busiest link and memory.

    As shares of the buffer, so that every reading of the wires' facts reuses them.
    """
    topology, steps = product(shape, wrap, ranks_per_chip=ranks_per_chip), []
    for name in (*DOCUMENTED, "ring"):
        try:
            schedule = plan(topology, operation, name)
        except FabricError:
            continue
        sizes = np.full(schedule.items, 1 / schedule.items)
        steps.append((name, link_loads(schedule, topology, sizes).max(axis=1, initial=0.0),
                      memory_loads(schedule, sizes).max(axis=1, initial=0.0)))  # fmt: skip
    return tuple(steps)


def _shape(chips, apart, count):
    """Return extents and wraps of `count` chips, so far `apart`, of a 4 x 4 torus or of a ring."""
    if chips != 16:
        return (count,), (count == chips,)
    columns = max(1, min(count, 4 // apart)) if apart < 4 else 1
    extents = [(k, k == 4) for k in (count // columns, columns) if k > 1]
    return tuple(k for k, _ in extents), tuple(w for _, w in extents)


@lru_cache(maxsize=4096)
def _lines(instance, group, operation, links) -> tuple[tuple[Line, ...], ...]:
    """Return the stages of a collective: lines to choose from in each, per byte of the buffer."""
    stages, inside = [], group.inside
    if inside > 1:
        steps: tuple[str, ...] = (operation,)
        if group.across > 1 and operation == "all_reduce":
            steps = ("reduce_scatter", "all_gather")
        stages += [tuple(_inside(instance, group, links, step)) for step in steps]
    if group.across > 1:
        per_rank = _network_bytes_per_s(instance) / int(INSTANCES[instance].cores)
        names = ("rdh", "ring") if group.across & (group.across - 1) == 0 else ("ring",)
        half = 1 if operation == "all_reduce" else 0.5
        forms = (
            inter_node(name, group.across, step_ns=links.network_ns, bytes_per_s=per_rank)
            for name in names
        )
        stages.append(tuple(Line(f.name, f.alpha_ns * half, f.ns_per_byte * half / inside)
                            for f in forms))  # fmt: skip
    return tuple(stages)


def _collective_ns(instance, group, operation, links, nbytes):
    if group.ranks == 1:
        return 0.0
    stages = _lines(instance, group, operation, links)
    return sum(min(f.alpha_ns + f.ns_per_byte * nbytes for f in stage) for stage in stages)
