"""How ranks reach each other: sums over a topology's links, in a stated order, and their time.

The one line where ``xla`` and ``fabric`` meet: an executor hands in one row per rank, and gets the
sums that the schedule's moves make, addition by addition.  All ranks end with the same bits (the
last hop copies), so one row stands for all of them.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from trainium_edu import fabric
from trainium_edu.fabric.schedule import Collective
from trainium_edu.fabric.topology import FabricError, Topology
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.numerics.formats import get_format
from trainium_edu.specs import FABRIC
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.flags import parse
from trainium_edu.xla.graph import Node, Type

__all__ = ["Links", "compiler_for", "links"]

_ON_INSTANCE = {
    "trn1.2xlarge": (fabric.trn1_2xlarge, 2), "trn1.32xlarge": (fabric.trn1_32xlarge, 32),
    "trn1n.32xlarge": (fabric.trn1n_32xlarge, 32), "inf2.xlarge": (fabric.single_chip, 2),
    "inf2.8xlarge": (fabric.single_chip, 2), "inf2.24xlarge": (fabric.inf2_24xlarge, 12),
    "inf2.48xlarge": (fabric.inf2_48xlarge, 24),
}  # fmt: skip


@dataclass(frozen=True)
class Links:
    """A topology with as many ranks as take part, and how they sum over it.

    Attributes
    ----------
    topology : fabric.Topology
    algorithm : str
        A key of ``fabric.ALGORITHMS``; on several instances, what each does inside, with a ring
        between them.
    rounding : {"nearest", "stochastic"}
        Of sums in BF16 and FP16, hop by hop.
    seed : int
    costs : fabric.Costs
    """

    topology: Topology
    algorithm: str = "ring"
    rounding: str = "nearest"
    seed: int = 0
    costs: fabric.Costs = field(default_factory=fabric.Costs)

    # -- values: what ``xla.executor.Setting.collectives`` is asked for -------------------------

    def all_reduce(self, flat: np.ndarray, node: Node) -> np.ndarray:
        """Return float32[elements], the same for all ranks: the sum (mean, max, min) of rows."""
        kind, dtype = node.of["kind"], _type(node).dtype
        if kind in ("max", "min"):
            return getattr(flat, kind)(axis=0)
        total = self.total(flat, dtype)
        return total / np.float32(len(flat)) if kind == "mean" else total

    def reduce_scatter(self, flat: np.ndarray, node: Node) -> np.ndarray:
        """Return float32[ranks, elements / ranks]: each rank its part of the sum."""
        return self.all_reduce(flat, node).reshape(len(flat), -1)

    def all_gather(self, flat: np.ndarray, node: Node) -> np.ndarray:
        """Return float32[ranks * elements]: all rows, one after the other."""
        return flat.reshape(-1)

    def total(self, flat: np.ndarray, dtype: str) -> np.ndarray:
        """Return the sum of rows in the order of the schedule, rounded as the dtype is."""
        schedule = self.schedule("all_reduce")
        if dtype == "float32":
            return fabric.execute(schedule, flat)[0]
        held = flat.astype(get_format(dtype).dtype)
        out = fabric.execute(schedule, held, rounding=self.rounding, seed=self.seed)[0]
        return out.astype(np.float32)

    # -- time: what ``xla.executable.Executable`` is asked for ----------------------------------

    def collective(self, node: Node) -> Band:
        """Return the ns of one collective, and the range that facts about links leave.

        A hop takes 1 to 2 us (`aws-intranode`), and nobody says whether a link's bandwidth counts
        one direction or both: the slow end halves it.  EFA and HBM have one documented rate each.
        """
        return _band(replace(self, rounding="nearest", seed=0), node.operation, _nbytes(node))

    def busy_ns(self, node: Node) -> np.ndarray:
        """Return float64[links]: for how long one collective keeps each directed link busy."""
        return _bill(replace(self, rounding="nearest", seed=0), node.operation, _nbytes(node))[1]

    def account(self, node: Node) -> fabric.Account:
        """Return the bill of one collective, step by step; of up to 512 ranks."""
        name = Collective(node.operation)
        return fabric.account(self.schedule(name), self.topology, _nbytes(node), self.costs)

    def schedule(self, collective: str):
        """Return who sends what to whom."""
        if self.topology.instances == 1:
            return fabric.plan(self.topology, collective, self.algorithm)
        return fabric.plan(self.topology, collective, "hierarchical", intra=self.inside)

    @property
    def inside(self) -> str:
        """What each of several instances does."""
        return "ring" if self.algorithm == "hierarchical" else self.algorithm


@lru_cache(maxsize=4096)
def _bill(reached: Links, operation: str, nbytes: int) -> tuple[float, np.ndarray]:
    """Return the ns of one collective, and those in which each directed link is busy."""
    topology = reached.topology
    if topology.instances == 1:
        bill = fabric.account(reached.schedule(operation), topology, nbytes, reached.costs)
        return bill.total_ns, bill.utilisation * bill.total_ns
    bill = fabric.hierarchical_time(topology, nbytes, intra=reached.inside, costs=reached.costs)
    before, between, after = (stage.total_ns for stage in bill.stages)
    busy_ns = bill.link_bytes / topology.bandwidth_bytes_per_s * 1e9
    if operation == "all_reduce":
        return bill.total_ns, busy_ns
    inside = before if operation == "reduce_scatter" else after  # an all-reduce is both halves
    return inside + between / 2, busy_ns / 2


@lru_cache(maxsize=4096)
def _band(reached: Links, operation: str, nbytes: int) -> Band:
    """Return the ns of one collective with the ends of what facts leave open."""

    def ns(**ends):
        return _bill(_with_facts(reached, **ends), operation, nbytes)[0]

    nominal = ns()
    low, high = (ns(hop_ns=float(hop)) for hop in FABRIC.hop_latency_ns.value)
    slowest = ns(hop_ns=float(FABRIC.hop_latency_ns.value[1]), shared=True)
    effects = {"NeuronLink hop": (low, high), "NeuronLink direction": (nominal, ns(shared=True))}
    moved = {name: ends for name, ends in effects.items() if ends[0] < ends[1]}
    return Band(low, nominal, slowest, moved)


@lru_cache(maxsize=256)
def _with_facts(reached: Links, hop_ns: float | None = None, shared: bool = False) -> Links:
    """Return links with another hop, or with the figure shared by both directions.

    What was given another value than the facts' nominal one is taken as certain.
    """
    topology, costs = reached.topology, reached.costs
    cables = (topology.src < topology.chips) & (topology.dst < topology.chips)
    if shared and topology.direction == "one_way":
        speed = np.where(cables, 0.5, 1.0) * topology.bandwidth_bytes_per_s
        topology = replace(topology, bandwidth_bytes_per_s=speed)
    if hop_ns is not None:
        at = cables & (topology.latency_ns == fabric.HOP_LATENCY_NS)
        topology = replace(topology, latency_ns=np.where(at, hop_ns, topology.latency_ns))
        if costs.on_chip_latency_ns == fabric.HOP_LATENCY_NS:
            costs = replace(costs, on_chip_latency_ns=hop_ns)
    return replace(reached, topology=topology, costs=costs)


def _nbytes(node: Node) -> int:
    return sum(t.size * get_dtype(t.dtype).itemsize for t in _types(node))


def _types(node) -> list[Type]:
    """Return the whole buffers of a collective: inputs, or what they are gathered into."""
    if node.operation == "all_gather":
        return [node.type]
    return [one.type for one in node.inputs]


def _type(node) -> Type:
    return node.inputs[0].type


@checked
def links(ranks: int, instance: str = "trn1.32xlarge", **options) -> Links | None:
    """Return how a number of ranks reach each other on the fewest instances that hold them.

    Parameters
    ----------
    ranks : int
        As many as the instance has NeuronCores, or a part of them that has a place; multiples of
        32 on several trn1.32xlarge or trn1n.32xlarge.
    instance : str
        A Trn1 or Inf2 size.
    **options
        Of :class:`Links`.

    Returns
    -------
    Links or None
        None for one rank, which needs nobody.

    Examples
    --------
    >>> links(8).topology
    Topology('8 ranks of trn1.32xlarge', 4 chips, 8 ranks, 8 directed links)
    """
    whole(ranks, "ranks", 1)
    if instance not in _ON_INSTANCE:
        raise FabricError(f"{instance!r} is no instance with links; use {', '.join(_ON_INSTANCE)}")
    if ranks == 1:
        return None
    build, cores = _ON_INSTANCE[instance]
    return Links(_topology(ranks, instance, build, cores), **options)


@lru_cache(maxsize=64)
def _topology(ranks, instance, build, cores) -> Topology:
    """Return the links of an instance, of a part of it, or of several."""
    if ranks == cores:
        return replace(build(), name=instance)
    if ranks > cores:
        if cores == 32 and ranks % cores == 0:
            return fabric.ultracluster(ranks // 2, instance=instance)
        many = "EFA joins whole trn1.32xlarge and trn1n.32xlarge; use a multiple of 32 ranks there"
        raise FabricError(f"{ranks} ranks do not fit {instance}, which has {cores}: {many}")
    speed = float(getattr(FABRIC, _LINK_OF[instance]))
    if cores == 32:
        part = fabric.group(ranks, link_bytes_per_s=speed)
    elif ranks % 2:
        raise FabricError(
            f"{ranks} ranks have no place on {instance}: its chips have 2 each; use an even number"
        )
    else:  # some chips of a ring are a line
        part = fabric.product((ranks // 2,), (False,), name="", link_bytes_per_s=speed,
                              ranks_per_chip=2, latency_ns=fabric.HOP_LATENCY_NS)  # fmt: skip
    return replace(part, name=f"{ranks} ranks of {instance}")


#: The fact that says how fast one link of an instance is.
_LINK_OF = {
    "trn1.32xlarge": "link_bytes_per_s_trn1", "trn1n.32xlarge": "link_bytes_per_s_trn1n",
    "inf2.24xlarge": "link_bytes_per_s", "inf2.48xlarge": "link_bytes_per_s",
}  # fmt: skip


@checked
def compiler_for(instance: str, times: Links | None, overlap: bool = True) -> Compiler:
    """Return a compiler for the chip of an instance, which lets these links sum.

    Examples
    --------
    >>> compiler_for("inf2.48xlarge", None).flags.target
    'inf2'
    """
    target = "inf2" if instance.startswith("inf2") else None
    return Compiler(parse(f"--target={target}" if target else ""), times=times, overlaps=overlap)
