"""Exercises of lesson 11: a model in 16 chips, the cheapest plan in time, when to save."""

import contextlib
import itertools
import math
from functools import lru_cache

from trainium_edu.cluster.cost import price
from trainium_edu.cluster.failures import expected_time_s, optimal_interval_s
from trainium_edu.cluster.memory import memory
from trainium_edu.cluster.models import Transformer, get_model
from trainium_edu.cluster.plan import Cluster, Plan, PlanError
from trainium_edu.cluster.step_time import step_time
from trainium_edu.cluster.work import work
from trainium_edu.exercises.exercise import exercise, words_of
from trainium_edu.exercises.judge import ask, has_form, is_number, recognise, reject, reject_if

# --- a model in 16 chips --------------------------------------------------------------------------

_WORDS = words_of(__file__)
_DEGREES = (1, 2, 4, 8, 16, 32)
_CORE_BYTES = 16 * 2**30


def plan(tensor: int, pipeline: int) -> Plan:
    """Return the plan of this exercise: one trn1.32xlarge, FP32 master weights, ZeRO-1.

    Raises
    ------
    PlanError
        If 32 NeuronCores do not divide so.

    Examples
    --------
    >>> print(plan(8, 2))
    1 x trn1.32xlarge, tensor 8 x pipeline 2 x data 2, ZeRO-1, micro-batch 1 of 32, recompute ...
    """
    return Plan(Cluster("trn1.32xlarge"), tensor, pipeline, **_WORDS["plans"]["fit"])


def smallest_cut(model, kept=lambda held: held.total, room: float = _CORE_BYTES) -> int:
    """Return the fewest ranks of a replica with which a model fits.

    Parameters
    ----------
    model : Transformer
    kept : callable, optional
        Takes the memory of a plan; returns the bytes to count.
    room : float
        Bytes of a NeuronCore.

    Returns
    -------
    int
        0 if it fits nowhere.
    """
    for cut, tensor in itertools.product(_DEGREES, _DEGREES):
        with contextlib.suppress(PlanError):
            if cut % tensor == 0 and kept(memory(model, plan(tensor, cut // tensor))) <= room:
                return cut
    return 0


def _per_parameter(nbytes):
    """Return a belief: so many bytes of each parameter, cut evenly, and nothing else."""

    def believed(model):
        needed = nbytes * work(model).parameters / _CORE_BYTES
        return next((cut for cut in _DEGREES if cut >= needed), 32)

    return believed


#: Wrong ways to the cut, by misconception.
CUTS = {
    "weights only": _per_parameter(2),
    "states forgotten": _per_parameter(4),
    "ZeRO forgotten": _per_parameter(16),
    "everything shared out": lambda model: 1,
    "as deep as it goes": lambda model: 32,
    "activations forgotten": lambda model: smallest_cut(
        model, lambda held: held.total - held.activations - held.buffers
    ),
    "a chip's memory": lambda model: smallest_cut(model, room=2 * _CORE_BYTES),
    "GB for GiB": lambda model: smallest_cut(model, room=16e9),
}


def _models(draw):
    """Draw models of every size that 16 chips can hold; one all but fills a NeuronCore."""
    made = []
    for i, (hidden, heads, low, high) in enumerate(_WORDS["models"]["shapes"]):
        layers = 4 * draw.integer(f"layers {i}", low // 4, high // 4)
        words = 1000 * draw.integer(f"words {i}", 32, 64)
        made.append(
            Transformer(f"model {i + 1}", layers, hidden, heads, 2048, words, positions=2048)
        )
    begin = draw.integer("vocabulary", 0, 49)
    vocabularies = [32_000 + 1000 * ((begin + i) % 50) for i in range(50)]
    sizes = (Transformer("nearly full", 32, 4096, 32, 2048, words) for words in vocabularies)
    full = next(model for model in sizes if smallest_cut(model) != smallest_cut(model, room=16e9))
    long = Transformer("long sequences", 32, 4096, 32, 8192, 32000)  # activations decide
    return {"cases": [*draw.shuffled("order", made), full, long]}


@exercise("11/fit", numbers=_models)
def fit(answer, numbers):
    """Ask the memory of each plan; recognise what was forgotten by the cuts that it leads to."""
    cases = [(model,) for model in numbers.cases]
    told = ask(answer, cases, ("no pair", lambda got: has_form(got, int, int)))
    products = [tensor * pipeline for tensor, pipeline in told]
    wanted = [smallest_cut(model) for model in numbers.cases]
    if products != wanted:
        recognise(products, CUTS, cases)
    for model, (tensor, pipeline), cut in zip(numbers.cases, told, wanted, strict=True):
        who = f"{model.name} ({model.layers} layers of {model.hidden}, {model.heads} heads)"
        _fitting(model, plan, (tensor, pipeline), said=who)
        reject_if(tensor * pipeline > cut, "cut too far", who=who, tensor=tensor, pipeline=pipeline)


def _fitting(model, make, degrees, said):
    """Return the plan with some degrees; reject one that does not divide or fit."""
    try:
        plan = make(*degrees)
        held = memory(model, plan)
    except ValueError as problem:  # degrees below 1, or that do not divide
        reject("does not divide", said=said, got=degrees, why=problem)
    reject_if(not held.fits, "does not fit", said=said, got=degrees, why=held.explain())
    return plan


# --- the cheapest plan in time --------------------------------------------------------------------

_INSTANCES = (1, 2, 4, 8, 16, 32, 64)
_MUCH = 1.02  # a bill up to two per cent above the least will do


def run_plan(instances: int, tensor: int, pipeline: int) -> Plan:
    """Return the plan of this exercise: 1024 samples a step, what else it takes given.

    Raises
    ------
    PlanError
        If the ranks do not divide so.

    Examples
    --------
    >>> print(run_plan(4, 8, 4))
    4 x trn1.32xlarge, tensor 8 x pipeline 4 x data 4, ZeRO-1, sequence parallel, ...
    """
    cluster = Cluster("trn1.32xlarge", instances)
    return Plan(cluster, tensor, pipeline, **_WORDS["plans"]["cheapest"])


@lru_cache(maxsize=512)
def _offers(model) -> tuple:
    """Return (instances, tensor, pipeline, tokens per second) of every plan that fits."""
    found = []
    for shape in itertools.product(_INSTANCES, _DEGREES, _DEGREES):
        with contextlib.suppress(PlanError):
            plan = run_plan(*shape)
            if memory(model, plan).fits:
                found.append((*shape, step_time(model, plan).tokens_per_s))
    return tuple(found)


def _takes(offer, tokens) -> float:
    """Return the days that a run takes."""
    return tokens / offer[3] / 86400


def _usd(offer, tokens) -> float:
    return _takes(offer, tokens) * 24 * offer[0] * price("trn1.32xlarge").usd_per_hour


def _least(by, late=False):
    """Return a way to choose: the least of something, in time or at any time."""

    def choose(model, tokens, days):
        known = _offers(get_model(model))
        inside = [o for o in known if late or _takes(o, tokens) <= days]
        return min(inside, key=lambda o: by(o, tokens))[:3] if inside else "none"

    return choose


#: Takes (model, tokens, days); returns the cheapest plan in time.
chosen = _least(_usd)
#: Wrong ways to choose, by misconception.
CHOICES = {
    "the fastest": _least(_takes),
    "late": _least(_usd, late=True),
    "never in time": lambda model, tokens, days: "none",
}


def _deadlines(draw):
    """Draw (model, tokens, days): deadlines that so many instances just keep, and one that none."""
    cases = []
    names = draw.shuffled("models", ("gpt3-6.7b", "gpt3-23b", "gpt3-46b", "llama2-70b"))
    for i, name in enumerate([*names[:3], names[0]]):
        tokens = draw.integer(f"tokens {i}", 20, 200) * 10**9
        known = [o for o in _offers(get_model(name)) if o[0] == (8, 16, 32, 16)[i]]
        takes = min(_takes(o, tokens) for o in known)
        slack = draw.integer(f"slack {i}", 105, 130) / 100
        cases.append((name, tokens, round(takes * slack, 3)))
    return {"cases": [*cases, (names[1], 10**13, 1.0)]}


@exercise("11/cheapest", numbers=_deadlines)
def cheapest(answer, numbers):
    """Ask memory and time of each plan returned, and compare its bill with the least of all."""
    form = "no plan", lambda got: got == "none" or has_form(got, int, int, int)
    told = ask(answer, numbers.cases, form)
    told = [got if got == "none" else tuple(got) for got in told]
    wanted = [chosen(*case) for case in numbers.cases]
    if told != wanted:
        recognise(told, CHOICES, numbers.cases)
    for case, got, best in zip(numbers.cases, told, wanted, strict=True):
        _judge(case, got, best)


def _judge(case, got, best):
    """Reject a plan that is none, does not fit, is late, or costs more than it has to."""
    name, tokens, days = case
    model, said = get_model(name), f"For {name}, {tokens / 1e9:,.0f} billion tokens in {days} days"
    if "none" in (got, best):
        if got != best:
            many = "none of them is in time" if best == "none" else f"{best} is"
            reject("none or some", said=said, returned=got, many=many)
        return
    reject_if(got[0] not in _INSTANCES, "another number", said=said, instances=got[0])
    plan = _fitting(model, run_plan, got, said)
    offer = (*got, step_time(model, plan).tokens_per_s)
    if _takes(offer, tokens) > days:
        reject("is late", said=said, got=got, takes=_takes(offer, tokens))
    least = min(_usd(o, tokens) for o in _offers(model) if _takes(o, tokens) <= days)
    if _usd(offer, tokens) > _MUCH * least:
        reject("too dear", said=said, got=got, more=_usd(offer, tokens) / least - 1)


# --- how often to save ----------------------------------------------------------------------------


def waste(step_s: float, save_s: float, instance_mtbf_h: float, instances: int, steps: int):
    """Return what saving and failing take, as a share of a run without either.

    Parameters
    ----------
    step_s, save_s : float
        Seconds of a step, and of writing a checkpoint.
    instance_mtbf_h : float
        Hours between two failures of one instance, on average.
    instances : int
        All of them stop when one does.
    steps : int
        Between two checkpoints.

    Returns
    -------
    float
        Of Daly's expected time for failures at random moments; starting again is free here.

    Examples
    --------
    >>> round(waste(10, 60, 1000, 100, 1000), 3)  # 10 hours between failures, 2.8 between saves
    0.161
    """
    mtbf_s = instance_mtbf_h * 3600 / instances
    with contextlib.suppress(ValueError):  # which says that segments never end
        return expected_time_s(1.0, steps * step_s, mtbf_s, save_s) - 1
    return math.inf


def _young(step_s, save_s, instance_mtbf_h, instances, *, two=2.0, hour=3600.0):
    return math.sqrt(two * save_s * instance_mtbf_h * hour / instances) / step_s


def _best(step_s, save_s, instance_mtbf_h, instances) -> float:
    """Return the least waste among whole numbers of steps."""
    best = int(optimal_interval_s(instance_mtbf_h * 3600 / instances, save_s) / step_s)
    near = (max(1, best), best + 1)
    return min(waste(step_s, save_s, instance_mtbf_h, instances, steps) for steps in near)


#: Wrong ways to the interval, by misconception.
INTERVALS = {
    "one instance's failures": lambda step, save, mtbf, n: _young(step, save, mtbf, 1),
    "seconds for steps": lambda *case: _young(*case) * case[0],
    "hours for seconds": lambda *case: _young(*case, hour=1.0),
    "minutes": lambda *case: _young(*case, hour=60.0),
    "once per failure": lambda step, save, mtbf, n: mtbf * 3600 / n / step,
    "the two forgotten": lambda *case: _young(*case, two=1.0),
    "no root": lambda step, save, mtbf, n: 2 * save * mtbf * 3600 / n / step,
    "after each step": lambda *case: 1,
}


def _runs(draw):
    """Draw (s a step, s a save, h between failures of an instance, instances)."""
    cases = []
    for i in range(6):
        instances = draw.choice(f"instances {i}", (1, 8, 16, 64, 128, 300))
        hours = draw.integer(f"between failures {i}", 4, 60)  # of all instances together
        save = draw.integer(f"save {i}", 10, 36 * hours)
        at = math.sqrt(2 * save * hours * 3600)
        step = round(at / draw.integer(f"steps {i}", 40, 900), 2)
        cases.append((step, save, hours * instances, instances))
    return {"cases": [*cases, (30.0, 120, 4000, 250), (900.0, 1, 40, 10)]}


def _is_count(got) -> bool:
    return is_number(got) and 1 <= got < 1e9 and got == round(got)


def _within_a_step(told, believed) -> bool:
    pairs = zip(told, believed, strict=True)
    return all(abs(steps - max(1, model)) <= 1 + 1e-6 * steps for steps, model in pairs)


@exercise("11/interval", numbers=_runs)
def interval(answer, numbers):
    """Judge each interval by Daly's expected time; recognise the usual short cuts."""
    told = ask(answer, numbers.cases, ("no number of steps", _is_count))
    pairs = list(zip(numbers.cases, told, strict=True))
    lost = [waste(*case, steps) / _best(*case) - 1 for case, steps in pairs]
    if max(lost) <= 0.015:
        return
    recognise(told, INTERVALS, numbers.cases, _within_a_step)
    case, steps = pairs[lost.index(max(lost))]
    way = "rarely" if steps > _young(*case) else "often"
    far = "far off" if max(lost) >= 10 else "other"
    reject(far, case=case, steps=int(steps), way=way, more=max(lost))
