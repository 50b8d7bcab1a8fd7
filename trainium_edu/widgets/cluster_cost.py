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
from trainium_edu.widgets.sketch import Page, control, say, sketch, slider

__all__ = ["PLAN", "bill", "checkpoint_interval", "court", "hearing"]

#: The plan of the pictures, unless said otherwise.
PLAN = Plan(Cluster(instances=64), 8, 8, zero=1, recompute="selective", sequence_parallel=True)
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
        draw_tornado(scene, "What moves it", moved, found.usd / scale, unit)
        low, usd, high = (
            f"${n / scale:,.3g} {unit[:-4]}" for n in (found.low, found.usd, found.high)
        )
        said = say("bill", instances=plan.cluster.instances, days=found.hours / 24, usd=usd,
                   low=low, high=high, assumed=100 * found.shares.get(Kind.ASSUMED, 0.0),
                   faded=", ".join(unsure) or "nothing", most=found.tornado[0].name)  # fmt: skip
        return Page(scene, said, {"goodput": f"{values['goodput']} %"})

    return sketch("bill", page, named={"model": shape.name})


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
        between = claim.spell(low) + f" to {claim.spell(high)}" * (low < high)
        text, asked, first = say("hearing", claim=claim, guess=claim.spell(guess), between=between)
        said = [text, asked if found else first]
        ranges = {"number": counted * 2} if counted else {}
        if not found:
            ranges = dict.fromkeys(seals, (False, False))
        outputs = {**evidence, "number": claim.spell(guess) if found else "none yet"}
        why = f"{len(sealed)} sealed" if sealed else "all is open: rule below"
        scene = draw_claim(claim, found, "in session", ends=(first_end, last_end), why=why,
                           said=guess, width=values["width"])  # fmt: skip
        return Page(scene, said, outputs, ranges)

    sealed_words = {"formula": "the formula"}
    evidence = {"formula": claim.arithmetic.replace("*", "×")}
    for each in claim.inputs:
        sealed_words[each.name] = each.words
        evidence |= {each.name: each.said, f"{each.name}_range": each.said_range}
        if each.fact and each.is_range:
            sealed_words[f"{each.name}_range"] = f"{each.words}: do the sources agree?"
    seals = list(sealed_words)
    more = [control(name, "seal", text, value=False) for name, text in sealed_words.items()]
    if verdict:
        verdict.first = lambda: "" if counted else "Drag your number and open a seal first."
    return sketch("hearing", page, words=(), named={"claim": claim}, more=more)


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
        scene = draw_claim(claim, found, str(ruling.verdict), why=ruling.because,
                           ends=reach(claim, claim.inputs), width=values["width"])  # fmt: skip
        said = say("court", claim=claim, ruling=ruling)
        outputs = {name: each.written(set_[name], 3) if name in set_ else each.said_range
                   for name, each in moving.items()}  # fmt: skip
        return Page(scene, said, outputs)

    more = [slider(name, f"Object: {each.words}", 0, 101, 0, help=each.said_range)
            for name, each in moving.items()]  # fmt: skip
    return sketch("court", page, named={"key": key}, more=more)


_INTERVALS = np.geomspace(1 / 6, 1440, 200)  # minutes: 10 s to a day
_FILE_SYSTEM = 100.0  # TiB
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
    machines = {
        name: f"{getattr(FAILURES, name).name}: {_mtbf_days(name):,.0f} days" for name in _RELIABLE
    }

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

    return sketch("checkpoints", page, press={"best": best}, named={"model": model},
                  instances=power, reliable={"options": machines})  # fmt: skip


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
    rules = "; ".join(f"{name}: {long_time_text(60 * minutes)}, {100 * share:.3g} %"
                      for name, (minutes, share) in marks.items())  # fmt: skip
    mtbf, again, every = (long_time_text(seconds) for seconds in (mtbf, again, 60 * here))
    return scene, say(
        "checkpoints", mtbf=mtbf, terabytes=written.nbytes / 1e12, stall=stall, bound=written.bound,
        again=again, every=every, both=100 * both[place], writing=100 * writing[place], rules=rules,
    )  # fmt: skip
