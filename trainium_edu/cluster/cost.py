"""What a run costs: prices with their dates, a bill that names its uncertain half, comparisons.

A bill is a product of a price, a number of instances and hours, so it is as sure as its least sure
factor: every row carries the *worst* kind of what went into it.  Inputs may be ranges; the bill
then has a low and a high end, and its ``tornado`` says which input moves it most.

References: `third-party-prices`, `aws-trn1-rates`, `aws-ml-blog-sagemaker` (specs.SOURCES).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainium_edu.cluster.plan import Cluster
from trainium_edu.specs import CLAIMS, INSTANCES, PRICES, SOURCES, Fact, Kind
from trainium_edu.specs.arguments import number, short, text, whole
from trainium_edu.specs.prices import STORAGE_PRICES
from trainium_edu.specs.signatures import checked

__all__ = [
    "AgainstP4d", "Bill", "Input", "Price", "PricePerformance", "Row", "Swing",
    "against_p4d", "bill", "price", "waste",
]  # fmt: skip

Pricing = Literal["on-demand", "reserved", "sagemaker", "capacity-block", "spot"]
_HOURS_PER_MONTH, _GB = 730, 1e9
_P4D = "p4d.24xlarge"
_YOURS = SOURCES["emulator"].says
#: The parts of a predicted step (``step_time.PARTS``) that bring samples nearer to done.
USEFUL = ("Tensor Engine", "other engines", "weights to and from HBM", "optimiser")
#: Prices whose day of reading is not recorded.
_UNDATED = ("memory", "third-party-prices")


def _worst(*kinds: Kind) -> Kind:
    """Return the least sure of some kinds."""
    return max(kinds, key=list(Kind).index)


def written(value: float, unit: str, digits: int = 6) -> str:
    """Return a number in its unit as people read it."""
    short = float(f"{value:.{digits}g}")
    plain = int(short) if short.is_integer() and abs(short) < 1e15 else short
    return Fact(plain, unit, "emulator", "", Kind.ASSUMED).pretty


@dataclass(frozen=True, slots=True)
class Input:
    """A number that a result rests on, with its range and who says so.

    Attributes
    ----------
    name : str
    low, used, high : float
        ``used`` is NaN where nobody published the number.
    unit : str
    fact : Fact or None
        Where ``used`` comes from; None where no source has it.
    about_low, about_high : str
        Where the ends of the range come from.
    words : str
        What people call it; the name unless given.
    """

    name: str
    low: float
    used: float
    high: float
    unit: str
    fact: Fact | None
    about_low: str = ""
    about_high: str = ""
    words: str = ""

    def __post_init__(self):
        if self.fact is not None and not self.low <= self.used <= self.high:
            raise ValueError(f"{self.name} is {self.used} in a range of {self.low} to {self.high}; "
                             "what is used lies inside its range")  # fmt: skip

    @property
    def kind(self) -> Kind:
        """The evidence for it."""
        return self.fact.kind if self.fact else Kind.ASSUMED

    @property
    def is_range(self) -> bool:
        """Whether there is more than one value to take."""
        return self.low < self.high

    def written(self, value: float, digits: int = 6) -> str:
        """Return a value in this input's unit as people read it."""
        return written(number(value, "value"), self.unit, whole(digits, "digits", 1))

    @property
    def said(self) -> str:
        """What is used and whose number that is, in three digits."""
        if not self.fact:
            return "nobody published it"
        return f"{self.written(self.used, 3)} ({self.fact.source}, {self.fact.as_of})"

    @property
    def said_range(self) -> str:
        """Both ends of the range and where they come from, in three digits."""
        ends = ((self.low, self.about_low), (self.high, self.about_high))
        return " to ".join(self.written(end, 3) + f" ({why})" * bool(why) for end, why in ends)

    def __str__(self):
        found = f"{self.name} = {self.written(self.used)}" if self.fact else f"{self.name}: no fact"
        if self.is_range:
            ends = zip((self.low, self.high), (self.about_low, self.about_high), strict=True)
            said = [self.written(value) + f" ({why})" * bool(why) for value, why in ends]
            found += f", {' to '.join(said)}"
        return found + (f" [{self.fact.kind}: {self.fact.source}, {self.fact.as_of}]"
                        if self.fact else "")  # fmt: skip


def as_input(value, name: str, unit: str, **bounds: Any) -> Input:
    """Return a number, a Fact or (low, used, high) as an Input; check what it may be."""
    if isinstance(value, Input):
        return value
    if isinstance(value, tuple | list):
        if len(value) != 3:
            raise ValueError(f"{name} is {short(value)}; a range is (low, used, high)")
        low, used, high = (number(v, name, **bounds) for v in value)
        if not low <= used <= high:
            raise ValueError(f"{name} is {short(value)}; a range is (low, used, high), in order")
    else:
        low = used = high = number(value, name, **bounds)
    fact = value if isinstance(value, Fact) else _YOURS(used, unit, name, "as given by the caller")
    return Input(name, low, used, high, unit, fact)


def _step(value, cluster) -> Input:
    """Return the time of a step as an Input: a predicted one brings its band, and is derived."""
    if not hasattr(value, "step_ns"):
        return as_input(value, "step_s", "s", above=0, high=1e9)
    if value.plan.cluster != cluster:
        on, paid = (f"{c.instances} x {c.instance}" for c in (value.plan.cluster, cluster))
        raise ValueError(f"step_s is predicted on {on}, and the bill is for {paid}: predict the "
                         "step on the cluster that is paid for")  # fmt: skip
    low, used, high = (ns / 1e9 for ns in (value.low_ns, value.step_ns, value.high_ns))
    fact = Fact(used, "s", "derived", "step_time(model, plan)", Kind.DERIVED, "2026",
                formula=lambda: used)  # fmt: skip
    return Input("step_s", low, used, high, "s", fact)


@dataclass(frozen=True, slots=True)
class Price:
    """The price of an instance per hour.

    Attributes
    ----------
    instance, kind : str
    hourly : Input
        US dollars per hour, with the other readings of the same price as its range.
    """

    instance: str
    kind: str
    hourly: Input

    @property
    def usd_per_hour(self) -> float:
        """US dollars per hour."""
        return self.hourly.used

    @property
    def fact(self) -> Fact:
        """The source of the price."""
        return self.hourly.fact  # type: ignore[return-value]

    @property
    def when(self) -> str:
        """The price's date, or that none is recorded."""
        undated = self.fact.source in _UNDATED
        return f"day not known (read by {self.fact.as_of})" if undated else self.fact.as_of

    def __str__(self):
        return (f"{self.instance}, {self.kind}: ${self.usd_per_hour:,.4g}/h ({self.fact.kind}: "
                f"{self.fact.source}, {self.when})")  # fmt: skip


@checked
def price(
    instance: str,
    kind: Pricing = "on-demand",
    *,
    usd_per_hour: Any = None,
    spot_discount: float | None = None,
) -> Price:
    """Return what an instance costs per hour, and who says so.

    Parameters
    ----------
    instance : str
        A key of ``specs.INSTANCES``.
    kind : {"on-demand", "reserved", "sagemaker", "capacity-block", "spot"}
    usd_per_hour : float, Fact or (low, used, high), optional
        Your own price in place of a published one.
    spot_discount : float, optional
        What "spot" takes off the price on demand, from 0 to 1.  It changes by the hour, so there
        is no default.

    Returns
    -------
    Price

    Raises
    ------
    ValueError
        For a price that nobody published, that is negative, or a spot price without a discount.

    Examples
    --------
    >>> print(price("trn1.32xlarge", "reserved"))
    trn1.32xlarge, reserved: $8.197/h (documented: aws-trn1-rates, 2025-10-17)
    """
    if instance not in INSTANCES:
        raise ValueError(f"no instance {instance!r}; there are {', '.join(INSTANCES)}")
    if spot_discount is not None and kind != "spot":
        raise ValueError(f'spot_discount is {short(spot_discount)}, and the price is {kind}; '
                         'say kind="spot"')  # fmt: skip
    if usd_per_hour is not None:
        return Price(
            instance, kind, as_input(usd_per_hour, "usd_per_hour", "USD/hour", above=0, high=1e9)
        )
    if kind == "spot":
        return _spot(instance, spot_discount)
    published = _published(instance)
    if kind not in published:
        others = published and f"there is one {' and one '.join(published)}, or "
        raise ValueError(f"no {kind} price of {instance} is published here; {others or ''}give "
                         "usd_per_hour")  # fmt: skip
    facts = published[kind]
    values = [float(fact) for fact in facts]
    return Price(instance, kind, Input("price", min(values), values[0], max(values), "USD/hour",
                                       facts[0]))  # fmt: skip


def _published(instance) -> dict[str, list[Fact]]:
    """Return the prices of an instance by kind, each with all of its readings."""
    found: dict[str, list[Fact]] = {}
    for name, fact in PRICES[instance].walk():
        kind, is_price, _ = name.partition("_usd_per_hour")
        if is_price:
            found.setdefault(kind.replace("_", "-"), []).append(fact)
    return found


def _spot(instance, discount) -> Price:
    """Return the price on demand less a discount, which makes it an assumption."""
    if discount is None:
        raise ValueError("spot prices change by the hour and none is published here: give "
                         "spot_discount, such as 0.6 for 60 % off the price on demand")  # fmt: skip
    share = 1 - number(discount, "spot_discount", 0, below=1)
    demand = price(instance).hourly
    fact = _YOURS(demand.used * share, "USD/hour", "price on demand * (1 - spot_discount)",
                  "the discount is the caller's")  # fmt: skip
    return Price(instance, "spot", Input("price", demand.low * share, demand.used * share,
                                         demand.high * share, "USD/hour", fact))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a bill: what for, how much, and how surely we know it."""

    what: str
    usd: float
    low: float
    high: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class Swing:
    """The bill at the low and high end of one input's range, the others as used."""

    name: str
    low: float
    high: float
    kind: Kind

    @property
    def width(self) -> float:
        """How far the input moves the bill."""
        return abs(self.high - self.low)


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of a run in US dollars.

    Attributes
    ----------
    cluster : Cluster
    price : Price
    steps : int
    hours : float
        From start to end, failures included.
    rows : tuple of Row
    inputs : tuple of Input
    tornado : tuple of Swing
        The input that moves the bill most comes first.
    """

    cluster: Cluster
    price: Price
    steps: int
    hours: float
    rows: tuple[Row, ...]
    inputs: tuple[Input, ...]
    tornado: tuple[Swing, ...]

    @property
    def usd(self) -> float:
        """The sum of all rows, in USD."""
        return sum(row.usd for row in self.rows)

    @property
    def low(self) -> float:
        """The bill with every input at its better end."""
        return sum(row.low for row in self.rows)

    @property
    def high(self) -> float:
        """The bill with every input at its worse end."""
        return sum(row.high for row in self.rows)

    @property
    def wasted(self) -> float:
        """The money paid while no sample came nearer to done."""
        return sum(row.usd for row in self.rows if row.what not in ("useful work", "checkpoints"))

    @property
    def usd_per_step(self) -> float:
        """Cost of a step."""
        return self.usd / self.steps

    @property
    def shares(self) -> dict[Kind, float]:
        """The part of the bill resting on inputs of each kind; the least sure factor counts."""
        found = {kind: sum(row.usd for row in self.rows if row.kind is kind) for kind in Kind}
        return {kind: usd / self.usd for kind, usd in found.items() if usd}

    @property
    def uncertain(self) -> str:
        """The uncertain half in a sentence."""
        shares = " and ".join(f"{share:.0%} on {kind}" for kind, share in self.shares.items())
        said = f"The bill rests {shares} inputs"
        if not self.tornado or not self.tornado[0].width:
            return f"{said}; no input has a range."
        most = self.tornado[0]
        low, high = sorted((most.low, most.high))
        return f"{said}; {most.name} moves it most: ${low:,.2f} to ${high:,.2f}."

    def __str__(self):
        lines = [f"{self.cluster.instances} x {self.price}, {self.hours:,.4g} hours"]
        rows = [*self.rows, Row("in all", self.usd, self.low, self.high, _worst(*self.shares))]
        for row in rows:
            between = f"{row.low:,.2f} to {row.high:,.2f}" if row.low < row.high else ""
            lines.append(f"{row.what:<22}{row.usd:>18,.2f}  {between:<36}{row.kind}")
        return "\n".join([*lines, self.uncertain])


@checked
def bill(
    step_s: Any,
    steps: int,
    cluster: Cluster,
    *,
    kind: Pricing = "on-demand",
    usd_per_hour: Any = None,
    spot_discount: float | None = None,
    goodput: Any = 1.0,
    wasted: Mapping[str, float] | None = None,
    checkpoint_bytes: Any = 0,
    checkpoints_kept: int = 1,
    storage: Literal["s3", "fsx"] = "s3",
    usd_per_gb_month: Any = None,
) -> Bill:
    """Return what a run costs, by rows, with its range and what that rests on.

    Parameters
    ----------
    step_s : float, Fact, (low, used, high) or StepTime
        Seconds of a step; a predicted one brings its band.
    goodput, checkpoint_bytes : float, Fact or (low, used, high)
        The share of the time that is not lost to failures; bytes of one
        checkpoint.
    steps : int
    cluster : Cluster
    kind, usd_per_hour, spot_discount
        As for :func:`price`.
    wasted : dict of str to float, optional
        Shares of a step that bring no sample nearer: {"bubbles": 0.1, "communication": 0.07}.
    checkpoints_kept : int
        How many lie in storage from start to end.
    storage : {"s3", "fsx"}
    usd_per_gb_month : float, Fact or (low, used, high), optional
        Your own price of storage.

    Returns
    -------
    Bill

    Raises
    ------
    ValueError
        If a number is out of range, or no such price is published.

    Examples
    --------
    >>> print(bill((0.9, 1.0, 1.2), 36_000, Cluster("trn1.32xlarge", 4), wasted={"bubbles": 0.25}))
    4 x trn1.32xlarge, on-demand: $21.5/h (documented: third-party-prices, day not known...
    useful work                       645.00  580.50 to 774.00                    assumed
    bubbles                           215.00  193.50 to 258.00                    assumed
    in all                            860.00  774.00 to 1,032.00                  assumed
    The bill rests 100% on assumed inputs; step time moves it most: $774.00 to $1,032.00.
    """
    whole(steps, "steps", 1, 10**12)
    shares = _shares(wasted or {})
    hourly = price(cluster.instance, kind, usd_per_hour=usd_per_hour, spot_discount=spot_discount)
    rent = getattr(STORAGE_PRICES, f"{storage}_usd_per_gb_month")
    inputs = {
        "price": hourly.hourly,
        "step time": _step(step_s, cluster),
        "goodput": as_input(goodput, "goodput", "", above=0, high=1),
        "checkpoint": as_input(checkpoint_bytes, "checkpoint_bytes", "bytes", low=0, high=1e21),
        "storage price": as_input(rent if usd_per_gb_month is None else usd_per_gb_month,
                                "usd_per_gb_month", "USD/GB-month", low=0, high=1e9),
    }  # fmt: skip
    kept = whole(checkpoints_kept, "checkpoints_kept", 0, 10**6)

    def rows_at(price, step, goodput, checkpoint, rent):
        hours = step * steps / 3600
        running = cluster.instances * price * hours
        return {
            "useful work": running * (1 - sum(shares.values())),
            **{name: running * share for name, share in shares.items()},
            "failures": running * (1 / goodput - 1),
            "checkpoints": checkpoint / _GB * kept * hours / goodput / _HOURS_PER_MONTH * rent,
        }

    def at(end, name=None):
        """Return the rows with one input at an end, or with all where they are cheap or dear."""
        ends = {n: end if name in (None, n) else "used" for n in inputs}
        if name is None and end != "used":  # the higher goodput is the cheaper one
            ends["goodput"] = "high" if end == "low" else "low"
        return rows_at(*(getattr(inputs[n], ends[n]) for n in inputs))

    used, low, high = (at(end) for end in ("used", "low", "high"))
    of_time = _worst(inputs["price"].kind, inputs["step time"].kind)
    kinds = {"failures": _worst(of_time, inputs["goodput"].kind),
             "checkpoints": _worst(inputs["storage price"].kind, inputs["checkpoint"].kind,
                                  inputs["step time"].kind, inputs["goodput"].kind)}  # fmt: skip
    swings = [
        Swing(n, sum(at("low", n).values()), sum(at("high", n).values()), i.kind)
        for n, i in inputs.items()
    ]
    rows = [Row(n, usd, low[n], high[n], kinds.get(n, of_time)) for n, usd in used.items()]
    return Bill(
        cluster,
        hourly,
        steps,
        hours=inputs["step time"].used * steps / 3600 / inputs["goodput"].used,
        rows=tuple(row for row in rows if row.high),
        inputs=tuple(inputs.values()),
        tornado=tuple(sorted(swings, key=lambda swing: -swing.width)),
    )


def _shares(wasted) -> dict[str, float]:
    """Return the wasted shares of a step, checked."""
    for name in wasted:
        text(name, "a name in wasted", "bubbles")
    taken = {"useful work", "failures", "checkpoints"} & set(wasted)
    if taken:
        raise ValueError(f"wasted names {min(taken)!r}, which is a row of its own; call it "
                         "something else, and give failures as goodput")  # fmt: skip
    shares = {name: number(share, f"wasted[{name!r}]", 0, 1) for name, share in wasted.items()}
    if sum(shares.values()) > 1 + 1e-9:
        raise ValueError(f"wasted adds up to {sum(shares.values()):.4g} of a step; its shares "
                         "cannot exceed 1 together")  # fmt: skip
    return shares


@checked
def waste(
    step: Any, cluster: Cluster, *, steps: int = 1, useful: tuple = USEFUL, **more: Any
) -> Bill:
    """Return a bill whose rows are the parts of a step, and so what each of them wastes in money.

    Parameters
    ----------
    step : StepTime, or dict of str to float
        What a step's time consists of, in ns.
    cluster : Cluster
    steps : int
    useful : tuple of str
        The parts that bring samples nearer to done; all others are wasted.
    **more
        As for :func:`bill`.

    Returns
    -------
    Bill

    Raises
    ------
    ValueError
        If a part is negative, all are 0, or `useful` names none of them.

    Examples
    --------
    >>> parts = {"Tensor Engine": 8e8, "pipeline bubble": 1.5e8, "gradient sums": 0.5e8}
    >>> lost = waste(parts, Cluster(), steps=3600)
    >>> print(f"{lost.wasted:.2f} of {lost.usd:.2f}")
    4.30 of 21.50
    """
    parts = getattr(step, "parts", step)
    if not isinstance(parts, Mapping):
        raise TypeError(f"step is {short(step)}; it must be a StepTime, or a dict of ns")
    ns_by_part = {name: number(ns, f"the part {name!r}", 0) for name, ns in parts.items()}
    total = sum(ns_by_part.values())
    if not total:
        raise ValueError("the parts add up to 0 ns; a step takes some time")
    if not set(useful) & set(ns_by_part):
        raise ValueError(f"none of the parts is useful: they are {', '.join(ns_by_part)}; "
                         f"name some, such as useful=({min(ns_by_part)!r},)")  # fmt: skip
    lost = {name: ns / total for name, ns in ns_by_part.items() if name not in useful}
    return bill(total / 1e9 if parts is step else step, steps, cluster, wasted=lost, **more)


@dataclass(frozen=True, slots=True)
class PricePerformance:
    """One offer against another, with the two readings of "x % better".

    Attributes
    ----------
    names : tuple of str
    speed, price : float
        Of the first over the second.
    """

    names: tuple[str, str]
    speed: float
    price: float

    @property
    def per_dollar(self) -> float:
        """How much more work a dollar buys: 0.39 is 39 % more."""
        return self.speed / self.price - 1

    @property
    def cost_reduction(self) -> float:
        """How much less the same work costs: 0.39 is 39 % less."""
        return 1 - self.price / self.speed

    @property
    def from_price(self) -> float:
        """The part of the cost reduction that the price per hour alone gives."""
        return 1 - self.price

    def __str__(self):
        return (
            f"{self.names[0]} against {self.names[1]}: {self.speed:.4g} times the speed for "
            f"{self.price:.4g} times the price; {self.per_dollar:+.1%} work per dollar, or "
            f"{-self.cost_reduction:+.1%} cost for the same work "
            f"({-self.from_price * 100:+.1f} points of it by price alone)"
        )


@dataclass(frozen=True, slots=True)
class AgainstP4d:
    """A step on Trainium against the same step on equally many p4d.24xlarge, of guessed speed.

    Attributes
    ----------
    low, used, high : PricePerformance
        With P4d at its fastest, in between, at its slowest.
    by_bert : PricePerformance
        With the ratio of speeds that one published table has for BERT.
    p4d_step_s : tuple of float
        Fastest, in between, slowest.
    break_even : float
        The share of A100's peak at which both cost the same; above it P4d is cheaper.  Over 1:
        never.
    """

    low: PricePerformance
    used: PricePerformance
    high: PricePerformance
    by_bert: PricePerformance
    p4d_step_s: tuple[float, float, float]
    break_even: float

    def __str__(self):
        low, used, high = (-p.cost_reduction for p in (self.low, self.used, self.high))
        fast, between, slow = self.p4d_step_s
        return (
            f"P4d's step: {fast:.3g} to {slow:.3g} s, {between:.3g} in between\n"
            f"cost of the same work on Trainium: {used:+.1%} ({low:+.1%} to {high:+.1%})\n"
            f"if the speeds were as for BERT: {-self.by_bert.cost_reduction:+.1%}\n"
            f"both cost the same where P4d reaches {self.break_even:.1%} of its peak"
        )


@checked
def against_p4d(
    flops: float,
    step_s: float,
    cluster: Cluster,
    *,
    kind: Pricing = "on-demand",
    efficiency: Any = None,
    p4d_usd_per_hour: float | None = None,
    **pricing: Any,
) -> AgainstP4d:
    """Set your model's step on Trainium against as many P4d, at a stated share of their peak.

    Parameters
    ----------
    flops : float
        FLOP of a training step, as the share of the peak counts them.
    step_s : float
        What the step takes on `cluster`.
    cluster : Cluster
    kind : {"on-demand", "reserved", "sagemaker", "capacity-block", "spot"}
        For both.
    efficiency : float or (low, used, high), optional
        Share of A100's peak: 0.43 to 0.52 in Megatron-LM's table, unless you know better.
    p4d_usd_per_hour : float, optional
    **pricing
        `usd_per_hour` (of the Trainium instance) and `spot_discount`, as for :func:`price`.

    Returns
    -------
    AgainstP4d

    Raises
    ------
    ValueError
        If a number is out of range, or no such price is published.

    Examples
    --------
    >>> print(against_p4d(1e18, 40.0, Cluster("trn1.32xlarge", 16)))
    P4d's step: 48.2 to 58.2 s, 52.7 in between
    cost of the same work on Trainium: -50.2% (-45.5% to -54.9%)
    if the speeds were as for BERT: -46.3%
    both cost the same where P4d reaches 95.4% of its peak

    References
    ----------
    `megatron-2021`: table of weak scaling; `aws-ml-blog-sagemaker`: iterations per second.
    """
    slowest, fastest = float(CLAIMS.a100_share_of_peak), float(CLAIMS.a100_share_of_peak_best)
    given = (slowest, (slowest + fastest) / 2, fastest) if efficiency is None else efficiency
    share = as_input(given, "efficiency", "of the peak", low=1e-6, high=1)
    work = number(flops, "flops", 1, 1e40)
    peak_s = work / (cluster.instances * float(INSTANCES[_P4D].peak_flops))
    trn_usd = price(cluster.instance, kind, **pricing).usd_per_hour
    discount = pricing.get("spot_discount")
    p4d_usd = price(_P4D, kind, usd_per_hour=p4d_usd_per_hour, spot_discount=discount).usd_per_hour
    trn_s = number(step_s, "step_s", 1e-9, 1e9)
    least = work / (cluster.instances * float(INSTANCES[cluster.instance].peak_flops))
    if trn_s < least:
        raise ValueError(
            f"step_s is {short(step_s)}, and {work:.4g} FLOP take {least:.4g} s on "
            f"{cluster.instances} x {cluster.instance} at their peak; check both"
        )

    def compared(step):
        return PricePerformance((cluster.instance, _P4D), step / trn_s, trn_usd / p4d_usd)

    steps = (peak_s / share.high, peak_s / share.used, peak_s / share.low)
    low, used, high = map(compared, steps)
    by_bert = compared(trn_s * float(CLAIMS.sagemaker_rate_ratio))
    return AgainstP4d(low, used, high, by_bert, steps, peak_s * p4d_usd / (trn_s * trn_usd))
