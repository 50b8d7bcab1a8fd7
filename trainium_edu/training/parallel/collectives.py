"""How ranks reach each other: sums over a topology's links, in a stated order, and their time.

The one line where ``xla`` and ``fabric`` meet: an executor hands in one row per rank, and gets the
sums that the schedule's moves make, addition by addition.  All ranks end with the same bits (the
last hop copies), so one row stands for all of them.
"""

from dataclasses import dataclass, field

import numpy as np

from trainium_edu import fabric
from trainium_edu.fabric.schedule import Collective
from trainium_edu.fabric.topology import FabricError, Topology
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.numerics.formats import get_format
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.graph import Node, Type

__all__ = ["Links", "links"]

_ON_INSTANCE = {
    "trn1.2xlarge": (fabric.trn1_2xlarge, 2), "trn1.32xlarge": (fabric.trn1_32xlarge, 32),
    "trn1n.32xlarge": (fabric.trn1n_32xlarge, 32), "inf2.24xlarge": (fabric.inf2_24xlarge, 12),
    "inf2.48xlarge": (fabric.inf2_48xlarge, 24),
}  # fmt: skip


@dataclass(frozen=True)
class Links:
    """A topology with as many ranks as take part, and how they sum over it.

    Attributes
    ----------
    topology : fabric.Topology
    algorithm : str
        A key of ``fabric.ALGORITHMS``.
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
        _check_groups(node, len(flat))
        kind, type = node.of["kind"], _type(node)
        if kind in ("max", "min"):
            return getattr(flat, kind)(axis=0)
        total = self.total(flat, type.dtype if type.is_float else "float32")
        return total / np.float32(len(flat)) if kind == "mean" else total

    def reduce_scatter(self, flat: np.ndarray, node: Node) -> np.ndarray:
        """Return float32[ranks, elements / ranks]: each rank its part of the sum."""
        return self.all_reduce(flat, node).reshape(len(flat), -1)

    def all_gather(self, flat: np.ndarray, node: Node) -> np.ndarray:
        """Return float32[ranks * elements]: all rows, one after the other."""
        _check_groups(node, len(flat))
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

    def collective(self, node: Node) -> float:
        """Return the ns of one collective."""
        return self.account(node).total_ns

    def account(self, node: Node) -> fabric.Account:
        """Return the bill of one collective, step by step."""
        name = Collective(node.operation)
        bytes_ = sum(t.size * get_dtype(t.dtype).itemsize for t in _types(node))
        return fabric.account(self.schedule(name), self.topology, bytes_, self.costs)

    def schedule(self, collective: str):
        """Return who sends what to whom."""
        return fabric.plan(self.topology, collective, self.algorithm)


def _types(node) -> list[Type]:
    """Return the whole buffers of a collective: inputs, or what they are gathered into."""
    if node.operation == "all_gather":
        return [node.type]
    return [one.type for one in node.inputs]


def _check_groups(node, ranks):
    """Refuse groups of some ranks: nobody has laid links for them."""
    groups = node.of.get("groups")
    if groups is not None and [sorted(group) for group in groups] != [list(range(ranks))]:
        where = f" at {node.line}" if node.line else ""
        raise FabricError(f"{node.operation}{where} is of the groups {groups}, and these links sum "
                          f"over all {ranks} ranks; leave groups out")  # fmt: skip


def _type(node) -> Type:
    return node.inputs[0].type


@checked
def links(ranks: int, instance: str = "trn1.32xlarge", **options) -> Links | None:
    """Return how a number of ranks reach each other on the fewest instances that hold them.

    Parameters
    ----------
    ranks : int
    instance : str
        A Trn1 or Inf2 size with several NeuronCores.
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
    if ranks == cores:
        return Links(build(), **options)
    if ranks > cores and instance.startswith("trn1") and ranks % cores == 0 and cores == 32:
        return Links(fabric.ultracluster(ranks // 2, instance=instance), **options)
    if ranks < cores and instance == "trn1.32xlarge":
        return Links(fabric.group(ranks), **options)
    raise FabricError(
        f"{ranks} ranks have no place on {instance}, which has {cores} NeuronCores; use {cores}"
    )
