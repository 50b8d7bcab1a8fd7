"""How ranks reach each other: sums over a topology's links, in a stated order, and their time.

The one line where ``xla`` and ``fabric`` meet: an executor passes one row per rank, and gets the
sums that the schedule's moves make, addition by addition.  All ranks end with the same bits (the
last hop copies), so one row stands for all of them.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from trainium_edu import fabric
from trainium_edu.fabric.collectives import MOST_RANKS
from trainium_edu.fabric.topology import FabricError, Topology
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.specs import FABRIC, INSTANCES
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.instances import with_cores
from trainium_edu.specs.signatures import checked
from trainium_edu.training.refusals import sentence
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.flags import parse
from trainium_edu.xla.graph import Node

__all__ = ["Links", "compiler_for", "links", "reach"]

_APART = 0x9E3779B97F4A7C15  #: seeds of two sums lie as far apart


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

    def all_reduce(self, flat: np.ndarray, node: Node, draw: int = 0) -> np.ndarray:
        """Return the sum (mean, max, min) of rows: one row if all ranks have the same.

        `draw` says which random bits, as ``step`` does in ``numerics.cast``.
        """
        if len(self._groups(node, len(flat))) == 1:
            return self._reduced(flat, node, draw)
        return self._by_group(flat, node, lambda rows: self._reduced(rows, node, draw))

    def reduce_scatter(self, flat: np.ndarray, node: Node, draw: int = 0) -> np.ndarray:
        """Return [ranks, elements / world]: to each rank its part of what an all-reduce gives."""
        if len(self._groups(node, len(flat))) == 1:
            return self._reduced(flat, node, draw).reshape(len(flat), -1)
        return self._by_group(
            flat, node, lambda rows: self._reduced(rows, node, draw).reshape(len(rows), -1)
        )

    def all_gather(self, flat: np.ndarray, node: Node, draw: int = 0) -> np.ndarray:
        """Return [ranks, world * elements]: the group's rows, one after the other, for each."""
        return self._by_group(flat, node, lambda rows: rows.reshape(-1))

    def all_to_all(self, flat: np.ndarray, node: Node, draw: int = 0) -> np.ndarray:
        """Return to rank r of a group the part r of each one's row, in the order of ranks."""

        def exchanged(rows):
            parts = rows.reshape(len(rows), len(rows), -1)
            return parts.swapaxes(0, 1).reshape(len(rows), -1)

        return self._by_group(flat, node, exchanged)

    def collective_permute(self, flat: np.ndarray, node: Node, draw: int = 0) -> np.ndarray:
        """Return to each rank the row of the one that sends to it, else zeros."""
        out = np.zeros_like(flat)
        for source, target in node.of["pairs"]:
            out[target] = flat[source]
        return out

    def total(self, rows: np.ndarray, dtype: str, draw: int = 0) -> np.ndarray:
        """Return the sum of rows in the order of the schedule, rounded as the dtype is.

        Rows count as padded to a multiple of the ranks, as a reduce-scatter needs: so an element is
        summed in the same order by an all-reduce of a buffer and by a reduce-scatter of it.
        """
        fmt, seed = get_dtype(dtype).fmt, self.seed_of(draw)
        if len(rows) > MOST_RANKS:
            return fabric.sum_in_ring(rows, fmt, self.rounding, seed=seed)
        schedule, padded = self.schedule("all_reduce"), self.padded(rows.shape[1])
        return fabric.sum_rows(schedule, rows, fmt, self.rounding, seed=seed, elements=padded)

    def padded(self, elements: int) -> int:
        """Return to what length rows count as padded."""
        return -(-elements // self.topology.ranks) * self.topology.ranks

    def seed_of(self, draw: int) -> int:
        """Return the seed of the random bits of one collective."""
        return (self.seed + _APART * draw) % 2**63

    def among(self, ranks: int) -> "Links":
        """Return the links of one group of ranks, taken as neighbours on one instance."""
        if ranks == self.topology.ranks:
            return self
        return replace(self, topology=_part(self.topology, ranks))

    def _reduced(self, rows, node, draw):
        kind, type = node.of["kind"], node.inputs[0].type
        if kind in ("max", "min"):
            return getattr(rows, kind)(axis=0)
        if type.is_float:
            total = self.among(len(rows)).total(rows, type.dtype, draw)
        else:
            total = rows.sum(axis=0, dtype=rows.dtype)  # exact, or wraps: the same in any order
        return (total / np.float32(len(rows))).astype(rows.dtype) if kind == "mean" else total

    def _by_group(self, flat, node, work) -> np.ndarray:
        """Return what `work` makes of each group's rows, at the places of its ranks."""
        groups = self._groups(node, len(flat))
        made = [work(flat[ranks]) for ranks in groups]
        out = np.empty((len(flat), made[0].shape[-1]), flat.dtype)
        for ranks, rows in zip(groups, made, strict=True):
            out[ranks] = rows
        return out

    def _groups(self, node, count) -> list[list[int]]:
        """Return the ranks that take part together; raise unless each is in one group."""
        groups = [list(group) for group in node.of.get("groups") or [range(count)]]
        if sorted(rank for group in groups for rank in group) != list(range(count)):
            raise FabricError(sentence("links.left_out", node=node, groups=groups, count=count))
        return groups

    # -- time: what ``xla.executable.Executable`` is asked for ----------------------------------

    def collective(self, node: Node) -> Band:
        """Return the ns of one collective, and the range that facts about links leave.

        A hop takes 1 to 2 us (`aws-intranode`), and nobody says whether a link's bandwidth counts
        one direction or both: the slow end halves it.  EFA and HBM have one documented rate each.
        """
        return _band(self._timed(node), node.operation, _nbytes(node), _target(node))

    def _timed(self, node) -> "Links":
        """Return the links of those who take part together; values do not count."""
        groups = node.of.get("groups")
        reached = self.among(len(groups[0])) if groups else self
        return replace(reached, rounding="nearest", seed=0)

    def busy_ns(self, node: Node) -> np.ndarray:
        """Return float64[links]: for how long one collective keeps each directed link busy.

        Zeros for one of parts of the ranks, whose places are not known here.
        """
        busy = _bill(self._timed(node), node.operation, _nbytes(node), target=_target(node)).busy_ns
        return busy if len(busy) == self.topology.links else np.zeros(self.topology.links)

    def account(self, node: Node) -> fabric.Account:
        """Return the bill of one collective, step by step; of up to 512 ranks."""
        here = self._timed(node)
        schedule = here.schedule(node.operation, _target(node))
        return fabric.account(schedule, here.topology, _nbytes(node), here.costs)

    def schedule(self, collective: str, target: tuple[int, ...] = ()):
        """Return who sends what to whom; of a permute by `target`."""
        if target:
            return fabric.plan(self.topology, "permute", "mesh", target=target)
        if collective == "all_to_all":  # everybody sends to everybody at once: the fastest
            return fabric.plan(self.topology, collective, "mesh")
        if self.topology.instances == 1:
            return fabric.plan(self.topology, collective, self.algorithm)
        return fabric.plan(self.topology, collective, "hierarchical", intra=self.inside)

    @property
    def inside(self) -> str:
        """The algorithm inside each of several instances."""
        return "ring" if self.algorithm == "hierarchical" else self.algorithm


@dataclass(frozen=True, slots=True)
class _Bill:
    """The time of one collective."""

    hops_ns: float  #: latency of hops, which the documents give a range
    rest_ns: float
    busy_ns: np.ndarray  #: float64[links], for how long each directed link carries something


@lru_cache(maxsize=4096)
def _bill(reached: Links, operation: str, nbytes: int, shared: bool = False,
          target: tuple[int, ...] = ()) -> _Bill:  # fmt: skip
    """Return what one collective takes; `shared`: both directions share a link's figure."""
    topology, costs = reached.topology, reached.costs
    cables = (topology.src < topology.chips) & (topology.dst < topology.chips)
    if shared and topology.direction == "one_way":
        speed = np.where(cables, 0.5, 1.0) * topology.bandwidth_bytes_per_s
        topology = replace(topology, bandwidth_bytes_per_s=speed)
    if topology.instances == 1 or operation == "all_to_all" or target:
        bill = fabric.account(reached.schedule(operation, target), topology, nbytes, costs)
        hops, total = float(bill.latency_ns.sum()), bill.total_ns
        busy_ns = bill.utilisation * total
    else:
        stages = fabric.hierarchical_time(topology, nbytes, intra=reached.inside, costs=costs)
        scatter, between, gather = stages.stages
        inside = [scatter, gather]
        share = 1.0
        if operation != "all_reduce":  # which is the two others, one after the other
            inside, share = [scatter if operation == "reduce_scatter" else gather], 0.5
        hops = sum(stage.latency_ns for stage in inside)
        total = sum(stage.total_ns for stage in inside) + share * between.total_ns
        busy_ns = share * stages.link_bytes / topology.bandwidth_bytes_per_s * 1e9
    # a latency that was given is certain
    if {*topology.latency_ns[cables], costs.on_chip_latency_ns} != {fabric.HOP_LATENCY_NS}:
        hops = 0.0
    return _Bill(hops, total - hops, busy_ns)


@lru_cache(maxsize=4096)
def _band(reached: Links, operation: str, nbytes: int, target: tuple[int, ...]) -> Band:
    """Return the ns of one collective with the ends of what facts leave open."""
    usual, shared = (_bill(reached, operation, nbytes, both, target) for both in (False, True))
    few, many = (hop / fabric.HOP_LATENCY_NS for hop in FABRIC.hop_latency_ns.value)
    nominal, slower = usual.hops_ns + usual.rest_ns, shared.hops_ns + shared.rest_ns
    ends = usual.rest_ns + few * usual.hops_ns, usual.rest_ns + many * usual.hops_ns
    effects = {"NeuronLink hop": ends, "NeuronLink direction": (nominal, slower)}
    moved = {name: both for name, both in effects.items() if both[0] < both[1]}
    return Band(ends[0], nominal, shared.rest_ns + many * shared.hops_ns, moved)


def _nbytes(node: Node) -> int:
    """Return the bytes of a collective's whole buffers: inputs, or what they are gathered into."""
    times = node.of["world"] if node.operation == "all_gather" else 1
    return times * sum(one.type.nbytes for one in node.inputs)


@lru_cache(maxsize=64)
def _part(topology: Topology, ranks: int) -> Topology:
    """Return the part of an instance that a group of ranks occupies."""
    if topology.instances > 1 and ranks * topology.instances == topology.ranks:
        return fabric.one_instance(topology)
    if not topology.name.endswith("32xlarge"):
        raise FabricError(sentence("links.no_place", ranks=ranks, topology=topology))
    return fabric.group(ranks, link_bytes_per_s=float(topology.bandwidth_bytes_per_s[0]))


def _target(node: Node) -> tuple[int, ...]:
    """Return the rank that each rank sends to in a permute, -1 for none; of others nothing."""
    sent = dict(node.of.get("pairs", ()))
    return tuple(sent.get(rank, -1) for rank in range(node.of["world"])) if sent else ()


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
    if instance not in with_cores():
        raise FabricError(f"instance is {instance!r}; it must be one of {', '.join(with_cores())}")
    return Links(_topology(ranks, instance), **options) if ranks > 1 else None


def reach(given: Links | None, ranks: int, instance: str, **options) -> Links | None:
    """Return the given links if they reach `ranks` ranks, else those of :func:`links`."""
    if given is None:
        return links(ranks, instance, **options)
    if given.topology.ranks != ranks:
        raise ValueError(sentence("links.reached", ranks=ranks, given=given))
    return given


@lru_cache(maxsize=64)
def _topology(ranks, instance) -> Topology:
    """Return the links of an instance, of a part of it, or of several; each core is a rank."""
    of_chip = int(INSTANCES[instance].chip.cores)
    return fabric.group(ranks, instance, ranks_per_chip=of_chip)


@checked
def compiler_for(instance: str, times: Links | None, overlap: bool = True) -> Compiler:
    """Return a compiler for the chip of an instance, which lets these links sum.

    Examples
    --------
    >>> compiler_for("inf2.48xlarge", None).flags.target
    'inf2'
    """
    target = instance.partition(".")[0] if not instance.startswith("trn1") else None
    return Compiler(parse(f"--target={target}" if target else ""), times=times, overlaps=overlap)
