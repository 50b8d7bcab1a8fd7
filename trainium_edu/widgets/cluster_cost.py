"""What a run costs to move: the bill, checkpoints; and the court of claims about it."""

from math import ceil

import numpy as np

from trainium_edu.cluster import claims, cost, failures
from trainium_edu.cluster.court import known, reach
from trainium_edu.cluster.models import get_model
from trainium_edu.cluster.plan import Cluster, Plan
from trainium_edu.cluster.step_time import step_time
from trainium_edu.cluster.work import work
from trainium_edu.specs import FAILURES, Kind
from trainium_edu.specs.arguments import number, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.bars import Stack, draw_stacks, draw_tornado
from trainium_edu.viz.cluster_curves import draw_claim, draw_interval
from trainium_edu.viz.units import long_time_text
from trainium_edu.widgets import journal
from trainium_edu.widgets.prediction import Prediction
from trainium_edu.widgets.sketch import Page, Sketch, choice, first, seal, slider

__all__ = ["PLAN", "bill", "checkpoint_interval", "court", "hearing"]

#: The plan of the pictures, unless said otherwise.
PLAN = Plan(Cluster(instances=64), 8, 8, zero=1, recompute="selective", sequence_parallel=True)


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
def hearing(key: str, verdict: Prediction | None = None):
    """Show a claim whose formula, inputs and ranges are sealed; a click opens each.

    The learner says a number first: the needle.  It stays there as long as what is open allows.
    With the first seal the number is final, and goes into the journal of predictions.

    Parameters
    ----------
    key : str
        A key of ``cluster.claims.COURT``.
    verdict : Prediction, optional
        The question for the verdict; the page takes no answer to it before a seal is open.

    Returns
    -------
    Sketch
        Values ``number`` (0: none yet; 1 to 100, a place on the axis), ``formula``, one for each
        input, and ``..._range`` for each range: True opens it.

    Raises
    ------
    ValueError
        If there is no such claim.

    Examples
    --------
    >>> hearing("processors").set(number=40)
    """
    claim = claims.judge(key).claim
    ends = reach(claim, [known(each, False, False) for each in claim.inputs])
    first_end, last_end = min(*ends, claim.claimed), max(*ends, claim.claimed)
    counted = []  # the place of the number, once a seal is open

    def page(values):
        low, high = reach(claim, [known(each, values[each.name], values.get(f"{each.name}_range"))
                                  for each in claim.inputs])  # fmt: skip
        sealed = [name for name in seals if not values[name]]
        guess = first_end + (values["number"] - 1) / 99 * (last_end - first_end)
        found = (low, float(np.clip(guess, low, high)), high) if values["number"] else ()
        if found and sealed != seals and not counted:
            counted.append(values["number"])
            told = {"key": f"11b/{key.replace('_', '-')}-number", "kind": "number", "value": guess}
            journal.append("predictions", told)
        said = [f"“{claim.text}” ({claim.source}, {claim.when})."]
        if found:
            between = claim.spell(low) + f" to {claim.spell(high)}" * (low < high)
            said.append(f"You say {claim.spell(guess)}. What is open allows **{between}**.")
            ranges = {"number": counted * 2} if counted else {}
        else:
            said.append("**Drag your number first**; then the seals can be opened.")
            ranges = dict.fromkeys(seals, (False, False))
        outputs = {**evidence, "number": claim.spell(guess) if found else "none yet"}
        scene = draw_claim(
            claim.claimed, claim.allowed, found, "in session", ends=(first_end, last_end),
            why=f"{len(sealed)} sealed" if sealed else "all is open: rule below", write=claim.spell,
            tick=claim.tick, said=guess, width=values["width"],
        )  # fmt: skip
        return Page(scene, said, outputs, ranges)

    controls = [slider("number", "Your number", 0, 100, 0), seal("formula", "the formula")]
    evidence = {"formula": claim.arithmetic.replace("*", "×")}
    for each in claim.inputs:
        controls.append(seal(each.name, each.words))
        evidence |= {each.name: each.said, f"{each.name}_range": each.said_range}
        if each.fact and each.is_range:
            controls.append(seal(f"{each.name}_range", f"{each.words}: do the sources agree?"))
    seals = [control["name"] for control in controls[1:]]
    if verdict:
        verdict.first = lambda: "" if counted else "Drag your number and open a seal first."
    return Sketch(controls, page, f"Hearing: {claim.text}")


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

    def page(values):
        set_ = {name: at(name, values[name]) for name in moving if values[name]}
        ruling = claims.judge(key, **set_)
        found = (ruling.low, ruling.value, ruling.high) if np.isfinite(ruling.value) else ()
        scene = draw_claim(
            claim.claimed, claim.allowed, found, str(ruling.verdict), why=ruling.because,
            ends=reach(claim, claim.inputs), write=claim.spell, tick=claim.tick,
            width=values["width"],
        )  # fmt: skip
        said = [f"“{claim.text}” ({claim.source}, {claim.when}): **{ruling.verdict}**.",
                ruling.sentence]  # fmt: skip
        outputs = {name: each.written(set_[name], 3) if name in set_ else each.said_range
                   for name, each in moving.items()}  # fmt: skip
        return Page(scene, said, outputs)

    controls = [slider(name, f"Object: {each.words}", 0, 101, 0, help=each.said_range)
                for name, each in moving.items()]  # fmt: skip
    press = {"start": ("Start again", "All inputs as the sources have them",
                       dict.fromkeys(moving, 0))}  # fmt: skip
    return Sketch(controls, page, f"Claims court: {key}", press=press if moving else None,
                  words=page(first(controls)).said)  # fmt: skip


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
        Shown first: the next lower power of two, up to 4,096.

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
