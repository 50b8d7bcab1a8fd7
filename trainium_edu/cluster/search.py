"""A search over all plans of a model on a cluster: memory first, then time, by bounds.

Degrees are divisors, so a cluster of any size has a few thousand plans.  Larger micro-batches need
more memory, so of plans that differ in nothing else the largest that fits is found by halving; what
is heavier in another setting fits no larger ones.

Step times are asked in the order of a lower bound, what all micro-batches take on a stage and the
bubble between them.  Once as many plans as wanted are faster than the next bound, none that
follows comes before them; and a plan that another beats on memory and on its bound is not timed.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import gcd
from typing import Any, NamedTuple

from trainium_edu.cluster.memory import Memory, memory
from trainium_edu.cluster.models import Transformer
from trainium_edu.cluster.plan import Cluster, Plan
from trainium_edu.cluster.step_time import PARTS, Rules, StepTime, step_time
from trainium_edu.specs import INSTANCES

__all__ = ["CHOICES", "Option", "Search", "divisors"]

#: What is tried where nothing is given: nothing means all that divides; the lightest comes first.
CHOICES: dict[str, tuple] = {
    "tensor": (), "pipeline": (), "micro_batch": (), "zero": (3, 2, 1, 0), "interleave": (1, 2, 4),
    "recompute": ("full", "selective", "none"), "precision": ("bf16-sr",),
}  # fmt: skip
#: The parts of a step that every micro-batch pays on its stage.
_MICRO_BATCH = PARTS[: PARTS.index("tensor-parallel sums") + 1]


@dataclass(frozen=True, slots=True)
class Option:
    """A plan, what it holds and takes, and the reason for its rank.

    Attributes
    ----------
    plan : Plan
    memory : Memory
    time : StepTime
    reason : str
    """

    plan: Plan
    memory: Memory
    time: StepTime
    reason: str = ""

    @property
    def step_ns(self) -> float:
        """The time of a step."""
        return self.time.step_ns

    def __str__(self):
        return (
            f"{self.plan}: {self.memory.total / 2**30:.2f} GiB of "
            f"{self.memory.available / 2**30:.0f}, {self.step_ns / 1e6:,.0f} ms a step, "
            f"MFU {self.time.mfu:.1%}; {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class Search:
    """All plans of one model on one cluster; of each setting, the values that may be taken."""

    model: Transformer
    cluster: Cluster
    global_batch: int
    optimizer: Any  #: and the other words: those that a Plan takes
    flash_attention: bool
    rules: Rules
    tensor: tuple[int, ...]
    pipeline: tuple[int, ...]
    micro_batch: tuple[int, ...]
    zero: tuple[int, ...]
    interleave: tuple[int, ...]
    recompute: tuple[Any, ...]
    precision: tuple[Any, ...]

    def on(self, instances: int) -> "Search":
        """Return the same search on another number of instances."""
        return replace(self, cluster=Cluster(self.cluster.instance, instances))

    def larger(self, low: int) -> Iterator["Search"]:
        """Yield the search on `low` and more instances, wherever degrees divide."""
        cores = self.on(1).cluster.ranks
        most = 10**6 if hasattr(INSTANCES[self.cluster.instance], "network_bits_per_s") else 1
        together = {tensor * pipeline for tensor in self._tensors() for pipeline in self._stages()}
        ranks = {n * data for n in together for data in divisors(self.global_batch)}
        for count in sorted({n // cores for n in ranks if n % cores == 0}):
            if low <= count <= most:
                yield self.on(count)

    def _tensors(self):
        model = self.model
        for n in self.tensor or divisors(gcd(model.heads, model.ffn)):
            shared = model.kv_heads % n == 0 or n % model.kv_heads == 0
            if shared and model.heads % n == model.ffn % n == 0:
                yield n

    def _stages(self):
        layers = self.model.layers
        return [n for n in self.pipeline or divisors(layers) if layers % n == 0]

    def groups(self) -> Iterator[tuple["Settings", tuple[int, ...]]]:
        """Yield settings that divide, the lightest first, with their micro-batches."""
        layers, batch = self.model.layers, self.global_batch
        for tensor, pipeline in product(self._tensors(), self._stages()):
            data, rest = divmod(self.cluster.ranks, tensor * pipeline)
            if rest or batch % data:
                continue
            samples = batch // data
            sizes = tuple(n for n in self.micro_batch or divisors(samples) if samples % n == 0)
            zeros = (
                self.zero if data > 1 else self.zero[-1:]
            )  # one replica has nobody to share with
            for parts in self.interleave:
                if parts > 1:
                    if pipeline == 1 or layers // pipeline % parts:
                        continue
                    sizes = tuple(n for n in sizes if samples // n % pipeline == 0)
                if sizes:
                    for more in product(zeros, self.recompute, self.precision):
                        yield Settings(tensor, pipeline, data, parts, *more), sizes

    def plan(self, settings: "Settings", size: int) -> Plan:
        """Return the plan with these settings and this micro-batch."""
        tensor, pipeline, _, parts, zero, again, precision = settings
        split = tensor > 1 and self.model.sequence % tensor == 0
        return Plan(self.cluster, tensor, pipeline, zero, split, size, self.global_batch, again,
                    precision, self.optimizer, parts, self.flash_attention)  # fmt: skip

    def held(self, settings: "Settings", size: int) -> Memory:
        """Return what the plan with these settings and this micro-batch holds."""
        return memory(self.model, self.plan(settings, size))

    def lightest(self) -> Memory | None:
        """Return what the plan that needs least holds; None where nothing divides."""
        first = {name: getattr(self, name)[:1] for name in ("recompute", "interleave")}
        groups = replace(self, **first).groups()
        return min((self.held(one, sizes[0]) for one, sizes in groups), key=_total, default=None)

    def fitting(self) -> tuple[list[tuple["Settings", int]], Memory | None, Counter]:
        """Return what fits (settings, micro-batch), the nearest that does not, how many do or not.

        What is heavier than a plan that does not fit does not fit either, and is not asked.
        """
        fitting, nearest, counts = [], None, Counter()
        largest: dict[Settings, int] = {}  # micro-batch that fits
        for settings, sizes in self.groups():
            most = min((largest.get(s, sizes[-1]) for s in _lighter(settings)), default=sizes[-1])
            low, high = 0, bisect_right(sizes, most)  # so many fit at least, at most
            middle = high
            while low < high:
                held = self.held(settings, sizes[middle - 1])
                if held.fits:
                    low = middle
                else:
                    high = middle - 1
                    nearest = held if nearest is None else min(held, nearest, key=_total)
                middle = (low + high + 1) // 2
            largest[settings] = sizes[low - 1] if low else 0
            fitting += [(settings, size) for size in sizes[:low]]
            counts.update(fit=low, over=len(sizes) - low)
        return fitting, nearest, counts

    def option(self, plan: Plan) -> Option:
        """Return a plan with what it holds and takes."""
        time = step_time(self.model, plan, rules=self.rules)
        return Option(plan, memory(self.model, plan), time)

    def at_least_ns(self, one: "Settings", size: int) -> float:
        """Return what a step takes at least: its micro-batches on a stage, and the bubble."""
        few = min(2, self.cluster.instances)  # several wait for the slowest, one does not
        block, ends = _micro_batch_ns(
            self.model, self.cluster.instance, few, one.tensor, size, one.recompute, one.precision,
            self.flash_attention, self.rules,
        )  # fmt: skip
        stage = block * self.model.layers / one.pipeline
        bubble = (one.pipeline - 1) / one.interleave * stage
        return self.global_batch // (one.data * size) * (stage + ends / one.pipeline) + bubble

    def best(self, fitting: list[tuple["Settings", int]], most: int) -> list[Option]:
        """Return the fastest plans among those that no other beats on both memory and time."""
        front: list[tuple[float, int, Option]] = []  # by time
        bounds = (self.at_least_ns(*each) for each in fitting)
        for bound, i in sorted((bound, i) for i, bound in enumerate(bounds)):
            if len(front) >= most and bound > front[most - 1][0]:
                break
            held = self.held(*fitting[i])
            total = held.total
            if _beaten(front, bound, total):
                continue
            option = Option(held.plan, held, step_time(self.model, held.plan, rules=self.rules))
            step_ns = option.step_ns
            if not _beaten(front, step_ns, total):
                kept = [other for other in front if other[0] < step_ns or other[1] < total]
                front = sorted([*kept, (step_ns, total, option)], key=lambda other: other[0])
        return [option for _, _, option in front[:most]]


class Settings(NamedTuple):
    """All of a plan but its micro-batch."""

    tensor: int
    pipeline: int
    data: int
    interleave: int
    zero: int
    recompute: Any
    precision: Any


def _lighter(settings) -> Iterator[Settings]:
    """Yield settings that need less than these, and differ in one."""
    if settings.zero < 3:
        yield settings._replace(zero=settings.zero + 1)
    if settings.interleave > 1:
        yield settings._replace(interleave=1)
    if settings.recompute != "full":
        yield settings._replace(recompute="full")
    if settings.recompute == "none":
        yield settings._replace(recompute="selective")


@lru_cache(maxsize=4096)
def _micro_batch_ns(model, instance, instances, tensor, size, recompute, precision, flash, rules):
    """Return what a micro-batch takes in one block, and before and after all blocks.

    Asked of the step's own clock for models of one and two blocks; what only a whole plan has
    (sends, sums over replicas, the optimiser) is left out.
    """
    cluster = Cluster(instance, instances)
    while cluster.ranks % tensor:
        cluster = replace(cluster, instances=cluster.instances + 1)
    plan = Plan(
        cluster, tensor, sequence_parallel=tensor > 1 and model.sequence % tensor == 0,
        micro_batch=size, global_batch=cluster.ranks // tensor * size, recompute=recompute,
        precision=precision, flash_attention=flash,
    )  # fmt: skip
    times = (step_time(replace(model, layers=n), plan, rules=rules).parts for n in (1, 2))
    one, two = (sum(parts[name] for name in _MICRO_BATCH) for parts in times)
    return two - one, max(0.0, 2 * one - two)


def _total(held):
    return held.total


def _beaten(front, step_ns, total) -> bool:
    """Return whether something found is no slower than that and needs no more memory."""
    return any(ns <= step_ns and size <= total for ns, size, _ in front)


@lru_cache(maxsize=1024)
def divisors(n: int) -> tuple[int, ...]:
    """Return the divisors of n, in order."""
    small = [i for i in range(1, int(n**0.5) + 1) if n % i == 0]
    return (*small, *(n // i for i in reversed(small) if i * i != n))
