"""Which plans fit, the fastest first, each with its reason; what fits nowhere, and what would do.

``fits`` answers for one cluster, ``smallest`` for the least number of instances, at all or in time,
with the bound that arithmetic gives (``at_least``) beside it.
How plans are found is in ``search.py``; here they are put into words.

>>> from trainium_edu.cluster.plan import Cluster
>>> plans = fits("gpt3-175b", Cluster("trn1.32xlarge", 32), most=3)
>>> plans.best.memory.fits, len(fits("gpt3-175b", Cluster("trn1.32xlarge", 2)))
(True, 0)
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf
from typing import Any, Literal

from trainium_edu.cluster.memory import memory
from trainium_edu.cluster.models import Transformer, get_model
from trainium_edu.cluster.plan import Cluster, Plan, PlanError
from trainium_edu.cluster.search import CHOICES, Option, Search, divisors
from trainium_edu.cluster.step_time import Rules
from trainium_edu.cluster.work import work
from trainium_edu.specs import INSTANCES
from trainium_edu.specs.arguments import number, whole
from trainium_edu.specs.signatures import checked

__all__ = ["NothingFits", "Option", "Plans", "at_least", "fits", "smallest"]

GiB = 2**30
_HEAD = (f"{'':>4}{'tensor':>6}{'pipeline':>9}{'data':>7}{'ZeRO':>5}{'micro-batch':>12}"
         f"{'interleave':>11}  {'recompute':<10}{'precision':<11}{'GiB':>6}{'step, ms':>13}"
         f"{'MFU':>7}")  # fmt: skip


class NothingFits(PlanError):
    """No plan's memory fits a NeuronCore."""


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans of one model on one cluster, the fastest first.

    Attributes
    ----------
    model : Transformer
    cluster : Cluster
    options : tuple of Option
    why_not : str
        How many plans were looked at, and what became of the others; where nothing fits, which
        number is too large, by how much, and what would do.
    nearest : Option or None
        Where nothing fits, what comes nearest.
    """

    model: Transformer
    cluster: Cluster
    options: tuple[Option, ...]
    why_not: str
    nearest: Option | None = None

    @property
    def best(self) -> Option:
        """The fastest; NothingFits where there is none."""
        if not self.options:
            raise NothingFits(self.why_not)
        return self.options[0]

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def __len__(self):
        return len(self.options)

    def __getitem__(self, index):
        return self.options[index]

    def __str__(self):
        rows = [f"{i:>3} {_row(option)}\n    {option.reason}" for i, option in enumerate(self, 1)]
        return "\n".join([*[_HEAD] * bool(rows), *rows, self.why_not])


def _row(option) -> str:
    """Return one line of a table under _HEAD."""
    plan = option.plan
    return (
        f"{plan.tensor:>6}{plan.pipeline:>9}{plan.data:>7}{plan.zero:>5}"
        f"{plan.micro_batch:>12}{plan.interleave:>11}  {plan.recompute:<10}{plan.precision:<11}"
        f"{option.memory.total / GiB:>6.2f}{option.step_ns / 1e6:>13,.1f}{option.time.mfu:>7.1%}"
    )


@checked
def fits(
    model: str | Transformer,
    cluster: Cluster,
    *,
    global_batch: int = 1024,
    most: int = 10,
    precision: Literal["bf16-sr", "bf16-master", "fp32"] | None = None,
    optimizer: Literal["adamw", "lamb", "sgd"] = "adamw",
    flash_attention: bool = False,
    tensor: int | None = None,
    pipeline: int | None = None,
    zero: int | None = None,
    micro_batch: int | None = None,
    recompute: Literal["none", "selective", "full"] | None = None,
    interleave: int | None = None,
    rules: Rules | None = None,
) -> Plans:
    """Return the plans whose memory fits, the fastest first, each with its reason.

    Parameters
    ----------
    model : str or Transformer
    cluster : Cluster
    global_batch : int
        Samples of all replicas in a step.
    most : int
        How many plans to return.
    precision : {"bf16-sr", "bf16-master", "fp32"}, optional
        Without it "bf16-sr", which no other beats in memory or time; ``why_not`` then adds what
        FP32 master weights would make of the first plan.
    optimizer : {"adamw", "lamb", "sgd"}
    flash_attention : bool
    tensor, pipeline, zero, micro_batch, recompute, interleave : optional
        One value instead of all: whatever divides heads, layers and batch; ZeRO-0 to 3; three kinds
        of recomputation; 1, 2 or 4 parts of the model per stage.
    rules : Rules, optional
        How steps are timed.

    Returns
    -------
    Plans
        Empty where nothing fits: ``nearest`` and ``why_not`` then say what is missing.

    Raises
    ------
    PlanError
        If nothing that was asked for divides.

    Examples
    --------
    >>> plans = fits("gpt3-23b", Cluster("trn1.32xlarge", 4), most=3)
    >>> plans[0].step_ns < plans[1].step_ns, plans[0].memory.total > plans[1].memory.total
    (True, True)
    >>> fits("gpt3-175b", Cluster()).nearest.memory.fits
    False

    Notes
    -----
    Sequence parallelism is taken wherever tensor parallelism is: it holds less, and less is passed
    over (only models of a few hundred tokens could be a per cent faster without).  Plans that
    another beats on both memory and time are left out.
    """
    plans = _planned(_search(
        model, cluster, global_batch=global_batch, precision=precision, optimizer=optimizer,
        flash_attention=flash_attention, tensor=tensor, pipeline=pipeline, zero=zero,
        micro_batch=micro_batch, recompute=recompute, interleave=interleave, rules=rules,
    ), whole(most, "most", 1, 1000))  # fmt: skip
    if not plans.options and plans.nearest is None:
        raise PlanError(plans.why_not)
    return plans


@checked
def at_least(
    model: str | Transformer,
    instance: str = "trn1.32xlarge",
    *,
    precision: Literal["bf16-sr", "bf16-master", "fp32"] = "bf16-sr",
    optimizer: Literal["adamw", "lamb", "sgd"] = "adamw",
) -> int:
    """Return how many instances hold one copy of weights, gradients and states, and nothing else.

    Parameters
    ----------
    model : str or Transformer
    instance : str
    precision : {"bf16-sr", "bf16-master", "fp32"}
    optimizer : {"adamw", "lamb", "sgd"}

    Returns
    -------
    int
        Their bytes over the instance's HBM, rounded up: no plan fits on fewer.

    Examples
    --------
    >>> at_least("gpt3-175b"), at_least("gpt3-175b", precision="bf16-master")
    (3, 6)
    """
    cluster = Cluster(instance)
    plan = Plan(cluster, global_batch=cluster.ranks, precision=precision, optimizer=optimizer)
    held = memory(get_model(model), plan)
    states = held.weights + held.gradients + held.master + held.states
    return -(-states // (held.available * cluster.ranks))


@checked
def smallest(
    model: str | Transformer,
    instance: str = "trn1.32xlarge",
    *,
    days: float | None = None,
    tokens: float | None = None,
    **settings: Any,
) -> Option:
    """Return the fastest plan on the least number of instances that a model fits on.

    Parameters
    ----------
    model : str or Transformer
    instance : str
    days, tokens : float, optional
        Fit in time too: read `tokens` tokens in `days` days.
    **settings
        As for :func:`fits`.

    Returns
    -------
    Option
        Its reason names the bound that arithmetic gives, and what fails on fewer instances.

    Raises
    ------
    NothingFits
        If no number up to a million does.

    Examples
    --------
    >>> smallest("gpt3-46b").plan.cluster.instances, at_least("gpt3-46b")
    (1, 1)
    """
    search = _search(model, Cluster(instance), **_known(settings))
    if (days is None) != (tokens is None):
        raise ValueError("days and tokens belong together: give both, or neither")
    if tokens is None:
        count, why = _fewest(search)
        return replace(_planned(search.on(count), 1).best, reason=why)
    return _in_time(search, number(days, "days", above=0), number(tokens, "tokens", above=0))


def _known(settings) -> dict:
    """Return settings of :func:`fits`; raise a TypeError for others."""
    takes = [name for name, it in inspect.signature(fits).parameters.items()
             if it.kind is it.KEYWORD_ONLY and name != "most"]  # fmt: skip
    for name in settings:
        if name not in takes:
            raise TypeError(f"there is no setting {name!r}; there are {', '.join(takes)}")
    return settings


def _search(model, cluster, *, global_batch=1024, optimizer="adamw", flash_attention=False,
            rules=None, **settings) -> Search:  # fmt: skip
    """Return a search with the settings that were given, and all values of the others."""
    batch, rules = whole(global_batch, "global_batch", 1, 10**9), rules or Rules()
    settings = {name: value for name, value in settings.items() if value is not None}
    for name in settings.keys() & {"tensor", "pipeline", "micro_batch", "interleave"}:
        settings[name] = whole(settings[name], name, 1, 10**9)
    words = {name: settings[name] for name in settings.keys() & {"zero", "recompute", "precision"}}
    Plan(cluster, global_batch=cluster.ranks, optimizer=optimizer, flash_attention=flash_attention,
         **words)  # refuses what is none of the words  # fmt: skip
    chosen = CHOICES | {name: (value,) for name, value in settings.items()}
    return Search(get_model(model), cluster, batch, optimizer, flash_attention, rules, **chosen)


@lru_cache(maxsize=512)
def _planned(search, most) -> Plans:
    """Return the plans of a search, with reasons."""
    fitting, nearest, counts = search.fitting()
    model, cluster = search.model, search.cluster
    if not fitting:
        least = search.lightest()
        if least is None:
            return Plans(model, cluster, (), _nothing_divides(search))
        why = _too_large(search, least, counts["over"])
        return Plans(model, cluster, (), why, replace(search.option(least.plan), reason=why))
    found = search.best(fitting, most)
    best = found[0]
    told = [replace(best, reason=_first_reason(search, best))]
    told += [replace(option, reason=_reason(option, best)) for option in found[1:]]
    return Plans(model, cluster, tuple(told), _counted(counts, nearest, best, len(told)))


def _first_reason(search, best) -> str:
    """Return what keeps the fastest plan from being faster, and where its time goes."""
    parts = sorted(best.time.parts.items(), key=lambda part: -part[1])[:3]
    goes = ", ".join(f"{ns / best.step_ns:.0%} {name}" for name, ns in parts)
    heavier = []
    for words, change in _heavier(best.plan):
        try:
            other = search.option(replace(best.plan, **change))
        except PlanError:
            continue
        if not other.memory.fits and other.step_ns < best.step_ns:
            heavier.append((other.step_ns, other.memory.over / GiB, words))
    wall = "no single change that memory forbids would make it faster"
    if heavier:
        step_ns, over, words = min(heavier)
        faster = best.step_ns / step_ns - 1
        wall = f"{words} it would be {faster:.1%} faster, but {over:.1f} GiB too large"
    across = best.plan.tensor > int(INSTANCES[best.plan.cluster.instance].cores)
    wires = "; its tensor-parallel groups span instances, over EFA" * across
    return f"fastest; {wall}; its time: {goes}{wires}"


def _heavier(plan):
    """Yield changes that need more memory, in words and as settings."""
    if plan.recompute != "none":
        yield "without recomputation", {"recompute": "none"}
    if plan.recompute == "full":
        yield "recomputing attention's scores only", {"recompute": "selective"}
    for size in divisors(plan.global_batch // plan.data):
        if size > plan.micro_batch:
            yield f"with micro-batches of {size}", {"micro_batch": size}
            break
    for name in ("tensor", "pipeline"):
        degree = getattr(plan, name)
        if degree > 1:
            less = divisors(degree)[-2]
            split = plan.sequence_parallel and not (name == "tensor" and less == 1)
            yield f"with {name} {less}", {name: less, "sequence_parallel": split}
    for parts in (2 * plan.interleave,) if plan.pipeline > 1 else ():
        yield f"with {parts} parts per stage", {"interleave": parts}
    for zero in range(plan.zero):
        yield f"with ZeRO-{zero}", {"zero": zero}


def _reason(option, best) -> str:
    """Return what a plan gives and takes beside the fastest."""
    slower = option.step_ns / best.step_ns - 1
    lighter = (best.memory.total - option.memory.total) / GiB
    names = ("tensor", "pipeline", "zero", "micro_batch", "interleave", "recompute")
    both = ((name, getattr(option.plan, name), getattr(best.plan, name)) for name in names)
    changed = ", ".join(f"{_WORDS.get(name, name)} {mine} instead of {its}"
                        for name, mine, its in both if mine != its)  # fmt: skip
    return f"{slower:.1%} slower than the first and {lighter:.1f} GiB lighter: {changed}"


_WORDS = {"zero": "ZeRO", "micro_batch": "micro-batch"}


def _counted(counts, nearest, best, rows) -> str:
    """Return what became of all plans, and what master weights would make of the first."""
    fit, over = counts["fit"], counts["over"]
    words = [f"{fit + over:,} plans"]
    if over:
        words.append(f"{over:,} over memory, the nearest by {nearest.over / GiB:.2f} GiB "
                     f"({_shape(nearest.plan)})")  # fmt: skip
    words.append(f"{fit:,} fit, of which {fit - rows:,} are slower than those shown "
                 "or beaten on both memory and time")  # fmt: skip
    if best.plan.precision == "bf16-sr":
        held = memory(best.memory.model, replace(best.plan, precision="bf16-master"))
        too = f", {held.over / GiB:.1f} too many" * (not held.fits)
        words.append(f"with FP32 master weights and states the first holds "
                     f"{held.total / GiB:.1f} GiB{too}")  # fmt: skip
    return f"{words[0]}: {'; '.join(words[1:])}"


def _too_large(search, nearest, count) -> str:
    """Return that nothing fits: which number, by how much, and what would do."""
    try:
        do = f"{_fewest(search.on(1))[0]} instances would do"
    except NothingFits as nowhere:
        do = str(nowhere)
    part = nearest.largest
    return (
        f"{search.model.name} does not fit {search.cluster.instances} x {search.cluster.instance}: "
        f"of {count:,} plans the nearest ({_shape(nearest.plan)}) holds "
        f"{nearest.total / GiB:,.1f} GiB on a NeuronCore of {nearest.available / GiB:.0f}, "
        f"{nearest.over / GiB:,.1f} too many; {getattr(nearest, part) / GiB:,.1f} are {part}; {do}"
    )


def _nothing_divides(search) -> str:
    """Return why there is no plan at all: the plan's own refusal of what was asked for, or all."""
    model, cluster, batch = search.model, search.cluster, search.global_batch
    asked = {name: getattr(search, name)[0] for name in ("tensor", "pipeline", "micro_batch")
             if getattr(search, name)}  # fmt: skip
    if asked:
        try:
            Plan(cluster, global_batch=batch, interleave=search.interleave[0], **asked).check(model)
        except PlanError as refused:
            return str(refused)
    return (
        f"no plan divides {model.name} among all {cluster.ranks} NeuronCores of "
        f"{cluster.instances} x {cluster.instance}: tensor divides {model.heads} heads, pipeline "
        f"{model.layers} layers, and replicas a global batch of {batch}; take another batch, or "
        "another number of instances"
    )


@lru_cache(maxsize=256)
def _fewest(search) -> tuple[int, str]:
    """Return the least number of instances whose memory suffices, and why none fewer does."""
    name, instance = search.model.name, search.cluster.instance
    bound = at_least(search.model, instance, precision=search.precision[0],
                     optimizer=search.optimizer)  # fmt: skip
    before = "and no number between divides layers, heads and batch"
    for larger in search.larger(bound):
        held, count = larger.lightest(), larger.cluster.instances
        if held.fits:
            why = f"weights, gradients and states alone need {bound} x {instance}"
            return count, f"{why}, {before}" if count > bound else f"{why}: none fewer can do"
        before = (f"and on {count} the nearest plan ({_shape(held.plan)}) is "
                  f"{held.over / GiB:,.1f} GiB too large")  # fmt: skip
    raise NothingFits(
        f"{name} fits no number of {instance} that divides: tensor divides {search.model.heads} "
        f"heads, pipeline {search.model.layers} layers, replicas a global batch of "
        f"{search.global_batch}, {before}; take a larger batch, or more layers and heads"
    )


def _in_time(search, days, tokens) -> Option:
    """Return the best plan on the least number of instances that also finish in time."""
    model, instance = search.model, search.cluster.instance
    count, before = _fewest(search)
    step = work(model, flash_attention=search.flash_attention)
    flops = step.forward_flops + sum(part.backward_flops for part in step.parts)
    peak_days = flops / model.sequence * tokens / float(INSTANCES[instance].peak_flops) / 86400
    most = peak_days / days
    bound, shortest = ceil(min(1e7, most)), inf
    if bound > count:
        before = f"at the peak {bound if most < 1e7 else f'{most:.3g}'} would do"
    for larger in search.larger(max(count, bound)):
        for option in _planned(larger, 1):
            needs = tokens / option.time.tokens_per_s / 86400
            if needs <= days:
                return replace(option, reason=(
                    f"{larger.cluster.instances} x {instance} need {needs:,.1f} days; {before}"
                ))  # fmt: skip
            if needs < shortest:
                shortest, before = needs, f"{larger.cluster.instances} need {needs:,.1f} days"
    raise NothingFits(
        f"{model.name} does not read {tokens:.3g} tokens in {days:g} days on any number of "
        f"{instance} that divides ({before}): replicas divide a global batch of "
        f"{search.global_batch}; take a larger batch, or more days"
    )


def _shape(plan) -> str:
    """Return the degrees of a plan in words."""
    degrees = f"tensor {plan.tensor} x pipeline {plan.pipeline} x data {plan.data}"
    return degrees + f", ZeRO-{plan.zero}" * bool(plan.zero)
