"""What a run costs to move: overhead, the bill, checkpoints."""

from dataclasses import replace
from math import ceil

import numpy as np

from trainium_edu.cluster import claims, cost, failures
from trainium_edu.cluster.models import get_model
from trainium_edu.cluster.plan import Cluster, Plan
from trainium_edu.cluster.scaling import KEYNOTE, overhead
from trainium_edu.cluster.step_time import step_time
from trainium_edu.cluster.work import work
from trainium_edu.specs import CLAIMS, FAILURES, INSTANCES, Kind
from trainium_edu.specs.arguments import number, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.bars import Stack, draw_groups, draw_stacks, draw_tornado
from trainium_edu.viz.cluster_curves import draw_claim, draw_interval
from trainium_edu.viz.units import long_time_text
from trainium_edu.widgets.sketch import Page, Sketch, choice, first, slider

__all__ = ["PLAN", "bill", "checkpoint_interval", "court", "overhead_bars"]

#: The plan of the pictures, unless said otherwise.
PLAN = Plan(Cluster(instances=64), 8, 8, zero=1, recompute="selective", sequence_parallel=True)
_NETWORKS = {"trn1n.32xlarge": "1 600 Gbit/s (Trn1n)", "trn1.32xlarge": "800 Gbit/s (Trn1)"}


def overhead_bars():
    """Show the keynote's bars of communication, and two readings computed from the first one.

    Returns
    -------
    Sketch
        Values ``share`` (of P3dn's time, in percent) and ``network`` (of the last generation).

    Examples
    --------
    >>> overhead_bars().set(network="trn1.32xlarge")
    """
    drawn = [100 * share for _, share in CLAIMS.communication_share.value]

    def page(values):
        name = values["network"]
        last = replace(KEYNOTE[2], name=name,
                       network_bits_per_s=float(INSTANCES[name].network_bits_per_s))  # fmt: skip
        found = {kind: [100 * bar.share for bar in
                        overhead(values["share"] / 100, (*KEYNOTE[:2], last), kind)]
                 for kind in ("weak", "strong")}  # fmt: skip
        groups = [f"{g.name}\n{g.instances} instances" for g in (*KEYNOTE[:2], last)]
        series = {"as drawn": drawn, "work per instance stays": found["weak"],
                  "one batch shared out": found["strong"]}  # fmt: skip
        scene = draw_groups("Time spent on communication", groups, series, width=values["width"],
                            top=100 if values["share"] > 52 else 60)  # fmt: skip
        said = "; ".join(f"{name}: **" + ", ".join(f"{v:.3g}" for v in shares) + " %**"
                         for name, shares in series.items())  # fmt: skip
        return Page(scene, [f"{said}."], {"share": f"{values['share']} %"})

    controls = [slider("share", "P3dn's share", 10, 90, 50),
                choice("network", "Network of the last", _NETWORKS, "trn1n.32xlarge")]  # fmt: skip
    return Sketch(controls, page, "Bars of overhead", words=page(first(controls)).said)


_PRICES = {"on-demand": "on demand", "reserved": "reserved (RI-effective)",
           "sagemaker": "through SageMaker"}  # fmt: skip
_WASTED = {
    "pipeline bubble": ("pipeline bubble",),
    "communication": ("tensor-parallel sums", "pipeline sends", "gradient sums"),
}


@checked
def bill(model: str = "gpt3-175b", plan: Plan | None = None, tokens: float = 300e9):
    """Show what a training run costs, which part of that is uncertain, and what moves it.

    Parameters
    ----------
    model : str
        A key of ``cluster.MODELS``.
    plan : Plan, optional
        64 instances, tensor 8, pipeline 8, unless said otherwise.
    tokens : float
        Of the whole training.

    Returns
    -------
    Sketch
        Values ``price`` and ``goodput`` (percent; it may be 5 points lower or higher).

    Raises
    ------
    ValueError
        If there is no such model; a PlanError if it does not divide as the plan says.

    Examples
    --------
    >>> bill("llama2-7b", Plan(Cluster(instances=4), tensor=8), 1e12).set(price="reserved")
    """
    shape, plan = get_model(model), plan or PLAN
    time = step_time(shape, plan)
    steps = ceil(number(tokens, "tokens", 1) / (plan.global_batch * shape.sequence))
    wasted = {name: sum(time.parts[part] for part in parts) / time.step_ns
              for name, parts in _WASTED.items()}  # fmt: skip
    parameters = float(work(shape).parameters)
    nbytes = failures.checkpoint_bytes(parameters, plan.precision, plan.optimizer)

    def page(values):
        good = values["goodput"] / 100
        found = cost.bill(time, steps, plan.cluster, kind=values["price"], wasted=wasted,
                          goodput=(max(good - 0.05, 0.05), good, min(good + 0.05, 1.0)),
                          checkpoint_bytes=nbytes, checkpoints_kept=10)  # fmt: skip
        scale, unit = (1e6, "million USD") if found.usd >= 2e6 else (1e3, "thousand USD")
        unsure = tuple(row.what for row in found.rows if row.kind is Kind.ASSUMED)
        rows = {row.what: row.usd / scale for row in found.rows}
        scene = draw_stacks([Stack("The bill", unit, rows, unsure=unsure)], width=values["width"])
        moved = [(swing.name, swing.low / scale, swing.high / scale)
                 for swing in found.tornado if swing.width]  # fmt: skip
        draw_tornado("What moves it", moved, found.usd / scale, unit=unit, below=scene,
                     width=values["width"])  # fmt: skip
        low, usd, high = (
            f"${n / scale:,.3g} {unit[:-4]}" for n in (found.low, found.usd, found.high)
        )
        said = [
            f"{plan.cluster.instances:,} instances for **{found.hours / 24:.3g} days**: **{usd}**, "
            f"from {low} to {high}.",
            f"{100 * found.shares.get(Kind.ASSUMED, 0.0):.3g} % of it rests on assumed inputs "
            f"(faded: {', '.join(unsure) or 'nothing'}), and the rest is derived; what moves it "
            f"most: **{found.tornado[0].name}**.",
        ]
        return Page(scene, said, {"goodput": f"{values['goodput']} %"})

    controls = [choice("price", "Price", _PRICES, "on-demand"),
                slider("goodput", "Goodput (useful share of the time)", 50, 100, 90)]  # fmt: skip
    return Sketch(controls, page, f"Bill of {shape.name}", words=page(first(controls)).said)


@checked
def court(key: str = "petaflops"):
    """Show one claim of the sources, what its arithmetic gives, and the verdict.

    Parameters
    ----------
    key : str
        A key of ``cluster.claims.COURT``.

    Returns
    -------
    Sketch
        A value for each input that has a range: 0 leaves it open, 1 to 101 set it from its low
        to its high end.

    Raises
    ------
    ValueError
        If there is no such claim.

    Examples
    --------
    >>> court("petaflops").set(chip_flops=101)
    """
    claim = claims.judge(key).claim
    moving = {each.name: each for each in claim.inputs if each.is_range}

    def at(name, place):
        return moving[name].low + (place - 1) / 100 * (moving[name].high - moving[name].low)

    unknown = [name for name, each in moving.items() if not each.fact]
    ends = [claims.judge(key, **{name: at(name, place) for name in unknown}) for place in (1, 101)]

    def page(values):
        set_ = {name: at(name, values[name]) for name in moving if values[name]}
        ruling = claims.judge(key, **set_)
        found = (ruling.low, ruling.value, ruling.high) if np.isfinite(ruling.value) else ()
        open_ = ", ".join(each.name for each in ruling.inputs if not each.fact)
        why = f"nobody published {open_}" if open_ else ruling.condition
        scene = draw_claim(
            claim.claimed, claim.allowed, found, str(ruling.verdict), why=why,
            ends=[end for r in ends for end in (r.low, r.high)], write=claim.written,
            tick=lambda v: claim.written(v).removesuffix(f" {claim.unit}"), width=values["width"],
        )  # fmt: skip
        verdict = f"**{ruling.verdict}**" + (f", {why}" if open_ else f" {why}" if why else "")
        said = [f"“{claim.text}” ({claim.source}, {claim.when}): {verdict}.",
                f"Arithmetic: {claim.arithmetic}."]  # fmt: skip
        outputs = {name: each.written(set_[name]) if name in set_ else _open_words(each)
                   for name, each in moving.items()}  # fmt: skip
        return Page(scene, said, outputs)

    controls = [slider(name, name.replace("_", " "), 0, 101, 0, help=f"{each}")
                for name, each in moving.items()]  # fmt: skip
    press = {"start": ("Start again", "All inputs as the sources have them",
                       lambda _: dict.fromkeys(moving, 0))}  # fmt: skip
    return Sketch(controls, page, f"Claims court: {key}", press=press if moving else None,
                  words=page(first(controls)).said)  # fmt: skip


def _open_words(each) -> str:
    """Say what an input is that nobody has set."""
    return f"{each.written(each.low)} to {each.written(each.high)}" if each.fact else "nobody says"


_INTERVALS = np.geomspace(1 / 6, 1440, 200)  # minutes: 10 s to a day
_FILE_SYSTEM = 100.0  # TiB
_STORES = {"fsx-1000": f"FSx for Lustre, {_FILE_SYSTEM:.0f} TiB", "nvme": "local disks", "s3": "S3"}
_RELIABLE = ("llama3", "opt", "rsc_1", "rsc_2")


@checked
def checkpoint_interval(model: str = "gpt3-175b", *, instances: int = 128):
    """Show what checkpoints and failures cost against the time between two checkpoints.

    Parameters
    ----------
    model : str
        A key of ``cluster.MODELS``; what is written are its FP32 and BF16 weights and states.
    instances : int
        Shown first: the next lower power of two, up to 4 096.

    Returns
    -------
    Sketch
        Values ``interval`` (a place on the axis), ``instances`` (a power of two), ``reliable``
        and ``store``; a button ``best``.

    Raises
    ------
    ValueError
        If there is no such model.

    Examples
    --------
    >>> checkpoint_interval("llama2-7b", instances=16).set(instances=5)
    """
    nbytes = failures.checkpoint_bytes(float(work(get_model(model)).parameters))
    power = whole(instances, "instances", 1, 4096).bit_length() - 1
    machines = {name: f"{getattr(FAILURES, name).name}: {_mtbf_days(name):,.0f} days"
                for name in _RELIABLE}  # fmt: skip

    def times(values):
        count, size = 2 ** values["instances"], None
        if values["store"].startswith("fsx"):
            size = _FILE_SYSTEM
        written = failures.checkpoint(nbytes, values["store"], count, tebibytes=size)
        return failures.cluster_mtbf_s(24 * _mtbf_days(values["reliable"]), count), written

    def page(values):
        mtbf, written = times(values)
        scene, said = _interval_page(mtbf, written, values["interval"], values["width"])
        minutes = _INTERVALS[values["interval"]]
        return Page(scene, said, {"instances": f"{2 ** values['instances']:,}",
                                  "interval": long_time_text(60 * minutes)})  # fmt: skip

    def best(values):
        mtbf, written = times(values)
        found = failures.daly_interval_s(mtbf, written.stall_s) / 60
        return {"interval": int(np.abs(_INTERVALS - found).argmin())}

    controls = [
        slider("interval", "Every", 0, len(_INTERVALS) - 1, 120, help="Between two checkpoints"),
        slider("instances", "Instances", 0, 12, power),
        choice("reliable", "One instance fails as in", machines, "llama3"),
        choice("store", "Written to", _STORES, "fsx-1000"),
    ]
    press = {"best": ("Daly's interval", "Go to where least is lost", best)}
    return Sketch(controls, page, f"Checkpoints of {model}", press=press,
                  words=page(first(controls)).said)  # fmt: skip


def _mtbf_days(name) -> float:
    return float(getattr(FAILURES, name).instance_mtbf_hours) / 24


def _interval_page(mtbf, written, place, width):
    """Return the scene and the sentences for one place on the axis."""
    stall, again = written.stall_s, float(FAILURES.restart_begin_s) + written.read_s

    def lost(minutes):  # of the time: on writing, and in all
        useful = failures.goodput(60 * minutes, mtbf, stall, again)
        return useful * stall / (60 * minutes), 1 - useful

    writing, both = np.array([lost(float(m)) for m in _INTERVALS]).T
    rules = {"Young": failures.young_interval_s, "Daly": failures.daly_interval_s}
    found = {name: rule(mtbf, stall) / 60 for name, rule in rules.items()}
    marks = {name: (minutes, lost(minutes)[1]) for name, minutes in found.items()}
    here = _INTERVALS[place]
    scene = draw_interval(_INTERVALS, writing, both - writing, marks, here, width=width)
    said = "; ".join(f"{name}: {long_time_text(60 * minutes)}, {100 * share:.3g} %"
                     for name, (minutes, share) in marks.items())  # fmt: skip
    return scene, [
        f"The job fails every **{long_time_text(mtbf)}**. A checkpoint of "
        f"{written.nbytes / 1e12:.3g} TB takes {stall:.3g} s, bound by {written.bound}; a restart "
        f"{long_time_text(again)}, most of it assumed.",
        f"Written every **{long_time_text(60 * here)}**, checkpoints and failures take **"
        f"{100 * both[place]:.3g} %** of the time: {100 * writing[place]:.3g} % to write, the rest "
        f"to restart and to do work again. {said}.",
    ]
