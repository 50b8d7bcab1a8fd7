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
from trainium_edu.viz.units import time_text
from trainium_edu.widgets import journal
from trainium_edu.widgets.prediction import Prediction
from trainium_edu.widgets.sketch import Page, control, say, sketch, slider

__all__ = ["PLAN", "bill", "checkpoint_interval", "court", "hearing"]

#: The plan of the pictures, unless said otherwise.
PLAN = Plan(Cluster(instances=64), 8, 8, zero=1, recompute="selective", sequence_parallel=True)
_SENT = ("tensor-parallel sums", "pipeline sends", "gradient sums")  # parts of a step


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
    bubble, sent = time.parts["pipeline bubble"], sum(time.parts[name] for name in _SENT)
    wasted = {"pipeline bubble": bubble / time.step_ns, "communication": sent / time.step_ns}
    parameters = float(work(shape).parameters)
    nbytes = failures.checkpoint_bytes(parameters, plan.precision, plan.optimizer)
    same = {"wasted": wasted, "checkpoint_bytes": nbytes, "checkpoints_kept": 10}

    def page(values):
        good = values["goodput"] / 100
        good = (max(good - 0.05, 0.05), good, min(good + 0.05, 1.0))
        found = cost.bill(time, steps, plan.cluster, kind=values["price"], goodput=good, **same)
        scale, unit = (1e6, "million USD") if found.usd >= 2e6 else (1e3, "thousand USD")
        unsure = tuple(row.what for row in found.rows if row.kind is Kind.ASSUMED)
        rows = {row.what: row.usd / scale for row in found.rows}
        scene = draw_stacks([Stack("The bill", unit, rows, unsure=unsure)], width=values["width"])
        swings = [swing for swing in found.tornado if swing.width]
        moved = [(swing.name, swing.low / scale, swing.high / scale) for swing in swings]
        draw_tornado(scene, "What moves it", moved, found.usd / scale, unit)
        ends = [f"${n / scale:,.3g} {unit[:-4]}" for n in (found.low, found.usd, found.high)]
        numbers = {"days": found.hours / 24, "assumed": 100 * found.shares.get(Kind.ASSUMED, 0.0)}
        faded = ", ".join(unsure) or "nothing"
        said = say("bill", bill=found, plan=plan, ends=ends, faded=faded, **numbers)
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
    seals = {"formula": ("the formula", claim.arithmetic.replace("*", "×"))}
    for each in claim.inputs:
        seals[each.name] = each.words, each.said
        if each.fact and each.is_range:
            seals[f"{each.name}_range"] = f"{each.words}: do the sources agree?", each.said_range
    counted = []  # the place of the number, once a seal is open

    def allowed(is_open):
        inputs = [known(i, is_open(i.name), is_open(f"{i.name}_range")) for i in claim.inputs]
        return reach(claim, inputs)

    ends = (*allowed({}.get), claim.claimed)
    first_end, last_end = min(ends), max(ends)

    def page(values):
        low, high = allowed(values.get)
        sealed = [name for name in seals if not values[name]]
        guess = first_end + (values["number"] - 1) / 99 * (last_end - first_end)
        found = (low, float(np.clip(guess, low, high)), high) if values["number"] else ()
        if found and len(sealed) < len(seals) and not counted:
            counted.append(values["number"])
            told = {"key": f"11b/{key.replace('_', '-')}-number", "kind": "number", "value": guess}
            journal.append("predictions", told)
        between = claim.spell(low) + f" to {claim.spell(high)}" * (low < high)
        text, asked, first = say("hearing", claim=claim, guess=claim.spell(guess), between=between)
        ranges = {"number": counted * 2} if counted else {}
        if not found:
            ranges = dict.fromkeys(seals, (False, False))
        outputs = {name: said for name, (_, said) in seals.items()}
        outputs["number"] = claim.spell(guess) if found else "none yet"
        why = f"{len(sealed)} sealed" if sealed else "all is open: rule below"
        look = {"ends": (first_end, last_end), "why": why, "said": guess, "width": values["width"]}
        scene = draw_claim(claim, found, "in session", **look)
        return Page(scene, [text, asked if found else first], outputs, ranges)

    more = [control(name, "seal", text, value=False) for name, (text, _) in seals.items()]
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

    def page(values):
        moved, outputs = {}, {name: each.said_range for name, each in moving.items()}
        for name in filter(values.get, moving):
            low, high = moving[name].low, moving[name].high
            moved[name] = low + (values[name] - 1) / 100 * (high - low)
            outputs[name] = moving[name].written(moved[name], 3)
        ruling = claims.judge(key, **moved)
        found = (ruling.low, ruling.value, ruling.high) if np.isfinite(ruling.value) else ()
        ends = reach(claim, claim.inputs)
        look = {"why": ruling.because, "ends": ends, "width": values["width"]}
        scene = draw_claim(claim, found, str(ruling.verdict), **look)
        return Page(scene, say("court", claim=claim, ruling=ruling), outputs)

    rows = [(name, f"Object: {each.words}", each.said_range) for name, each in moving.items()]
    more = [slider(name, text, 0, 101, 0, help=between) for name, text, between in rows]
    return sketch("court", page, named={"key": key}, more=more)


_INTERVALS = np.geomspace(1 / 6, 1440, 200)  # minutes: 10 s to a day
_FILE_SYSTEM = 100.0  # TiB
_RULES = {"Young": failures.young_interval_s, "Daly": failures.daly_interval_s}
_RELIABLE = {name: getattr(FAILURES, name) for name in ("llama3", "opt", "rsc_1", "rsc_2")}
_MTBF_HOURS = {name: float(fact.instance_mtbf_hours) for name, fact in _RELIABLE.items()}


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
    days = {name: f"{hours / 24:,.0f} days" for name, hours in _MTBF_HOURS.items()}
    machines = {name: f"{fact.name}: {days[name]}" for name, fact in _RELIABLE.items()}

    def times(values):
        count, store = 2 ** values["instances"], values["store"]
        size = _FILE_SYSTEM if store.startswith("fsx") else None
        written = failures.checkpoint(nbytes, store, count, tebibytes=size)
        return failures.cluster_mtbf_s(_MTBF_HOURS[values["reliable"]], count), written

    def page(values):
        mtbf, written = times(values)
        outputs = {"instances": f"{2 ** values['instances']:,}"}
        outputs["interval"] = time_text(60e9 * _INTERVALS[values["interval"]])
        return Page(*_interval_page(mtbf, written, values["interval"], values["width"]), outputs)

    def best(values):
        mtbf, written = times(values)
        found = failures.daly_interval_s(mtbf, written.stall_s) / 60
        return {"interval": int(np.abs(_INTERVALS - found).argmin())}

    changes = {"instances": power, "reliable": {"options": machines}}
    return sketch("checkpoints", page, press={"best": best}, named={"model": model}, **changes)


def _interval_page(mtbf, written, place, width):
    """Return the scene and the sentences for one place on the axis."""
    stall, again = written.stall_s, float(FAILURES.restart_begin_s) + written.read_s

    def lost(minutes):  # of the time: on writing, and in all
        useful = failures.goodput(60 * minutes, mtbf, stall, again)
        return useful * stall / (60 * minutes), 1 - useful

    writing, both = np.array([lost(float(m)) for m in _INTERVALS]).T
    found = {name: rule(mtbf, stall) / 60 for name, rule in _RULES.items()}
    marks = {name: (minutes, lost(minutes)[1]) for name, minutes in found.items()}
    here = _INTERVALS[place]
    scene = draw_interval(_INTERVALS, writing, both - writing, marks, here, width=width)
    rules = [f"{n}: {time_text(60e9 * x)}, {100 * y:.3g} %" for n, (x, y) in marks.items()]
    seconds = {"mtbf": mtbf, "again": again, "every": 60 * here}
    numbers = {name: time_text(1e9 * time) for name, time in seconds.items()}
    numbers |= {"both": 100 * both[place], "writing": 100 * writing[place]}
    numbers |= {"rules": "; ".join(rules), "terabytes": written.nbytes / 1e12}
    return scene, say("checkpoints", written=written, **numbers)
