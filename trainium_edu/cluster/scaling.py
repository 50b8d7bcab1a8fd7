"""How a step grows with its cluster: strong and weak scaling, the wall, stragglers, overhead bars.

Weak scaling keeps the batch of each replica, strong scaling the global batch.  What a step takes
at each size comes from ``step_time.py``; the bars of the keynote need only peaks and networks.

Left out: what a larger batch does to learning, networks that block, other degrees of tensor and
pipeline parallelism at larger sizes (``planner.py`` looks for them).
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from math import erfc, gcd, inf, log, log1p, pi, sqrt
from typing import Literal

import numpy as np

from trainium_edu.cluster.models import Transformer, get_model
from trainium_edu.cluster.plan import Plan, PlanError
from trainium_edu.cluster.step_time import Rules, StepTime, step_time
from trainium_edu.specs import CLAIMS, INSTANCES
from trainium_edu.specs.arguments import choice, number, whole
from trainium_edu.specs.signatures import checked

__all__ = ["KEYNOTE", "Bar", "Generation", "Point", "Wall", "days", 
           "overhead", "scale", "slowest", "utilisation", "wall"]  # fmt: skip

MOST = 6250  # instances: 100,000 chips
EULER, ROOT = 0.5772156649015329, sqrt(2)


@dataclass(frozen=True, slots=True)
class Point:
    """A plan on a number of instances.

    Attributes
    ----------
    instances, chips : int
    plan : Plan or None
        None where the batch cannot be shared out; `reason` says why.
    time : StepTime or None
    efficiency : float
        Samples per second and chip, as a share of those at the first point.
    reason : str
    """

    instances: int
    chips: int
    plan: Plan | None = None
    time: StepTime | None = None
    efficiency: float = 0.0
    reason: str = ""

    @property
    def step_ns(self) -> float:
        """The time of a step; infinite beyond the wall."""
        return self.time.step_ns if self.time else inf

    @property
    def parts(self) -> dict:
        """The step's parts in ns."""
        return self.time.parts if self.time else {}

    @property
    def samples_per_s(self) -> float:
        """Of all chips."""
        return self.time.samples_per_s if self.time else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Of all chips."""
        return self.time.tokens_per_s if self.time else 0.0

    @checked
    def days(self, tokens: float, goodput: float = 1.0) -> float:
        """Return how many days a number of tokens takes; infinite beyond the wall.

        Parameters
        ----------
        tokens, goodput : float
            As in :func:`days`.

        Examples
        --------
        >>> from trainium_edu.cluster.plan import Cluster
        >>> (point,) = scale("gpt3-23b", Plan(Cluster(instances=4), 8, 4), (128,))
        >>> 3 < point.days(300e9, 0.95) < 7
        True
        """
        return days(tokens, self.tokens_per_s, goodput) if self.time else inf

    def __str__(self):
        if not self.time:
            return f"{self.chips:>7} chips  {self.reason}"
        return (f"{self.chips:>7} chips  batch {self.time.plan.global_batch:>7}  step "
                f"{self.step_ns / 1e9:>8.2f} s  {self.tokens_per_s:>12,.0f} tokens/s  "
                f"efficiency {self.efficiency:>6.1%}")  # fmt: skip


@checked
def scale(
    model: str | Transformer,
    plan: Plan,
    instances: tuple = (4, 16, 64, 256, 1024, 4096),
    kind: Literal["weak", "strong"] = "weak",
    *,
    sigma: float | None = None,
    rules: Rules | None = None,
) -> list:
    """Return what a plan's step takes on several numbers of instances.

    Parameters
    ----------
    model : Transformer, or a name in MODELS
    plan : Plan
        Its batch counts; its number of instances only sets that of each replica.
    instances : tuple of int
        The first one's efficiency is 1.  Each must hold a whole number of replicas.
    kind : {"weak", "strong"}
        Weak: each replica keeps its batch.  Strong: all replicas share the global batch, in
        smaller micro-batches where need be.
    sigma : float, optional
        Spread of the ranks' times, for :func:`slowest`: stragglers are then counted so, in place
        of the share that AWS's tables of 2022 show (``Rules.straggling``).
    rules : Rules, optional
        For `step_time`.

    Returns
    -------
    list of Point

    Raises
    ------
    PlanError
        If the ranks of some number of instances do not divide into replicas, or the batch does
        not divide among the first.

    Examples
    --------
    >>> from trainium_edu.cluster.plan import Cluster
    >>> plan = Plan(Cluster(instances=16), 32, 8, recompute="full", global_batch=128)
    >>> points = scale("gpt3-175b", plan, (16, 64, 1024, 2048), "strong")
    >>> print(points[-1].reason)
    a global batch of 128 samples does not divide among 256 replicas
    """
    _counts(instances)
    shape, spread = get_model(model), 0.0
    if sigma is not None:
        spread, rules = sigma, replace(rules or Rules(), straggling=1.0)
    points: list = []
    for count in instances:
        cluster = replace(plan.cluster, instances=count)
        planned, reason = _on(plan, cluster, kind)
        if planned is None:
            if not points:
                raise PlanError(f"{reason}: begin with fewer instances")
            points.append(Point(count, cluster.chips, reason=reason))
            continue
        time = step_time(shape, planned, rules=rules, slowest=slowest(cluster.ranks, spread))
        first = points[0] if points else Point(count, cluster.chips, planned, time)
        share = time.samples_per_s * first.chips / (first.samples_per_s * cluster.chips)
        points.append(Point(count, cluster.chips, planned, time, share))
    return points


def _counts(instances):
    """Raise unless some numbers of instances are given."""
    if not len(instances):
        raise ValueError("no numbers of instances to look at; take (4, 16, 64), say")
    for count in instances:
        whole(count, "instances", 1, 10**6)


def _on(plan, cluster, kind):
    """Return the plan on another cluster, or None and why its batch cannot be shared out."""
    together = plan.tensor * plan.pipeline
    replicas, remainder = divmod(cluster.ranks, together)
    if remainder or not replicas:
        replace(plan, cluster=cluster)  # says so
    if kind == "weak":
        batch = plan.global_batch // plan.data * replicas
        return replace(plan, cluster=cluster, global_batch=batch), ""
    each, remainder = divmod(plan.global_batch, replicas)
    if remainder or not each:
        batch = f"a global batch of {plan.global_batch} samples"
        return None, f"{batch} does not divide among {replicas} replicas"
    try:
        return replace(plan, cluster=cluster, micro_batch=gcd(plan.micro_batch, each)), ""
    except PlanError as why:  # an interleaved schedule wants groups of micro-batches
        return None, str(why)


@dataclass(frozen=True, slots=True)
class Wall:
    """The point from which more instances do not help.

    Attributes
    ----------
    replicas, instances : float
        The most among which the batch can be shared out; infinite in weak scaling.
    half : int or None
        Instances whose efficiency is just under a half, by bisection: a power of two beyond may
        do better, since only they can sum gradients by halves.
    part : str
        What lost most there, or at the last that works; empty if no more instances do.
    reason : str
    """

    replicas: float
    instances: float
    half: int | None
    part: str
    reason: str

    def __str__(self):
        return self.reason


@checked
def wall(
    model: str | Transformer,
    plan: Plan,
    kind: Literal["weak", "strong"] = "strong",
    *,
    most: int = MOST,
    sigma: float | None = None,
    rules: Rules | None = None,
) -> Wall:
    """Find where the batch cannot be split further, and where efficiency falls under a half.

    Parameters
    ----------
    model : Transformer, or a name in MODELS
    plan : Plan
        Efficiency 1 is that of its own cluster; its tensor and pipeline degrees stay.
    kind, sigma, rules
        As in :func:`scale`.
    most : int
        Instances to look up to; 100,000 chips unless said otherwise.

    Returns
    -------
    Wall

    Raises
    ------
    ValueError
        If the plan has more instances than `most`.

    Examples
    --------
    >>> from trainium_edu.cluster.plan import Cluster
    >>> plan = Plan(Cluster(instances=16), 32, 8, recompute="full", global_batch=1024)
    >>> print(wall("gpt3-175b", plan).instances)
    8192.0
    """
    start = plan.cluster.instances
    whole(most, "most", start, 10**6)
    counts = [n for n in _multiples(plan, most)
              if _on(plan, replace(plan.cluster, instances=n), kind)[0] is not None]  # fmt: skip

    def at(count):
        return scale(model, plan, (start, count), kind, sigma=sigma, rules=rules)

    low = bisect_left(counts, True, key=lambda count: at(count)[1].efficiency < 0.5)
    half = counts[low] if low < len(counts) else None
    first, last = at(half or counts[-1])
    part, lost = _lost(first, last) if len(counts) > 1 else ("", "the first to look at")
    strong = kind == "strong"
    replicas = plan.global_batch if strong else inf
    ends = replicas * plan.tensor * plan.pipeline / (plan.cluster.ranks / start)
    split = f"nothing more can be split beyond {replicas:,} replicas, {ends:,g} instances; "
    where = "under a half" if half else f"still {last.efficiency:.1%}"
    reason = f"efficiency is {where} at {last.instances:,} instances, {lost}"
    return Wall(replicas, ends, half, part, split * strong + reason)


def _multiples(plan, most):
    """Return the numbers of instances from the plan's own on that hold whole replicas."""
    one = plan.cluster.ranks // plan.cluster.instances
    together = plan.tensor * plan.pipeline
    step = together // gcd(together, one)
    return range(plan.cluster.instances, most + 1, step)


def _lost(first, last):
    """Return the part whose share of the step grew most, and a clause that says so."""
    before, after = (
        {name: ns / point.step_ns for name, ns in point.parts.items()} for point in (first, last)
    )
    part = max(after, key=lambda name: after[name] - before[name])
    grown = f"{after[part]:.1%} of the step, {before[part]:.1%} at first"
    return part, f"lost most of all to: {part} ({grown})"


@checked
def days(tokens: float, tokens_per_s: float, goodput: float = 1.0) -> float:
    """Return how many days a number of tokens takes.

    Parameters
    ----------
    tokens : float
    tokens_per_s : float
        Above 0.
    goodput : float
        Useful share of the time, above 0; see ``failures.py``.

    Returns
    -------
    float

    Examples
    --------
    >>> print(f"{days(300e9, 12.7 * 2048):.0f} days for GPT-3 on 32 instances")
    133 days for GPT-3 on 32 instances
    """
    each = number(tokens_per_s, "tokens_per_s", 1e-9, 1e30)
    useful = number(goodput, "goodput", above=0, high=1)
    return number(tokens, "tokens", 0, 1e30) / each / useful / 86400


@checked
def slowest(ranks: int, sigma: float, *, how: Literal["exact", "gumbel"] = "exact") -> float:
    """Return how long the slowest of many ranks takes, over the mean of them all.

    Parameters
    ----------
    ranks : int
        Those that wait for each other.
    sigma : float
        Standard deviation of a rank's time over its mean; times are normal and independent.
    how : {"exact", "gumbel"}
        The integral, or the closed form that it tends to.

    Returns
    -------
    float
        1 or more; what `step_time` takes as ``slowest``.

    Raises
    ------
    ValueError
        If `sigma` is not from 0 to 1.

    Notes
    -----
    1 + sigma E[max of n standard normals].  Gumbel: with u = sqrt(2 ln n),
    E = u - (ln ln n + ln 4 pi) / 2u + 0.5772 / u; it needs two ranks, and is 3 % high at 32.

    References
    ----------
    `gumbel-1958` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> print(f"{slowest(32, 0.01):.4f} {slowest(200_000, 0.01):.4f}")
    1.0207 1.0453
    """
    n, spread = whole(ranks, "ranks", 1, 10**8), number(sigma, "sigma", 0, 1)
    if choice(how, "how", ("exact", "gumbel")) == "exact":
        return 1 + spread * _greatest_normal(n)
    u = sqrt(2 * log(whole(n, "ranks", 2)))
    return 1 + spread * (u - (log(log(n)) + log(4 * pi)) / (2 * u) + EULER / u)


@lru_cache(maxsize=4096)
def _greatest_normal(n):
    """Return the expected greatest of n standard normals: the integral of 1[x > 0] - Phi(x)^n."""
    x, step = np.linspace(-9, 11, 2001, retstep=True)
    logs = [log1p(-erfc(v / ROOT) / 2) if v > 0 else log(erfc(-v / ROOT) / 2) for v in x]
    power = np.exp(n * np.array(logs))
    return float(11 - step * (power.sum() - (power[0] + power[-1]) / 2))


@dataclass(frozen=True, slots=True)
class Generation:
    """Instances of one kind, as many as train one model.

    Attributes
    ----------
    name : str
    instances : int
    peak_flops, network_bits_per_s : float
        Of one instance.
    """

    name: str
    instances: int
    peak_flops: float
    network_bits_per_s: float


def _generation(name, key, peak="peak_flops"):
    of = INSTANCES[name]
    count = dict(CLAIMS.two_week_instances.value)[key]
    return Generation(name, count, float(getattr(of, peak)), float(of.network_bits_per_s))


#: As the keynote compared them: Trainium at its launch figure of 210 TFLOPS, with 1,600 Gbit/s.
KEYNOTE = (
    _generation("p3dn.24xlarge", "p3dn"),
    _generation("p4d.24xlarge", "p4d"),
    replace(_generation("trn1n.32xlarge", "trn1"),
            peak_flops=float(INSTANCES["trn1.32xlarge"].peak_flops_launch)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """A generation's step, in units of the first one's.

    Attributes
    ----------
    generation : Generation
    compute, communication : float
    """

    generation: Generation
    compute: float
    communication: float

    @property
    def share(self) -> float:
        """Communication over both."""
        return self.communication / (self.compute + self.communication)

    def __str__(self):
        return (f"{self.generation.instances:>4} x {self.generation.name:15} compute "
                f"{self.compute:.3f} + communication {self.communication:.3f}: "
                f"{self.share:.1%}")  # fmt: skip


@checked
def overhead(share: float = 0.5, generations: tuple = KEYNOTE,
             kind: Literal["weak", "strong"] = "strong") -> tuple:  # fmt: skip
    r"""Return which share of a step communication takes, from peaks and networks alone.

    Parameters
    ----------
    share : float
        That of the first generation, above 0 and below 1.
    generations : tuple of Generation
    kind : {"weak", "strong"}
        Whether every instance keeps its work, or all share the same: work is then 1 / instances.

    Returns
    -------
    tuple of Bar

    Raises
    ------
    ValueError
        If `share` is out of range, or a generation has no peak or network.

    Notes
    -----
    Compute over the peak, communication over the network, nothing hidden, no latency; gradients
    of the same size everywhere.

    References
    ----------
    `nextplatform-reinvent-2021` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> print(*overhead(0.5), sep="\n")
     600 x p3dn.24xlarge   compute 0.500 + communication 0.500: 50.0%
     200 x p4d.24xlarge    compute 0.601 + communication 0.125: 17.2%
     130 x trn1n.32xlarge  compute 0.687 + communication 0.031: 4.4%
    """
    first = number(share, "share", above=0, below=1)
    choice(kind, "kind", ("weak", "strong"))
    _known(generations)
    base, bars = generations[0], []
    for each in generations:
        work = base.instances / each.instances if kind == "strong" else 1.0
        compute = (1 - first) * work * base.peak_flops / each.peak_flops
        bars.append(Bar(each, compute, first * base.network_bits_per_s / each.network_bits_per_s))
    return tuple(bars)


def _known(generations):
    """Raise unless all are generations with positive numbers."""
    if not len(generations):
        raise ValueError("no generations to compare; take KEYNOTE, or your own Generation(...)")
    for each in generations:
        if not isinstance(each, Generation):
            raise TypeError(f"generations hold {type(each).__name__}; they must be Generation(...)")
        whole(each.instances, f"{each.name}: instances", 1)
        for name in ("peak_flops", "network_bits_per_s"):
            number(getattr(each, name), f"{each.name}: {name}", above=0)


@checked
def utilisation(generation: Generation, in_days: float = 14.0, flops: float | None = None) -> float:
    """Return which share of their peak instances must reach to do some work in time.

    Parameters
    ----------
    generation : Generation
    in_days : float
        Above 0.
    flops : float, optional
        The work; GPT-3's published 3.14e23 FLOP unless said otherwise.

    Returns
    -------
    float
        Above 1 where it cannot be done.

    References
    ----------
    `gpt3-paper` in :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> print([f"{utilisation(each):.1%}" for each in KEYNOTE])
    ['43.3%', '52.0%', '59.4%']
    """
    _known((generation,))
    work = number(float(CLAIMS.gpt3_flops) if flops is None else flops, "flops", 0)
    seconds = 86400 * number(in_days, "in_days", above=0)
    return work / (generation.instances * generation.peak_flops * seconds)
