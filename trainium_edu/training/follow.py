"""Follow a bit: where one weight's new value came from, and what another toss would have changed.

A run is repeatable to the last bit, so any step can be taken again with a look at every value.
These are the shards that ranks added, the order in which links carried them, the update in FP32,
its two BF16 neighbours, and the random bits that chose between them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from trainium_edu import numerics
from trainium_edu.fabric.routing import route
from trainium_edu.fabric.schedule import Op, groups, item_sizes
from trainium_edu.specs.arguments import short, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.parallel.collectives import Links
from trainium_edu.training.refusals import sentence
from trainium_edu.training.trainer import Run, Trainer
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executor import Plan, Setting
from trainium_edu.xla.graph import Node, walk
from trainium_edu.xla.operations.table import OPERATIONS
from trainium_edu.xla.tensor import as_tensor

__all__ = ["Explained", "Future", "Futures", "Hop", "explain", "flip", "hops_of"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One move of the weight's gradient between two ranks.

    Attributes
    ----------
    step : int
        Of the all-reduce.
    src, dst : int
        Ranks.
    chips : tuple of int
        The way, chip by chip; one chip where both ranks share it.
    carried : float
        What arrived.
    held : float
        What the receiver has afterwards.
    adds : bool
        Whether it was added, or took the place of what was there.
    """

    step: int
    src: int
    dst: int
    chips: tuple[int, ...]
    carried: float
    held: float
    adds: bool


@dataclass(frozen=True, slots=True)
class Toss:
    """A choice between two BF16 neighbours.

    Attributes
    ----------
    low, high : float
        The neighbours, `low` nearer to zero.
    share : float
        How far the exact value is on the way from `low` to `high`: the chance of `high`.
    random_bits : int or None
        Of 16; `high` if these and the value's lower 16 bits reach 65,536.  None to nearest.
    """

    low: float
    high: float
    share: float
    random_bits: int | None


@dataclass(frozen=True, slots=True)
class Explained:
    """The origin of one weight's value after one step.

    Attributes
    ----------
    step : int
    name : str
    index : tuple of int
    before, after : float
    shards : float32[ranks]
        Each rank's own gradient of this weight.
    hops : tuple of Hop
        In order; the sum's way, then its copies' way to all ranks.
    total : float
        What all ranks have in the end.
    scale : float
        Times which the sum is the mean.
    exact : float
        The update in FP32, before it is rounded.
    toss : Toss or None
        None in FP32, where nothing is tossed.
    """

    step: int
    name: str
    index: tuple[int, ...]
    before: float
    after: float
    shards: np.ndarray = field(repr=False)
    hops: tuple[Hop, ...] = field(repr=False)
    total: float
    scale: float
    exact: float
    toss: Toss | None

    def __str__(self):
        place = f"{self.name}[{', '.join(map(str, self.index))}]"
        adds = [hop for hop in self.hops if hop.adds]
        lines = [
            f"{place}, step {self.step}: {self.before:.9g} became {self.after:.9g}",
            f"  {len(self.shards)} ranks had gradients from {self.shards.min():.6g} to "
            f"{self.shards.max():.6g}; rank 0's was {self.shards[0]:.9g}",
            f"  {len(adds)} additions on the way made {self.total:.9g}; times {self.scale:g} "
            f"it is the mean, {self.total * self.scale:.9g}",
            f"  the update in FP32: {self.exact:.9g}",
        ]
        if self.toss is not None:
            toss = self.toss
            rule = (
                "the nearer one is taken" if toss.random_bits is None else
                f"random bits {toss.random_bits}: {'up' if self.after == toss.high else 'down'}"
            )  # fmt: skip
            lines.append(
                f"  between {toss.low:.9g} and {toss.high:.9g}, {toss.share:.1%} of the way; {rule}"
            )
        return "\n".join(lines)


# -- going back ---------------------------------------------------------------------------------


def _before(run: Run, step: int) -> Trainer:
    """Return a trainer that is about to take a step, as the run was."""
    trainer = Trainer(run.job, task=run.trainer.task, reached=run.trainer.links)
    trainer.device.compiler = run.trainer.device.compiler  # what it compiled is found there
    known = max((number for number in run.remembered if number <= step), default=0)
    if known:
        trainer.load_state(run.remembered[known])
    while trainer.number < step:
        trainer.step()
    return trainer


def _parsed(trainer: Trainer, weight) -> tuple[str, tuple[int, ...]]:
    """Return name and index of "2.weight[3, 5]"."""
    shapes = {name: p.shape for name, p in trainer.model.named_parameters()}
    found = re.fullmatch(r"\s*([\w.]+)\s*\[([\d,\s]+)\]\s*", weight)
    name = found and found[1]
    if not found or name not in shapes:
        first, names = next(iter(shapes)), ", ".join(shapes)
        raise ValueError(sentence("follow.weight", weight=short(weight), first=first, names=names))
    index = tuple(int(part) for part in found[2].split(",") if part.strip())
    shape = shapes[name]
    if len(index) != len(shape) or any(i >= n for i, n in zip(index, shape, strict=True)):
        raise ValueError(f"{weight} does not exist: {name} has shape {list(shape)}")
    return name, index


def _checked(run: Run, step: int) -> int:
    if run.job.ranks == 1 or run.job.zero:
        why = "one rank sums with nobody" if run.job.ranks == 1 else "ZeRO's ranks own parts"
        raise ValueError(sentence("follow.no_sum", why=why))
    if not run.steps:
        raise ValueError("the run has no steps; fit it first")
    return whole(step, "step", 0, run.steps[-1].number)


# -- one step, looked at ------------------------------------------------------------------------


def _output(executable: Executable, name: str) -> int:
    """Return which output takes the place of a parameter."""
    parameters = executable.final.parameters
    return next(
        out for out, parameter in executable.graph.donated
        if parameters[parameter].of["name"] == name
    )  # fmt: skip


def _bucket(root: Node, name: str) -> tuple[Node, int]:
    """Return the all-reduce behind an update, and which of its operands is the weight's."""
    for node in reversed(walk([root])):
        if node.operation == "item" and node.inputs[0].operation == "all_reduce":
            return node.inputs[0], node.of["index"]
        if node.operation == "all_reduce" and len(node.inputs) == 1:
            return node, 0
    raise ValueError(f"{name} is not summed over ranks in this step")


def hops_of(reached: Links, shards: np.ndarray, element: int, size: int, dtype: str,
          seed: int) -> tuple[Hop, ...]:  # fmt: skip
    """Take one element of a buffer through the all-reduce's moves, as the executor does."""
    schedule, topology = reached.schedule("all_reduce"), reached.topology
    sizes = item_sizes(schedule, reached.padded(size))
    ends = np.cumsum(sizes)
    item = int(np.searchsorted(ends, element, side="right"))
    inside, width = element - int(ends[item] - sizes[item]), int(sizes.max())
    held, hops = shards.astype(np.float32), []
    for rows, rounds in groups(schedule):
        carried = held[schedule.src[rows]]
        for turn, chosen in enumerate(rounds):
            for k in chosen[schedule.item[rows[chosen]] == item]:
                row = rows[k]
                src, dst = int(schedule.src[row]), int(schedule.dst[row])
                step = int(schedule.step[row])
                is_sum = schedule.op[row] == Op.ADD
                new = held[dst] + carried[k] if is_sum else carried[k]
                if is_sum and dtype != "float32":
                    bits = None
                    if reached.rounding == "stochastic":
                        bits = numerics.draw_bits(1, seed=seed, step=step * 4096 + turn,
                                                  offset=item * width + inside)  # fmt: skip
                    (new,) = numerics.round_to(np.asarray([new], np.float32), dtype,
                                               reached.rounding, random_bits=bits)  # fmt: skip
                held[dst] = new
                chips = _chips_between(topology, src, dst)
                hops.append(Hop(step, src, dst, chips, float(carried[k]), float(new), bool(is_sum)))
    return tuple(hops)


def _chips_between(topology, src, dst) -> tuple[int, ...]:
    first, last = (int(topology.chip_of(rank)) for rank in (src, dst))
    return first, *(int(topology.dst[link]) for link in route(topology, first, last))


def _toss(exact: float, root: Node, element: int, plan: Plan, setting: Setting) -> Toss | None:
    if root.dtype != "bfloat16":
        return None
    word = int(np.float32(exact).view(np.uint32))
    below, part = word & 0xFFFF0000, word & 0xFFFF
    low, high = (float(np.uint32(w).view(np.float32)) for w in (below, below + 0x10000))
    seed, step = plan.draw_of(root, setting)
    bits = int(numerics.draw_bits(1, seed=seed, step=step, offset=element)[0])
    return Toss(low, high, part / 65536, bits if setting.rounding == "stochastic" else None)


@checked
def explain(run: Run, step: int, weight: str) -> Explained:
    """Take a step of a run again, and tell where one weight's new value came from.

    Parameters
    ----------
    run : Run
        Of :func:`~trainium_edu.training.fit`.
    step : int
        From 0.
    weight : str
        Name and index, as in ``"2.weight[3, 5]"``.

    Returns
    -------
    Explained

    Raises
    ------
    ValueError
        For a step that was not taken, a weight that is not there, a run of one rank or of ZeRO.

    Examples
    --------
    >>> from trainium_edu.training import Job, fit
    >>> told = explain(fit(Job(ranks=2, batch=8), 2), 1, "0.bias[0]")
    >>> len(told.shards), sum(hop.adds for hop in told.hops)
    (2, 1)
    """
    step = _checked(run, step)
    trainer = _before(run, step)
    name, index = _parsed(trainer, weight)
    before = _weight(trainer, name)[(0, *index)]
    device = trainer.device
    device.keep_feeds = True
    trainer.step()
    newest = device.newest_run
    assert newest is not None  # they were asked to be kept
    executable, feeds, setting = newest.executable, newest.feeds, newest.setting
    plan, out = executable.plan, _output(executable, name)
    root = executable.final.outputs[out]
    bucket, operand = _bucket(root, name)
    needed = {*root.inputs, bucket, bucket.inputs[operand]}
    seen = dict(zip(executable.final.parameters, feeds, strict=True))

    def look(node, value):
        if node in needed:
            seen[node] = value

    plan.run(feeds, setting, look=look)
    element = int(np.ravel_multi_index(index, root.type.shape))
    local = seen[bucket.inputs[operand]]
    shards = np.broadcast_to(local, (run.job.ranks, *root.type.shape)).reshape(run.job.ranks, -1)
    shards = shards[:, element].copy()
    types = [one.type for one in bucket.inputs]
    first = sum(type.size for type in types[:operand])
    reached = trainer.links
    assert reached is not None  # there are several ranks
    hops = hops_of(reached, shards, first + element, sum(type.size for type in types),
                 types[0].dtype, reached.seed_of(plan.draw_of(bucket, setting)[1]))  # fmt: skip
    value = OPERATIONS[root.operation].value
    assert value is not None  # it was run
    exact = value(root, *(seen[i] for i in root.inputs))
    exact = float(exact.reshape(-1, root.type.size)[0, element])
    return Explained(
        step, name, index, float(before), float(_weight(trainer, name)[(0, *index)]), shards,
        hops, float(hops[-1].held), float(bucket.of.get("scale", 1.0)), exact,
        _toss(exact, root, element, plan, setting),
    )  # fmt: skip


def _weight(trainer, name) -> np.ndarray:
    """Return a weight's replicas, [ranks, ...]."""
    return dict(trainer.model.named_parameters())[name].numpy()


# -- another toss -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Future:
    """Both runs after one more step."""

    step: int
    loss: float
    loss_if: float  #: had the toss fallen the other way
    weights: int  #: that differ by now
    images: tuple[int, ...]  #: test samples that are named differently


@dataclass(frozen=True, slots=True)
class Futures:
    """The steps after a toss, and those after the opposite toss."""

    explained: Explained
    other: float  #: what the weight would have become
    after: tuple[Future, ...] = field(repr=False)

    @property
    def first(self) -> Future | None:
        """The first step after which a prediction differs; None if none did."""
        return next((one for one in self.after if one.images), None)

    def __str__(self):
        told = self.explained
        lines = [
            f"{told.name}{list(told.index)} became {told.after:.9g} in step {told.step}; the other "
            f"way {self.other:.9g}"
        ]
        lines += [
            f"  after step {one.step}: {one.weights} weights differ, losses {one.loss:.6f} and "
            f"{one.loss_if:.6f}" for one in self.after[:: max(1, len(self.after) // 5)]
        ]  # fmt: skip
        lines.append(
            f"  the first prediction to differ: test sample {self.first.images[0]}, after step "
            f"{self.first.step}" if self.first else
            f"  no prediction differs after {len(self.after)} steps"
        )  # fmt: skip
        return "\n".join(lines)


@checked
def flip(run: Run, step: int, weight: str, *, steps: int = 100) -> Futures:
    """Turn one toss around, and take the following steps side by side.

    Parameters
    ----------
    run, step, weight
        As in :func:`explain`.
    steps : int
        After which to give up; a prediction that differs ends it earlier.

    Returns
    -------
    Futures

    Raises
    ------
    ValueError
        As :func:`explain`; and where nothing was tossed: in FP32, or if the value was exact.
    """
    whole(steps, "steps", 1, 10_000)
    explained = explain(run, step, weight)
    if explained.toss is None or not explained.toss.share:
        why = "it is kept in FP32" if explained.toss is None else "the new value is a BF16 number"
        raise ValueError(sentence("follow.not_tossed", weight=weight, step=step, why=why))
    other = explained.toss.low if explained.after == explained.toss.high else explained.toss.high
    was = _before(run, step + 1)
    instead = _before(run, step + 1)
    values = _weight(instead, explained.name)
    element = np.ravel_multi_index(explained.index, values.shape[1:])
    values.reshape(len(values), -1)[:, element] = other
    tensor = dict(instead.model.named_parameters())[explained.name]
    tensor.set_(as_tensor(values, instead.device, tensor.dtype, per_replica=True))
    return Futures(explained, other, tuple(_side_by_side(was, instead, steps)))


def _side_by_side(was: Trainer, instead: Trainer, steps: int) -> Iterator[Future]:
    """Take steps in both, until a prediction differs."""
    for _ in range(steps):
        one, two = was.step(), instead.step()
        pairs = zip(was.weights().values(), instead.weights().values(), strict=True)
        differ = sum(int((a != b).sum()) for a, b in pairs)
        said = was.predictions() != instead.predictions()
        images = tuple(np.flatnonzero(said.reshape(len(said), -1).any(axis=1)).tolist())
        yield Future(one.number, one.loss, two.loss, differ, images)
        if images:
            return
